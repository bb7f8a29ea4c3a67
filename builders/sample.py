"""The sample: rendered clips on disk exactly as the real datasets are, and no download.

From the folders on, the sample goes the ordinary way: real readers, real builder, real evaluator.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tqdm import tqdm

from vidc import lock
from vidc.builders.sample_layout import write_lasot, write_vid
from vidc.builders.sample_looks import MEADOW, STREET, Look
from vidc.builders.sample_scene import (
    Clip,
    make_clip,
    with_companion,
    with_entrance,
    with_wall,
)
from vidc.builders.sample_shapes import SHAPES
from vidc.builders.source import RENDERED
from vidc.classes import lasot_test_sequences
from vidc.engines import Advance, Engine, run
from vidc.errors import InputError

SIZE = 112  # the sample's stored frames; half the real ones, so that a laptop is quick
SEVERITY = 4  # severity 5 hurts so small a frame far more than one of 224 pixels
FRAMES = 48

_MARKER = "sample.txt"
_NOTICE = """\
These clips were rendered by vidc. They have the layout of a release of real video and are not it:
what is built or measured from this folder is named as the sample's, as long as this file is here.
"""
_PAINTING = ("shapes", "looks", "dice", "backdrop", "scene", "paint", "layout")
_TRAINING_STEP = 10  # frames between two of a training clip: neighbours teach little that is new
_VID_ENTRANCES = (5, 30)  # these videos begin without their object,
_VID_COMPANIONS = (13, 43)  # and these have an object of a second class
_LASOT_ENTRANCE = "bird-15"
_LASOT_WALL = "car-6"


@dataclass(frozen=True)
class Video:
    """One video to render: where it goes, what is in it, and the text its randomness is from."""

    layout: str  # "vid" or "lasot"
    id: str
    kind: str
    look: Look
    seed: str
    times: tuple[int, ...] = tuple(range(FRAMES))
    entrance: bool = False
    companion: str | None = None
    wall: bool = False

    def clip(self) -> Clip:
        """The clip that is painted."""
        clip = make_clip(self.seed, self.look, self.kind)
        if self.companion:
            clip = with_companion(clip, self.seed, self.companion)
        if self.entrance:
            clip = with_entrance(clip)
        if self.wall:
            clip = with_wall(clip)
        return clip


def render(root: Path) -> None:
    """Render the sample's clean videos into ``root``/ILSVRC2015 and ``root``/LaSOT.

    Nothing is done where they are already there. What a killed run left is used by the next.
    """
    _render(root, [*vid_videos(), *lasot_videos()])


def render_training(root: Path, clips: int) -> None:
    """Render the clips that the sample's classifier is trained on: none is in the sample.

    ``clips`` of each kind and look, a few frames each, all in ImageNet-VID's layout.
    """
    _render(root, training_videos(clips))


def vid_videos() -> list[Video]:
    """The sample of ImageNet-VID: the kinds take turns, as the real order has no rule either."""
    kinds = list(SHAPES)
    return [
        Video(
            layout="vid",
            id=(name := f"ILSVRC2015_val_{number:08d}"),
            kind=kinds[number % len(kinds)],
            look=MEADOW,
            seed=f"sample/{name}",
            entrance=number in _VID_ENTRANCES,
            companion=kinds[(number + 5) % len(kinds)] if number in _VID_COMPANIONS else None,
        )
        for number in range(4 * len(kinds))
    ]


def lasot_videos() -> list[Video]:
    """The sample of LaSOT: the four testing sequences of every kind."""
    return [
        Video(
            layout="lasot",
            id=name,
            kind=kind,
            look=STREET,
            seed=f"sample/{name}",
            entrance=name == _LASOT_ENTRANCE,
            wall=name == _LASOT_WALL,
        )
        for name in lasot_test_sequences()
        if (kind := name.rpartition("-")[0]) in SHAPES
    ]


def training_videos(clips: int) -> list[Video]:
    """The classifier's training clips: other seeds, and so other colours, places and paths."""
    parts = [
        (look, kind, number)
        for look in (MEADOW, STREET)
        for kind in SHAPES
        for number in range(clips)
    ]
    return [
        Video(
            layout="vid",
            id=f"ILSVRC2015_val_{index:08d}",
            kind=kind,
            look=look,
            seed=f"training/{'street' if look.tiled else 'meadow'}/{kind}/{number}",
            times=tuple(range(0, FRAMES, _TRAINING_STEP)),
        )
        for index, (look, kind, number) in enumerate(parts)
    ]


def _render(root: Path, videos: Sequence[Video]) -> None:
    root = root.absolute()
    mark = _mark(videos)
    root.parent.mkdir(parents=True, exist_ok=True)
    locked = root.with_name(f".{root.name}.lock")
    with lock.hold(locked, wait=True):
        if not _is_rendered(root, mark):
            work = root.with_name(f".{root.name}.{mark[:16]}")
            _render_all(work, videos)
            for tree in (path for path in work.iterdir() if path.is_dir()):
                (tree / RENDERED).write_text(_NOTICE, "utf-8")
            (work / _MARKER).write_text(mark + "\n", "utf-8")
            # One call for thousands of small files: after the rename none of them may be empty.
            os.sync()
            work.replace(root)
        locked.unlink(missing_ok=True)


def _is_rendered(root: Path, mark: str) -> bool:
    if not root.exists() or (root.is_dir() and not any(root.iterdir())):
        return False
    marker = root / _MARKER
    if not marker.is_file():
        raise InputError(f"{root} holds something else than the rendered sample: move it away.")
    if marker.read_text("utf-8").strip() != mark:
        raise InputError(
            f"{root} was rendered by another version of vidc: delete it and what was built of it, "
            "then give the same command again."
        )
    return True


def _mark(videos: Sequence[Video]) -> str:
    """Changes with whatever may change a rendered pixel: the list of videos, and the painting."""
    digest = hashlib.sha256(repr((videos, RENDERED, _NOTICE)).encode())
    for subject in _PAINTING:
        digest.update(Path(__file__).with_name(f"sample_{subject}.py").read_bytes())
    return digest.hexdigest()


def _render_all(work: Path, videos: Sequence[Video]) -> None:
    for left in work.glob("**/.*.part"):
        shutil.rmtree(left)
    total = sum(len(video.times) for video in videos)
    with tqdm(total=total, desc="rendering", unit=" frames", disable=None) as bar:

        def progress(done: int) -> None:
            bar.update(done - bar.n)

        for _ in run(Engine(), partial(_render_video, work), videos, progress):
            pass


def _render_video(work: Path, video: Video, advance: Advance) -> None:
    clip = video.clip()
    write = write_vid if video.layout == "vid" else write_lasot
    write(work, video.id, clip, video.times)
    advance(len(video.times))
