"""Signals at random moments of a command, and how many of them came when it had ended already."""

from __future__ import annotations

import contextlib
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.faults.running import Ended, Running, Undisturbed, contents, run, start

_MOST_LATE = 40  # in one test: a signal that never finds its command tests nothing


class Aim:
    """The hits of one test: those that found their command at work, and those that came late."""

    def __init__(self, rng: random.Random, note_late: Callable[[int], None]) -> None:
        self.hits = 0
        self.late = 0
        self._late_in_a_row = 0
        self._rng = rng
        self._note_late = note_late

    def wait(self, running: Running, seconds: float) -> None:
        """Until a random moment of the next seconds, or the command's end.

        What was taken for the command's time may have been a busy machine's, or is that of a
        command with more to do: the more came late, the earlier the next.
        """
        until = time.monotonic() + self._rng.uniform(0, seconds / (1 + self._late_in_a_row))
        while running.alive and time.monotonic() < until:
            time.sleep(0.002)

    def strike_again(
        self,
        wanted: int,
        left_alone: Undisturbed,
        folder: Path,
        strike: Callable[[Running], Ended],
    ) -> None:
        """Give the command anew until it was hit so often: at its end are the same bytes."""
        while self.hits < wanted:
            out = folder / str(self.late)  # one that was finished cannot be hit again
            words = [*left_alone.words, "--out", out]
            ended = strike(start(left_alone.command, words, folder))
            if ended.code == 0:  # all is there before the command is given again, which may mend
                assert contents(out) == left_alone.files
            if ended.code == 0 or self.hits == wanted:
                run(left_alone.command, words, folder).assert_well()
                assert contents(out) == left_alone.files

    def hit(self, running: Running, number: int, *, group: bool = False) -> Ended:
        """Send the command a signal and wait for its end, and that of all it has started."""
        family = running.family()
        running.signal(number, group=group)
        ended = running.end()
        _assert_gone(family)
        self.count(ended.code != 0)
        return ended

    def interrupt_twice(self, running: Running, seconds: float, *, group: bool = False) -> Ended:
        """Send Ctrl-C at a random moment, and at once again."""
        self.wait(running, seconds)
        running.signal(signal.SIGINT, group=group)
        time.sleep(self._rng.uniform(0, 0.02))
        ended = self.hit(running, signal.SIGINT, group=group)
        assert "Traceback" not in ended.told
        return ended

    def hit_worker(self, running: Running, number: int) -> Ended:
        """Send the signal to one of the workers, as soon as there is one, and wait for all."""
        found = self._strike(running, number)
        family = running.family()
        ended = running.end()
        _assert_gone(family)
        self.count(found)
        return ended

    def count(self, in_time: bool) -> None:
        """Of one attempt: whether it was a hit."""
        if in_time:
            self.hits += 1
            self._late_in_a_row = 0
            return
        self.late += 1
        self._late_in_a_row += 1
        self._note_late(self.late)
        assert self.late < _MOST_LATE

    def _strike(self, running: Running, number: int) -> bool:
        while running.alive:
            workers = running.workers()
            with contextlib.suppress(psutil.NoSuchProcess):  # ended just now: another will do
                if workers:
                    self._rng.choice(workers).send_signal(number)
                    return True
            time.sleep(0.01)
        return False


def _assert_gone(family: list[psutil.Process]) -> None:
    assert psutil.wait_procs(family, timeout=120)[1] == []
