"""Results in, pictures out: one page that can be mailed, and figures and a table for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vidc.eval.report.runs import Run

PAGE = "report.html"
FIGURES = "figures"
TABLE = "table.tex"


def write(runs: Sequence[Path], out: Path, *, figures: bool = True) -> Path:
    """Make report.html and, in figures/, plots and table.tex, from the folders of finished runs.

    Nothing is evaluated again: results.json and predictions.parquet are all that is read, and the
    dataset's own frames where they are still on this machine. Returns the page's path.
    """
    from vidc.eval.report import analysis, page, payload
    from vidc.eval.report.runs import read_run
    from vidc.files import write_whole

    read = [read_run(Path(run)) for run in runs]
    labels = _labels(read)
    limits = payload.budget(read)
    builder = page.PageBuilder(read, labels, limits)
    pictures = page.pictures_a_cell(read)
    views = []
    for number, run in enumerate(read):
        for view in analysis.views(run, limits.points, pictures):
            builder.add(number, view)
            views.append((number, view))
    html = builder.html()
    out.mkdir(parents=True, exist_ok=True)
    if figures:
        from vidc.eval.report.figures import write_figures

        write_figures(read, labels, views, out / FIGURES)
        write_whole(out / FIGURES / TABLE, _latex(read).encode("utf-8"))
    write_whole(out / PAGE, html.encode("utf-8"))
    return out / PAGE


def main(arguments: Sequence[str]) -> int:
    """``python -m vidc.eval report``."""
    from vidc.commandline import Parser
    from vidc.eval.report import command

    parser = Parser(prog="python -m vidc.eval report", examples=command.EXAMPLES)
    command.add_arguments(parser)
    return command.main(parser.parse_args(arguments))


def _latex(runs: Sequence[Run]) -> str:
    from vidc.eval.report.error_table import error_table
    from vidc.eval.table_formats import latex

    return "\n".join(latex(error_table(run)) for run in runs)


def _labels(runs: Sequence[Run]) -> list[str]:
    """The runs' names, numbered where two are the same."""
    names = [run.name for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: i + 1].count(name)})"
        for i, name in enumerate(names)
    ]
