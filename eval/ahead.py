"""Work done ahead of its consumer, in order and within bounds."""

from __future__ import annotations

import collections
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_TICK = 0.1  # how long a waiting thread may take to notice that nobody wants its items any more


class _End:
    """Comes after the last item, with the error that ended the items if one did."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def ahead(items: Iterator[T], depth: int) -> Generator[T, None, None]:
    """The same items, up to ``depth`` of them made in a thread before they are asked for."""
    ready: queue.Queue[T | _End] = queue.Queue(depth)
    stopped = threading.Event()
    thread = threading.Thread(
        target=_fill, args=(items, ready, stopped), name="vidc-batches", daemon=True
    )
    thread.start()
    try:
        while True:
            item = ready.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        stopped.set()
        thread.join()


def _fill(items: Iterator[T], ready: queue.Queue[T | _End], stopped: threading.Event) -> None:
    end = _End()
    try:
        for item in items:
            if not _put(ready, item, stopped):
                break
    except BaseException as error:  # handed over, and raised where the items are consumed
        end = _End(error)
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            close()
    _put(ready, end, stopped)


def _put(ready: queue.Queue[T | _End], item: T | _End, stopped: threading.Event) -> bool:
    while not stopped.is_set():
        try:
            ready.put(item, timeout=_TICK)
        except queue.Full:
            continue
        return True
    return False


def mapped(function: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """``function`` of each item, in order, computed in threads a little ahead."""
    with ThreadPoolExecutor(threads, "vidc-fit") as pool:
        waiting: collections.deque[Future[R]] = collections.deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
