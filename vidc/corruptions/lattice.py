"""Noise on a coarse lattice, seen through a linear zoom: what snow and rain are cut from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vidc.corruptions import draws
from vidc.corruptions.draws import Stream

Field = NDArray[Any]  # float64 where the definition is ImageNet-C's, float32 where it is ours

# Positions and speeds are whole numbers of this part of a pixel, so that any number of frames of
# motion adds up without rounding.
SUBPIXEL = 256


@dataclass(frozen=True)
class Axis:
    """For each pixel along one axis: the lattice point before it, and how far on to the next."""

    low: NDArray[np.intp]
    fraction: Field

    def part(self, start: int, stop: int) -> Axis:
        """The pixels from ``start`` to ``stop``."""
        return Axis(self.low[start:stop], self.fraction[start:stop])

    def used(self, points: Field) -> tuple[Field, Axis]:
        """The lattice rows that the pixels of this axis lie between, and the axis on these."""
        first = int(self.low[0])
        return points[first : int(self.low[-1]) + 2], Axis(self.low - first, self.fraction)

    def deviation(self) -> Field:
        """The standard deviation that interpolation along the axis leaves of unit noise."""
        return np.asarray(np.sqrt((1 - self.fraction) ** 2 + self.fraction**2))


def interpolate(points: Field, rows: Axis, columns: Axis) -> Field:
    """The value at every pixel, from lattice points that go at least one beyond the last used.

    Every step is one addition or one multiplication, rounded by itself, so that no processor's
    fused arithmetic can change a bit. The steps between points are taken on the lattice, which
    is smaller than the picture.
    """
    used, rows = rows.used(points)
    return down(across(used, columns), rows)


def across(points: Field, columns: Axis) -> Field:
    """The lattice rows with a value at every pixel along them."""
    wide: Field = (points[:, 1:] - points[:, :-1]).take(columns.low, axis=1)
    wide *= columns.fraction
    wide += points.take(columns.low, axis=1)
    return wide


def down(lines: Field, rows: Axis) -> Field:
    """A value at every pixel between lines that lie on the lattice's rows."""
    tall: Field = (lines[1:] - lines[:-1]).take(rows.low, axis=0)
    tall *= rows.fraction[:, None]
    tall += lines.take(rows.low, axis=0)
    return tall


def moving_axis(start: int, stop: int, moved: int, zoom: float) -> tuple[int, Axis]:
    """The pixels of an endless axis whose lattice has moved on by so many subpixels.

    Returned with the number of the lattice point that the axis counts as 0.
    """
    pixels = np.arange(start, stop, dtype=np.int64) * SUBPIXEL - moved
    places = pixels / (SUBPIXEL * zoom)
    low = np.floor(places)
    first = int(low[0])
    return first, Axis((low - first).astype(np.intp), (places - low).astype(np.float32))


def wrapping_axis(start: int, stop: int, moved: int, around: int, points: int) -> Axis:
    """The pixels of an axis that closes on itself after ``around`` pixels and ``points`` points."""
    pixels = np.arange(start, stop, dtype=np.int64) * SUBPIXEL - moved
    places = pixels % (SUBPIXEL * around) * (points / (SUBPIXEL * around))
    low = np.minimum(np.floor(places), points - 1)
    return Axis(low.astype(np.intp), (places - low).astype(np.float32))


def blocks_in_row(points: int) -> int:
    """The Philox blocks that a lattice row of so many points takes: each row starts a block."""
    return -(-points // draws.BLOCK)


def draw_rows(stream: Stream, rows: int, points: int, table: Field) -> Field:
    """The next lattice rows of the stream, their values from a table over the draws."""
    stride = blocks_in_row(points) * draws.BLOCK
    return draws.look_up(table, stream.indices(rows * stride)).reshape(rows, stride)[:, :points]
