"""From a clean frame's file to the pixels that are stored: decode once, resize, corrupt, encode."""

from __future__ import annotations

from dataclasses import dataclass, field

from vidc import images
from vidc.builders.crop import Crop
from vidc.builders.source import Source, SourceFrame, SourceVideo, read_bytes
from vidc.corruptions import TEMPORAL, Key, corrupt, names
from vidc.corruptions.imagenet_c import NAMES, SMALLEST
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
        packaged = [name for name, _ in self.corruptions if name in NAMES]
        if self.size is not None and packaged and self.size < SMALLEST:
            raise InputError(
                f"--size is {self.size}, but {packaged[0]} needs frames of at least {SMALLEST} "
                "pixels: give a larger size, or leave it out."
            )
        if self.temporal not in TEMPORAL:
            raise unknown("temporal", self.temporal, TEMPORAL)
        if not 1 <= self.stride < 2**63:
            raise InputError(f"--stride is {self.stride}: it must be from 1 to 2^63 - 1.")


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
