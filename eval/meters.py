"""What a column costs: seconds, and memory on a GPU, without making the host wait."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch


class Meter:
    """Adds up seconds by column, and keeps the most memory that a column's work has taken.

    On a GPU the times are events on its stream, read when predictions are collected. A forward
    that columns share counts for each of them: a column's seconds are what it would cost alone,
    without reading and decoding.
    """

    def __init__(self, device: torch.device, columns: Sequence[str]) -> None:
        self._device = device
        self._cuda = device.type == "cuda"
        self._seconds = dict.fromkeys(columns, 0.0)
        self._memory = dict.fromkeys(columns, 0)
        self._events: list[tuple[tuple[str, ...], torch.cuda.Event, torch.cuda.Event]] = []

    @contextmanager
    def measure(self, *columns: str) -> Iterator[None]:
        """Count what happens inside for these columns."""
        if not self._cuda:
            start = time.perf_counter()
            yield
            self._add(columns, time.perf_counter() - start)
            return
        before = torch.cuda.memory_allocated(self._device)
        torch.cuda.reset_peak_memory_stats(self._device)
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        first.record()
        yield
        last.record()
        self._events.append((columns, first, last))
        taken = torch.cuda.max_memory_allocated(self._device) - before
        for column in columns:
            self._memory[column] = max(self._memory[column], taken)

    def collect(self) -> None:
        """Read the events so far; the device has just been waited for anyway."""
        for columns, first, last in self._events:
            last.synchronize()
            self._add(columns, first.elapsed_time(last) / 1000)
        self._events.clear()

    def _add(self, columns: Sequence[str], seconds: float) -> None:
        for column in columns:
            self._seconds[column] += seconds

    def measured(self, column: str, frames: int, kept: int) -> dict[str, Any]:
        """For a result file; ``kept`` is the memory that the column's network takes at rest."""
        seconds = self._seconds[column]
        return {
            "seconds": seconds,
            "frames_per_second": frames / seconds if seconds else None,
            "peak_memory_bytes": self._memory[column] + kept if self._cuda else None,
        }

    def state(self) -> dict[str, Any]:
        """The counts so far, for a checkpoint."""
        self.collect()
        return {"seconds": dict(self._seconds), "memory": dict(self._memory)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`state` returned."""
        self._seconds = {column: amount(state["seconds"][column]) for column in self._seconds}
        self._memory = {column: int(amount(state["memory"][column])) for column in self._memory}


def amount(value: Any) -> float:
    """Seconds or bytes out of a file."""
    if not isinstance(value, int | float) or not 0 <= value < 2**63:
        raise ValueError(f"{value!r} is no amount")
    return float(value)
