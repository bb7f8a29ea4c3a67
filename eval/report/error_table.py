"""The error table as the page shows it: the runs' tables side by side, the paper's beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vidc.eval.report.runs import Column, Run
from vidc.eval.table import MEAN, Row, Section, Table, build_table, row_label, row_order
from vidc.eval.table_formats import shown


@dataclass(frozen=True)
class Entry:
    """One error, spelled; what there is nothing to say of is empty."""

    value: float
    text: str
    deviation: str = ""
    paper: str = ""
    difference: str = ""
    best: bool = False


@dataclass(frozen=True)
class Line:
    """One row; an entry is None where a run has no such column."""

    label: str
    run: int
    entries: tuple[Entry | None, ...]
    mean: bool


@dataclass(frozen=True)
class Block:
    """The rows of one dataset, with what must be known to read them."""

    dataset: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    has_paper: bool


@dataclass(frozen=True)
class _OfRun:
    """One run's rows of a dataset: ours, and the paper's and the differences by corruption."""

    run: int
    label: str
    table: Table
    section: Section

    def beside(self, ours: Row, kind: str) -> Row | None:
        place = (ours.corruption, ours.severity, kind)
        rows = (
            row for row in self.section.rows if (row.corruption, row.severity, row.kind) == place
        )
        return next(rows, None)


def error_table(run: Run) -> Table:
    """The table of one run, in the paper's layout."""
    return build_table(run.raw, run.raw["cells"])


def all_columns(runs: Sequence[Run]) -> tuple[Column, ...]:
    """Every column of any run, once."""
    return tuple({column.id: column for run in runs for column in run.columns}.values())


def error_blocks(
    runs: Sequence[Run], labels: Sequence[str], columns: Sequence[Column]
) -> list[Block]:
    """The tables of all runs as one: a corruption's rows stand together, one a run."""
    found: dict[str, list[_OfRun]] = {}
    for number, run in enumerate(runs):
        table = error_table(run)
        for section in table.sections:
            of_run = _OfRun(number, labels[number], table, section)
            found.setdefault(section.dataset, []).append(of_run)
    return [_block(dataset, of_runs, columns) for dataset, of_runs in found.items()]


def _block(dataset: str, of_runs: Sequence[_OfRun], columns: Sequence[Column]) -> Block:
    lines: dict[tuple[str, int | None], list[Line]] = {}
    for of_run in of_runs:
        for row in of_run.section.rows:
            if row.kind == "ours":
                line = _line(of_run, row, columns)
                lines.setdefault((row.corruption, row.severity), []).append(line)
    flat = tuple(line for key in sorted(lines, key=_place) for line in lines[key])
    has_paper = any(entry and entry.paper for line in flat for entry in line.entries)
    return Block(dataset, flat, _notes(of_runs), has_paper)


def _place(key: tuple[str, int | None]) -> tuple[bool, tuple[int, str, int]]:
    """A row's place in the block, also where the runs do not hold the same rows; the mean last."""
    corruption, severity = key
    return corruption == MEAN, row_order((corruption, severity or 0))


def _notes(of_runs: Sequence[_OfRun]) -> tuple[str, ...]:
    """What is to be known of all runs; of some of them, with their labels before it."""
    notes: dict[str, list[str]] = {}
    for of_run in of_runs:
        for note in of_run.section.notes:
            notes.setdefault(note, []).append(of_run.label)
    return tuple(
        note if len(labels) == len(of_runs) else f"{', '.join(labels)}: {note}"
        for note, labels in notes.items()
    )


def _line(of_run: _OfRun, row: Row, columns: Sequence[Column]) -> Line:
    known = [round(value.mean, 1) for value in row.values if value is not None]
    best = min(known) if len(known) > 1 else None
    return Line(
        label=row_label(row.corruption, row.severity),
        run=of_run.run,
        entries=tuple(_entry(of_run, row, column.id, best) for column in columns),
        mean=row.corruption == MEAN,
    )


def _entry(of_run: _OfRun, row: Row, column: str, best: float | None) -> Entry | None:
    if column not in of_run.table.ids:
        return None
    at = of_run.table.ids.index(column)
    value = row.values[at]
    if value is None:
        return None
    return Entry(
        value=value.mean,
        text=f"{value.mean:.1f}",
        deviation="" if value.std is None else f"{value.std:.1f}",
        paper=_spell(of_run.beside(row, "paper"), at, ".1f"),
        difference=_spell(of_run.beside(row, "difference"), at, "+.1f"),
        best=round(value.mean, 1) == best,
    )


def _spell(row: Row | None, at: int, how: str) -> str:
    value = row.values[at] if row else None
    return "" if value is None else format(shown(value.mean), how).replace("-", "−")
