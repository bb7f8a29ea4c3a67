"""ImageNet-VID as it is released: ``ILSVRC2015/{Data,Annotations}/VID/{val,train}/…``.

A frame's index is the number of its file, so snippets with gaps keep their own numbering. A frame
without an annotation file is unlabelled: it stays in the video, with no object.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload
from xml.etree.ElementTree import Element, ParseError

from vidc.builders.source import (
    SourceFrame,
    SourceVideo,
    checked_id,
    frame_files,
    read_bytes,
    subfolders,
)
from vidc.classes import ClassList, class_list
from vidc.errors import InputError, unknown
from vidc.frames import Box

SPLITS = ("val", "train")
_ILSVRC = "ILSVRC2015"


@dataclass(frozen=True)
class ImageNetVid:
    """One split of ImageNet-VID on disk."""

    root: Path
    split: str
    name: str = "imagenet-vid"
    dataset: str = "imagenet-vid-c"
    missing: tuple[str, ...] = ()
    # VID's flag is set on objects that are partly covered: they can still be seen.
    occluded_is_hidden: bool = False

    @property
    def classes(self) -> ClassList:
        """The thirty classes."""
        return class_list("imagenet-vid")

    def videos(self) -> Sequence[SourceVideo]:
        """The split's videos; those of train have the id ``ILSVRC2015_VID_train_0000/<video>``."""
        data = self.root / "Data" / "VID" / self.split
        names = subfolders(data)
        if self.split == "train":
            names = [f"{part}/{name}" for part in names for name in subfolders(data / part)]
        return [_video(data / name, name) for name in sorted(names)]

    def frames(self, video: SourceVideo) -> Sequence[SourceFrame]:
        """The video's frames in the order of their numbers."""
        annotations = self.root / "Annotations" / "VID" / self.split / video.id
        return _Frames(frame_files(video.folder), annotations, self.classes)


@dataclass(frozen=True)
class _Frames(Sequence[SourceFrame]):
    files: list[tuple[int, Path]]
    annotations: Path
    classes: ClassList

    def __len__(self) -> int:
        return len(self.files)

    @overload
    def __getitem__(self, position: int) -> SourceFrame: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[SourceFrame]: ...
    def __getitem__(self, position: int | slice) -> SourceFrame | Sequence[SourceFrame]:
        if isinstance(position, slice):
            return _Frames(self.files[position], self.annotations, self.classes)
        index, file = self.files[position]
        xml = self.annotations / f"{file.stem}.xml"
        objects = parse(read_bytes(xml), str(xml)) if xml.exists() else ()
        return SourceFrame(index, file, objects)


def open_split(root: Path, split: str | None, allow_missing: bool) -> ImageNetVid:
    """A split of the tree at ``root``, which is ``ILSVRC2015`` or the folder that holds it."""
    split = split or SPLITS[0]
    if split not in SPLITS:
        raise unknown("imagenet-vid split", split, SPLITS)
    for folder in (root, root / _ILSVRC):
        if (folder / "Data" / "VID" / split).is_dir():
            return ImageNetVid(folder, split)
    raise InputError(
        f"--root {root} has no Data/VID/{split}, and no {_ILSVRC}/Data/VID/{split}: "
        f"give the {_ILSVRC} folder of ImageNet-VID."
    )


def parse(data: bytes, what: str) -> tuple[Box, ...]:
    """The objects of an annotation file; ``what`` names the file where it is broken."""
    import defusedxml
    from defusedxml import ElementTree

    try:
        root = ElementTree.fromstring(data, forbid_dtd=True)
    except defusedxml.DefusedXmlException as error:
        raise InputError(f"{what} declares a document type or entities: refused.") from error
    except (ParseError, ValueError, LookupError) as error:
        raise InputError(f"{what} is not an annotation: {error}.") from error
    return tuple(_object(element, what) for element in root.findall("object"))


def _object(element: Element, what: str) -> Box:
    wnid = _text(element, "name", what)
    category = _categories().get(wnid)
    if category is None:
        raise InputError(f"{what} names '{wnid}', which is none of ImageNet-VID's thirty classes.")
    x0, y0, x1, y1 = (
        _number(element, f"bndbox/{side}", what) for side in ("xmin", "ymin", "xmax", "ymax")
    )
    return Box(
        bbox=(x0, y0, x1 - x0, y1 - y0),
        category=category,
        track=int(_number(element, "trackid", what)),
        occluded=_number(element, "occluded", what) != 0,
        generated=_number(element, "generated", what) != 0,
    )


@functools.cache
def _categories() -> dict[str | None, int]:
    return {wnid: label for label, wnid in enumerate(class_list("imagenet-vid").wnids)}


def _text(element: Element, path: str, what: str) -> str:
    text = element.findtext(path)
    if text is None or not text.strip():
        raise InputError(f"{what} has an object without {path}.")
    return text.strip()


def _number(element: Element, path: str, what: str) -> float:
    text = _text(element, path, what)
    try:
        return float(int(text))
    except ValueError:
        raise InputError(f"{what} has '{text}' for {path}: a whole number was expected.") from None


def _video(folder: Path, name: str) -> SourceVideo:
    return SourceVideo(checked_id(name, folder), len(frame_files(folder)), folder)
