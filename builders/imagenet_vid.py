"""ImageNet-VID as it is released: ``ILSVRC2015/{Data,Annotations}/VID/{val,train}/…``.

A frame's index is the number of its file, so snippets with gaps keep their own numbering. A frame
without an annotation file is an error; with --allow-missing it stays in the video, with no object.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from vidc.builders.source import (
    LazyFrames,
    SourceFrame,
    SourceVideo,
    dataset_name,
    is_folder,
    numbered_frames,
    read_if_there,
    subfolders,
)
from vidc.classes import ClassList, class_list
from vidc.errors import InputError, unknown
from vidc.frames import Box

_VIDEOS_IN_RELEASE = {"val": 555, "train": 3862}
_FRAMES_IN_RELEASE = {"val": 176_126}
SPLITS = tuple(_VIDEOS_IN_RELEASE)
_ILSVRC = "ILSVRC2015"
_LARGEST_TRACK = 2**31 - 1
# Annotations are a few kilobytes long; to read one takes forty times its size in memory.
_LONGEST = 2**20


@dataclass(frozen=True)
class ImageNetVid:
    """One split of ImageNet-VID on disk."""

    root: Path
    split: str
    dataset: str
    allow_missing: bool = False
    name: str = "imagenet-vid"
    missing: tuple[str, ...] = ()
    # The flag is set on objects that are covered in part: they can still be seen.
    occluded_is_hidden: bool = False

    @property
    def classes(self) -> ClassList:
        """The thirty classes."""
        return class_list("imagenet-vid")

    @property
    def videos_in_release(self) -> int:
        """How many videos the whole split has."""
        return _VIDEOS_IN_RELEASE[self.split]

    @property
    def frames_in_release(self) -> int | None:
        """How many frames the split's videos have: an archive may be unpacked in part."""
        return _FRAMES_IN_RELEASE.get(self.split)

    def videos(self) -> Sequence[SourceVideo]:
        """The split's videos; those of train have the id ``ILSVRC2015_VID_train_0000/<video>``."""
        data = self.root / "Data" / "VID" / self.split
        names = subfolders(data)
        if self.split == "train":
            names = [f"{part}/{name}" for part in names for name in subfolders(data / part)]
        return [
            SourceVideo(name, len(numbered_frames(data / name)), data / name)
            for name in sorted(names)
        ]

    def frames(self, video: SourceVideo) -> Sequence[SourceFrame]:
        """The video's frames in the order of their numbers."""
        annotations = self.root / "Annotations" / "VID" / self.split / video.id
        objects = functools.partial(_objects, annotations, self.allow_missing)
        return LazyFrames(video.folder, numbered_frames(video.folder), objects)


def open_split(root: Path, split: str | None, allow_missing: bool) -> ImageNetVid:
    """A split of the tree at ``root``, which is ``ILSVRC2015`` or the folder that holds it.

    Its lists of names (``ImageSets``) are often left out of copies and are not read, so no video is
    known by name to be missing.
    """
    split = split or SPLITS[0]
    if split not in SPLITS:
        raise unknown("imagenet-vid split", split, SPLITS)
    for folder in (root, root / _ILSVRC):
        if is_folder(folder / "Data" / "VID" / split):
            _check_annotations(folder, split)
            dataset = dataset_name("imagenet-vid", folder)
            return ImageNetVid(folder, split, dataset, allow_missing)
    raise InputError(
        f"--root {root} has neither Data/VID/{split} nor {_ILSVRC}/Data/VID/{split}: "
        f"give the {_ILSVRC} folder of ImageNet-VID."
    )


def _check_annotations(root: Path, split: str) -> None:
    """Even --allow-missing builds no split without one label."""
    if not is_folder(root / "Annotations" / "VID" / split):
        raise InputError(
            f"--root {root} has the frames of {split} but no Annotations/VID/{split}: unpack the "
            "annotations beside the frames."
        )


def parse(data: bytes, what: str) -> tuple[Box, ...]:
    """The objects of an annotation file; ``what`` names the file where it is broken."""
    from defusedxml import DefusedXmlException, ElementTree

    if len(data) > _LONGEST:
        raise InputError(f"{what} is longer than any annotation: unpack it again.")
    try:
        root = ElementTree.fromstring(data, forbid_dtd=True)
    except DefusedXmlException as error:
        raise InputError(f"{what} declares a document type or an entity: refused.") from error
    except (ParseError, ValueError, LookupError) as error:
        raise InputError(f"{what} is not XML: {error}.") from error
    if root.tag != "annotation":
        raise InputError(f"{what} is not an annotation: its root is <{root.tag}>.")
    return tuple(_box(element, what) for element in root.findall("object"))


def _objects(annotations: Path, allow_missing: bool, index: int, name: str) -> tuple[Box, ...]:
    file = (annotations / name).with_suffix(".xml")
    data = read_if_there(file)
    if data is None and not allow_missing:
        raise InputError(
            f"{file} is missing: unpack the annotations again, or --allow-missing takes such "
            "frames as unlabelled."
        )
    return () if data is None else parse(data, str(file))


def _box(element: Element, what: str) -> Box:
    wnid = _text(element, "name", what)
    category = _labels().get(wnid)
    if category is None:
        raise InputError(f"{what} names '{wnid}', which is none of ImageNet-VID's thirty classes.")
    x0, y0, x1, y1 = (
        _number(element, f"bndbox/{side}", what) for side in ("xmin", "ymin", "xmax", "ymax")
    )
    track = _number(element, "trackid", what)
    if not (track.is_integer() and 0 <= track <= _LARGEST_TRACK):
        raise InputError(f"{what} has the trackid {track}, which is no track number.")
    return Box(
        bbox=(x0, y0, x1 - x0, y1 - y0),
        category=category,
        track=int(track),
        occluded=_number(element, "occluded", what) != 0,
        generated=_number(element, "generated", what) != 0,
    )


@functools.cache
def _labels() -> dict[str | None, int]:
    return {wnid: label for label, wnid in enumerate(class_list("imagenet-vid").wnids)}


def _text(element: Element, path: str, what: str) -> str:
    text = (element.findtext(path) or "").strip()
    if not text:
        raise InputError(f"{what} has an object without {path}.")
    return text


def _number(element: Element, path: str, what: str) -> float:
    text = _text(element, path, what)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{what} has '{text[:40]}' for {path}: a number was expected.")
    return number
