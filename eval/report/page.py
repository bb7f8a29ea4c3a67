"""report.html: one file that holds its style, its script, its numbers and its pictures."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidc.eval.report import payload
from vidc.eval.report.analysis import CellView
from vidc.eval.report.costs import Cost, costs, process_memory
from vidc.eval.report.disagreement import BASE, OURS, Disagreement
from vidc.eval.report.error_table import all_columns, error_blocks, error_table
from vidc.eval.report.palette import Look, looks
from vidc.eval.report.payload import Budget, Names
from vidc.eval.report.predictions import CellKey
from vidc.eval.report.runs import Run
from vidc.eval.report.settings import Sheet, command_line, differences, sheets
from vidc.eval.report.summary import Headline, headlines
from vidc.eval.report.thumbnails import Album, Pictures
from vidc.eval.table import changed
from vidc.frames import CLEAN

FOLDER = Path(__file__).parent
TEMPLATE = "page.html.j2"
STYLE = "style.css"
SCRIPTS = ("dom.js", "plot.js", "charts.js", "tables.js", "page.js")

MOST_PICTURES = 48
MOST_PICTURES_A_CELL = 12
MOST_PICTURE_BYTES = 1_000_000


@dataclass(frozen=True)
class RunPart:
    """What the page says of one run outside the charts."""

    label: str
    headlines: Sequence[Headline]
    frames: int
    videos: int
    model: str
    protocol: str
    order: str
    batch: int
    costs: Sequence[Cost]
    process_memory: float | None
    command: str
    sheets: Sequence[Sheet]


@dataclass(frozen=True)
class FramesPart:
    """The frames that two columns answer differently, of one cell of one run."""

    view: int
    run: int
    found: Disagreement | None
    pictures: Pictures
    classes: Sequence[str]

    def class_name(self, label: int) -> str:
        """The name of a label; a prediction may be outside the dataset's classes."""
        return self.classes[label] if 0 <= label < len(self.classes) else "none of the classes"

    def class_names(self, labels: Iterable[int]) -> str:
        """The names of several labels."""
        return ", ".join(map(self.class_name, labels))


class PageBuilder:
    """Takes the cells of all runs one after another, then writes the page."""

    def __init__(self, runs: Sequence[Run], labels: Sequence[str], limits: Budget) -> None:
        self._runs = runs
        self._labels = labels
        self._limits = limits
        self._names = Names()
        self._keys = payload.keys(runs)
        self._cells: dict[tuple[CellKey, int], dict[str, Any]] = {}
        self._frames: list[FramesPart] = []
        self._album = Album(MOST_PICTURE_BYTES)

    def add(self, number: int, view: CellView) -> None:
        """Take what the page needs of one cell of run ``number``."""
        run = self._runs[number]
        key = view.cell.key
        self._cells[key, number] = payload.cell_payload(view, run, self._names, self._limits)
        dataset = run.datasets[view.cell.dataset]
        picks = view.disagreement.picks if view.disagreement else ()
        pictures = self._album.pictures(view.cell, dataset, picks)
        place = self._keys.index(key)
        self._frames.append(FramesPart(place, number, view.disagreement, pictures, dataset.classes))

    def html(self) -> str:
        """The whole page."""
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup

        columns = all_columns(self._runs)
        look = looks(columns)
        style = (FOLDER / STYLE).read_text("utf-8") + _column_style([look[c.id] for c in columns])
        script = "".join((FOLDER / "script" / name).read_text("utf-8") for name in SCRIPTS)
        environment = Environment(
            loader=FileSystemLoader(FOLDER),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["count"] = lambda number: f"{number:,}"
        return environment.get_template(TEMPLATE).render(
            policy=_policy(style, script),
            # Our own files, not input: everything else goes through the template's escaping.
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            title=self._title(),
            runs=[
                _run_part(run, label) for run, label in zip(self._runs, self._labels, strict=True)
            ],
            columns=columns,
            blocks=error_blocks(self._runs, self._labels, columns),
            views=self._views(),
            first_view=self._first_view(),
            frames=self._frames,
            names={column.id: column.name for column in columns},
            ours=OURS,
            base=BASE,
            differences=differences(self._runs),
            data=self._data(),
        )

    def _title(self) -> str:
        if len(self._runs) == 1:
            return self._labels[0]
        return f"{len(self._runs)} runs side by side"

    def _views(self) -> list[tuple[str, list[tuple[int, str]]]]:
        """The cells to choose from, by dataset: each dataset's name, and (index, label) of each."""
        grouped: dict[str, list[tuple[int, str]]] = {}
        for index, key in enumerate(self._keys):
            grouped.setdefault(key[0], []).append((index, payload.key_label(key, self._keys)))
        return list(grouped.items())

    def _first_view(self) -> int:
        """A corrupted cell that as many runs as possible hold: what one opens a page for."""
        held = Counter(key for key, _ in self._cells)
        ranks = [(key[1] == CLEAN, -held[key]) for key in self._keys]
        return ranks.index(min(ranks))

    def _data(self) -> dict[str, Any]:
        every = range(len(self._runs))
        return {
            "columns": payload.column_payload(all_columns(self._runs)),
            "runs": [
                {"label": label, "batch": _batch(run)}
                for run, label in zip(self._runs, self._labels, strict=True)
            ],
            "views": [
                {
                    "dataset": key[0],
                    "cells": [self._cells.get((key, number)) for number in every],
                }
                for key in self._keys
            ],
            "names": self._names.all,
        }


def pictures_a_cell(runs: Iterable[Run]) -> int:
    """How many frames to look at in each cell, for the page to hold them all."""
    cells = sum(len(run.cells) for run in runs)
    return min(MOST_PICTURES_A_CELL, max(1, MOST_PICTURES // cells))


def _run_part(run: Run, label: str) -> RunPart:
    model = run.raw["model"]
    return RunPart(
        label=label,
        headlines=headlines(error_table(run)),
        # A frame under three corruptions is three frames; under three seeds it is one.
        frames=sum({cell.key[:3]: cell.frames for cell in run.cells}.values()),
        videos=_videos(run),
        model=" ".join(str(model[key]) for key in ("name", "weights") if model.get(key)),
        protocol=f"{run.raw['protocol']['name']}{changed(run.raw['protocol'])}",
        order=_order(run),
        batch=_batch(run),
        costs=costs(run),
        process_memory=process_memory(run),
        command=command_line(run),
        sheets=sheets(run),
    )


def _order(run: Run) -> str:
    limit = run.raw.get("limit_frames")
    order = run.order.replace("-", " ")
    return order if limit is None else f"the first {limit} of each stream {order}"


def _videos(run: Run) -> int:
    """Different videos; the same one under three corruptions is one video."""
    found: set[tuple[str, str]] = set()
    for cell in run.cells:
        any_column = next(iter(cell.columns.values()))
        found |= {(cell.dataset, video) for video in any_column.videos}
    return len(found)


def _batch(run: Run) -> int:
    return int(run.raw["protocol"]["stream"]["batch"])


def _column_style(every: Sequence[Look]) -> str:
    """The columns' colours, as the classes column-0, column-1 and so on."""
    light = "".join(f".column-{i}{{--column:{look.light}}}\n" for i, look in enumerate(every))
    dark = "".join(f".column-{i}{{--column:{look.dark}}}\n" for i, look in enumerate(every))
    dashes = "".join(
        f".column-{i} .line,.line.column-{i}{{stroke-dasharray:{' '.join(map(str, look.dash))}}}\n"
        for i, look in enumerate(every)
        if look.dash
    )
    return f"{light}@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n{dashes}"


def _policy(style: str, script: str) -> str:
    """What a browser may do with the page: run this script, apply this style, and reach nothing."""
    allowed = {"script-src": script, "style-src": style}
    hashes = "; ".join(f"{what} 'sha256-{_digest(text)}'" for what, text in allowed.items())
    return f"default-src 'none'; {hashes}; img-src data:; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
