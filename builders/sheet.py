"""Pictures side by side with words beside them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vidc.frames import Pixels

if TYPE_CHECKING:
    from PIL import ImageFont

GAP = 6
TEXT_HEIGHT = 17
PAPER = 255


@dataclass(frozen=True)
class Cell:
    """One place of the sheet: a picture, or words, or both with the words above."""

    words: str = ""
    picture: Pixels | None = None


def lay_out(rows: Sequence[Sequence[Cell]]) -> Pixels:
    """The sheet: columns as wide and rows as high as what is in them, even in both sizes."""
    columns = max(len(row) for row in rows)
    widths = [max(_width(row[i]) for row in rows if i < len(row)) for i in range(columns)]
    heights = [max(_height(cell) for cell in row) for row in rows]
    height, width = (sum(sizes) + GAP * (len(sizes) + 1) for sizes in (heights, widths))
    # Video codecs refuse odd sizes.
    sheet = np.full((height + height % 2, width + width % 2, 3), PAPER, np.uint8)
    y = GAP
    for row, tall in zip(rows, heights, strict=True):
        x = GAP
        for cell, wide in zip(row, widths, strict=False):
            _place(sheet[y : y + tall, x : x + wide], cell)
            x += wide + GAP
        y += tall + GAP
    return sheet


def _place(space: Pixels, cell: Cell) -> None:
    """Words go to the top left, or to the middle of the height where there is no picture."""
    words_end = TEXT_HEIGHT + GAP if cell.words else 0
    if cell.picture is not None:
        height, width = cell.picture.shape[:2]
        space[words_end : words_end + height, :width] = cell.picture
    if cell.words:
        drawn = _words(cell.words)
        top = 0 if cell.picture is not None else (len(space) - len(drawn)) // 2
        space[top : top + len(drawn), : drawn.shape[1]] = drawn


def _height(cell: Cell) -> int:
    words = TEXT_HEIGHT if cell.words else 0
    if cell.picture is None:
        return words
    return int(cell.picture.shape[0]) + (words + GAP if words else 0)


def _width(cell: Cell) -> int:
    return max(
        _words(cell.words).shape[1] if cell.words else 0,
        0 if cell.picture is None else cell.picture.shape[1],
    )


@functools.lru_cache(maxsize=256)
def _words(text: str) -> Pixels:
    from PIL import Image, ImageDraw

    font = _font()
    image = Image.new("RGB", (int(font.getlength(text)) + 1, TEXT_HEIGHT), (PAPER,) * 3)
    ImageDraw.Draw(image).text((0, 0), text, fill=(0, 0, 0), font=font)
    return np.array(image)


@functools.cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size=12)
