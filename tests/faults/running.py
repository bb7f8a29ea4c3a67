"""Commands that are disturbed: started, stopped at any operation or moment, and given again.

One server has the imports and every command is a fork of it: starting Python anew takes longer
than the small builds and evaluations here.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil

from vidc import build, commandline
from vidc.eval import __main__ as evaluation

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "vidc.builders.building",
        "vidc.builders.command",
        "vidc.builders.shards",
        "vidc.builders.verify_shard",
        "vidc.builders.card",
        "matplotlib.backends.backend_agg",
        "pyarrow.dataset",
        "vidc.eval.evaluate",
        "torch._dynamo",
        "tests.faults.running",
    ]
)
COMMANDS = {
    "build": (build.main, build.PROGRAM),
    "eval": (evaluation.main, evaluation.PROGRAM),
}
INTERRUPTED = "interrupted; the same command continues where it stopped"

# What changes a folder, by the names of Python's audit events.
_CHANGES = ("open", "os.mkdir", "os.remove", "os.rename", "os.rmdir")
_FOR_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
# What the command line of a worker holds: of our own processes, and of Ray's on a task of ours.
_WORKERS = ("vidc.processes", "ray::_run_task")


@dataclass(frozen=True)
class Undisturbed:
    """A command left alone: its words but for ``--out``, what it made, how long it took."""

    command: str
    words: list[str]
    folder: Path
    files: dict[str, bytes | str]
    seconds: float


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it said on standard error."""

    code: int
    told: str

    def assert_told(self, words: str) -> None:
        """A user's mistake, or a fault of the surroundings: one sentence, no traceback."""
        assert self.code == commandline.USER_MISTAKE, self
        assert len(self.told.splitlines()) == 1, self.told
        assert words in self.told

    def assert_well(self) -> None:
        assert (self.code, self.told) == (0, "")

    def assert_stopped_by(self, number: int) -> None:
        """It was killed without a word, or said that it can be continued; or was at its end."""
        if self.code == 0:
            assert self.told == ""
        elif number == signal.SIGKILL:
            assert (self.code, self.told) == (-number, "")
        else:
            assert self.code == commandline.INTERRUPTED, self
            assert self.told.endswith(f": {INTERRUPTED}\n"), self.told
            assert len(self.told.splitlines()) == 1, self.told


@dataclass(frozen=True)
class Running:
    """A command in a process of its own, the leader of its group."""

    process: BaseProcess
    errors: Path

    @property
    def alive(self) -> bool:
        return self.process.is_alive()

    def family(self) -> list[psutil.Process]:
        """The processes it has started."""
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def signal(self, number: int, *, group: bool = False) -> None:
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.process.pid, number)

    def end(self) -> Ended:
        """Wait for it."""
        self.process.join()
        return Ended(self.process.exitcode, self.errors.read_text())

    def wait_until_paused(self) -> bool:
        """Wait for the change it pauses at; False if it came to its end before."""
        while self.alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                if psutil.Process(self.process.pid).status() == psutil.STATUS_STOPPED:
                    return True
            time.sleep(0.002)
        return False

    def resume(self) -> Ended:
        """Go on after a pause."""
        self.signal(signal.SIGCONT)
        return self.end()

    def workers(self) -> list[psutil.Process]:
        """The processes of its engine that are at work."""
        return [each for each in self.family() if _is_worker(each)]


def _is_worker(process: psutil.Process) -> bool:
    try:
        line = " ".join(process.cmdline())
        return process.status() != psutil.STATUS_ZOMBIE and any(word in line for word in _WORKERS)
    except psutil.NoSuchProcess:
        return False


@dataclass(frozen=True)
class RunningAnew(Running):
    """A command without a fork: ``python -m``."""

    process: subprocess.Popen[bytes]

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def end(self) -> Ended:
        return Ended(self.process.wait(), self.errors.read_text())


def start(
    command: str,
    words: Sequence[object],
    folder: Path,
    *,
    pause_at: int | None = None,
    as_anybody: bool = False,
) -> Running:
    """Start a command; it stops itself before its ``pause_at``-th change of ``--out``.

    ``as_anybody``: bound by the permissions of files, even where root runs the tests.
    """
    errors = folder / "errors.txt"
    ready, ours = FORKS.Pipe(duplex=False)
    arguments = [str(word) for word in words]
    how = (command, arguments, str(errors), pause_at, as_anybody, ours)
    process = FORKS.Process(target=_run, args=how)
    process.start()
    ours.close()
    with contextlib.suppress(EOFError):
        ready.recv()  # from here on a signal finds the command's own handlers
    return Running(process, errors)


def run(command: str, words: Sequence[object], folder: Path, **how: bool) -> Ended:
    """Give a command and wait for its end."""
    return start(command, words, folder, **how).end()


def start_anew(
    command: str, words: Sequence[object], folder: Path, settings: Mapping[str, str] | None = None
) -> RunningAnew:
    """Start a command in a Python of its own, with these settings in its environment."""
    line = [sys.executable, "-m", f"vidc.{command}", *map(str, words)]
    errors = folder / "errors.txt"
    with errors.open("w") as told, errors.with_name("said.txt").open("w") as said:
        process = subprocess.Popen(
            line,
            stdout=said,
            stderr=told,
            start_new_session=True,
            env=os.environ | (settings or {}),
        )
    return RunningAnew(process, errors)


def interrupt_itself(
    command: str, words: Sequence[object], folder: Path, number: int, begun: Path
) -> Ended:
    """The command without a fork, hit as soon as the folder ``begun`` is there."""
    running = start_anew(command, words, folder)
    while running.alive and not (begun.is_dir() and any(begun.iterdir())):
        time.sleep(0.002)
    running.signal(number, group=True)
    return running.end()


def count_changes(command: str, words: Sequence[object], folder: Path) -> int:
    """Run a command to its end: how often it changes ``--out``."""
    start(command, words, folder, pause_at=0).end().assert_well()
    return int((folder / "changes.txt").read_text())


def _run(command, arguments, errors, pause_at, as_anybody, ready):
    os.setsid()
    for descriptor, file in ((1, Path(errors).with_name("said.txt")), (2, errors)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), descriptor)
    if as_anybody:
        _obey_permissions()
    main, program = COMMANDS[command]
    changes = []
    if pause_at is not None:
        out = arguments[arguments.index("--out") + 1]
        _watch(out, changes, pause_at)

    def told_when_ready(words):
        ready.send(None)
        ready.close()
        return main(words)

    sys.argv = [program, *arguments]
    code = 1
    try:
        commandline.run(told_when_ready, program)
    except SystemExit as end:
        code = end.code
        if pause_at == 0:
            Path(errors).with_name("changes.txt").write_text(str(len(changes)))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def _obey_permissions() -> None:
    """Give up the two capabilities by which root reads and writes whatever it wants."""
    libc = ctypes.CDLL(None)
    header, rights = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, rights)
    rights[0] &= ~0b110
    assert libc.capset(header, rights) == 0


def _watch(out: str, changes: list[str], pause_at: int) -> None:
    def hook(event, arguments):
        if event in _CHANGES and _is_change(event, arguments, out):
            changes.append(event)
            if len(changes) == pause_at:
                os.kill(os.getpid(), signal.SIGSTOP)

    sys.addaudithook(hook)


def _is_change(event, arguments, out) -> bool:
    if event == "open" and not arguments[2] & _FOR_WRITING:
        return False
    if event in ("os.remove", "os.rmdir") and arguments[1] != -1:
        return True  # a folder is removed as a whole, each name relative to the one above
    return str(arguments[0]).startswith(out)


def contents(folder: Path) -> dict[str, bytes | str]:
    """All that is under a folder, hidden files too; of result files all but what was measured."""
    paths = sorted(folder.rglob("*"))
    return {path.relative_to(folder).as_posix(): _content(path) for path in paths}


def _content(path: Path) -> bytes | str:
    if path.is_symlink():
        return f"a link to {path.readlink()}"
    if path.is_dir():
        return "a folder"
    data = path.read_bytes()
    of_a_run = path.suffix == ".json" and path.name != "manifest.json"
    return json.dumps(_repeatable(json.loads(data))) if of_a_run else data


def _repeatable(value):
    if isinstance(value, dict):
        left_out = ("measured", "environment", "command")
        return {key: _repeatable(each) for key, each in value.items() if key not in left_out}
    return [_repeatable(each) for each in value] if isinstance(value, list) else value
