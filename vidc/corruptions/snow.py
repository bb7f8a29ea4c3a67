"""Snow, ImageNet-C's: noise, zoomed, cut at a threshold, blurred along the wind, laid over."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vidc.corruptions import draws, lattice
from vidc.corruptions.blur import STRIP_PIXELS, downwards
from vidc.corruptions.draws import Key
from vidc.corruptions.lattice import SUBPIXEL, Axis, Field
from vidc.frames import Pixels

Layer = NDArray[np.uint8]


@dataclass(frozen=True)
class Snow:
    """The parameters of one severity, under imagecorruptions' names for them."""

    loc: float
    scale: float
    zoom: float
    threshold: float
    radius: int
    sigma: float
    keep: int  # the share of the picture that is not made paler, in twentieths


SEVERITIES = (
    Snow(0.10, 0.3, 3.0, 0.50, 10, 4, keep=16),
    Snow(0.20, 0.3, 2.0, 0.50, 12, 4, keep=14),
    Snow(0.55, 0.3, 4.0, 0.90, 12, 8, keep=14),
    Snow(0.55, 0.3, 4.5, 0.85, 12, 8, keep=13),
    Snow(0.55, 0.3, 2.5, 0.85, 12, 12, keep=11),
)
ANGLES = (-135.0, -45.0)
# Coherent snow falls this many pixels a frame in a picture of 224 rows.
SPEEDS = (3.0, 7.0)


def snow(frame: Pixels, severity: int, key: Key, *, coherent: bool) -> Pixels:
    """Flakes over a paler picture."""
    make = travelling_flakes if coherent else flakes
    return lay_over(frame, make(frame.shape[0], frame.shape[1], severity, key), severity)


def flakes(height: int, width: int, severity: int, key: Key) -> Layer:
    """The layer of one frame: blurred flakes, and the same turned by 180°."""
    import cv2

    stream = draws.frame_stream(key, "snow", severity)
    angle = stream.between(*ANGLES)
    zoom = SEVERITIES[severity - 1].zoom
    # Of a frame full of draws the definition uses the centre alone: no more than that is drawn.
    points = math.ceil(height / zoom), math.ceil(width / zoom)
    normals = draws.look_up(draws.normal_table(), stream.indices(math.prod(points)))
    layer = blurred_flakes(normals.reshape(points), height, width, severity, angle)
    return np.asarray(cv2.add(layer, cv2.flip(layer, -1)), np.uint8)


def blurred_flakes(
    normals: NDArray[np.float32], height: int, width: int, severity: int, angle: float
) -> Layer:
    """ImageNet-C's layer for these normals, before it is turned and added to itself."""
    c = SEVERITIES[severity - 1]
    down, right = normals.shape
    # In float64, as imagecorruptions: a flake on the other side of the threshold is many levels.
    field = np.zeros((down + 2, right + 2))
    field[:down, :right] = c.loc + c.scale * normals.astype(np.float64)
    blur = downwards(angle, c.radius, c.sigma, (round(down * c.zoom), round(right * c.zoom)))
    columns = zoomed_axis(right, c.zoom, -blur.left, width + blur.right)

    def rows(start: int, stop: int) -> NDArray[np.float32]:
        zoomed = lattice.interpolate(field, zoomed_axis(down, c.zoom, start, stop), columns)
        return cut(zoomed, c.threshold).astype(np.float32)

    return blur.layer(height, width, rows)


def zoom_of(size: int, zoom: float) -> float:
    """The pixels from one lattice point to the next in scipy's zoom of so many pixels."""
    points = math.ceil(size / zoom)
    return (round(points * zoom) - 1) / (points - 1) if points > 1 else zoom


@functools.lru_cache(maxsize=256)
def zoomed_axis(points: int, zoom: float, start: int, stop: int) -> Axis:
    """Pixels of scipy's linear zoom of ``points`` lattice points, its border repeated outside."""
    last = round(points * zoom) - 1
    step = (points - 1) / last if last else 1.0
    places = np.clip(np.arange(start, stop), 0, last) * step
    # Where rounding puts the last pixel behind the last point, scipy leaves it at zero: here it
    # lies on the zero that follows the last point.
    places[places > points - 1] = points
    low = np.floor(places)
    return Axis(low.astype(np.intp), places - low)


def travelling_flakes(height: int, width: int, severity: int, key: Key) -> Layer:
    """The layer of one frame of a video through which the same flakes fall.

    The lattice is endless from top to bottom and closed from left to right, and the frame is a
    window on it that moves against the wind. ImageNet-C's second layer, the first one turned by
    180°, would fall upwards; here it is the first one a step aside, which moves with it.
    """
    import cv2

    c = SEVERITIES[severity - 1]
    wind = wind_of(int(key.seed), key.dataset, key.video, severity)
    down, right = (step * int(key.frame) for step in wind.steps(height))
    blur = downwards(wind.angle, c.radius, c.sigma)
    # One point less than fit: pixels then lie at all places between points, in every frame, and
    # the number of flakes does not depend on where the lattice has moved to. So it is with
    # scipy's zoom, whose first and last points are the first and last pixels.
    points = max(1, math.ceil(width / c.zoom) - 1)
    zoom = zoom_of(height, c.zoom)
    aside, below = 3 * width // 8, height // 24
    columns = lattice.wrapping_axis(-blur.left, width + blur.right, right, width, points)
    first, axis = lattice.moving_axis(-blur.above, height + below, down, zoom)
    block = first * lattice.blocks_in_row(points)
    stream = draws.video_stream(key, "snow", severity, "flakes", block)
    field = lattice.draw_rows(stream, int(axis.low[-1]) + 2, points, field_table(severity))
    closed = np.hstack([field, field[:, :1]])

    def rows(start: int, stop: int) -> NDArray[np.float32]:
        part = axis.part(blur.above + start, blur.above + stop)
        return cut(lattice.interpolate(closed, part, columns), c.threshold)

    layer = blur.layer(height + below, width, rows)
    return np.asarray(cv2.add(layer[below:], np.roll(layer[:height], aside, axis=1)), np.uint8)


@dataclass(frozen=True)
class Wind:
    """How the flakes of a video fall."""

    angle: float  # of the blur, in degrees
    speed: float  # in pixels a frame where frames have 224 rows

    def steps(self, height: int) -> tuple[int, int]:
        """The subpixels that a flake moves down and right from one frame to the next."""
        pace = self.speed * height / 224 * SUBPIXEL
        radians = math.radians(self.angle)
        return round(-pace * math.sin(radians)), round(-pace * math.cos(radians))


@functools.lru_cache(maxsize=256)
def wind_of(seed: int, dataset: str, video: str, severity: int) -> Wind:
    """The wind of a video."""
    stream = draws.video_stream(Key(seed, dataset, video, 0), "snow", severity, "wind")
    return Wind(stream.between(*ANGLES), stream.between(*SPEEDS))


@functools.cache
def field_table(severity: int) -> NDArray[np.float32]:
    """The lattice's value for each draw, for snow that need not be imagecorruptions' to the bit."""
    c = SEVERITIES[severity - 1]
    return draws.read_only((c.loc + c.scale * draws.normal_table()).astype(np.float32))


def cut(field: Field, threshold: float) -> Field:
    """The field where it is not under the threshold, at most 1; 0 elsewhere."""
    import cv2

    # OpenCV keeps what is above a number, the definition what is not below the threshold.
    below = np.nextafter(field.dtype.type(threshold), field.dtype.type(0))
    _, kept = cv2.threshold(field, float(below), 0, cv2.THRESH_TOZERO, dst=field)
    _, capped = cv2.threshold(kept, 1, 0, cv2.THRESH_TRUNC, dst=kept)
    return np.asarray(capped, field.dtype)


def lay_over(frame: Pixels, layer: Layer, severity: int) -> Pixels:
    """The frame made paler, with the layer added."""
    import cv2

    keep = SEVERITIES[severity - 1].keep
    out = np.empty_like(frame)
    rows = max(1, STRIP_PIXELS // frame.shape[1])
    for top in range(0, len(frame), rows):
        strip = frame[top : top + rows]
        added = np.asarray(cv2.merge([layer[top : top + rows]] * frame.shape[2]))
        both = cv2.add(paler(strip, keep), added.reshape(strip.shape))
        out[top : top + rows] = np.asarray(both).reshape(strip.shape)
    return out


def paler(frame: Pixels, keep: int) -> Pixels:
    """floor(m·v + (1 - m)·max(v, 1.5·gray + 127.5)) with m = keep/20, exactly, saturated.

    That is max(v, floor((keep·v + q)/20)) with q = floor((20 - keep)·(3·gray + 255)/2). With gray
    in thousandths, all numbers up to the divisions are integers that their types hold exactly.
    """
    import cv2

    # 299, 587 and 114 are ITU-R 601's weights for gray; one channel is its own gray.
    weights = [299, 587, 114, 85_000] if frame.shape[2] == 3 else [1_000, 85_000]
    to_veil = 3 * (20 - keep) * np.array([weights], np.float32)
    veil = np.asarray(cv2.transform(frame.astype(np.float32), to_veil), np.float32)
    veil /= 2_000
    q = veil.astype(np.int16)
    mixed = np.asarray(cv2.merge([q] * frame.shape[2]), np.int16).reshape(frame.shape)
    mixed += frame.astype(np.int16) * np.int16(keep)
    mixed //= np.int16(20)
    np.clip(mixed, 0, 255, out=mixed)
    return np.maximum(mixed.astype(np.uint8), frame)
