"""``python -m vidc.eval report``: the page and figures of runs that are there."""

from __future__ import annotations

import argparse
from pathlib import Path

from vidc.commandline import say

EXAMPLES = """\
examples:
  python -m vidc.eval report results/RUN     its report.html and figures/
  python -m vidc.eval report results/RUN results/OTHER --out side-by-side"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command can be told."""
    parser.add_argument("results", nargs="+", metavar="RESULTS", help="a run's folder, or several")
    parser.add_argument(
        "--out", metavar="DIR", help="where to write (the run's folder; for several: report)"
    )
    parser.add_argument("--no-figures", action="store_false", dest="figures", help="the page alone")


def main(args: argparse.Namespace) -> int:
    """Make the report and say where it is."""
    from vidc.eval.report import write
    from vidc.files import explained

    runs = [Path(run) for run in args.results]
    out = _out(runs, args.out)
    with explained(out):
        page = write(runs, out, figures=args.figures)
    size = page.stat().st_size / 1e6
    say(f"Report: {page} ({size:.1f} MB, one file that needs no network)")
    if args.figures:
        say(f"Figures and table.tex: {page.parent / 'figures'}")
    return 0


def _out(runs: list[Path], asked: str | None) -> Path:
    if asked is not None:
        return Path(asked)
    if len(runs) > 1:
        return Path("report")
    return runs[0] if runs[0].is_dir() else runs[0].parent
