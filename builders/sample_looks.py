"""What the sample's clips look like: colours and backdrops, and where their randomness is from."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from vidc.frames import Pixels

Colour = tuple[int, int, int]
T = TypeVar("T")

MARGIN = 40  # pixels of a backdrop beyond each edge of the frame: what the camera pans over


@dataclass(frozen=True)
class Look:
    """What the clips of one dataset have in common."""

    height: int
    width: int
    grounds: tuple[tuple[Colour, Colour, Colour], ...]  # a backdrop's three colours
    bodies: tuple[Colour, ...]
    tiled: bool  # straight tiles instead of drifting clouds
    outlined: bool  # a dark line around every part of an object


MEADOW = Look(
    height=144,
    width=176,
    grounds=(
        ((58, 92, 40), (120, 148, 66), (176, 184, 120)),
        ((86, 66, 44), (150, 120, 80), (206, 186, 142)),
        ((60, 100, 140), (120, 160, 190), (206, 220, 226)),
        ((40, 70, 74), (92, 124, 108), (160, 176, 148)),
        ((120, 104, 96), (164, 150, 136), (214, 206, 194)),
    ),
    bodies=(
        (196, 62, 48),
        (226, 140, 40),
        (60, 84, 170),
        (132, 70, 150),
        (110, 74, 50),
        (36, 120, 124),
    ),
    tiled=False,
    outlined=False,
)

STREET = Look(
    height=144,
    width=192,
    grounds=(
        ((92, 92, 104), (136, 136, 146), (186, 184, 186)),
        ((128, 70, 56), (168, 106, 84), (206, 160, 132)),
        ((50, 60, 92), (88, 100, 136), (150, 160, 184)),
        ((96, 110, 90), (140, 156, 130), (196, 204, 180)),
        ((148, 132, 84), (190, 172, 120), (226, 214, 176)),
    ),
    bodies=(
        (220, 70, 90),
        (240, 196, 60),
        (70, 160, 220),
        (120, 190, 90),
        (230, 130, 190),
        (150, 110, 220),
    ),
    tiled=True,
    outlined=True,
)


class Dice:
    """Random numbers that depend on a text alone, on every machine and numpy version."""

    def __init__(self, text: str) -> None:
        key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")
        self._bits = np.random.Philox(key=key)

    def between(self, low: float, high: float) -> float:
        """A number of [low, high)."""
        return low + (high - low) * (int(self._bits.random_raw()) >> 11) * 2.0**-53

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[int(self._bits.random_raw()) % len(choices)]

    def grid(self, rows: int, columns: int) -> NDArray[np.float32]:
        """A grid of numbers of [-1, 1)."""
        raw = self._bits.random_raw(rows * columns) >> np.uint64(40)
        return (raw.astype(np.float32) * 2.0**-23 - 1.0).reshape(rows, columns)


def make_backdrop(look: Look, dice: Dice) -> Pixels:
    """A textured picture larger than the frame, of one ground's three colours."""
    height, width = look.height + 2 * MARGIN, look.width + 2 * MARGIN
    low, middle, high = (np.array(colour, np.float32) for colour in dice.pick(look.grounds))
    coarse = _clouds(dice, height, width, (4, 8))
    if look.tiled:
        coarse += _tiles(dice, height, width)
    fine = _clouds(dice, height, width, (16, 32, 64))
    shade = np.clip(coarse * 0.55 + fine * 0.35, -1, 1)[..., None]
    colour = middle + shade * np.where(shade < 0, middle - low, high - middle)
    return np.asarray(colour, np.uint8)


def _clouds(dice: Dice, height: int, width: int, grains: Sequence[int]) -> NDArray[np.float32]:
    import cv2

    layers = [
        cv2.resize(
            dice.grid(grain, grain * width // height),
            (width, height),
            interpolation=cv2.INTER_CUBIC,
        )
        for grain in grains
    ]
    return np.asarray(sum(layers) / np.float32(math.sqrt(len(grains))), np.float32)


def _tiles(dice: Dice, height: int, width: int) -> NDArray[np.float32]:
    """A wall of bricks, each of its own shade, with every other row shifted by half a brick."""
    tall, wide = dice.pick((14, 20, 28)), dice.pick((24, 36, 48))
    shades = dice.grid(height // tall + 1, width // wide + 2)
    rows, columns = np.mgrid[0:height, 0:width]
    row = rows // tall
    column = (columns + (row % 2) * (wide // 2)) // wide
    return np.asarray(shades[row, column])
