"""Motion blur as ImageNet-C has it: a sum of copies, shifted by whole pixels along a line."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = Callable[[int, int], NDArray[np.float32]]

# Weights are whole numbers of this part of a grey level, so that they and their sums are the same
# bits whatever the last bit of a machine's exponential.
WEIGHT_PARTS = 1 << 32

# A picture is blurred in strips of about so many pixels: what is at work stays in the
# processor's cache, and memory does not grow with the picture.
STRIP_PIXELS = 1 << 16


@dataclass(frozen=True)
class Blur:
    """The shifts in pixels (down, right) and their weights, which add up to 255 grey levels."""

    taps: tuple[tuple[int, int, float], ...]
    above: int  # how many rows and columns around the result the blur reads
    left: int
    right: int

    def layer(self, height: int, width: int, rows: Rows) -> NDArray[np.uint8]:
        """The blurred layer in grey levels.

        ``rows(start, stop)`` gives rows of the source, values from 0 to 1, with ``left`` and
        ``right`` columns around the width; they are asked for once, from ``-above`` to height.
        """
        strip = max(1, STRIP_PIXELS // (self.left + width + self.right))
        layer = np.empty((height, width), np.uint8)
        source = rows(-self.above, min(strip, height))
        for top in range(0, height, strip):
            bottom = min(top + strip, height)
            if top:
                source = np.concatenate([source[-self.above :], rows(top, bottom)])
            layer[top:bottom] = self._apply(source, bottom - top, width)
        return layer

    def _apply(self, source: NDArray[np.float32], height: int, width: int) -> NDArray[np.uint8]:
        stride = self.left + width + self.right
        flat = source.reshape(-1)
        # A shift of the picture is a shift of its flat memory: what wraps falls in the margin.
        size = (height - 1) * stride + width
        # Starting from a half turns the final truncation into rounding.
        total = np.full(height * stride, 0.5, np.float32)
        term = np.empty(size, np.float32)
        for down, right, weight in self.taps:
            start = (self.above - down) * stride + self.left - right
            # Two roundings, not a fused one: the sum must be the same on every processor.
            np.multiply(flat[start : start + size], np.float32(weight), out=term)
            total[:size] += term
        return total.reshape(height, stride)[:, :width].astype(np.uint8)


def downwards(
    angle: float, radius: int, sigma: float, limit: tuple[int, int] | None = None
) -> Blur:
    """ImageNet-C's blur: one-sided Gaussian weights on the pixels of a line at ``angle`` degrees.

    The angle is between -180 and 0, so that shifts go down. As in ImageNet-C the line ends where
    it leaves a layer of ``limit`` rows and columns, and the lost weight is not made good.
    """
    sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    weights: dict[tuple[int, int], int] = {}
    for i, weight in enumerate(one_sided_gaussian(2 * radius + 1, sigma)):
        shift = -math.ceil(i * sine - 0.5), -math.ceil(i * cosine - 0.5)
        if limit and (abs(shift[0]) >= limit[0] or abs(shift[1]) >= limit[1]):
            break
        weights[shift] = weights.get(shift, 0) + weight
    return Blur(
        taps=tuple((*shift, weight / WEIGHT_PARTS) for shift, weight in weights.items()),
        above=max(down for down, _ in weights),
        left=max(right for _, right in weights),
        right=max(-right for _, right in weights),
    )


@functools.cache
def one_sided_gaussian(width: int, sigma: float) -> tuple[int, ...]:
    """Gaussian weights from its middle outwards, adding up to 255 times WEIGHT_PARTS."""
    values = [math.exp(-(i**2) / (2 * sigma**2)) for i in range(width)]
    total = math.fsum(values)
    return tuple(round(255 * WEIGHT_PARTS * value / total) for value in values)
