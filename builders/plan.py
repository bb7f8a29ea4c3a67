"""The plan of a build: which frames go into which shard, and about how large it all will be.

It follows from the listing of the source and the settings alone, so that every machine and every
later start makes the same plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from vidc.builders.pipeline import Recipe, selected
from vidc.builders.settings import Settings, digest
from vidc.builders.source import Source, SourceVideo
from vidc.corruptions.imagenet_c import NAMES
from vidc.errors import InputError
from vidc.frames import ANNOTATIONS, CLEAN, ROW_GROUP_FRAMES
from vidc.manifest import Skipped

# So that a small dataset, too, keeps several workers busy.
FEWEST_SHARDS = 8
# A worker holds one row group of every config in memory, encoded: this many bytes at most.
ROW_GROUP_BYTES = 256 * 2**20
# Where frames keep their own size, the plan reckons with this one: it reads no file.
NATIVE_PIXELS = 1280 * 720
# Seconds a pixel, measured on one core: of a stored frame with a corruption of ours, and what the
# imagecorruptions package adds with its own, of which a few are many times slower.
OURS = 1.0e-7
PACKAGED = 1.0e-7
SLOW = {
    "zoom_blur": 19e-7,
    "brightness": 7e-7,
    "saturate": 7e-7,
    "elastic_transform": 3.5e-7,
    "glass_blur": 3e-7,
    "shot_noise": 3e-7,
    "motion_blur": 2.5e-7,
}


@dataclass(frozen=True)
class Part:
    """Consecutive stored frames of one video: ``start`` and ``stop`` count stored frames."""

    video: SourceVideo
    start: int
    stop: int

    def identity(self) -> list[Any]:
        """What the part is, wherever the videos lie on disk."""
        return [self.video.id, self.video.frames, self.start, self.stop]


@dataclass(frozen=True)
class Task:
    """One shard: the same frames in every config."""

    index: int
    count: int
    parts: tuple[Part, ...]

    @property
    def frames(self) -> int:
        """How many frames it stores, if none is broken."""
        return sum(part.stop - part.start for part in self.parts)

    def path(self, config: str, split: str) -> str:
        """The shard of a config, relative to the dataset's folder."""
        return f"data/{config}/{split}-{self.index:05d}-of-{self.count:05d}.parquet"

    def paths(self, settings: Settings) -> tuple[str, ...]:
        """The shards of all configs."""
        configs = (*settings.configs, ANNOTATIONS)
        return tuple(self.path(config, settings.split) for config in configs)


@dataclass(frozen=True)
class Plan:
    """All shards of a dataset."""

    settings: Settings
    tasks: tuple[Task, ...]
    videos: int
    on_disk: int  # videos of the split that --root holds
    in_release: int  # videos that the split has
    frames_on_disk: int  # frames of those videos
    frames_in_release: int | None  # and how many they should have, where that is known
    empty: tuple[Skipped, ...]  # videos without a frame
    missing: tuple[str, ...]

    @property
    def frames(self) -> int:
        """How many frames each config stores, if none is broken."""
        return sum(task.frames for task in self.tasks)

    @property
    def whole(self) -> bool:
        """Whether it has every frame of every video of the split, and of no other."""
        whole_videos = self.videos == self.on_disk == self.in_release
        whole_frames = self.frames_in_release in (None, self.frames_on_disk)
        return whole_videos and whole_frames and self.settings.recipe.stride == 1

    @cached_property
    def digest(self) -> str:
        """The sha256 that stands for the whole plan."""
        parts = [[part.identity() for part in task.parts] for task in self.tasks]
        return digest([self.settings.identity(), parts, list(self.missing)])

    def task_key(self, task: Task, versions: dict[str, str]) -> str:
        """The name of a finished task: it changes with anything that may change its bytes."""
        parts = [part.identity() for part in task.parts]
        place = [task.index, task.count]
        return digest([self.settings.identity(), versions, place, parts])


def make_plan(source: Source, settings: Settings) -> Plan:
    """Cut the videos of a source into shards."""
    listed = source.videos()
    if not listed:
        raise InputError(
            f"there is no video of {source.name}'s split '{source.split}' in --root: unpack the "
            "split there"
        )
    wanted = listed[: settings.limit_videos]
    videos = [video for video in wanted if video.frames > 0]
    empty = [video for video in wanted if video.frames == 0]
    if empty and (not settings.skip_broken or not videos):
        raise InputError(f"{empty[0].folder} holds no frame: --skip-broken leaves such videos out")
    groups = group(videos, settings)
    return Plan(
        settings=settings,
        tasks=tuple(Task(i, len(groups), tuple(parts)) for i, parts in enumerate(groups)),
        videos=len(videos),
        on_disk=len(listed),
        in_release=source.videos_in_release,
        frames_on_disk=sum(video.frames for video in listed),
        frames_in_release=source.frames_in_release,
        empty=tuple(Skipped(video.id, "the video has no frame") for video in empty),
        missing=source.missing,
    )


def group(videos: Sequence[SourceVideo], settings: Settings) -> list[list[Part]]:
    """Whole videos, in order, up to the shard size; only a video that exceeds it is cut."""
    recipe = settings.recipe
    lengths = [len(selected(video, recipe)) for video in videos]
    largest = max(frame_bytes(recipe, name) for name, _ in recipe.corruptions)
    limit = max(1, settings.shard_size // largest)
    target = min(limit, -(-sum(lengths) // FEWEST_SHARDS))
    groups: list[list[Part]] = []
    room = 0
    for video, length in zip(videos, lengths, strict=True):
        if length > limit:
            groups += [[part] for part in _cut(video, length, limit, recipe)]
            room = 0
        elif length > room:
            groups.append([Part(video, 0, length)])
            room = target - length
        else:
            groups[-1].append(Part(video, 0, length))
            room -= length
    return groups


def _cut(video: SourceVideo, length: int, limit: int, recipe: Recipe) -> list[Part]:
    """A long video in pieces, of whole row groups where a shard holds that much."""
    rows = row_group_frames(recipe)
    step = limit - limit % rows if limit > rows else limit
    return [Part(video, start, min(start + step, length)) for start in range(0, length, step)]


def row_group_frames(recipe: Recipe) -> int:
    """How many frames a row group holds: fewer where frames are large or configs are many."""
    together = sum(frame_bytes(recipe, name) for name, _ in recipe.corruptions)
    return min(ROW_GROUP_FRAMES, max(1, ROW_GROUP_BYTES // together))


def frame_bytes(recipe: Recipe, corruption: str) -> int:
    """About how many bytes a stored frame has: measured means, rounded up."""
    pixels = recipe.size**2 if recipe.size else NATIVE_PIXELS
    noisy = "noise" in corruption
    if recipe.encoding.format == "png":
        each = 2.7 if noisy else 2.2 if corruption != CLEAN else 2.0
    else:
        each = (0.9 if noisy else 0.45) * (2.0 if recipe.encoding.quality > 92 else 1.0)
    return max(1, round(pixels * each))


def estimated_bytes(recipe: Recipe, frames: int) -> int:
    """About how many bytes this many frames of every config take, annotations included."""
    annotations = 100 + 70 * len(recipe.corruptions)
    together = sum(frame_bytes(recipe, name) for name, _ in recipe.corruptions)
    return frames * (together + annotations)


def estimated_seconds(recipe: Recipe, frames: int, workers: int) -> float:
    """About how long this many frames take, from seconds a frame measured on one core."""
    pixels = recipe.size**2 if recipe.size else NATIVE_PIXELS
    each = 0.010 + pixels * sum(_seconds_a_pixel(name) for name, _ in recipe.corruptions)
    return frames * each / workers


def _seconds_a_pixel(corruption: str) -> float:
    return OURS + (SLOW.get(corruption, PACKAGED) if corruption in NAMES else 0.0)
