"""Gaussian noise, ImageNet-C's: trunc(255·clip(v/255 + σn, 0, 1)), in integers."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from vidc.corruptions import draws
from vidc.corruptions.draws import Key, Stream
from vidc.frames import Pixels

SIGMAS = (0.08, 0.12, 0.18, 0.26, 0.38)
# Large frames are done in parts that stay in the processor's cache; a multiple of four, so that
# parts use up whole words and the draws do not depend on it.
PART = 3 << 16


def gaussian_noise(frame: Pixels, severity: int, key: Key, *, coherent: bool) -> Pixels:
    """Noise drawn anew for every value of every frame: a sensor's noise does not travel."""
    return add_noise(frame, severity, draws.frame_stream(key, "gaussian_noise", severity))


def add_noise(frame: Pixels, severity: int, stream: Stream) -> Pixels:
    """The frame with the stream's noise."""
    table = level_table(severity)
    out = np.empty_like(frame)
    values, results = frame.reshape(-1), out.reshape(-1)
    for start in range(0, frame.size, PART):
        part = values[start : start + PART]
        noisy = draws.look_up(table, stream.indices(part.size))
        noisy += part
        np.clip(noisy, 0, 255, out=noisy)
        results[start : start + PART] = noisy
    return out


@functools.cache
def level_table(severity: int) -> NDArray[np.int16]:
    """The noise of each table index in whole grey levels."""
    # For an integer v, trunc(clip(v + x)) is saturate(v + floor(x)).
    levels = np.floor(255 * SIGMAS[severity - 1] * draws.normal_table().astype(np.float64))
    return draws.read_only(levels.astype(np.int16))
