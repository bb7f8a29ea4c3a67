"""Rain, designed for this project: thin streaks over a darker, veiled picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vidc.corruptions import draws
from vidc.corruptions.draws import Key
from vidc.frames import Pixels


@dataclass(frozen=True)
class Rain:
    """The parameters of one severity."""

    loc: float
    length: int
    gain: float
    darken: float
    veil: float


SEVERITIES = (
    Rain(0.02, 15, 3.0, 0.93, 0.04),
    Rain(0.10, 19, 3.4, 0.87, 0.07),
    Rain(0.17, 23, 3.8, 0.81, 0.10),
    Rain(0.24, 28, 4.2, 0.75, 0.14),
    Rain(0.31, 34, 4.8, 0.68, 0.18),
)


def rain(frame: Pixels, severity: int, key: Key, *, coherent: bool) -> Pixels:
    """Streaks, a darker picture and a veil."""
    c = SEVERITIES[severity - 1]
    stream = draws.iid(key, "rain", severity)
    height, width = frame.shape[:2]
    length = max(1, round(c.length * height / 224))
    tall = height + length
    indices = stream.indices((tall // 2 + 2) * width).reshape(-1, width)
    field = c.loc + 0.2 * draws.normal_table()[indices].astype(np.float64).repeat(2, axis=0)
    drops = np.where(field[:tall] < 0.72, 0, np.minimum(field[:tall], 1))
    sums = np.cumsum(drops, axis=0)
    layer = np.floor(255 * c.gain * (sums[length:] - sums[:-length])[:height] / length)
    base = np.floor((1 - c.veil) * c.darken * frame + c.veil / 2 * 255)
    out: Pixels = np.minimum(base + layer[..., None], 255).astype(np.uint8)
    return out
