"""What every benchmark is made of: turns, medians with their spread, and rows of the page."""

from __future__ import annotations

import ctypes
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

SECONDS_BETWEEN_LOOKS = 0.05


@dataclass(frozen=True)
class Figure:
    """One measurement, round by round."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The value that is reported."""
        return statistics.median(self.rounds)

    @property
    def spread(self) -> tuple[float, float]:
        """The smallest and the largest."""
        return min(self.rounds), max(self.rounds)

    def over(self, other: Figure) -> Figure:
        """The ratio in each round: neighbours in time share a busy spell of the machine."""
        return Figure(tuple(a / b for a, b in zip(self.rounds, other.rounds, strict=True)))

    def least_over(self, other: Figure) -> Compared:
        """The ratio of the least disturbed rounds of both, with the spread of all rounds."""
        return Compared(min(self.rounds) / min(other.rounds), self.over(other).spread)

    def rate(self, count: float) -> Figure:
        """So many things a second, where this is the seconds that they took."""
        return Figure(tuple(count / seconds for seconds in self.rounds))

    def times(self, factor: float) -> Figure:
        """In another unit."""
        return Figure(tuple(factor * value for value in self.rounds))


@dataclass(frozen=True)
class Compared:
    """A value that is no median, and the spread that belongs to it."""

    value: float
    spread: tuple[float, float]


@dataclass(frozen=True)
class Row:
    """A line of the page. ``bound`` says on which side of the floor the value must be."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    bound: str | None = None
    holds: bool | None = None
    spread: tuple[float, float] | None = None
    subject: str = ""  # whose page's part it stands in
    quick: bool = False

    def cells(self) -> list[str]:
        """What the page's table shows of it."""
        sign = {"least": "≥ ", "most": "≤ ", None: ""}[self.bound]
        between = "" if self.spread is None else " to ".join(f"{v:.3g}" for v in self.spread)
        floor = "" if self.floor is None else f"{sign}{self.floor:g}"
        holds = {True: "yes", False: "**no**", None: ""}[self.holds]
        return [self.name, f"{self.value:.4g} {self.unit}", between, floor, holds]


def row(name: str, figure: Figure | Compared | float, unit: str = "×") -> Row:
    """A figure without a floor."""
    if isinstance(figure, Figure):
        return Row(name, figure.median, unit, spread=figure.spread)
    if isinstance(figure, Compared):
        return Row(name, figure.value, unit, spread=figure.spread)
    return Row(name, figure, unit)


def at_least(name: str, figure: Figure | Compared | float, floor: float, unit: str = "×") -> Row:
    """A figure that must not be lower."""
    plain = row(name, figure, unit)
    return Row(name, plain.value, unit, floor, "least", plain.value >= floor, plain.spread)


def at_most(name: str, figure: Figure | Compared | float, floor: float, unit: str = "×") -> Row:
    """A figure that must not be higher."""
    plain = row(name, figure, unit)
    return Row(name, plain.value, unit, floor, "most", plain.value <= floor, plain.spread)


def seconds_of(call: Callable[[], object]) -> float:
    """How long it takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def alternate(
    what: Mapping[str, Callable[[], float]], rounds: int, *, warm_up: int = 1
) -> dict[str, Figure]:
    """What each returns, run in turns after rounds that are not counted.

    Whole commands and passes need no warming up: they start anew each time.
    """
    found: dict[str, list[float]] = {name: [] for name in what}
    for turn in range(warm_up + rounds):
        for name, measured in what.items():
            value = measured()
            if turn >= warm_up:
                found[name].append(value)
    return {name: Figure(tuple(values)) for name, values in found.items()}


def peak_memory(call: Callable[[], object]) -> int:
    """The most bytes that this process holds while it makes the call, as Linux counts them."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what earlier calls have freed and the allocator has kept
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from what is held now
    call()
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


@dataclass(frozen=True)
class Ran:
    """What a command took: seconds, and bytes at their peak."""

    seconds: float
    largest: int  # of its largest process
    together: int  # of all its processes at one moment


def command(*words: object) -> Ran:
    """Run ``python -m ...`` to its end, the start of Python included.

    Memory is seen by looking often: the kernel's own count begins with the memory of the process
    that started the command.
    """
    started = time.perf_counter()
    process = psutil.Popen([sys.executable, "-m", *map(str, words)], stdout=subprocess.DEVNULL)
    largest = together = 0
    while process.poll() is None:
        sizes = _sizes(process)
        largest, together = max(largest, *sizes), max(together, sum(sizes))
        time.sleep(SECONDS_BETWEEN_LOOKS)
    seconds = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(
            f"python -m {' '.join(map(str, words))} ended with exit code {process.returncode}"
        )
    return Ran(seconds, largest, together)


def _sizes(process: psutil.Popen) -> list[int]:
    """The resident memory of a process and of each below it."""
    try:
        family = [process, *process.children(recursive=True)]
        return [int(member.memory_info().rss) for member in family]
    except psutil.NoSuchProcess:
        return [0]  # one has just ended


def table(rows: Sequence[Row]) -> list[str]:
    """The rows as a Markdown table."""
    head = ["| what | measured | smallest to largest | floor | holds |", "|---|---:|---:|---:|---|"]
    return head + [f"| {' | '.join(each.cells())} |" for each in rows]


def to_json(rows: Sequence[Row]) -> str:
    """The rows for programs."""
    return json.dumps([asdict(each) for each in rows], indent=1) + "\n"


def from_json(stored: Mapping[str, Any]) -> Row:
    """A row as :func:`to_json` wrote it."""
    spread = stored.get("spread")
    return Row(**{**stored, "spread": None if spread is None else (spread[0], spread[1])})


def alone(measure: Callable[[bool], list[Row]], words: Sequence[str]) -> int:
    """``python -m benchmarks.NAME [--quick] [--json FILE]``; 1 where a floor does not hold."""
    import cv2

    cv2.setNumThreads(1)  # as in a worker of a build
    rows = measure("--quick" in words)
    print("\n".join(table(rows)))
    if "--json" in words:
        Path(words[words.index("--json") + 1]).write_text(to_json(rows), "utf-8")
    return 0 if all(each.holds is not False for each in rows) else 1
