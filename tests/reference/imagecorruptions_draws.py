"""imagecorruptions with its random numbers put in by the caller."""

from __future__ import annotations

import math
from unittest import mock

import imagecorruptions
import numpy as np


def gaussian_noise(frame, severity, normals):
    """Its gaussian_noise of these normals, one a value of the frame."""

    def normal(size, scale):
        return scale * normals.reshape(size)

    with mock.patch.object(np.random, "normal", normal):
        # The package turns one channel into three; the normals are the frame's own.
        return _channels(frame, severity, "gaussian_noise")


def snow(frame, severity, normals, angle):
    """Its snow of these normals, which are the centre that it zooms, and this angle."""

    def normal(size, loc, scale):
        full = np.full(size[:2], np.nan)
        top, left = ((n - m) // 2 for n, m in zip(size[:2], normals.shape, strict=True))
        full[top : top + normals.shape[0], left : left + normals.shape[1]] = normals
        return loc + scale * full

    def uniform(low, high):
        assert low <= angle <= high
        return angle

    with (
        mock.patch.object(np.random, "normal", normal),
        mock.patch.object(np.random, "uniform", uniform),
    ):
        return _channels(frame, severity, "snow")


def centre(height, width, zoom):
    """The size of the centre that its snow uses."""
    return math.ceil(height / zoom), math.ceil(width / zoom)


def _channels(frame, severity, name):
    corrupted = imagecorruptions.corrupt(frame, severity, name)
    return corrupted[..., : frame.shape[2]]
