"""The noise that corruptions draw, by itself, and its Kolmogorov-Smirnov distance to its law."""

from __future__ import annotations

from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from vidc.corruptions import Key, corrupt, lattice
from vidc.corruptions.lattice import Axis, Field

SIZE = (720, 1280)


def snow(severity: int, key: Key) -> NDArray[np.float64]:
    """The values on the lattice that a large frame's snow is cut from."""
    seen: list[NDArray[np.float64]] = []
    interpolate = lattice.interpolate

    def spy(points: NDArray[np.float64], rows: Axis, columns: Axis) -> Field:
        seen.append(points)
        return interpolate(points, rows, columns)

    with mock.patch.object(lattice, "interpolate", spy):
        corrupt(np.zeros((*SIZE, 3), np.uint8), "snow", severity, key)
    # Every strip is cut from the same lattice; its last two rows and columns are zeros, not draws.
    return seen[0][:-2, :-2].ravel()


def gaussian_noise(severity: int, key: Key) -> NDArray[np.float64]:
    """The noise in a large grey frame, in grey levels; what saturates is at 0 and 255."""
    noisy = corrupt(np.full((*SIZE, 3), 127, np.uint8), "gaussian_noise", severity, key)
    return noisy.astype(np.float64).ravel() - 127


def distance(values: NDArray[np.float64], mean: float, deviation: float) -> float:
    """The largest difference between the values' distribution and the normal one."""
    ordered = np.sort(values)
    exact = ndtr((ordered - mean) / deviation)
    places = np.arange(len(ordered) + 1) / len(ordered)
    return float(max(np.abs(exact - places[1:]).max(), np.abs(exact - places[:-1]).max()))


def distance_in_levels(levels: NDArray[np.float64], sigma: float) -> float:
    """The same for floor(sigma·n), compared between whole levels, the highest one left out.

    The highest level holds all that saturates there. What saturates at the lowest one lies below
    the next level in any case.
    """
    values, counts = np.unique(levels, return_counts=True)
    inner = slice(0, -1)
    exact = ndtr((values + 1) / sigma)
    return float(np.abs(np.cumsum(counts) / levels.size - exact)[inner].max())
