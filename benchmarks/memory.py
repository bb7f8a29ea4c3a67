"""A long build: a worker's memory at its beginning and at its end, and whether time is linear.

Run: ``python -m benchmarks.memory [--quick]``. 200 videos of 300 frames of 1280 × 720 are built
with the default recipe on two workers; --quick takes 32 videos of 24 frames.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.build import make_tree
from benchmarks.measuring import Row, alone, at_most, row

WORKERS = 2
GROWTH_CEILING = 1.1
SLOWDOWN_CEILING = 1.2
_SECONDS_BETWEEN_LOOKS = 0.1


@dataclass(frozen=True)
class Look:
    """What was seen at one moment: shards finished, and each worker's memory in bytes."""

    finished: int
    memory: dict[int, int]


def measure(quick: bool) -> list[Row]:
    """The rows of the benchmark page."""
    videos, frames = (32, 24) if quick else (200, 300)
    with tempfile.TemporaryDirectory() as folder:
        root = make_tree(Path(folder) / "clean", videos=videos, frames=frames)
        looks, seconds = watch(root, Path(folder) / "out")
    return [*memory_rows(looks, videos * frames), time_row(seconds)]


def watch(root: Path, out: Path) -> tuple[list[Look], dict[str, float]]:
    """Build, looking at the workers all the time; the looks, and seconds a frame by shard."""
    command = [sys.executable, "-m", "vidc.build", "imagenet-vid", "--root", str(root)]
    build = subprocess.Popen([*command, "--out", str(out), "--workers", str(WORKERS)])
    looks: list[Look] = []
    seconds: dict[str, float] = {}
    while build.poll() is None:
        for marker in (out / ".vidc" / "done").glob("[!.]*.json"):
            if marker.name not in seconds:
                told = _read(marker)
                seconds |= {marker.name: told["seconds"] / told["frames"]} if told else {}
        looks.append(Look(len(seconds), _memory(build.pid)))
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    if build.returncode:
        raise SystemExit(f"the build ended with exit code {build.returncode}")
    return looks, seconds


def _memory(parent: int) -> dict[int, int]:
    """The resident memory of each worker process."""
    found = {}
    try:
        for worker in psutil.Process(parent).children():
            found[worker.pid] = worker.memory_info().rss
    except psutil.NoSuchProcess:
        pass  # it has just ended
    return found


def _read(marker: Path) -> dict[str, Any] | None:
    try:
        content: dict[str, Any] = json.loads(marker.read_text("utf-8"))
    except FileNotFoundError:
        return None  # the build has just come to its end
    return content


def memory_rows(looks: list[Look], frames: int) -> list[Row]:
    """The largest memory of a worker early and late in the work."""
    last = max(look.finished for look in looks)
    early = [look for look in looks if 0.1 <= look.finished / last <= 0.35]
    late = [look for look in looks if 0.75 <= look.finished / last < 1]
    peaks = [
        max(size for look in part for size in look.memory.values()) / 1e6 for part in (early, late)
    ]
    what = f"worker memory late against early, {frames:,} frames"
    return [
        at_most(what, peaks[1] / peaks[0], GROWTH_CEILING),
        row("largest memory of a worker", max(peaks), "MB"),
    ]


def time_row(seconds: dict[str, float]) -> Row:
    """Seconds a frame in the second half of the shards against the first, as they finished."""
    each = list(seconds.values())
    half = len(each) // 2
    slowdown = statistics.median(each[half:]) / statistics.median(each[:half])
    return at_most("seconds a frame, second half against first", slowdown, SLOWDOWN_CEILING)


if __name__ == "__main__":
    sys.exit(alone(measure, sys.argv[1:]))
