"""What the clips of each of the sample's datasets look like."""

from __future__ import annotations

from dataclasses import dataclass

Colour = tuple[int, int, int]
Ground = tuple[Colour, Colour, Colour]  # a backdrop's colours: its dark, middle and light


@dataclass(frozen=True)
class Look:
    """What the clips of one dataset have in common."""

    height: int
    width: int
    grounds: tuple[Ground, ...]
    bodies: tuple[Colour, ...]
    tiled: bool  # straight tiles instead of drifting clouds
    outlined: bool  # a darker line around every part of an object
    haze: float  # how much of the backdrop's colour an object may take at most


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
    haze=0.45,
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
    haze=0.6,
)


def mixed(colour: Colour, other: Colour, share: float) -> Colour:
    """A colour with a share of another one in it."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue
