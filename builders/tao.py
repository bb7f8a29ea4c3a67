"""The LaSOT videos of TAO: ``annotations/{train,validation}.json``, ``frames/<split>/LaSOT/…``.

TAO annotates one frame a second, and its JSON lists those frames: they are the frames here, as in
earlier work that scored this part of TAO; the frames between have no label and are left out. TAO
annotates every object of a frame. Those whose category is one of LaSOT's classes are kept, by the
WordNet synset of the category (``vidc/classes/tao-synsets.json``), or by its name where TAO calls
the synset unknown.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from vidc.builders.source import (
    LazyFrames,
    SourceFrame,
    SourceVideo,
    is_folder,
    is_text,
    read_if_there,
)
from vidc.classes import ClassList, class_list, tao_synsets
from vidc.errors import InputError, unknown
from vidc.frames import Box

_FILES = {
    "trainval": ("train", "validation"),
    "train": ("train",),
    "validation": ("validation",),
}
SPLITS = tuple(_FILES)
_COLUMNS: dict[str, dict[str, type]] = {
    "videos": {"id": int, "name": str},
    "images": {"id": int, "video_id": int, "frame_index": int, "file_name": str},
    "annotations": {"image_id": int, "category_id": int, "track_id": int, "bbox": list},
    "categories": {"id": int, "name": str, "synset": str},
    "merged": {"id": int},
}
_LARGEST = 2**31 - 1  # frame indices and tracks are stored as int32


@dataclass(frozen=True, slots=True)
class AnnotatedFrame:
    """One frame that TAO annotates: its index, its file under ``frames``, and its objects."""

    index: int
    file: str
    objects: tuple[Box, ...]


@dataclass(frozen=True)
class TaoLasot:
    """The LaSOT videos of a split of TAO: annotations in memory, frames on disk."""

    root: Path
    split: str
    annotated: Mapping[str, tuple[AnnotatedFrame, ...]]  # by video, sorted
    missing: tuple[str, ...]
    name: str = "tao-lasot"
    dataset: str = "tao-lasot-c"
    occluded_is_hidden: bool = False
    frames_in_release: int | None = None  # a file that it lists and that is not there is an error

    @property
    def classes(self) -> ClassList:
        """LaSOT's seventy classes."""
        return class_list("lasot")

    @property
    def videos_in_release(self) -> int:
        """How many LaSOT videos the whole split has."""
        return len(self.annotated) + len(self.missing)

    def videos(self) -> Sequence[SourceVideo]:
        """The videos on disk, called what TAO calls them: ``train/LaSOT/kite-2``."""
        folder = self.root / "frames"
        return [
            SourceVideo(name, len(frames), folder / name) for name, frames in self.annotated.items()
        ]

    def frames(self, video: SourceVideo) -> Sequence[SourceFrame]:
        """The video's annotated frames in order."""
        frames = self.annotated[video.id]
        objects = {frame.index: frame.objects for frame in frames}
        entries = [(frame.index, frame.file) for frame in frames]
        return LazyFrames(self.root / "frames", entries, lambda index, name: objects[index])


def open_split(root: Path, split: str | None, allow_missing: bool) -> TaoLasot:
    """A split of TAO at ``root``; both annotation files together unless one is asked for."""
    split = split or SPLITS[0]
    if split not in SPLITS:
        raise unknown("tao-lasot split", split, SPLITS)
    annotated: dict[str, tuple[AnnotatedFrame, ...]] = {}
    for name in _FILES[split]:
        annotated.update(_read(root, name))
    if not annotated:
        raise InputError(
            f"{root / 'annotations'} lists no LaSOT video in {' and '.join(_FILES[split])}.json: "
            "download TAO's own annotations again."
        )
    present = {
        name: frames
        for name, frames in sorted(annotated.items())
        if is_folder(root / "frames" / name)
    }
    missing = tuple(sorted(set(annotated).difference(present)))
    if not present:
        raise InputError(
            f"--root {root} has none of the {len(annotated)} LaSOT videos of TAO's split "
            f"'{split}': unpack its frames, of which the first is frames/{missing[0]}."
        )
    if missing and not allow_missing:
        raise InputError(
            f"--root {root} has {len(present)} of the {len(annotated)} LaSOT videos of TAO's split "
            f"'{split}' ({missing[0]} is missing): --allow-missing goes on with those."
        )
    return TaoLasot(root, split, present, missing)


def _read(root: Path, name: str) -> dict[str, tuple[AnnotatedFrame, ...]]:
    file = root / "annotations" / f"{name}.json"
    data = read_if_there(file)
    if data is None:
        raise InputError(f"--root {root} has no annotations/{name}.json: give TAO's folder.")
    return parse(data, str(file))


def parse(data: bytes, what: str) -> dict[str, tuple[AnnotatedFrame, ...]]:
    """The annotated frames of each LaSOT video of a file; ``what`` names it where it is broken."""
    try:
        tables = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} is not JSON ({error}): download it again.") from error
    videos = {
        row["id"]: _path(row["name"], what)
        for row in _rows(tables, "videos", what)
        if "/LaSOT/" in row["name"]
    }
    images = [row for row in _rows(tables, "images", what) if row["video_id"] in videos]
    boxes = _boxes(tables, {row["id"] for row in images}, what)
    frames: dict[str, list[AnnotatedFrame]] = {name: [] for name in sorted(videos.values())}
    for row in images:
        index, file = _number(row["frame_index"], what), _path(row["file_name"], what)
        frame = AnnotatedFrame(index, file, tuple(boxes[row["id"]]))
        frames[videos[row["video_id"]]].append(frame)
    return {name: _in_order(rows, name, what) for name, rows in frames.items()}


def _rows(tables: Any, name: str, what: str) -> list[dict[str, Any]]:
    """A table of the file, every row of which has the columns that are read."""
    rows = tables.get(name) if isinstance(tables, dict) else None
    if not isinstance(rows, list):
        raise InputError(f"{what} has no list of {name}: is it one of TAO's annotation files?")
    for row in rows:
        for column, kind in _COLUMNS[name].items():
            if not isinstance(row, dict) or type(row.get(column)) is not kind:
                raise InputError(f"{what} lists among its {name} one without a valid '{column}'.")
    return rows


def _boxes(tables: Any, images: set[int], what: str) -> dict[int, list[Box]]:
    """The objects of each image whose category is one of LaSOT's classes, in the file's order."""
    labels = _labels(tables, what)
    boxes: dict[int, list[Box]] = defaultdict(list)
    for row in _rows(tables, "annotations", what):
        if row["image_id"] not in images or row["category_id"] not in labels:
            continue
        track = _number(row["track_id"], what)
        box = Box(_bbox(row["bbox"], what), labels[row["category_id"]], track, False, False)
        boxes[row["image_id"]].append(box)
    return boxes


def _labels(tables: Any, what: str) -> dict[int, int]:
    """The LaSOT label of each category that has one; merged categories count as the one kept."""
    labels: dict[int, int] = {}
    classes = class_list("lasot")
    by_name = {name.lower(): name for name in classes.names}
    for row in _rows(tables, "categories", what):
        word = "".join(filter(str.isalpha, row["name"])).lower()
        unnamed = row["synset"] == "unknown"
        kind = by_name.get(word) if unnamed else tao_synsets().get(row["synset"])
        if kind is not None:
            merged = _rows(row, "merged", what) if "merged" in row else []
            ids = [row["id"], *(other["id"] for other in merged)]
            labels |= dict.fromkeys(ids, classes.index(kind))
    return labels


def _in_order(rows: list[AnnotatedFrame], name: str, what: str) -> tuple[AnnotatedFrame, ...]:
    frames = tuple(sorted(rows, key=lambda frame: frame.index))
    if len({frame.index for frame in frames}) < len(frames):
        raise InputError(f"{what} lists a frame of {name} twice.")
    return frames


def _path(text: str, what: str) -> str:
    """A relative path of printable letters that cannot leave the folder it is joined to."""
    inside = not text.startswith("/") and ".." not in PurePosixPath(text).parts
    if not inside or not is_text(text) or not text.isprintable() or "\\" in text:
        raise InputError(f"{what} names the file {text[:80]!r}, which is refused.")
    return text


def _number(value: int, what: str) -> int:
    if not 0 <= value <= _LARGEST:
        raise InputError(f"{what} has {value} for a frame or a track, which is out of range.")
    return value


def _bbox(values: list[Any], what: str) -> tuple[float, float, float, float]:
    good = [value for value in values if type(value) in (int, float) and abs(value) < _LARGEST]
    if len(values) != 4 or len(good) != 4:
        raise InputError(f"{what} has a box that is not x, y, width and height.")
    x, y, width, height = map(float, good)
    return x, y, width, height
