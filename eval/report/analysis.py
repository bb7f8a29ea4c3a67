"""What the report shows of each cell, taken from its frames once, for the page and the figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vidc.errors import InputError
from vidc.eval.report import measures
from vidc.eval.report.disagreement import Disagreement, find_disagreement
from vidc.eval.report.measures import Floats, Ints, Reliability, SinceChange
from vidc.eval.report.predictions import CellFrames, Predictions
from vidc.eval.report.runs import Cell, Run

# Beyond this many stretches of video a stream is as good as shuffled: there is nothing to mark.
MOST_STRETCHES = 3000
# results.json may be rounded; a file of another run is off by more.
ROUNDING = 0.06


@dataclass(frozen=True)
class Curves:
    """Every column's error along the stream at the same positions, and the frame that is there."""

    positions: Ints
    so_far: dict[str, Floats]
    recent: dict[str, Floats]
    window: int
    label: Ints
    video: Ints


@dataclass(frozen=True)
class CellView:
    """All that is drawn of one cell of one run."""

    cell: Cell
    videos: tuple[str, ...]
    curves: Curves
    stretches: Ints | None  # where each stretch of one video begins; None when shuffled
    reliability: dict[str, Reliability]
    since_change: dict[str, SinceChange]
    disagreement: Disagreement | None


def views(run: Run, points: int, frames_to_show: int) -> Iterator[CellView]:
    """The view of each cell in turn: no two cells' frames are in memory together."""
    columns = [column.id for column in run.columns]
    predictions = Predictions(run.predictions, columns)
    for cell in run.cells:
        frames = predictions.read(cell.key)
        _check_agreement(run, cell, frames)
        yield _view(cell, frames, points, frames_to_show)


def _view(cell: Cell, frames: CellFrames, points: int, frames_to_show: int) -> CellView:
    since = measures.frames_since_change(frames.label)
    return CellView(
        cell=cell,
        videos=frames.videos,
        curves=_curves(frames, points),
        stretches=_stretches(frames),
        reliability={
            column: measures.reliability(frames.confidence[column], wrong)
            for column, wrong in frames.wrong.items()
        },
        since_change={
            column: measures.error_since_change(since, wrong)
            for column, wrong in frames.wrong.items()
        },
        disagreement=find_disagreement(frames, frames_to_show),
    )


def _curves(frames: CellFrames, points: int) -> Curves:
    positions = measures.curve_positions(len(frames), points)
    window = measures.window_length(len(frames))
    return Curves(
        positions=positions,
        so_far={
            column: measures.error_so_far(wrong, positions)
            for column, wrong in frames.wrong.items()
        },
        recent={
            column: measures.recent_error(wrong, positions, window)
            for column, wrong in frames.wrong.items()
        },
        window=window,
        label=frames.label[positions],
        video=frames.video[positions].astype(np.int64),
    )


def _stretches(frames: CellFrames) -> Ints | None:
    starts = np.flatnonzero(np.diff(frames.video, prepend=-1) != 0)
    shuffled = len(starts) > MOST_STRETCHES or len(starts) > 2 * len(frames.videos)
    return None if shuffled else starts.astype(np.int64)


def _check_agreement(run: Run, cell: Cell, frames: CellFrames) -> None:
    """The two files tell of the same run: page and table must not contradict one another."""
    if len(frames) != cell.frames:
        raise InputError(
            f"{run.predictions} has {len(frames)} frames of {cell.dataset} {cell.corruption} and "
            f"results.json {cell.frames}: they are not of one run, so run the evaluation again."
        )
    for column, scores in cell.columns.items():
        error = frames.error(column)
        if abs(error - scores.error) > ROUNDING:
            raise InputError(
                f"{run.predictions} gives '{column}' an error of {error:.2f} % on {cell.dataset} "
                f"{cell.corruption} and results.json {scores.error:.2f} %: they are not of one "
                "run, so run the evaluation again."
            )
