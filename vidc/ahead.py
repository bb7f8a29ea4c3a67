"""Work done ahead of its consumer: in threads, in order, and within bounds."""

from __future__ import annotations

import collections
import itertools
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def mapped(
    function: Callable[[T], R], items: Iterable[T], *, threads: int, ahead: int
) -> Generator[R, None, None]:
    """``function`` of each item, in order; ``ahead`` of them are in the making or ready to be had.

    An error comes where its result would have come. A consumer that stops early waits for what is
    being made just then and for nothing else; ``items`` is closed if it can be.
    """
    try:
        with ThreadPoolExecutor(threads, "vidc-ahead") as pool:
            waiting: collections.deque[Future[R]] = collections.deque()
            try:
                for item in items:
                    waiting.append(pool.submit(function, item))
                    if len(waiting) > ahead:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
    finally:
        _close(items)


def made_ahead(items: Iterator[T], ahead: int) -> Generator[T, None, None]:
    """The same items, up to ``ahead`` of them taken in a thread before they are asked for."""
    end = object()
    # Ctrl-C can come while the thread starts; the pool then does not know it and waits for nobody.
    turn = threading.Lock()

    def take(_: int) -> object:
        with turn:
            return next(items, end)

    asked = itertools.count()  # one thread takes the items, so they come in their order
    taken = mapped(take, asked, threads=1, ahead=ahead)
    try:
        with closing(taken):
            for item in taken:
                if item is end:
                    return
                yield item  # type: ignore[misc]
    finally:
        with turn:
            _close(items)


def _close(items: object) -> None:
    close = getattr(items, "close", None)
    if close is not None:
        close()
