"""The process engine: a pool that outlives its workers and whose workers never outlive it.

concurrent.futures' pool breaks as a whole when one worker is killed, and a queue that workers share
can be left locked by a killed one; here each worker has a pipe of its own.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, NoReturn

from vidc.engines import Engine, Progress, Reporter, Result, Task, Work, cores
from vidc.errors import InputError

_SECONDS_BETWEEN_REPORTS = 0.2

# A worker is a fresh interpreter: threads of OpenCV and Arrow do not survive a fork. It is not
# multiprocessing's, which would run the caller's script again in every worker.
_WORKER = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from vidc.processes import serve; serve(int(sys.argv[1]))"
)


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: Connection
    task: int


class _Pool:
    """The workers, the tasks they have, and the tasks that wait."""

    def __init__(self, engine: Engine, work: Work[Any, Any], tasks: Sequence[Any]) -> None:
        self.engine = engine
        self.work = work
        self.tasks = tasks
        self.waiting = deque(range(len(tasks)))
        self.busy: dict[object, _Worker] = {}  # by the pipe that will speak
        self.leaving: list[_Worker] = []
        self.counts: dict[int, int] = {}
        self._losses: dict[int, int] = {}

    def start_worker(self) -> None:
        """Start a process on the first waiting task."""
        ours, theirs = multiprocessing.Pipe()
        # Ctrl-C reaches the whole process group, and only the parent is to act on it: the mask is
        # inherited, so the child is safe from its first instruction on.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", _WORKER, str(theirs.fileno()), json.dumps(sys.path)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        worker = _Worker(process, ours, -1)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            ours.send(self.work)
        self.give_task(worker)

    def give_task(self, worker: _Worker) -> None:
        """Send the first waiting task to an idle worker, or let the worker go."""
        if not self.waiting:
            self.busy.pop(worker.pipe, None)
            self.leaving.append(worker)
            worker.pipe.close()  # the end of its pipe ends it
            return
        worker.task = self.waiting.popleft()
        self.busy[worker.pipe] = worker
        # A worker that has died meanwhile is noticed like any other: its pipe has ended.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            worker.pipe.send(self.tasks[worker.task])

    def lose(self, worker: _Worker) -> None:
        """Put a lost worker's task back, unless it has cost too many workers already."""
        del self.busy[worker.pipe]
        worker.pipe.close()
        worker.process.wait()
        losses = self._losses.get(worker.task, 0) + 1
        self._losses[worker.task] = losses
        if losses > self.engine.retries:
            raise InputError(
                f"task {worker.task} lost its worker {losses} times (exit code "
                f"{worker.process.returncode}; -9 is often too little memory): try fewer --workers"
            )
        self.counts[worker.task] = 0
        self.waiting.appendleft(worker.task)

    def stop(self) -> None:
        """End all workers; what they were writing is worthless until it is finished."""
        for worker in self.busy.values():
            worker.process.terminate()
        for worker in (*self.busy.values(), *self.leaving):
            worker.pipe.close()
            worker.process.wait()


def run_processes(
    engine: Engine, work: Work[Task, Result], tasks: Sequence[Task], progress: Progress
) -> Iterator[tuple[int, Result]]:
    """See :func:`vidc.engines.run`."""
    pool = _Pool(engine, work, tasks)
    most = engine.workers or cores()
    try:
        while pool.waiting or pool.busy:
            while pool.waiting and len(pool.busy) < most:
                pool.start_worker()
            for pipe in connection.wait([worker.pipe for worker in pool.busy.values()]):
                worker = pool.busy[pipe]
                try:
                    kind, value = worker.pipe.recv()
                except (EOFError, OSError):
                    pool.lose(worker)
                    continue
                if kind == "error":
                    raise value
                if kind == "count":
                    pool.counts[worker.task] = value
                    progress(sum(pool.counts.values()))
                else:
                    finished = worker.task
                    pool.give_task(worker)
                    yield finished, value
    finally:
        pool.stop()


def serve(descriptor: int) -> None:
    """What a worker process does: take a task, send counts and a result, until the pipe ends."""
    pipe = Connection(descriptor)
    threading.Thread(target=_end_with_parent, args=(descriptor,), daemon=True).start()
    with contextlib.suppress(_PipeEndedError):
        try:
            _serve_tasks(pipe)
        except _PipeEndedError:
            raise
        except Exception as error:  # whatever it is, the parent raises it
            _send(pipe, "error", _sendable(error))


def _serve_tasks(pipe: Connection) -> NoReturn:
    work = _receive(pipe)
    while True:
        task = _receive(pipe)
        advance = Reporter(lambda count: _send(pipe, "count", count), _SECONDS_BETWEEN_REPORTS)
        result = work(task, advance)
        advance.finish()
        _send(pipe, "result", result)


class _PipeEndedError(Exception):
    """The parent is gone or has no more tasks; errors of the pipe's kinds may be the work's own."""


def _receive(pipe: Connection) -> Any:
    try:
        return pipe.recv()
    except (EOFError, ConnectionResetError):
        raise _PipeEndedError from None


def _send(pipe: Connection, kind: str, value: object) -> None:
    """Tell the parent; it may have been killed before :func:`_end_with_parent` has noticed."""
    message = ForkingPickler.dumps((kind, value))  # outside: what cannot be sent is no ended pipe
    try:
        pipe.send_bytes(message)
    except (BrokenPipeError, ConnectionResetError):
        raise _PipeEndedError from None


def _end_with_parent(descriptor: int) -> None:
    """Leave at once when the parent is gone, however it went, so that no worker is orphaned."""
    poll = select.poll()
    poll.register(descriptor, 0)  # only the end of the pipe: the data is the other thread's
    poll.poll()
    os._exit(1)


def _sendable(error: Exception) -> Exception:
    """The error in a form that survives the pipe, with the worker's traceback as a note."""
    text = "".join(traceback.format_exception(error))
    if not isinstance(error, InputError):
        error.add_note(f"in a worker process:\n{text}")
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own object, not a file's
    except Exception:  # a class may fail at this in any way
        return RuntimeError(text)
    return error
