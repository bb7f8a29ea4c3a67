"""Map a function over tasks: in this process, over a pool of processes, or on a Ray cluster.

A task may be run again after its worker was lost, so the function must give the same result twice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vidc.errors import InputError, unknown

Task = TypeVar("Task")
Result = TypeVar("Result")
Advance = Callable[[int], None]  # a task calls it with the units of work done since the last call
Work = Callable[[Task, Advance], Result]
Progress = Callable[[int], None]  # called with the units done so far over all tasks

ENGINES = ("processes", "serial", "ray")


@dataclass(frozen=True)
class Engine:
    """Where tasks run, and what each of them may use."""

    name: str = "processes"
    workers: int | None = None  # None: every core this process may use
    ray_address: str | None = None  # None: RAY_ADDRESS, or else a Ray of our own on this machine
    num_cpus: float = 1.0  # of a Ray task
    num_gpus: float = 0.0  # of a Ray task; a fraction shares a GPU
    retries: int = 3  # how often a task may lose its worker

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise unknown("engine", self.name, ENGINES)
        if self.workers is not None and self.workers < 1:
            raise InputError(f"--workers is {self.workers}: give at least 1")
        if self.ray_address is not None and self.name != "ray":
            raise InputError("--ray-address belongs to --engine ray: give both or neither")


def check(engine: Engine) -> None:
    """Tell now, before anything is written, that the engine is not there to be had."""
    if engine.name == "ray":
        from vidc.ray_tasks import check_ray

        check_ray(engine)


def cores() -> int:
    """The cores that this process may use, which on a shared machine may not be all."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def run(
    engine: Engine,
    work: Work[Task, Result],
    tasks: Sequence[Task],
    progress: Progress = lambda total: None,
) -> Iterator[tuple[int, Result]]:
    """Give ``(index, result)`` of each task as it finishes, in no particular order.

    ``work`` is a module-level function. The first exception of a task ends the run and is raised
    here; the tasks that were running are stopped where they are.
    """
    if engine.name == "processes":
        from vidc.processes import run_processes

        return run_processes(engine, work, tasks, progress)
    if engine.name == "ray":
        from vidc.ray_tasks import run_ray

        return run_ray(engine, work, tasks, progress)
    return _run_serial(work, tasks, progress)


def _run_serial(
    work: Work[Task, Result], tasks: Sequence[Task], progress: Progress
) -> Iterator[tuple[int, Result]]:
    done = 0

    def advance(units: int) -> None:
        nonlocal done
        done += units
        progress(done)

    for index, task in enumerate(tasks):
        yield index, work(task, advance)


class Reporter:
    """Counts a task's units and passes the count on, but not more often than is useful."""

    def __init__(self, send: Callable[[int], object], seconds: float) -> None:
        self._send = send
        self._seconds = seconds
        self._count = 0
        self._sent = time.monotonic()

    def __call__(self, units: int) -> None:
        self._count += units
        now = time.monotonic()
        if now - self._sent >= self._seconds:
            self._sent = now
            self._send(self._count)

    def finish(self) -> None:
        """Pass on the final count."""
        self._send(self._count)
