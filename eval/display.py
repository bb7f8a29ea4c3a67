"""The terminal while a run goes on: the table as it fills, and a progress line for its cell."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from tqdm import tqdm

from vidc.eval import table_formats
from vidc.eval.cell import Watch
from vidc.eval.results import CellKey
from vidc.eval.table import Table

_UP_AND_CLEAR = "\x1b[{lines}F\x1b[J"


class Display:
    """Draws on a terminal; silent anywhere else."""

    def __init__(self, names: Sequence[tuple[str, str]], out: TextIO | None = None) -> None:
        self._names = dict(names)
        # The one of now: where it was another when this was imported, that may be closed.
        self._out = out or sys.stderr
        self._live = self._out.isatty()
        self._lines = 0
        self._told: set[tuple[str, str, int | None]] = set()

    def show(self, table: Table) -> None:
        """Draw the table over the one before, or tell its new rows where it does not fit."""
        if not self._live:
            return
        size = shutil.get_terminal_size()
        lines = table_formats.text(table).split("\n")
        self.clear()
        if len(lines) < size.lines and max(map(len, lines)) <= size.columns:
            self._out.write(table_formats.text(table, bold=True) + "\n")
            self._lines = len(lines)
        else:
            self._tell_new_rows(table)
        self._out.flush()

    def clear(self) -> None:
        """Take the table away, so that something else can stand in its place."""
        if self._lines:
            self._out.write(_UP_AND_CLEAR.format(lines=self._lines))
            self._lines = 0

    def _tell_new_rows(self, table: Table) -> None:
        for section in table.sections:
            for row in section.rows:
                place = (section.dataset, row.corruption, row.severity)
                known = row.kind == "ours" and None not in row.values
                if known and place not in self._told:
                    self._told.add(place)
                    self._out.write(table_formats.row_line(section, row, table.names) + "\n")

    def cell(self, key: CellKey) -> tuple[Watch, Callable[[], None]]:
        """What a cell calls as it goes, and what to call at its end."""
        bar = self._line(desc=str(key), unit="frame", position=0)
        below = self._line(bar_format="{desc}", position=1)

        def watch(done: int, frames: int, errors: dict[str, float]) -> None:
            if bar.total is None:
                # Frames from before an interruption are not part of this run's rate.
                bar.total, bar.initial = frames, done
            told = "  ".join(f"{self._names[column]} {errors[column]:.1f}" for column in errors)
            below.set_description_str(f"  error so far: {told}", refresh=False)
            below.update()
            bar.update(done - bar.n)

        def end() -> None:
            below.close()
            bar.close()

        return watch, end

    def cells(self, count: int, frames: int) -> tuple[Callable[[int], None], Callable[[], None]]:
        """The same for cells that run elsewhere: only their frames are counted."""
        bar = self._line(desc=f"{count} cells", unit="frame", total=frames)

        def progress(done: int) -> None:
            bar.update(done - bar.n)

        return progress, bar.close

    def _line(self, **options: Any) -> tqdm[Any]:
        return tqdm(
            leave=False, dynamic_ncols=True, file=self._out, disable=not self._live, **options
        )
