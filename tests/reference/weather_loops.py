"""Snow and rain pixel by pixel, in float64: slow, and as their definitions read."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import statistics

import numpy as np

from tests.reference import philox

ORIGIN = 1 << 128


def named_indices(name, block, count):
    """The draws of a named stream from one of its blocks on."""
    digest = hashlib.sha256(json.dumps(name).encode()).digest()
    key = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")
    return philox.indices(key, ORIGIN + block, count)


def quantile(index):
    """The normal quantile in the middle of one of 65,536 equal parts, to 18 binary places."""
    return round(statistics.NormalDist().inv_cdf((index + 0.5) / 65536) * 2**18) / 2**18


class Lattice:
    """Normals on an endless lattice whose every row starts a block of the stream."""

    def __init__(self, name, points):
        self.name, self.points = name, points
        self.blocks = -(-points // 16)

    @functools.cache  # noqa: B019
    def row(self, number):
        """The normals of one lattice row."""
        drawn = named_indices(self.name, number * self.blocks, self.points)
        return [quantile(index) for index in drawn]

    def at(self, y, x, wraps=False):
        """The value between four lattice points."""
        top, left = math.floor(y), math.floor(x)
        down, right = y - top, x - left
        columns = [left % self.points, (left + 1) % self.points] if wraps else [left, left + 1]
        upper, lower = ([self.row(row)[column] for column in columns] for row in (top, top + 1))
        return (1 - down) * ((1 - right) * upper[0] + right * upper[1]) + down * (
            (1 - right) * lower[0] + right * lower[1]
        )


def travelling_snow(height, width, c, name, angle, moved):
    """The layer of travelling snow, ``moved`` pixels (down, right) after its beginning."""
    lattice = Lattice(name, max(1, math.ceil(width / c.zoom) - 1))
    first_to_last = math.ceil(height / c.zoom) - 1
    zoom = (round((first_to_last + 1) * c.zoom) - 1) / first_to_last
    rows = height + height // 24
    weights = [math.exp(-(i**2) / (2 * c.sigma**2)) for i in range(2 * c.radius + 1)]
    sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))

    @functools.cache
    def flake(y, x):
        place = (x - moved[1]) % width * lattice.points / width
        value = c.loc + c.scale * lattice.at((y - moved[0]) / zoom, place, wraps=True)
        return 0.0 if value < c.threshold else min(value, 1.0)

    layer = np.zeros((rows, width), int)
    for y in range(rows):
        for x in range(width):
            blurred = sum(
                weight * flake(y + math.ceil(i * sine - 0.5), x + math.ceil(i * cosine - 0.5))
                for i, weight in enumerate(weights)
            )
            layer[y, x] = round(255 * blurred / sum(weights))
    aside, below = 3 * width // 8, height // 24
    second = [[layer[y, (x - aside) % width] for x in range(width)] for y in range(height)]
    return np.minimum(layer[below:] + np.array(second), 255)


def rain_layer(height, width, severity, lattice_row, tilt, fallen, cell=(2.0, 1.25)):
    """The layer of rain: ``lattice_row(number, points)`` gives normals, ``fallen`` is in pixels."""
    grown = max(1.0, height / 224)
    length = max(1, round(severity.length * height / 224))
    slope = round(2**16 * math.tan(math.radians(tilt)))
    aside = [math.floor(y * slope / 2**8) / 2**8 for y in range(height)]
    aside = [shift - min(aside) for shift in aside]
    spread = math.floor(max(aside)) + 1
    cell_down, cell_right = (size * grown for size in cell)
    points = math.floor((width + spread - 1) / cell_right) + 2

    @functools.cache
    def row(number):
        return lattice_row(number, points)

    def is_drop(y, x):
        down, right = (y - fallen) / cell_down, x / cell_right
        top, left = math.floor(down), math.floor(right)
        value = variance = 0.0
        for r, share_down in ((top, 1 - down + top), (top + 1, down - top)):
            for c, share_right in ((left, 1 - right + left), (left + 1, right - left)):
                value += share_down * share_right * row(r)[c]
                variance += (share_down * share_right) ** 2
        return value / math.sqrt(variance) >= severity.threshold

    @functools.cache
    def streak(y, x):
        drops = sum(is_drop(y - i, x) for i in range(length))
        return min(255, drops * severity.light // length)

    layer = np.zeros((height, width), int)
    for y in range(height):
        for x in range(width):
            place = x + spread - aside[y]
            left = math.ceil(place) - 1
            near = (left + 1 - place) * streak(y, left) + (place - left) * streak(y, left + 1)
            layer[y, x] = math.floor(near + 0.5)
    return layer
