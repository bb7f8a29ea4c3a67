"""From a clean frame's file to the pixels that are stored: decode once, resize, corrupt, encode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from vidc import images
from vidc.builders.source import Source, SourceFrame, SourceVideo, read_bytes
from vidc.corruptions import TEMPORAL, Key, corrupt, names
from vidc.errors import InputError, unknown
from vidc.frames import CLEAN, UNLABELLED, Box, Pixels
from vidc.images import Encoding


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the stored pixels, and which frames there are."""

    corruptions: tuple[tuple[str, int], ...]  # with severity; ("clean", 0) where it is stored
    size: int | None = 224  # None keeps each frame as it is
    encoding: Encoding = field(default_factory=Encoding)
    temporal: str = "iid"
    seed: int = 0
    stride: int = 1  # every stride-th frame of each video, from its first

    def __post_init__(self) -> None:
        if not self.corruptions:
            raise InputError("no corruption is asked for: name at least one.")
        for name, severity in self.corruptions:
            if name not in (CLEAN, *names()):
                raise unknown("corruption", name, (CLEAN, *names()))
            if severity not in ((0,) if name == CLEAN else range(1, 6)):
                raise InputError(f"severity {severity} of {name}: it goes from 1 to 5.")
        if len(set(self.corruptions)) < len(self.corruptions):
            raise InputError("a corruption is asked for twice at one severity.")
        if self.size is not None and not (self.size > 0 and self.size**2 <= images.PIXEL_LIMIT):
            raise InputError(f"--size is {self.size}: it must be from 1 to 8192, or native.")
        if self.temporal not in TEMPORAL:
            raise unknown("temporal", self.temporal, TEMPORAL)
        if self.stride < 1:
            raise InputError(f"--stride is {self.stride}: it must be 1 or more.")


@dataclass(frozen=True, slots=True)
class Labels:
    """What is labelled in a stored frame: its class, all its classes, and its boxes."""

    label: int
    labels: tuple[int, ...]
    objects: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A clean frame at its stored size, with its labels."""

    source: str
    video: str
    frame: int
    pixels: Pixels
    label: int
    labels: tuple[int, ...]
    objects: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """A frame as it is stored: the file's bytes, and the hash of the pixels a reader gets."""

    data: bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class Crop:
    """How a frame becomes the stored one: resized, then cut out. All are (height, width).

    >>> Crop.of((720, 1280), 224)
    Crop(source=(720, 1280), resized=(256, 455), corner=(16, 116), stored=(224, 224))
    """

    source: tuple[int, int]
    resized: tuple[int, int]
    corner: tuple[int, int]
    stored: tuple[int, int]

    @classmethod
    def of(cls, source: tuple[int, int], size: int | None) -> Crop:
        """The geometry of torchvision's Resize(256) and CenterCrop(224), for any crop size."""
        if size is None:
            return cls(source, source, (0, 0), source)
        shorter, least = round(size * 256 / 224), min(source)
        down, across = (shorter if n == least else int(shorter * n / least) for n in source)
        corner = (round((down - size) / 2), round((across - size) / 2))
        return cls(source, (down, across), corner, (size, size))

    def pixels(self, frame: Pixels) -> Pixels:
        """The stored pixels of a frame: at most one grey level from torchvision's."""
        if self.source == self.resized == self.stored:
            return frame
        from PIL import Image

        # Pillow's resize of a part computes the crop alone, not the whole resized frame.
        (top, bottom), (left, right) = self._part(0), self._part(1)
        image = Image.fromarray(frame).resize(
            self.stored[::-1], Image.Resampling.BILINEAR, box=(left, top, right, bottom)
        )
        return np.array(image)

    def _part(self, axis: int) -> tuple[float, float]:
        """Where on the source the crop begins and ends."""
        scale = self.source[axis] / self.resized[axis]
        begin = self.corner[axis]
        return begin * scale, min((begin + self.stored[axis]) * scale, self.source[axis])

    def boxes(self, boxes: Sequence[Box]) -> tuple[Box, ...]:
        """The boxes moved into the crop and clipped to it; those wholly outside are dropped."""
        moved = (replace(box, bbox=self._box(box.bbox)) for box in boxes)
        return tuple(box for box in moved if box.bbox[2] > 0 and box.bbox[3] > 0)

    def _box(self, bbox: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
        x, y, width, height = bbox
        top, bottom = self._clipped(0, y, height)
        left, right = self._clipped(1, x, width)
        # They are stored as float32: rounding here keeps memory and file the same.
        x, y, width, height = np.array([left, top, right - left, bottom - top], np.float32).tolist()
        return x, y, width, height

    def _clipped(self, axis: int, begin: float, length: float) -> tuple[float, float]:
        scale, limit = self.resized[axis] / self.source[axis], float(self.stored[axis])
        first, last = begin * scale, (begin + length) * scale
        corner = self.corner[axis]
        return min(max(first - corner, 0.0), limit), min(max(last - corner, 0.0), limit)


def selected(video: SourceVideo, recipe: Recipe) -> range:
    """The positions of a video's frames that the recipe takes."""
    return range(0, video.frames, recipe.stride)


def prepare(
    source: Source, video: SourceVideo, source_frame: SourceFrame, recipe: Recipe
) -> Prepared:
    """The clean frame, decoded once, at its stored size, with its boxes moved along."""
    file = source_frame.file
    decoded = images.decode(read_bytes(file), str(file))
    crop = Crop.of(decoded.shape[:2], recipe.size)
    found = labels_in(crop, source_frame, source)
    return Prepared(
        source=source.name,
        video=video.id,
        frame=source_frame.index,
        pixels=crop.pixels(decoded),
        label=found.label,
        labels=found.labels,
        objects=found.objects,
    )


def labels_in(crop: Crop, source_frame: SourceFrame, source: Source) -> Labels:
    """The labels of a stored frame: of what is left of its objects in the crop.

    The label is the class of the largest box as it is stored; of two boxes of the same area the
    first in the annotation counts. Where no object is left that can be seen, there is no label.
    """
    objects = crop.boxes(source_frame.objects)
    seen = [box for box in objects if not (box.occluded and source.occluded_is_hidden)]
    if not seen:
        return Labels(UNLABELLED, (), objects)
    largest = max(seen, key=lambda box: box.bbox[2] * box.bbox[3])
    return Labels(largest.category, tuple(sorted({box.category for box in seen})), objects)


def corrupted(prepared: Prepared, corruption: str, severity: int, recipe: Recipe) -> Pixels:
    """The frame's pixels under a corruption, before they are encoded."""
    if corruption == CLEAN:
        return prepared.pixels
    key = Key(recipe.seed, prepared.source, prepared.video, prepared.frame)
    return corrupt(prepared.pixels, corruption, severity, key, recipe.temporal)


def store(pixels: Pixels, encoding: Encoding) -> Stored:
    """A frame encoded, with the hash of the pixels a reader will get."""
    data = images.encode(pixels, encoding)
    seen = pixels if encoding.format == "png" else images.decode(data, "a frame just encoded")
    return Stored(data, images.pixel_hash(seen))
