"""A reader that takes too much is found, and what it was is shown."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.fuzz import bounds
from tests.fuzz.__main__ import SHOWN, from_the_reason_on
from tests.fuzz.reader import Reader, outcome
from vidc.errors import InputError

ROOT = Path(__file__).parents[2]
TOO_SLOW = (
    "import time; from tests.fuzz import bounds; bounds.LONGEST = 0.1\n"
    "with bounds.in_a_minute(): time.sleep(60)"
)


def greedy(data):
    """Takes much, and then finds a reason to refuse the file."""
    b"1" * (bounds.GIGABYTE + 2**26)
    raise InputError("it is too large")


@pytest.mark.skipif(bounds.peak() == 0, reason="nobody counts the memory here")
def test_a_gigabyte_too_many():
    with pytest.raises(AssertionError, match=r"it took 10[89]\d MB"):
        outcome(Reader([], st.nothing(), greedy), b"")


def test_a_minute_too_many():
    done = subprocess.run(
        [sys.executable, "-c", TOO_SLOW], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Timeout (0:00:00.1")


@pytest.mark.parametrize(
    "reason", ["Traceback (most", "  + Exception Group Traceback", "Timeout ("]
)
def test_the_lines_of_the_image_libraries_hide_no_traceback(reason):
    lines = ["kept in last-input", *["libpng warning"] * 500, reason, *["why"] * 500]
    assert from_the_reason_on(lines) == [lines[0], reason, *["why"] * (SHOWN - 1)]
