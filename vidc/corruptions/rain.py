"""Rain, designed for this project: thin slanted streaks over a darker, veiled picture.

Of snow's family: noise, zoomed, cut at a threshold, blurred along the fall, laid over.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vidc.corruptions import draws, lattice
from vidc.corruptions.blur import STRIP_PIXELS
from vidc.corruptions.draws import Key, Stream
from vidc.corruptions.lattice import SUBPIXEL, Axis
from vidc.frames import Pixels

Layer = NDArray[np.uint8]


@dataclass(frozen=True)
class Rain:
    """The parameters of one severity."""

    threshold: float  # drops are where unit noise is not under it: how dense they are
    length: int  # of a streak, in pixels, where frames have 224 rows
    light: int  # grey levels of a drop at rest, which the streak spreads over its length
    darken: int  # what is left of the picture's light, in hundredths
    veil: int  # share of grey mist over the picture, in hundredths


SEVERITIES = (
    Rain(2.8, 15, 600, 92, 4),
    Rain(2.5, 19, 700, 85, 8),
    Rain(2.2, 23, 800, 78, 12),
    Rain(1.9, 28, 900, 71, 16),
    Rain(1.6, 34, 1000, 64, 20),
)
CELL = (2.0, 1.25)  # height and width of a lattice cell in pixels, where frames have 224 rows
TILTS = (-15.0, 15.0)  # degrees from the vertical
# Coherent rain falls this many streak lengths a frame: the shutter is open for part of it.
SPEEDS = (1.0, 1.6)
# A slope is a whole number of this part of one: the last bit of a tangent is not in it.
SLOPE_PARTS = 1 << 16


def rain(frame: Pixels, severity: int, key: Key, *, coherent: bool) -> Pixels:
    """Streaks over a darker, veiled picture."""
    make = travelling_streaks if coherent else streaks
    return lay_over(frame, make(frame.shape[0], frame.shape[1], severity, key), severity)


@dataclass(frozen=True)
class Fall:
    """How drops fall: degrees to the right of straight down, and streak lengths a frame."""

    tilt: float
    speed: float

    def sideways(self, height: int) -> NDArray[np.int64]:
        """How many subpixels right of its leftmost place a falling drop is, at each row."""
        slope = round(SLOPE_PARTS * math.tan(math.radians(self.tilt)))
        shifts = np.arange(height, dtype=np.int64) * (slope * SUBPIXEL) // SLOPE_PARTS
        return np.asarray(shifts - shifts.min(), np.int64)

    def step(self, length: int) -> int:
        """The subpixels that a drop falls from one frame to the next."""
        return round(self.speed * length * SUBPIXEL)


def streaks(height: int, width: int, severity: int, key: Key) -> Layer:
    """The layer of one frame."""
    stream = draws.frame_stream(key, "rain", severity)
    fall = Fall(stream.between(*TILTS), speed=0)
    window = Window.of(height, width, severity, fall, moved=0)
    return window.streaks(stream)


def travelling_streaks(height: int, width: int, severity: int, key: Key) -> Layer:
    """The layer of one frame of a video through which the same drops fall.

    The lattice is endless from top to bottom, and the frame is a window on it that climbs.
    """
    fall = fall_of(int(key.seed), key.dataset, key.video, severity)
    moved = int(key.frame) * fall.step(streak_length(height, severity))
    window = Window.of(height, width, severity, fall, moved)
    return window.streaks(draws.video_stream(key, "rain", severity, "drops", window.block))


@functools.lru_cache(maxsize=256)
def fall_of(seed: int, dataset: str, video: str, severity: int) -> Fall:
    """The fall of a video's drops."""
    stream = draws.video_stream(Key(seed, dataset, video, 0), "rain", severity, "fall")
    return Fall(stream.between(*TILTS), stream.between(*SPEEDS))


def streak_length(height: int, severity: int) -> int:
    """The length of a streak in pixels."""
    return max(1, round(SEVERITIES[severity - 1].length * height / 224))


@dataclass(frozen=True)
class Window:
    """A frame's window on the lattice.

    Drops fall straight down on the lattice; each row of the frame is then read as far aside as
    the wind has carried them there. So streaks slant without a slanted blur, and what comes in
    at the sides and the top was drawn, not repeated from the border.
    """

    height: int
    width: int
    severity: int
    sideways: NDArray[np.int64]
    rows: Axis
    columns: Axis
    first: int

    @classmethod
    def of(cls, height: int, width: int, severity: int, fall: Fall, moved: int) -> Window:
        """The window after the lattice has moved down by so many subpixels."""
        sideways = fall.sideways(height)
        grown = max(1.0, height / 224)
        above = streak_length(height, severity) - 1
        first, rows = lattice.moving_axis(-above, height, moved, CELL[0] * grown)
        spread = int(sideways.max()) // SUBPIXEL + 1
        _, columns = lattice.moving_axis(0, width + spread, 0, CELL[1] * grown)
        return cls(height, width, severity, sideways, rows, columns, first)

    @property
    def points(self) -> int:
        """The lattice points in a row."""
        return int(self.columns.low[-1]) + 2

    @property
    def block(self) -> int:
        """Where in the video's stream the window's first lattice row is."""
        return self.first * lattice.blocks_in_row(self.points)

    def streaks(self, stream: Stream) -> Layer:
        """The layer that the stream's drops make."""
        import cv2

        length = streak_length(self.height, self.severity)
        drops = self._drops(stream).view(np.uint8)
        # Sums of a column's last rows, in integers. Those of the first rows are not whole.
        counts = cv2.boxFilter(
            *(drops, cv2.CV_32S, (1, length)), anchor=(0, length - 1), normalize=False
        )
        levels = np.asarray(counts, np.int32)[length - 1 :]
        levels *= SEVERITIES[self.severity - 1].light
        levels //= length
        return self._slant(np.clip(levels, 0, 255, out=levels).astype(np.uint8))

    def _drops(self, stream: Stream) -> NDArray[np.bool_]:
        """Where there is a drop, before it streaks.

        Between lattice points interpolated noise is weaker. Measured in its own deviation it
        passes the threshold as often everywhere, and drops do not keep to the lattice's lines.
        """
        rows = int(self.rows.low[-1]) + 2
        normals = lattice.draw_rows(stream, rows, self.points, draws.normal_table())
        lines = lattice.across(normals, self.columns)
        lines /= self.columns.deviation()
        threshold = np.float32(SEVERITIES[self.severity - 1].threshold)
        drops = np.empty((len(self.rows.low), lines.shape[1]), np.bool_)
        strip = max(1, STRIP_PIXELS // lines.shape[1])
        for top in range(0, len(drops), strip):
            used, axis = self.rows.part(top, top + strip).used(lines)
            least = threshold * axis.deviation()[:, None]
            np.greater_equal(lattice.down(used, axis), least, out=drops[top : top + strip])
        return drops

    def _slant(self, straight: Layer) -> Layer:
        """Each row read as far aside as its drops have been carried, between two pixels."""
        whole, part = np.divmod(self.sideways, SUBPIXEL)
        farthest = straight.shape[1] - self.width - 1
        pairs = np.empty((self.height, self.width + 1), np.uint8)
        # Neighbouring rows with the same shift are copied together.
        edges = [0, *(np.flatnonzero(np.diff(whole)) + 1).tolist(), self.height]
        for top, bottom in itertools.pairwise(edges):
            start = farthest - int(whole[top])
            pairs[top:bottom] = straight[top:bottom, start : start + self.width + 1]
        left = part.astype(np.uint16)[:, None]
        mixed = pairs[:, :-1] * left
        mixed += pairs[:, 1:] * (SUBPIXEL - left)
        mixed += SUBPIXEL // 2
        return (mixed // SUBPIXEL).astype(np.uint8)


def lay_over(frame: Pixels, layer: Layer, severity: int) -> Pixels:
    """The frame darkened and veiled, with the layer added."""
    import cv2

    dim = np.asarray(cv2.LUT(frame, dim_table(severity)), np.uint8).reshape(frame.shape)
    added = np.asarray(cv2.merge([layer] * frame.shape[2]), np.uint8).reshape(frame.shape)
    return np.asarray(cv2.add(dim, added), np.uint8).reshape(frame.shape)


@functools.cache
def dim_table(severity: int) -> NDArray[np.uint8]:
    """floor((1 - veil)·darken·v + veil·127.5) for each grey level v, in integers."""
    c = SEVERITIES[severity - 1]
    levels = ((100 - c.veil) * c.darken * np.arange(256) + c.veil * 12_750) // 10_000
    return draws.read_only(levels.astype(np.uint8))
