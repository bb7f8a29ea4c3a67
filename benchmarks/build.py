"""Building against the obvious loop, and where a frame's time goes.

Run: ``python -m benchmarks.build [--quick]``. Frames are 1280 × 720 JPEGs made here; three
corruptions at severity 5, stored at 224 × 224 as PNG. The obvious loop does once per corruption:
Pillow decodes, torchvision resizes and crops, imagecorruptions corrupts, Pillow saves. It has no
rain; its snow, which is made the same way, stands for it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.measuring import Figure, Row, alone, alternate, at_least, row, seconds_of
from vidc import images
from vidc.builders import shardwriter
from vidc.builders.crop import Crop
from vidc.builders.pipeline import Prepared, Recipe, corrupted, prepare
from vidc.builders.shards import make_row
from vidc.builders.shardwriter import ShardWriter
from vidc.builders.source import Source, SourceFrame, SourceVideo, open_source, read_bytes
from vidc.frames import CLEAN, Pixels, config_name

CORRUPTIONS = ("gaussian_noise", "snow", "rain")
RECIPE = Recipe(tuple((name, 5) for name in CORRUPTIONS))
CONFIGS = tuple(config_name(name, 5) for name in CORRUPTIONS)
HEIGHT, WIDTH = 720, 1280
KINDS = ("Data", "Annotations")
PICTURES = 8  # different frames; longer videos repeat them
FASTER_THAN_THE_LOOP = 4.0


def measure(quick: bool) -> list[Row]:
    """The rows of the benchmark page."""
    with tempfile.TemporaryDirectory() as folder:
        root = make_tree(Path(folder) / "clean", videos=1, frames=PICTURES)
        return [
            *against_the_loop(root, Path(folder), rounds=3 if quick else 9),
            *stages(root, Path(folder), rounds=2 if quick else 6),
        ]


def make_tree(root: Path, *, videos: int, frames: int, height: int = HEIGHT) -> Path:
    """An ImageNet-VID tree with no object in it; repeated files are links to the same one."""
    size = height * WIDTH // HEIGHT, height
    pictures = [root / f"{k}.JPEG" for k in range(PICTURES)]
    root.mkdir()
    for k, file in enumerate(pictures):
        Image.fromarray(picture(k)).resize(size).save(file, "JPEG", quality=90)
    for video in range(videos):
        data, notes = (root / kind / "VID" / "val" / f"video_{video:02d}" for kind in KINDS)
        data.mkdir(parents=True)
        notes.mkdir(parents=True)
        (notes / "000000.xml").write_text("<annotation></annotation>")
        for k in range(frames):
            os.link(pictures[k % PICTURES], data / f"{k:06d}.JPEG")
            if k:
                os.link(notes / "000000.xml", notes / f"{k:06d}.xml")
    return root


def picture(seed: int) -> Pixels:
    """A smooth scene with grain: its JPEG is about as large as a video frame's."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (23, 40, 3), np.uint8))
    smooth = np.asarray(coarse.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC), np.float32)
    grain = rng.normal(0, 5, smooth.shape).astype(np.float32)
    clipped: Pixels = np.clip(smooth + grain, 0, 255).astype(np.uint8)
    return clipped


def against_the_loop(root: Path, folder: Path, rounds: int) -> list[Row]:
    """Our frames per second on one worker, and how many times the obvious loop's they are."""
    source, video, frames = first_video(root)
    loop = obvious_loop(folder)

    def theirs() -> None:
        for name in CORRUPTIONS:
            for frame in frames:
                loop(frame.file, name)

    with shard(folder) as writer:

        def ours() -> None:
            for frame in frames:
                writer.add(make_row(prepare(source, video, frame, RECIPE), RECIPE))
            writer.end_row_group()

        # The shard is closed, and forced onto the disk, outside: the loop's files never are.
        seconds = alternate(
            {"ours": partial(seconds_of, ours), "theirs": partial(seconds_of, theirs)}, rounds
        )
    return [
        row("frames, one worker", seconds["ours"].rate(PICTURES), "frames/s"),
        row("frames, obvious loop", seconds["theirs"].rate(PICTURES), "frames/s"),
        at_least(
            "one worker / obvious loop",
            seconds["theirs"].over(seconds["ours"]),
            FASTER_THAN_THE_LOOP,
        ),
    ]


def obvious_loop(folder: Path) -> Callable[[Path, str], None]:
    """What a person would write: one file in, one corrupted file out."""
    import imagecorruptions
    from torchvision.transforms import CenterCrop, Compose, Resize

    transform = Compose([Resize(256), CenterCrop(224)])
    out = folder / "loop"
    out.mkdir(exist_ok=True)

    def one(file: Path, name: str) -> None:
        clean = np.asarray(transform(Image.open(file).convert("RGB")))
        known = "snow" if name == "rain" else name
        pixels = imagecorruptions.corrupt(clean, severity=5, corruption_name=known)
        Image.fromarray(pixels).save(out / f"{name}-{file.stem}.png")

    return one


def stages(root: Path, folder: Path, rounds: int) -> list[Row]:
    """Where a frame's time goes, in milliseconds; each stage is timed by itself."""
    source, video, frames = first_video(root)
    spent: dict[str, list[float]] = {}
    for _ in range(rounds):
        with shard(folder) as writer:
            for frame in frames:
                for stage, seconds in frame_stages(source, video, frame, writer).items():
                    spent.setdefault(stage, []).append(seconds)
            clock = Stopwatch()
            writer.end_row_group()
            clock.lap("write")
            spent.setdefault("write", []).append(clock.laps["write"] / PICTURES)
    return [
        row(f"a frame: {stage}", Figure(tuple(seconds)).times(1e3), "ms")
        for stage, seconds in spent.items()
    ]


def frame_stages(
    source: Source, video: SourceVideo, frame: SourceFrame, writer: ShardWriter
) -> dict[str, float]:
    """The seconds of each stage of one frame in three corruptions."""
    clock = Stopwatch()
    data = read_bytes(frame.file)
    clock.lap("read")
    decoded = images.decode(data, str(frame.file))
    clock.lap("decode")
    pixels = Crop.of((HEIGHT, WIDTH), RECIPE.size).pixels(decoded)
    clock.lap("resize")
    prepared = Prepared(source.name, video.id, frame.index, pixels, -1, (), ())
    arrays = [corrupted(prepared, name, severity, RECIPE) for name, severity in RECIPE.corruptions]
    clock.lap("corrupt (three)")
    files = [images.encode(array, RECIPE.encoding) for array in arrays]
    clock.lap("encode (three)")
    hashes = [images.pixel_hash(array) for array in (pixels, *arrays)]
    clock.lap("hash (three and clean)")
    names = (CLEAN, *CONFIGS)
    row_images, row_hashes = zip(CONFIGS, files, strict=True), zip(names, hashes, strict=True)
    writer.add(
        shardwriter.Row(video.id, frame.index, -1, (), (), dict(row_images), dict(row_hashes))
    )
    return clock.laps


class Stopwatch:
    """Seconds from lap to lap."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, name: str) -> None:
        """The time since the last lap was this stage's."""
        now = time.perf_counter()
        self.laps[name] = now - self._since
        self._since = time.perf_counter()


@contextlib.contextmanager
def shard(folder: Path) -> Iterator[ShardWriter]:
    """The files of one shard, really written, and gone afterwards."""
    out = Path(tempfile.mkdtemp(dir=folder))
    writer = ShardWriter(out, CONFIGS, (CLEAN, *CONFIGS), RECIPE.encoding.extension)
    yield writer
    writer.finish()
    shutil.rmtree(out)


def first_video(root: Path) -> tuple[Source, SourceVideo, list[SourceFrame]]:
    """The source, its first video, and the video's frames."""
    source = open_source("imagenet-vid", root)
    video = source.videos()[0]
    return source, video, list(source.frames(video))


if __name__ == "__main__":
    sys.exit(alone(measure, sys.argv[1:]))
