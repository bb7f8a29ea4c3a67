"""The terminal while a run goes on, read as a terminal would show it."""

from __future__ import annotations

import io
import os
import re
import time

import pytest

from vidc.eval.display import Display
from vidc.eval.results import CellKey
from vidc.eval.table import Row, Section, Table, Value

NAMES = [("source", "Source"), ("tbn", "TBN")]
KEY = CellKey("tiny-c", "snow", 5, 0)


class Terminal(io.StringIO):
    """Keeps what is written, and says that it is a terminal."""

    def isatty(self):
        return True

    def screen(self):
        """The lines that stand on the screen: carriage returns, line moves and clears obeyed."""
        lines, row = [""], 0
        for part in re.split(r"(\x1b\[\d*[AFJm]|\n|\r)", self.getvalue()):
            if part == "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            elif part == "\r":
                lines[row] = ""
            elif part.startswith("\x1b") and part[-1] in "AF":
                row -= int(part[2:-1] or 1)
                assert row >= 0, "went above the first line"
            elif part == "\x1b[J":
                lines = [*lines[:row], ""]
            elif not part.startswith("\x1b"):
                lines[row] += part
        return [line.rstrip() for line in lines if line.strip()]


def table(*errors):
    rows = tuple(
        Row(corruption, 5, "ours", tuple(None if e is None else Value(e) for e in values))
        for corruption, values in zip(("rain", "snow"), errors, strict=True)
    )
    return Table("A table", ("source", "tbn"), ("Source", "TBN"), (Section("tiny-c", rows, ()),))


@pytest.fixture
def sized(monkeypatch):
    def size(columns, lines):
        monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((columns, lines)))

    return size


def test_the_table_fills_in_its_place(sized):
    sized(100, 40)
    terminal = Terminal()
    display = Display(NAMES, terminal)
    display.show(table((None, None), (None, None)))
    display.show(table((1.0, 2.0), (None, None)))
    screen = terminal.screen()
    assert [line.split() for line in screen] == [
        ["A", "table"],
        ["tiny-c", "Source", "TBN"],
        ["Rain", "1.0*", "2.0"],
        ["Snow", "…", "…"],
        ["*", "best", "of", "its", "row"],
    ]
    display.clear()
    assert terminal.screen() == []


def test_a_terminal_too_small_for_the_table_is_told_its_rows_once(sized):
    sized(15, 40)
    terminal = Terminal()
    display = Display(NAMES, terminal)
    for errors in (((None, None), (None, None)), ((1.0, 2.0), (None, None)), ((1.0, 2.0), (4, 3))):
        display.show(table(*errors))
    assert terminal.screen() == [
        "tiny-c, Rain: Source 1.0*, TBN 2.0",
        "tiny-c, Snow: Source 4.0, TBN 3.0*",
    ]
    display.clear()
    assert len(terminal.screen()) == 2


def test_the_progress_line_names_the_cell_and_the_errors_and_goes_away():
    terminal = Terminal()
    watch, end = Display(NAMES, terminal).cell(KEY)
    watch(0, 64, {"source": 0.0, "tbn": 0.0})
    time.sleep(0.15)  # the least time between two drawings
    watch(48, 64, {"source": 12.5, "tbn": 80.0})
    first, second = terminal.screen()
    assert first.startswith("tiny-c snow seed 0:  75%")
    assert "48/64" in first
    assert "frame/s" in first
    assert second == "  error so far: Source 12.5  TBN 80.0"
    end()
    assert terminal.screen() == []


def test_cells_elsewhere_have_a_line_with_the_time_that_is_left():
    terminal = Terminal()
    progress, end = Display(NAMES, terminal).cells(3, 64)
    time.sleep(0.15)  # the least time between two drawings
    progress(48)
    (line,) = terminal.screen()
    assert line.startswith("3 cells:  75%")
    assert "48/64" in line
    assert "frame/s" in line
    end()
    assert terminal.screen() == []


def test_nothing_is_drawn_where_there_is_no_terminal():
    out = io.StringIO()
    display = Display(NAMES, out)
    display.show(table((1.0, 2.0), (3.0, 4.0)))
    watch, end = display.cell(KEY)
    watch(5, 10, {"source": 1.0, "tbn": 2.0})
    end()
    progress, end = display.cells(3, 30)
    progress(5)
    end()
    display.clear()
    assert out.getvalue() == ""


def test_it_draws_on_the_standard_error_of_now_and_not_of_its_import(monkeypatch, sized):
    sized(200, 60)
    now = Terminal()
    monkeypatch.setattr("sys.stderr", now)
    Display(NAMES).show(table((10.0, 20.0), (30.0, 40.0)))
    assert any("Snow" in line for line in now.screen())
