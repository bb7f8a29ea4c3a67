"""One table, four spellings: for the terminal, Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

from vidc.errors import printable
from vidc.eval.table import Row, Section, Table, Value, row_label

PENDING = "…"
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
_TEX = {
    "\\": r"\textbackslash{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "α": r"$\alpha$",
    "†": r"$^\dagger$",
    "±": r"$\pm$",
    "−": r"$-$",
}


def text(table: Table, *, bold: bool = False) -> str:
    """The table for a terminal; the best of each row has an asterisk and, if asked for, is bold."""
    blocks = [table.title]
    for section in table.sections:
        lines = [[section.dataset, *table.names]]
        lines += [
            [_row_name(row), *_spelled(row, lambda value: f"{value}*")] for row in section.rows
        ]
        blocks.append("\n".join([*_aligned(lines, bold), *section.notes]))
    if len(table.names) > 1:
        blocks.append("* best of its row")
    return "\n\n".join(blocks)


def markdown(table: Table) -> str:
    """The table as Markdown, a heading a dataset."""
    blocks = [table.title]
    for section in table.sections:
        lines = [["", *table.names], ["---", *["---:"] * len(table.names)]]
        lines += [
            [_row_name(row), *_spelled(row, lambda value: f"**{value}**")] for row in section.rows
        ]
        rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        blocks += [f"## {section.dataset}", rows, *section.notes]
    return "\n\n".join(blocks) + "\n"


def comma_separated(table: Table) -> str:
    """The table as CSV in full precision: a line for means, one for deviations, the paper's."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["dataset", "corruption", "severity", "kind", *table.ids])
    for section in table.sections:
        for row in section.rows:
            start = [section.dataset, row.corruption, "" if row.severity is None else row.severity]
            means = [None if value is None else value.mean for value in row.values]
            deviations = [None if value is None else value.std for value in row.values]
            writer.writerow([*start, row.kind, *map(_plain, means)])
            if any(deviation is not None for deviation in deviations):
                writer.writerow([*start, "standard deviation", *map(_plain, deviations)])
    return out.getvalue()


def latex(table: Table) -> str:
    """The table as a LaTeX tabular that needs no package."""
    width = len(table.names) + 1
    lines = [
        # A line break in a model's name would end the comment, and LaTeX would run the rest.
        f"% {printable(table.title)}",
        r"% \input this file where the table is to stand; it needs no package.",
        rf"\begin{{tabular}}{{l{'r' * len(table.names)}}}",
    ]
    for section in table.sections:
        lines += [r"\hline", _tex_line([_tex(section.dataset), *map(_tex, table.names)]), r"\hline"]
        for row in section.rows:
            values = _spelled(row, lambda value: f"\\textbf{{{value}}}", _tex)
            name = _tex(_row_name(row)).replace("  ", r"\quad ")
            lines.append(_tex_line([name, *values]))
        lines += [rf"\multicolumn{{{width}}}{{l}}{{{_tex(note)}}} \\" for note in section.notes]
    return "\n".join([*lines, r"\hline", r"\end{tabular}"]) + "\n"


def row_line(section: Section, row: Row, names: Sequence[str]) -> str:
    """One finished row in one line, for a terminal too small for the table."""
    values = _spelled(row, lambda value: f"{value}*")
    pairs = (f"{name} {value}" for name, value in zip(names, values, strict=True))
    return f"{section.dataset}, {_row_name(row)}: {', '.join(pairs)}"


def _row_name(row: Row) -> str:
    return row_label(row.corruption, row.severity) if row.kind == "ours" else f"  {row.kind}"


def _spelled(row: Row, mark: Callable[[str], str], escape: Callable[[str], str] = str) -> list[str]:
    """The row's values to one decimal, the paper's precision; ties for the best are all marked."""
    known = [round(value.mean, 1) for value in row.values if value is not None]
    best = min(known, default=None) if row.kind == "ours" and len(known) > 1 else None
    return [
        escape(_value(value, row))
        if value is None or round(value.mean, 1) != best
        else mark(escape(_value(value, row)))
        for value in row.values
    ]


def _value(value: Value | None, row: Row) -> str:
    if value is None:
        return PENDING if row.kind == "ours" else ""
    if row.kind == "difference":
        return f"{shown(value.mean):+.1f}"
    return f"{value.mean:.1f}" if value.std is None else f"{value.mean:.1f} ± {value.std:.1f}"


def shown(difference: float) -> float:
    """Rounded, and nought without a sign of its own: a little less is not shown as -0.0."""
    return round(difference, 1) + 0.0


def _aligned(lines: Sequence[Sequence[str]], bold: bool) -> list[str]:
    """Columns under one another; a place is kept for the mark, so that the digits line up."""
    padded = [
        [line[0], *(value if value.endswith("*") else f"{value} " for value in line[1:])]
        for line in lines
    ]
    widths = [max(map(len, column)) for column in zip(*padded, strict=True)]
    return [
        "  ".join(
            _bold(value.rjust(width), bold) if column else value.ljust(width)
            for column, (value, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in padded
    ]


def _bold(value: str, bold: bool) -> str:
    return f"{BOLD}{value}{PLAIN}" if bold and value.endswith("*") else value


def _plain(number: float | None) -> str:
    return "" if number is None else repr(number)


def _tex(words: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in words)


def _tex_line(values: Sequence[str]) -> str:
    return " & ".join(values) + r" \\"
