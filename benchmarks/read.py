"""Reading a built dataset: decoded frames a second, bytes touched for one video, memory.

Run: ``python -m benchmarks.read [--quick]``. A dataset of 100 videos (224 × 224, snow, PNG) is
built by the ordinary command in a temporary folder; what is compared runs alternately on it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cv2
import numpy as np

from benchmarks.measuring import Row, alone, alternate, at_least, at_most, row
from vidc.reading import load

VIDEOS = 100
CONFIG = "snow"
SPEED_FLOOR = 1.5
BYTES_CEILING = 3.0
GROWTH_CEILING = 1.1


def measure(quick: bool) -> list[Row]:
    """The rows of the benchmark page."""
    with tempfile.TemporaryDirectory() as temporary:
        dataset = build(Path(temporary), frames=6 if quick else 24)
        return [
            *speed_rows(dataset, Path(temporary), repeats=3 if quick else 7),
            bytes_row(dataset),
            memory_row(dataset, passes=3 if quick else 6),
        ]


def build(folder: Path, frames: int) -> Path:
    """Write clean videos and build them; pictures repeat, but no two frames' snow does."""
    data = folder / "ILSVRC2015" / "Data" / "VID" / "val"
    notes = folder / "ILSVRC2015" / "Annotations" / "VID" / "val"
    note = (
        "<annotation><size><width>320</width><height>240</height></size><object>"
        "<trackid>0</trackid><name>n02084071</name><bndbox><xmax>200</xmax><xmin>90</xmin>"
        "<ymax>180</ymax><ymin>60</ymin></bndbox><occluded>0</occluded><generated>0</generated>"
        "</object></annotation>"
    )
    files = [picture(number) for number in range(8)]
    for video in range(VIDEOS):
        for parent in (data, notes):
            (parent / f"video_{video:03d}").mkdir(parents=True)
        for frame in range(frames):
            name = f"video_{video:03d}/{frame:06d}"
            (data / f"{name}.JPEG").write_bytes(files[(video + frame) % len(files)])
            (notes / f"{name}.xml").write_text(note)
    out = folder / "dataset"
    options = ["--corruptions", CONFIG, "--no-clean", "--shard-size", "40MB"]
    command = [sys.executable, "-m", "vidc.build", "imagenet-vid", "--root", data.parents[2]]
    subprocess.run([*map(str, command), "--out", str(out), *options], check=True)
    return out


def picture(number: int) -> bytes:
    """A JPEG with smooth shapes and a little grain, like a frame of a video."""
    rng = np.random.default_rng(number)
    smooth = cv2.resize(rng.integers(0, 256, (12, 16, 3), np.uint8), (320, 240))
    grainy = np.clip(smooth + rng.normal(0, 4, smooth.shape), 0, 255).astype(np.uint8)
    return bytes(cv2.imencode(".jpg", grainy)[1])


def speed_rows(dataset: Path, folder: Path, repeats: int) -> list[Row]:
    """Whole passes with vidc.load and with load_dataset, in turns."""
    from datasets import load_dataset

    def ours() -> int:
        return sum(frame.image is not None for frame in load(dataset, CONFIG))

    def theirs() -> int:
        rows = load_dataset(
            str(dataset), CONFIG, split="val", streaming=True, cache_dir=str(folder / "cache")
        )
        return sum(row["image"] is not None for row in rows)

    rates = alternate({"ours": partial(rate, ours), "theirs": partial(rate, theirs)}, repeats)
    return [
        row("load_dataset(streaming=True)", rates["theirs"], "frames/s"),
        row("vidc.load, every hash checked", rates["ours"], "frames/s"),
        at_least(
            "vidc.load / load_dataset(streaming=True)",
            rates["ours"].over(rates["theirs"]),
            SPEED_FLOOR,
        ),
    ]


def rate(read: Callable[[], int]) -> float:
    """Frames a second of one pass."""
    started = time.perf_counter()
    frames = read()
    return frames / (time.perf_counter() - started)


def bytes_row(dataset: Path) -> Row:
    """What this process reads for one video, in percent of the config's shards."""
    whole = sum(file.stat().st_size for file in (dataset / "data" / CONFIG).iterdir())
    before = bytes_read()
    frames = list(load(dataset, CONFIG, video="video_042"))
    percent = 100 * (bytes_read() - before) / whole
    assert frames
    name = f"bytes read for one of {VIDEOS} videos"
    return at_most(name, percent, BYTES_CEILING, "%")


def bytes_read() -> int:
    """All that this process has read so far, by the kernel's own count."""
    text = Path("/proc/self/io").read_text()
    return int(text.split("rchar: ")[1].split()[0])


def memory_row(dataset: Path, passes: int) -> Row:
    """The most memory held in the last tenth of a long pass against the first tenth."""
    command = [sys.executable, "-m", "benchmarks.read", "--memory", str(dataset), str(passes)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    growth = float(output.split()[-1])
    return at_most("memory, last tenth / first tenth of a pass", growth, GROWTH_CEILING)


def memory_growth(dataset: Path, passes: int) -> float:
    """Read everything several times over, and look at the resident memory on the way."""
    held = []
    page = os.sysconf("SC_PAGE_SIZE")
    for number in range(passes + 1):
        for _ in load(dataset, CONFIG):
            if number:  # the first pass is for libraries to settle
                held.append(int(Path("/proc/self/statm").read_text().split()[1]) * page)
    tenth = len(held) // 10
    return max(held[-tenth:]) / max(held[:tenth])


def main(words: list[str]) -> int:
    """The rows; with --memory, in a process of its own, how memory grew."""
    if words[:1] == ["--memory"]:
        print(memory_growth(Path(words[1]), int(words[2])))
        return 0
    return alone(measure, words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
