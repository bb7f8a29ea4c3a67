"""The report of a large run: 700,000 frames and eight columns must stay light."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.report.generated import Shape, write_run

FRAMES = 700_000
QUICK_FRAMES = 70_000
DATASETS = ("imagenet-vid-c", "lasot-c")
MOST_BYTES = 5_000_000
MOST_SECONDS = 20.0
MOST_MEMORY = 1_000_000_000


def measure(quick: bool) -> list[dict[str, Any]]:
    """Size of the page, and time and memory of the command that makes it and its figures."""
    frames = QUICK_FRAMES if quick else FRAMES
    with tempfile.TemporaryDirectory() as folder:
        run = write_run(Path(folder) / "run", _shape(frames))
        seconds, memory = _command("report", str(run))
        size = (run / "report.html").stat().st_size
    what = f"report of {frames:,} frames × 8 columns"
    return [
        _row(f"{what}: page", size / 1e6, "MB", MOST_BYTES / 1e6),
        _row(f"{what}: time, figures included", seconds, "s", MOST_SECONDS),
        _row(f"{what}: peak memory", memory / 1e9, "GB", MOST_MEMORY / 1e9),
    ]


def _shape(frames: int) -> Shape:
    """Two datasets under three corruptions, with as many videos as LaSOT's test set has."""
    cells = len(DATASETS) * len(Shape().corruptions)
    return Shape(datasets=DATASETS, videos=280, frames=frames // cells)


def _command(*words: str) -> tuple[float, int]:
    """Seconds and peak memory in bytes of ``python -m vidc.eval``, start of Python included."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "vidc.eval", *words], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        raise RuntimeError(f"python -m vidc.eval {' '.join(words)} ended with status {status}")
    return seconds, used.ru_maxrss * 1024


def _row(name: str, value: float, unit: str, most: float) -> dict[str, Any]:
    return {
        "name": name,
        "value": round(value, 2),
        "unit": unit,
        "floor": f"< {most:g} {unit}",
        "holds": value < most,
    }
