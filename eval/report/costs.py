"""What each column cost: speed and memory over a whole run."""

from __future__ import annotations

from dataclasses import dataclass

from vidc.eval.report.disagreement import BASE
from vidc.eval.report.runs import Column, Run


@dataclass(frozen=True)
class Cost:
    """One column; None where it was not measured. A share is of the largest, for the bar."""

    column: Column
    seconds: float | None
    against_source: float | None  # seconds as a multiple of Source's
    frames_per_second: float | None
    speed_share: float
    memory_bytes: int | None
    memory_share: float


def costs(run: Run) -> list[Cost]:
    """Seconds added up and the most memory, over all the run's cells."""
    seconds = {column.id: _seconds(run, column.id) for column in run.columns}
    memory = {column.id: _memory(run, column.id) for column in run.columns}
    frames = sum(cell.frames for cell in run.cells)
    speed = {id: frames / taken if taken else None for id, taken in seconds.items()}
    fastest = max(filter(None, speed.values()), default=1.0)
    largest = max(filter(None, memory.values()), default=1)
    return [
        Cost(
            column=column,
            seconds=seconds[column.id],
            against_source=_ratio(seconds[column.id], seconds.get(BASE)),
            frames_per_second=speed[column.id],
            speed_share=(speed[column.id] or 0.0) / fastest,
            memory_bytes=memory[column.id],
            memory_share=(memory[column.id] or 0) / largest,
        )
        for column in run.columns
    ]


def process_memory(run: Run) -> float | None:
    """The most bytes that the process which ran the cells held, for all columns together."""
    known = (cell.process_memory for cell in run.cells)
    return max((held for held in known if held is not None), default=None)


def _ratio(seconds: float | None, source: float | None) -> float | None:
    return seconds / source if seconds is not None and source else None


def _seconds(run: Run, column: str) -> float | None:
    """None unless every cell was timed: a part of the time against all frames would be a lie."""
    taken = [cell.columns[column].measured.seconds for cell in run.cells]
    known = [seconds for seconds in taken if seconds is not None]
    return sum(known) if len(known) == len(taken) else None


def _memory(run: Run, column: str) -> int | None:
    peaks = (cell.columns[column].measured.peak_memory_bytes for cell in run.cells)
    return max((peak for peak in peaks if peak is not None), default=None)
