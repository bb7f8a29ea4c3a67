"""The report of a large run: 700,000 frames and eight columns must stay light."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import Row, alone, at_most, command
from tests.report.generated import Shape, write_run

FRAMES = 700_000
QUICK_FRAMES = 20_000
DATASETS = ("imagenet-vid-c", "lasot-c")
MOST_BYTES = 5_000_000
MOST_SECONDS = 20.0
MOST_MEMORY = 1_000_000_000


def measure(quick: bool) -> list[Row]:
    """Size of the page, and time and memory of the command that makes it and its figures."""
    frames = QUICK_FRAMES if quick else FRAMES
    with tempfile.TemporaryDirectory() as folder:
        run = write_run(Path(folder) / "run", _shape(frames))
        ran = command("vidc.eval", "report", run)
        size = (run / "report.html").stat().st_size
    what = f"report of {frames:,} frames × 8 columns"
    return [
        at_most(f"{what}: page", size / 1e6, MOST_BYTES / 1e6, "MB"),
        at_most(f"{what}: time, figures included", ran.seconds, MOST_SECONDS, "s"),
        at_most(f"{what}: peak memory", ran.largest / 1e9, MOST_MEMORY / 1e9, "GB"),
    ]


def _shape(frames: int) -> Shape:
    """Two datasets under three corruptions, with as many videos as LaSOT's test set has."""
    cells = len(DATASETS) * len(Shape().corruptions)
    return Shape(datasets=DATASETS, videos=280, frames=frames // cells)


if __name__ == "__main__":
    sys.exit(alone(measure, sys.argv[1:]))
