"""Work for the engines' tests: module-level functions, as worker processes need them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from vidc.engines import Engine, run
from vidc.errors import InputError


def square(task, advance):
    for _ in range(task):
        advance(1)
    return task * task


def fail_at_three(task, advance):
    if task == 3:
        raise InputError("three is broken: mend it")
    return task


def divide_by(task, advance):
    return 1 / task


def read_an_empty_file(task, advance):
    raise EOFError("Ran out of input")


def lose_a_connection(task, advance):
    raise BrokenPipeError("of the work's own")


class Stubborn(Exception):  # noqa: N818
    """An exception that cannot be rebuilt from its arguments in another process."""

    def __init__(self, first, second):
        super().__init__(first)


def raise_stubborn(task, advance):
    raise Stubborn("lost", "words")


def die_once(task, advance):
    """Count this attempt in a file of the task's own; the first one ends by SIGKILL."""
    number, folder = task
    with (Path(folder) / str(number)).open("a") as file:
        file.write("x")
    advance(5)
    if number % 2 and len((Path(folder) / str(number)).read_text()) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_always(task, advance):
    with (Path(task) / "attempts").open("a") as file:
        file.write("x")
    os.kill(os.getpid(), signal.SIGKILL)


def tell_pid_and_sleep(task, advance):
    """Leave this process's id in a folder, and stay."""
    (Path(task) / str(os.getpid())).touch()
    time.sleep(600)


def sleep_if_told(task, advance):
    if task:
        tell_pid_and_sleep(task, advance)


def fail_beside_a_sleeper(task, advance):
    """Sleep, or fail once the other task sleeps."""
    folder, sleeps = task
    if sleeps:
        tell_pid_and_sleep(folder, advance)
    while not any(Path(folder).iterdir()):
        time.sleep(0.05)
    raise InputError("broken beside a sleeper")


def gpu_share(task, advance):
    import ray

    return ray.get_runtime_context().get_accelerator_ids()["GPU"]


def tell_pid(task, advance):
    return os.getpid()


def main(arguments):
    """Run sleeping workers: what the tests of signals start as a process of its own."""
    for _ in run(Engine(workers=2), tell_pid_and_sleep, [arguments[0]] * 3):
        pass
    return 0
