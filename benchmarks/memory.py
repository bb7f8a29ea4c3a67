"""A long build: a worker's memory at its beginning and at its end, and whether time is linear.

Run: ``python -m benchmarks.memory [--quick]``. 200 videos of 300 frames of 1280 × 720 are built
with the default recipe on two workers; --quick takes 32 videos of 24 frames.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.build import make_tree
from benchmarks.measuring import Row, alone, at_most, row

WORKERS = 2
LAP = 2 * WORKERS
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
        looks, moments = watch(root, Path(folder) / "out")
    return [*memory_rows(looks, videos * frames), time_row(moments)]


def watch(root: Path, out: Path) -> tuple[list[Look], list[float]]:
    """Build, looking at the workers all the time; the looks, and when each shard was finished."""
    command = [sys.executable, "-m", "vidc.build", "imagenet-vid", "--root", str(root)]
    build = subprocess.Popen([*command, "--out", str(out), "--workers", str(WORKERS)])
    looks: list[Look] = []
    finished: dict[str, float] = {}
    while build.poll() is None:
        for marker in (out / ".vidc" / "done").glob("[!.]*.json"):
            with contextlib.suppress(FileNotFoundError):  # the build has just come to its end
                finished[marker.name] = marker.stat().st_mtime
        looks.append(Look(len(finished), _memory(build.pid)))
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    if build.returncode:
        raise SystemExit(f"the build ended with exit code {build.returncode}")
    return looks, sorted(finished.values())


def _memory(parent: int) -> dict[int, int]:
    """The resident memory of each worker process."""
    found = {}
    try:
        for worker in psutil.Process(parent).children():
            found[worker.pid] = worker.memory_info().rss
    except psutil.NoSuchProcess:
        pass  # it has just ended
    return found


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


def time_row(moments: list[float]) -> Row:
    """Seconds a frame in the second half of the shards, which are equally long, against the first.

    Over a few shards at a time: those of two workers end in pairs.
    """
    spans = [late - early for early, late in zip(moments, moments[LAP:], strict=False)]
    half = len(spans) // 2
    slowdown = statistics.median(spans[half:]) / statistics.median(spans[:half])
    return at_most("seconds a frame, second half against first", slowdown, SLOWDOWN_CEILING)


if __name__ == "__main__":
    sys.exit(alone(measure, sys.argv[1:]))
