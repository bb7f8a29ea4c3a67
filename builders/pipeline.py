"""From a clean frame's file to the pixels that are stored: decode once, resize, corrupt, encode."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from vidc import images
from vidc.builders.source import Source, SourceFrame, SourceVideo, read_bytes
from vidc.corruptions import Key, corrupt
from vidc.errors import InputError
from vidc.frames import CLEAN, UNLABELLED, Box, Pixels
from vidc.images import Encoding


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the stored pixels, and which frames there are."""

    corruptions: tuple[tuple[str, int], ...]
    size: int | None = 224  # None keeps each frame as it is
    encoding: Encoding = field(default_factory=Encoding)
    temporal: str = "iid"
    seed: int = 0
    stride: int = 1  # every stride-th frame of each video, from its first


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
class Crop:
    """How a frame becomes the stored one: resized to height × width, then cut out.

    >>> Crop.of(720, 1280, 224)
    Crop(source=(720, 1280), resized=(256, 455), corner=(16, 116), stored=(224, 224))
    """

    source: tuple[int, int]  # all are (height, width) or (top, left)
    resized: tuple[int, int]
    corner: tuple[int, int]
    stored: tuple[int, int]

    @classmethod
    def of(cls, height: int, width: int, size: int | None) -> Crop:
        """The geometry of torchvision's Resize(size · 256 / 224) and CenterCrop(size)."""
        whole = (height, width)
        if size is None:
            return cls(whole, whole, (0, 0), whole)
        shorter = round(size * 256 / 224)
        if height <= width:
            resized = (shorter, int(shorter * width / height))
        else:
            resized = (int(shorter * height / width), shorter)
        corner = (round((resized[0] - size) / 2), round((resized[1] - size) / 2))
        return cls(whole, resized, corner, (size, size))

    def pixels(self, frame: Pixels) -> Pixels:
        """The stored pixels of a frame."""
        if self.resized == self.source == self.stored:
            return frame
        from PIL import Image

        (down, across), (top, left), (height, width) = self._scale(), self.corner, self.stored
        # Pillow resizes only the part of the frame that the crop needs.
        part = (left / across, top / down, (left + width) / across, (top + height) / down)
        image = Image.fromarray(frame).resize((width, height), Image.Resampling.BILINEAR, box=part)
        return np.asarray(image)

    def box(self, box: Box) -> Box | None:
        """A box moved into the crop and clipped to it; None where nothing of it is left."""
        (down, across), (top, left), (height, width) = self._scale(), self.corner, self.stored
        x, y, w, h = box.bbox
        x0, x1 = (min(max(v * across - left, 0.0), float(width)) for v in (x, x + w))
        y0, y1 = (min(max(v * down - top, 0.0), float(height)) for v in (y, y + h))
        # Boxes are stored as float32: rounding here keeps memory and file the same.
        moved = tuple(float(np.float32(v)) for v in (x0, y0, x1 - x0, y1 - y0))
        if not (moved[2] > 0 and moved[3] > 0):
            return None
        return Box(moved, box.category, box.track, box.occluded, box.generated)  # type: ignore[arg-type]

    def _scale(self) -> tuple[float, float]:
        return self.resized[0] / self.source[0], self.resized[1] / self.source[1]


def prepare(
    source: Source, video: SourceVideo, source_frame: SourceFrame, recipe: Recipe
) -> Prepared:
    """The clean frame, decoded once, at its stored size, with its boxes moved along."""
    decoded = images.decode(read_bytes(source_frame.file), str(source_frame.file))
    crop = Crop.of(decoded.shape[0], decoded.shape[1], recipe.size)
    objects = tuple(moved for box in source_frame.objects if (moved := crop.box(box)))
    label, labels = labels_of(objects, source.occluded_is_hidden)
    return Prepared(
        source=source.name,
        video=video.id,
        frame=source_frame.index,
        pixels=crop.pixels(decoded),
        label=label,
        labels=labels,
        objects=objects,
    )


def labels_of(objects: tuple[Box, ...], occluded_is_hidden: bool) -> tuple[int, tuple[int, ...]]:
    """The class of the largest stored object that can be seen, and every class that can be seen.

    Of two objects of the same area the first in the annotation counts.
    """
    seen = [box for box in objects if not (box.occluded and occluded_is_hidden)]
    if not seen:
        return UNLABELLED, ()
    largest = max(seen, key=lambda box: box.bbox[2] * box.bbox[3])
    return largest.category, tuple(sorted({box.category for box in seen}))


def corrupted(prepared: Prepared, corruption: str, severity: int, recipe: Recipe) -> Pixels:
    """The frame's pixels under a corruption, before encoding."""
    if corruption == CLEAN:
        return prepared.pixels
    key = Key(recipe.seed, prepared.source, prepared.video, prepared.frame)
    return corrupt(prepared.pixels, corruption, severity, key, recipe.temporal)


@dataclass(frozen=True, slots=True)
class Stored:
    """A frame as it is stored: the file's bytes, and the hash of the pixels a reader gets."""

    data: bytes
    sha256: str


def store(pixels: Pixels, encoding: Encoding) -> Stored:
    """Encode a frame; JPEG changes pixels, so its hash is of what its file decodes to."""
    data = images.encode(pixels, encoding)
    seen = pixels if encoding.format == "png" else images.decode(data, "a frame just encoded")
    return Stored(data, images.pixel_hash(seen))


def selected(video: SourceVideo, recipe: Recipe) -> range:
    """The positions of a video's frames that the recipe takes."""
    if recipe.stride < 1:
        raise InputError(f"--stride is {recipe.stride}: it must be 1 or more.")
    return range(0, video.frames, recipe.stride)
