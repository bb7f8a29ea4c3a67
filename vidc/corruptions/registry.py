"""Corruptions by name."""

from __future__ import annotations

from typing import Protocol

from vidc.corruptions import imagenet_c
from vidc.corruptions.draws import Key
from vidc.corruptions.gaussian_noise import gaussian_noise
from vidc.corruptions.rain import rain
from vidc.corruptions.snow import snow
from vidc.errors import unknown
from vidc.frames import Pixels


class Corruption(Protocol):
    """A pure function of the pixels, the severity and the key; the input is never modified."""

    def __call__(self, frame: Pixels, severity: int, key: Key, *, coherent: bool) -> Pixels:
        """The corrupted frame, in a new array of the same shape."""


# The benchmark's three, then ImageNet-C's others in its own order.
CORRUPTIONS: dict[str, Corruption] = {
    "gaussian_noise": gaussian_noise,
    "snow": snow,
    "rain": rain,
    **{name: imagenet_c.Packaged(name) for name in imagenet_c.NAMES},
}


def lookup(name: str) -> Corruption:
    """The corruption called ``name``."""
    if not isinstance(name, str) or name not in CORRUPTIONS:
        raise unknown("corruption", name, CORRUPTIONS)
    return CORRUPTIONS[name]


def names() -> tuple[str, ...]:
    """Every corruption's name."""
    return tuple(CORRUPTIONS)
