"""The numbers that the page's script draws, small enough to travel inside the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vidc.eval.report.analysis import CellView, Curves
from vidc.eval.report.measures import Reliability, SinceChange
from vidc.eval.report.predictions import CellKey
from vidc.eval.report.runs import Column, Part, Run, Scores
from vidc.eval.table import row_label, row_order

# With these the page of a run of any size stays under five megabytes.
CURVE_VALUES = 260_000
MATRIX_ROWS = 12_000
STRETCHES = 120_000
MOST_POINTS, FEWEST_POINTS = 360, 24
MOST_ROWS, FEWEST_ROWS = 600, 20


@dataclass(frozen=True)
class Budget:
    """How much of each cell the page holds, given how many cells it has to hold."""

    points: int
    rows: int
    stretches: int


class Names:
    """Class and video names, each written once however often it is used."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, name: str) -> int:
        """The name's index in :attr:`all`."""
        return self._places.setdefault(name, len(self._places))

    @property
    def all(self) -> list[str]:
        """The names in the order of their indices."""
        return list(self._places)


def budget(runs: Sequence[Run]) -> Budget:
    """Share what a page may hold between all cells and columns."""
    cells = sum(len(run.cells) for run in runs)
    lines = sum(len(run.cells) * len(run.columns) for run in runs)
    return Budget(
        points=_clamp(CURVE_VALUES // (2 * lines), FEWEST_POINTS, MOST_POINTS),
        rows=_clamp(MATRIX_ROWS // cells, FEWEST_ROWS, MOST_ROWS),
        stretches=STRETCHES // cells,
    )


def keys(runs: Sequence[Run]) -> list[CellKey]:
    """Every cell of any run, once and in the table's order: what the page can be turned to."""
    every = dict.fromkeys(cell.key for run in runs for cell in run.cells)
    datasets = list(dict.fromkeys(dataset for dataset, *_ in every))

    def place(key: CellKey) -> tuple[int, tuple[int, str, int], int]:
        dataset, corruption, severity, seed = key
        return datasets.index(dataset), row_order((corruption, severity)), seed

    return sorted(every, key=place)


def key_label(key: CellKey, every: Iterable[CellKey]) -> str:
    """A cell's name in the list to choose from; its seed only where seeds differ."""
    seeds = len({seed for *_, seed in every}) > 1
    _, corruption, severity, seed = key
    return row_label(corruption, severity) + (f", seed {seed}" if seeds else "")


def cell_payload(view: CellView, run: Run, names: Names, limits: Budget) -> dict[str, Any]:
    """One cell of one run, for the script."""
    classes = run.datasets[view.cell.dataset].classes

    def class_name(label: int) -> int:
        known = 0 <= label < len(classes)
        return names.place(classes[label] if known else f"class {label}")

    columns = [column.id for column in run.columns]
    scores = view.cell.columns
    return {
        "frames": view.cell.frames,
        "columns": columns,
        "error": {column: _number(scores[column].error) for column in columns},
        "curves": _curves(view.curves, view, names, class_name),
        "stretches": _stretches(view, limits.stretches),
        "reliability": {column: _reliability(view.reliability[column]) for column in columns},
        "since": _since(view.since_change),
        "classes": matrix(scores, lambda one: one.classes, names, limits.rows),
        "videos": matrix(scores, lambda one: one.videos, names, limits.rows),
    }


def matrix(
    scores: Mapping[str, Scores],
    parts: Callable[[Scores], Mapping[str, Part]],
    names: Names,
    most: int,
) -> dict[str, Any]:
    """Errors by class or video, at most ``most``: first those where the columns differ most."""
    first = parts(next(iter(scores.values())))
    rows = []
    for name, part in first.items():
        found = [parts(one).get(name) for one in scores.values()]
        errors = [one.error if one else math.nan for one in found]
        spread = max(errors) - min(errors)
        rows.append((-spread, name, part, errors))
    rows.sort(key=lambda row: row[:2])
    return {
        "of": len(rows),
        "rows": [
            {
                "name": names.place(name),
                "label": names.place(part.label) if part.label else None,
                "frames": part.frames,
                "errors": [_number(error) for error in errors],
            }
            for _, name, part, errors in rows[:most]
        ],
    }


def column_payload(columns: Sequence[Column]) -> list[dict[str, str]]:
    """The columns of the page in their order."""
    return [{"id": column.id, "name": column.name} for column in columns]


def _curves(
    curves: Curves, view: CellView, names: Names, class_name: Callable[[int], int]
) -> dict[str, Any]:
    return {
        "positions": curves.positions.tolist(),
        "soFar": {column: _numbers(values) for column, values in curves.so_far.items()},
        "recent": {column: _numbers(values) for column, values in curves.recent.items()},
        "window": curves.window,
        "video": [names.place(view.videos[video]) for video in curves.video],
        "class": [class_name(int(label)) for label in curves.label],
    }


def _stretches(view: CellView, most: int) -> list[int] | None:
    """Where each stretch of one video begins, if the page has room for them."""
    if view.stretches is None or len(view.stretches) > most:
        return None
    return [int(start) for start in view.stretches]


def _reliability(found: Reliability) -> dict[str, Any]:
    return {
        "ece": _number(found.ece),
        "frames": found.frames.tolist(),
        "confidence": _numbers(found.confidence),
        "accuracy": _numbers(found.accuracy),
    }


def _since(found: Mapping[str, SinceChange]) -> dict[str, Any]:
    any_column = next(iter(found.values()))
    return {
        "starts": any_column.starts.tolist(),
        "stops": any_column.stops.tolist(),
        "frames": any_column.frames.tolist(),
        "enough": any_column.enough,
        "error": {column: _numbers(one.error) for column, one in found.items()},
    }


def _numbers(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    return [_number(value) for value in values.tolist()]


def _number(value: float) -> float | None:
    """Two decimals, more than a pixel can show; or as many as show the table's one decimal.

    76.9499 with two decimals is 76.95, which a page would round to 77.0 and the table to 76.9.
    """
    if math.isnan(value):
        return None
    rounded = (round(value, places) for places in (2, 4, 6))
    return next((near for near in rounded if f"{near:.1f}" == f"{value:.1f}"), value)


def _clamp(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))
