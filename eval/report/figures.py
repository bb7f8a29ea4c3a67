"""The page's charts as figures for a paper: PDF, SVG and PNG, the same bytes every time."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vidc.eval.report.analysis import CellView
from vidc.eval.report.error_table import all_columns
from vidc.eval.report.measures import RELIABILITY_BINS
from vidc.eval.report.palette import Look, looks
from vidc.eval.report.runs import Column, Run
from vidc.eval.table import row_label
from vidc.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.0  # inches: the text of a one-column page, or two columns of a narrow one
PANELS_A_ROW = 3
MOST_CELLS = 12  # of a dataset: beyond that a figure is no figure
MOST_CLASSES = 30
MOST_LETTERS = 32  # of a class's name: a longer one would leave no room for the picture
LEGEND_COLUMNS = 4
RESOLUTION = 200  # of the PNG, in dots an inch
GAP = 22  # between two reliability diagrams, in percent of one
SETTINGS: dict[Any, Any] = {
    # Ships with matplotlib, so every machine draws the same; goes with a paper's text; and a
    # fifth of DejaVu's time to embed.
    "font.family": ["STIXGeneral"],
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.2,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # journals refuse Type 3 fonts
    "svg.hashsalt": "vidc",
    "text.parse_math": False,  # a class may have a dollar in its name, which is no formula
}


@dataclass(frozen=True)
class _Group:
    """The cells of one dataset of one run: one figure of each kind."""

    name: str
    columns: Sequence[Column]
    looks: Mapping[str, Look]
    views: Sequence[CellView]
    batch: int


def write_figures(
    runs: Sequence[Run], labels: Sequence[str], views: Iterable[tuple[int, CellView]], out: Path
) -> list[Path]:
    """Draw every dataset of every run into ``out``; returns the files."""
    import matplotlib as mpl

    drawn = list(views)
    out.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    taken: set[str] = set()
    look = looks(all_columns(runs))
    with mpl.rc_context():
        # From matplotlib's own defaults, whatever the user's matplotlibrc says.
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        for number, run in enumerate(runs):
            of_run = [view for of, view in drawn if of == number]
            for group in _groups(run, labels[number] if len(runs) > 1 else "", of_run, look):
                name = _free(group.name, taken)
                taken.add(name)
                for kind, draw in KINDS.items():
                    files += _save(draw(group), out / f"{kind}-{name}")
    return files


def _groups(
    run: Run, label: str, views: Sequence[CellView], look: Mapping[str, Look]
) -> list[_Group]:
    by_dataset: dict[str, list[CellView]] = {}
    # Seeds repeat a picture that differs in noise only: the first one is drawn.
    first_seed = min(view.cell.seed for view in views)
    for view in views:
        if view.cell.seed == first_seed:
            by_dataset.setdefault(view.cell.dataset, []).append(view)
    return [
        _Group(
            name=_file_name(f"{label}-{dataset}" if label else dataset),
            columns=run.columns,
            looks=look,
            views=of_dataset[:MOST_CELLS],
            batch=int(run.raw["protocol"]["stream"]["batch"]),
        )
        for dataset, of_dataset in by_dataset.items()
    ]


def _file_name(name: str) -> str:
    """A run's or dataset's name with nothing in it that a file system or LaTeX minds."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-")


def _free(name: str, taken: Set[str]) -> str:
    """The name, numbered where another dataset's is spelled the same: a.b and a-b are two."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(free for free in itertools.chain([name], numbered) if free not in taken)


def _stream(group: _Group) -> Figure:
    def panel(axes: Axes, view: CellView) -> None:
        curves = view.curves
        for line in _lines(axes, group, curves.positions + 1, curves.so_far):
            line.set_markevery(max(1, len(curves.positions) // 8))
        axes.set_xlabel("frames seen")

    return _panels(group, panel)


def _since_change(group: _Group) -> Figure:
    def panel(axes: Axes, view: CellView) -> None:
        found = view.since_change
        any_column = next(iter(found.values()))
        shown = any_column.frames >= any_column.enough
        middles = np.sqrt((any_column.starts + 1.0) * any_column.stops)[shown]
        _lines(axes, group, middles, {id: one.error[shown] for id, one in found.items()})
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.axvline(group.batch, color="0.5", linewidth=0.6, linestyle=":")
        axes.set_xlabel("frames since the class last changed")

    return _panels(group, panel)


def _reliability(group: _Group) -> Figure:
    """A row a cell, a diagram a column; one axes a row, because many axes take long to draw."""
    figure = _figure(WIDTH, 0.3 + 1.5 * len(group.views))
    grid = figure.subplots(len(group.views), 1, sharex=True, squeeze=False).ravel()
    for axes, view in zip(grid, group.views, strict=True):
        for place, column in enumerate(group.columns):
            found = view.reliability[column.id]
            left = place * (100 + GAP)
            edges = left + np.arange(RELIABILITY_BINS + 1) * 100 / RELIABILITY_BINS
            color = group.looks[column.id].light
            axes.stairs(np.nan_to_num(found.accuracy), edges, fill=True, color=color)
            axes.plot([left, left + 100], [0, 100], color="0.4", linewidth=0.6, linestyle="--")
            # Above the diagram: over its bars the words would be lost.
            axes.text(left, 103, f"{column.name}\nECE {found.ece:.1f}", va="bottom", fontsize=7)
        axes.set_title(_title(view), loc="left", pad=26)
        axes.set_ylabel("accuracy, %")
        axes.grid(visible=False, axis="x")
        axes.set(ylim=(0, 100), yticks=(0, 50, 100), xlim=(-4, len(group.columns) * (100 + GAP)))
    starts = np.arange(len(group.columns)) * (100 + GAP)
    ticks = np.sort(np.concatenate((starts, starts + 50, starts + 100)))
    grid[-1].set_xticks(ticks, ["0", "50", "100"] * len(group.columns), fontsize=6.5)
    grid[-1].set_xlabel("confidence, %")
    return figure


def _classes(group: _Group) -> Figure:
    names = _class_order(group)
    shown = group.views
    rows = -(-len(shown) // _a_row(len(shown)))
    # Columns' names stand upright below a panel: a pair's or a user's is longer than the paper's.
    longest = max(len(column.name) for column in group.columns)
    figure = _figure(WIDTH, rows * (1.0 + 0.07 * max(0, longest - 9) + 0.13 * len(names)))
    grid = _grid(figure, len(shown))
    for axes, view in zip(grid, shown, strict=True):
        errors = _class_errors(group, view, names)
        image = axes.imshow(errors, cmap="Greys", vmin=0, vmax=100, aspect="auto")
        axes.set_title(_title(view))
        axes.grid(visible=False)
        axes.set_xticks(range(len(group.columns)), [c.name for c in group.columns], rotation=90)
        axes.set_yticks(range(len(names)), [_short(name) for name in names])
    figure.colorbar(image, ax=list(grid), label="error, %", shrink=0.6)
    return figure


def _short(name: str) -> str:
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"


def _class_errors(
    group: _Group, view: CellView, names: Sequence[str]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    scores = [view.cell.columns[column.id].classes for column in group.columns]
    return np.array(
        [[one[name].error if name in one else np.nan for one in scores] for name in names]
    )


def _class_order(group: _Group) -> list[str]:
    """The classes where the columns differ most, over all panels."""
    known = dict.fromkeys(
        name
        for view in group.views
        for scores in view.cell.columns.values()
        for name in scores.classes
    )
    spread = dict.fromkeys(known, 0.0)
    for view in group.views:
        for name, errors in zip(known, _class_errors(group, view, list(known)), strict=True):
            if not np.isnan(errors).any():
                spread[name] += float(np.ptp(errors))
    return sorted(known, key=lambda name: (-spread[name], name))[:MOST_CLASSES]


def _panels(group: _Group, panel: Callable[[Axes, CellView], None]) -> Figure:
    """One panel a cell, with one legend below all of them."""
    a_row = _a_row(len(group.views))
    figure = _figure(WIDTH, 0.6 + 2.0 * -(-len(group.views) // a_row))
    grid = _grid(figure, len(group.views))
    for axes, view in zip(grid, group.views, strict=True):
        panel(axes, view)
        axes.set_title(_title(view))
        axes.set_ylim(0, 100)
    for axes in grid[::a_row]:
        axes.set_ylabel("error, %")
    handles, names = grid[0].get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside lower center", ncols=LEGEND_COLUMNS, handlelength=2.6
    )
    return figure


def _lines(
    axes: Axes, group: _Group, x: np.ndarray[Any, Any], errors: Mapping[str, np.ndarray[Any, Any]]
) -> list[Any]:
    lines = []
    for column in group.columns:
        look = group.looks[column.id]
        (line,) = axes.plot(
            x, errors[column.id], color=look.light, marker=look.marker, label=column.name
        )
        if look.dash:
            # A hollow marker tells a dashed line from its full twin where the dashes are short.
            line.set(dashes=look.dash, markerfacecolor="white")
        lines.append(line)
    return lines


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _grid(figure: Figure, panels: int) -> list[Axes]:
    """As many axes as panels; what is left of the last row stays empty."""
    columns = _a_row(panels)
    grid = figure.subplots(-(-panels // columns), columns, sharey=True, squeeze=False).ravel()
    for axes in grid[panels:]:
        axes.remove()
    return list(grid[:panels])


def _a_row(panels: int) -> int:
    """Panels side by side: four stand two by two."""
    return 2 if panels == 4 else min(PANELS_A_ROW, panels)


def _title(view: CellView) -> str:
    return row_label(view.cell.corruption, view.cell.severity)


def _save(figure: Figure, stem: Path) -> list[Path]:
    # Laid out once for all three formats: that is most of the work.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    files = []
    for kind, data in _printed(figure).items():
        file = stem.with_name(f"{stem.name}.{kind}")
        write_whole(file, data)
        files.append(file)
    return files


def _printed(figure: Figure) -> dict[str, bytes]:
    """The figure in each format, by the canvas that ``savefig`` would draw it twice on."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    # Without the metadata a file holds the time it was made at.
    kinds: tuple[tuple[str, Any, dict[str, None]], ...] = (
        ("pdf", FigureCanvasPdf, {"CreationDate": None}),
        ("svg", FigureCanvasSVG, {"Date": None}),
        ("png", FigureCanvasAgg, {"Software": None}),
    )
    printed = {}
    for kind, canvas, metadata in kinds:
        figure.set_dpi(RESOLUTION)  # each leaves the figure with one of its own
        out = io.BytesIO()
        getattr(canvas(figure), f"print_{kind}")(out, metadata=metadata)
        printed[kind] = out.getvalue()
    return printed


KINDS: dict[str, Callable[[_Group], Figure]] = {
    "stream": _stream,
    "since-change": _since_change,
    "reliability": _reliability,
    "classes": _classes,
}
