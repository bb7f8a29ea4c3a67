"""The geometry of a stored frame: resized and cut out as torchvision's ImageNet transform does."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vidc.frames import Box, Pixels


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
        """The stored pixels of a frame: torchvision's, or at most one grey level from them."""
        if self.source == self.resized == self.stored:
            return frame
        from PIL import Image

        # Pillow can resize a part of a frame, so little more than the crop is computed. One axis
        # at a time: which one it begins with by itself depends on its version and on the sizes,
        # and moves pixels by a grey level. Older versions, and new ones mostly, begin across.
        rows, columns = self._window(0), self._window(1)
        first, last = rows.reached
        image = Image.fromarray(frame[first:last]).resize(
            (columns.count, last - first),
            Image.Resampling.BILINEAR,
            box=(columns.begin, 0, columns.end, last - first),
        )
        height, width = self.stored
        image = image.crop((columns.lead, 0, columns.lead + width, last - first)).resize(
            (width, rows.count),
            Image.Resampling.BILINEAR,
            box=(0, rows.begin - first, width, rows.end - first),
        )
        return np.array(image.crop((0, rows.lead, width, rows.lead + height)))

    def _window(self, axis: int) -> _Window:
        return _window(self.source[axis], self.resized[axis], self.corner[axis], self.stored[axis])

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


@dataclass(frozen=True, slots=True)
class _Window:
    """A span of resized pixels around the crop, along one axis."""

    count: int  # how many resized pixels
    lead: int  # how many of them come before the crop
    begin: float  # where on the source the span begins and ends
    end: float
    reached: tuple[int, int]  # the source pixels that these resized pixels are made of


@functools.lru_cache(maxsize=64)
def _window(source: int, resized: int, corner: int, stored: int) -> _Window:
    """The narrowest span whose ends Pillow can place exactly: it keeps them as float32.

    Ends that are a millionth of a pixel off would change a pixel in a thousand by a grey level.
    That is left to frames so long and thin that no near place is exact.
    """
    near = np.arange(max(0, corner - 8 * stored), min(resized, corner + 9 * stored) + 1)
    placed = (near * source / resized).astype(np.float32).astype(np.float64)
    exact = near[placed * resized == near * source]
    low = int(max(exact[exact <= corner], default=corner))
    high = int(min(exact[exact >= corner + stored], default=corner + stored))
    begin, end = low * source / resized, min(high * source / resized, source)
    reach = 2 + math.ceil(source / resized)
    reached = max(0, int(begin) - reach), min(source, int(end) + reach)
    return _Window(high - low, corner - low, begin, end, reached)
