"""What the sample's objects move before: grass, or a wall."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vidc.builders.sample_dice import Dice
from vidc.builders.sample_looks import Colour, Ground, Look, mixed
from vidc.frames import Pixels

Place = tuple[int, int]  # x, y

MARGIN = 40  # pixels of a backdrop beyond each edge of the frame: what the camera pans over

_BLADES, _FLOWERS, _POSTERS, _WIRES = 180, 30, 14, 26
_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)


def make_backdrop(look: Look, ground: Ground, dice: Dice) -> Pixels:
    """A textured picture, larger than the frame, for the camera to pan over."""
    height, width = look.height + 2 * MARGIN, look.width + 2 * MARGIN
    low, middle, high = (np.array(colour, np.float32) for colour in ground)
    coarse = _clouds(dice, height, width, (4, 8))
    if look.tiled:
        coarse += _tiles(dice, height, width)
    fine = _clouds(dice, height, width, (16, 32, 64))
    shade = np.clip(coarse * 0.55 + fine * 0.35, -1, 1)[..., None]
    colour = middle + shade * np.where(shade < 0, middle - low, high - middle)
    backdrop = np.ascontiguousarray(colour, dtype=np.uint8)
    draw = _draw_street if look.tiled else _draw_meadow
    draw(backdrop, look, dice)
    return backdrop


def _draw_meadow(backdrop: Pixels, look: Look, dice: Dice) -> None:
    """Blades of grass, lighter or darker than the ground, and some flowers."""
    import cv2

    for _ in range(_BLADES):
        x, y = _place(backdrop, dice)
        lean, length = dice.between(-0.6, 0.6), dice.between(8, 26)
        colour = mixed(
            _colour_at(backdrop, x, y), dice.pick((_BLACK, _WHITE)), dice.between(0.2, 0.5)
        )
        _line(backdrop, (x, y), length, lean - math.pi / 2, colour, dice)
    for _ in range(_FLOWERS):
        colour, radius = dice.pick(look.bodies), dice.pick((1, 2, 3))
        cv2.circle(backdrop, _place(backdrop, dice), radius, colour, -1, cv2.LINE_AA)


def _draw_street(backdrop: Pixels, look: Look, dice: Dice) -> None:
    """Faded posters on the wall, and pipes and wires across it."""
    import cv2

    for _ in range(_POSTERS):
        x, y = _place(backdrop, dice)
        corner = (x + int(dice.between(6, 22)), y + int(dice.between(8, 26)))
        colour = mixed(dice.pick(look.bodies), _colour_at(backdrop, x, y), 0.5)
        cv2.rectangle(backdrop, (x, y), corner, colour, -1)
    for _ in range(_WIRES):
        place, grey = _place(backdrop, dice), dice.pick((40, 70, 200, 230))
        # Roughly level or upright.
        angle = dice.pick((0.0, 0.5)) * math.pi + dice.between(-0.3, 0.3)
        _line(backdrop, place, dice.between(15, 90), angle, (grey, grey, grey), dice)


def _place(backdrop: Pixels, dice: Dice) -> Place:
    height, width = backdrop.shape[:2]
    return int(dice.between(0, width)), int(dice.between(0, height))


def _colour_at(backdrop: Pixels, x: int, y: int) -> Colour:
    red, green, blue = backdrop[y, x].tolist()
    return red, green, blue


def _line(
    backdrop: Pixels,
    start: tuple[int, int],
    length: float,
    angle: float,
    colour: Colour,
    dice: Dice,
) -> None:
    import cv2

    x, y = start
    end = (int(x + length * math.cos(angle)), int(y + length * math.sin(angle)))
    cv2.line(backdrop, start, end, colour, dice.pick((1, 1, 2)), cv2.LINE_AA)


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
