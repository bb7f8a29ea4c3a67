"""Gaussian noise, ImageNet-C's: trunc(255·clip(v/255 + σn, 0, 1)), in integers."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from vidc.corruptions import draws
from vidc.corruptions.draws import Key
from vidc.frames import Pixels

SIGMAS = (0.08, 0.12, 0.18, 0.26, 0.38)


def gaussian_noise(frame: Pixels, severity: int, key: Key, *, coherent: bool) -> Pixels:
    """Add noise drawn anew for every value of every frame: a sensor's noise does not travel."""
    stream = draws.iid(key, "gaussian_noise", severity)
    return add_noise(frame, severity, stream.indices(frame.size))


def add_noise(frame: Pixels, severity: int, indices: draws.Indices) -> Pixels:
    """The frame with the noise of these table indices."""
    import cv2

    noise = level_table(severity).take(indices).reshape(frame.shape)
    out: Pixels = np.asarray(cv2.add(frame, noise, dtype=cv2.CV_8U), np.uint8)
    return out.reshape(frame.shape)


@functools.cache
def level_table(severity: int) -> NDArray[np.int16]:
    """The noise of each table index in whole grey levels."""
    # For an integer v, trunc(clip(v + x)) = saturate(v + floor(x)).
    levels = np.floor(255 * SIGMAS[severity - 1] * draws.normal_table().astype(np.float64))
    table = levels.astype(np.int16)
    table.flags.writeable = False
    return table
