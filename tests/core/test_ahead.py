"""Work done ahead: the same results as a plain loop's, in order, few at a time, and stoppable."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidc.ahead import made_ahead, mapped


@given(st.lists(st.integers()), st.integers(1, 4), st.integers(1, 9))
def test_results_are_a_plain_loop_s(items, threads, ahead):
    assert list(mapped(str, items, threads=threads, ahead=ahead)) == [str(item) for item in items]
    assert list(made_ahead(iter(items), ahead)) == items


def test_slow_results_do_not_lose_their_place():
    started = [threading.Event() for _ in range(4)]

    def function(item):
        started[item].set()
        if item == 0:  # ready only after all the others have begun
            for event in started[1:]:
                assert event.wait(30)
        return item

    assert list(mapped(function, range(4), threads=4, ahead=4)) == [0, 1, 2, 3]


def test_no_more_than_asked_for_is_begun():
    taken = []

    def items():
        for item in range(100):
            taken.append(item)
            yield item

    results = mapped(str, items(), threads=2, ahead=5)
    for consumed in range(1, 20):
        next(results)
        assert len(taken) == consumed + 5
    results.close()
    assert len(taken) == 24


@pytest.mark.parametrize("make", [lambda i: mapped(str, i, threads=1, ahead=2), None])
def test_stopping_early_closes_the_items_and_leaves_no_thread(make):
    closed = []

    def items():
        try:
            yield from range(1000)
        finally:
            closed.append(threading.current_thread())

    before = threading.active_count()
    results = (make or (lambda i: made_ahead(i, 3)))(items())
    next(results)
    assert threading.active_count() == before + 1
    results.close()
    assert threading.active_count() == before
    assert closed == [threading.current_thread()]


def test_stopping_waits_for_what_runs_and_drops_what_waits(monkeypatch):
    begun, release, done = threading.Event(), threading.Event(), []
    real = ThreadPoolExecutor.shutdown

    def function(item):
        if item:
            begun.set()
            assert release.wait(30)
            time.sleep(0.05)  # a stop that does not wait is over before this
        done.append(item)

    def shutdown(pool, wait=True, *, cancel_futures=False):
        real(pool, wait=False, cancel_futures=cancel_futures)
        release.set()  # only now: what waits has been dropped, or it never will be
        real(pool, wait=wait)

    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", shutdown)
    results = mapped(function, range(50), threads=1, ahead=40)
    next(results)
    assert begun.wait(30)
    results.close()
    assert done == [0, 1]


@pytest.mark.parametrize("make", ["mapped", "made_ahead"])
def test_an_error_comes_in_its_place(make):
    def items():
        yield from (1, 2)
        raise KeyError("third")

    def function(item):
        return 6 // (3 - item)

    if make == "mapped":
        results = mapped(function, range(9), threads=3, ahead=6)
        wanted, error = [2, 3, 6], ZeroDivisionError
    else:
        results = made_ahead(items(), 4)
        wanted, error = [1, 2], KeyError
    assert [next(results) for _ in wanted] == wanted
    with pytest.raises(error):
        next(results)


def test_ctrl_c_while_the_thread_starts(monkeypatch):
    """Then the pool does not know the thread, which is in the middle of an item."""
    busy, closed = threading.Event(), []

    def items():
        try:
            busy.set()
            time.sleep(0.2)
            yield 1
        finally:
            closed.append(True)

    start_thread = ThreadPoolExecutor._adjust_thread_count

    def interrupted(pool):
        start_thread(pool)
        assert busy.wait(30)
        pool._threads.clear()
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "_adjust_thread_count", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(made_ahead(items(), 1))
    assert closed == [True]
