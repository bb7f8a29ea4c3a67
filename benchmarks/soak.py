"""A long stream built and evaluated, watched from outside: ``python -m benchmarks.soak``.

Frames are small and the network is tiny, so that an hour of video passes in minutes; what could
grow (memory, open files, threads) grows with the number of frames, not with their size. The
commands are the user's own. Exit code 1 if anything grows, or if a number is not finite.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vidc.commandline import run

SIDE, STORED = 40, 32
CLASSES = ("bird", "car", "dog")
SEQUENCES = 20  # of each class
BATCH = 16
SHARDS = 100  # ten in the first tenth: the reader keeps eight open, so that it then has them all
SECONDS_BETWEEN_LOOKS = 0.25
# What the allocator and the file cache's pages move by themselves, in either direction.
SLACK_MEGABYTES = 24.0
MODEL = """
import torch
from torch import nn

from vidc.eval.models import Preprocessing


def network():
    torch.manual_seed(0)
    made = nn.Sequential(
        nn.Conv2d(3, 8, 5, stride=4, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 8, 3, stride=2, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3),
    )
    made.wnids = ["n01503061", "n02958343", "n02084071"]
    made.preprocessing = Preprocessing(crop=32, resize=None)
    with torch.no_grad():
        for _ in range(20):
            made(torch.randn(16, 3, 32, 32))
    return made
"""


@dataclass(frozen=True)
class Look:
    """A process and its children at one moment."""

    frames: int
    megabytes: float
    files: int
    threads: int


def main(words: Sequence[str]) -> int:
    """Make the stream, build it, evaluate it, and print what grew."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--frames", type=int, default=100_000, help="of the stream (100000)")
    frames = parser.parse_args(words).frames
    place = Path(tempfile.mkdtemp(prefix="vidc-soak-"))
    try:
        return _soak(place, frames)
    finally:
        shutil.rmtree(place)


def _soak(place: Path, frames: int) -> int:
    print(f"{frames:,} frames, {frames / 25 / 60:.0f} minutes of video at 25 a second", flush=True)
    count = write_videos(place / "LaSOT", frames)
    (place / "tiny.py").write_text(MODEL)
    print(f"{'phase':6} {'seconds':>8} {'':14} {'first tenth':>12} {'last tenth':>12}", flush=True)
    flat = [
        _phase("build", _build_command(place, count), count, lambda: _built(place, count)),
        _phase("eval", _eval_command(place), count, lambda: _evaluated(place)),
    ]
    finite = _columns(place, count)
    return 0 if all(flat) and finite else 1


def write_videos(root: Path, frames: int) -> int:
    """Videos in LaSOT's layout, a moving texture in the colour of its class; how many frames."""
    import cv2

    each = -(-frames // (len(CLASSES) * SEQUENCES))
    rng = np.random.default_rng(0)
    for number, kind in enumerate(CLASSES):
        for sequence in range(1, SEQUENCES + 1):
            folder = root / kind / f"{kind}-{sequence}"
            (folder / "img").mkdir(parents=True)
            texture = rng.integers(0, 120, (SIDE, SIDE, 3), np.uint8)
            texture[..., number] += 100
            for k in range(each):
                _, data = cv2.imencode(".jpg", np.roll(texture, k, axis=1))
                (folder / "img" / f"{k + 1:08d}.jpg").write_bytes(bytes(data))
            (folder / "groundtruth.txt").write_text(f"4,4,{SIDE - 8},{SIDE - 8}\n" * each)
    return each * len(CLASSES) * SEQUENCES


def _build_command(place: Path, frames: int) -> list[str]:
    size = frames // SHARDS * STORED * STORED * 3
    return [
        *("-m", "vidc.build", "lasot", "--root", str(place / "LaSOT"), "--out", str(place / "out")),
        *("--split", "full", "--allow-missing", "--corruptions", "gaussian_noise"),
        *("--size", str(STORED), "--shard-size", str(size)),
    ]


def _eval_command(place: Path) -> list[str]:
    return [
        *("-m", "vidc.eval", str(place / "out"), "--model", f"{place / 'tiny.py'}:network"),
        *("--corruptions", "gaussian_noise", "--out", str(place / "results"), "--no-report"),
        *("--checkpoint-every", "50"),
    ]


def _built(place: Path, frames: int) -> int:
    """How far the build is, by the markers of its finished shards."""
    done = sum(1 for _ in (place / "out" / ".vidc" / "done").glob("*.json"))
    return done * frames // SHARDS


def _evaluated(place: Path) -> int:
    """How far the evaluation is, by the batch in its newest checkpoint."""
    for file in (place / "results").glob("*/cells/[!.]*.safetensors"):
        try:
            with file.open("rb") as stream:
                (length,) = struct.unpack("<Q", stream.read(8))
                header = json.loads(stream.read(length))
        except (OSError, ValueError, struct.error):
            continue
        return int(header["__metadata__"]["batch"]) * BATCH
    return 0


def _phase(name: str, command: list[str], frames: int, done: Callable[[], int]) -> bool:
    started = time.monotonic()
    looks = list(_watched(command, done))
    seconds = time.monotonic() - started
    first = [look for look in looks if 0 < look.frames <= frames / 10]
    last = [look for look in looks if look.frames >= frames * 0.9]
    if not first or not last:
        print(f"{name:6} too short to be watched: give more --frames")
        return False
    flat = True
    # A file that is just being written is open for a moment, and one that is never closed for
    # good: of files and threads that is told by the median of the last tenth.
    for what, unit, slack, late in (
        ("megabytes", "MB", SLACK_MEGABYTES, max),
        ("files", "", 0, statistics.median),
        ("threads", "", 0, statistics.median),
    ):
        before = max(getattr(look, what) for look in first)
        after = late([getattr(look, what) for look in last])
        holds = after <= before + slack
        flat &= holds
        label = {"megabytes": "memory", "files": "open files"}.get(what, what)
        mark = "" if holds else "  GROWS"
        numbers = f"{before:9.0f} {unit:2} {after:9.0f} {unit:2}"
        print(f"{name:6} {seconds:8.0f} {label:14} {numbers}{mark}", flush=True)
    return flat


def _watched(command: list[str], done: Callable[[], int]) -> Iterator[Look]:
    import psutil

    process = psutil.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            look = _look(process, done())
            if look is not None:
                yield look
            time.sleep(SECONDS_BETWEEN_LOOKS)
    finally:  # whoever stops the soak stops what it watches
        if process.poll() is None:
            process.terminate()
            process.wait()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")


def _look(process: object, frames: int) -> Look | None:
    """All of the command's processes together; None if one came or went meanwhile."""
    import psutil

    assert isinstance(process, psutil.Process)
    try:
        family = [process, *process.children(recursive=True)]
        memory = [one.memory_info() for one in family]
        return Look(
            frames=frames,
            # Without the pages of library files, which others on the machine share now and then.
            megabytes=sum(one.rss - one.shared for one in memory) / 2**20,
            files=sum(one.num_fds() for one in family),
            threads=sum(one.num_threads() for one in family),
        )
    except psutil.Error:
        return None


def _columns(place: Path, frames: int) -> bool:
    """Every column's answers: all there, all finite."""
    import pyarrow.parquet as pq

    (folder,) = (place / "results").iterdir()
    results = json.loads((folder / "results.json").read_text("utf-8"))
    table = pq.read_table(folder / "predictions.parquet")
    scores = results["cells"][0]["columns"]
    print(f"\n{'column':12} {'frames':>8} {'error':>8} {'confidence':>14} {'finite':>7}")
    whole = True
    for column in results["columns"]:
        confidence = table.column(f"{column['id']}_confidence").to_numpy()
        answers = table.column(f"{column['id']}_prediction").to_numpy()
        finite = bool(np.isfinite(confidence).all()) and len(confidence) == frames
        whole &= finite
        error = scores[column["id"]]["error"]
        between = f"{confidence.min():.2f} to {confidence.max():.2f}"
        print(
            f"{column['name']:12} {len(answers):8,} {error:6.1f} % {between:>14} "
            f"{'yes' if finite else 'NO':>7}"
        )
    return whole


if __name__ == "__main__":
    run(main, "python -m benchmarks.soak")
