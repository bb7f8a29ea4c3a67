"""Snow, ImageNet-C's: noise, zoomed, cut at a threshold, blurred along the wind, laid over."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vidc.corruptions import draws
from vidc.corruptions.draws import Key
from vidc.frames import Pixels


@dataclass(frozen=True)
class Snow:
    """The parameters of one severity."""

    loc: float
    scale: float
    zoom: float
    threshold: float
    radius: int
    sigma: float
    mix: float


SEVERITIES = (
    Snow(0.1, 0.3, 3, 0.5, 10, 4, 0.8),
    Snow(0.2, 0.3, 2, 0.5, 12, 4, 0.7),
    Snow(0.55, 0.3, 4, 0.9, 12, 8, 0.7),
    Snow(0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
    Snow(0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
)


def snow(frame: Pixels, severity: int, key: Key, *, coherent: bool) -> Pixels:
    """Flakes and a paler picture."""
    stream = draws.iid(key, "snow", severity)
    angle = -135 + 90 * stream.fraction()
    height, width = frame.shape[:2]
    c = SEVERITIES[severity - 1]
    ch, cw = math.ceil(height / c.zoom), math.ceil(width / c.zoom)
    normals = draws.normal_table().take(stream.indices(ch * cw)).reshape(ch, cw)
    layer = _layer(normals, c, angle)[:height, :width]
    both = layer.astype(np.int32) + layer[::-1, ::-1]
    gray = (
        frame @ np.array([299, 587, 114])
        if frame.shape[2] == 3
        else 1000 * frame[..., 0].astype(np.int64)
    )
    parts = round(20 * c.mix)
    pale = ((20 - parts) * (3 * gray.astype(np.int64) + 255000)) // 2000
    base = np.maximum((parts * frame.astype(np.int64) + pale[..., None]) // 20, frame)
    out: Pixels = np.minimum(base + both[..., None], 255).astype(np.uint8)
    return out


def _layer(normals: NDArray[np.float32], c: Snow, angle: float) -> NDArray[np.uint8]:
    from scipy.ndimage import zoom

    layer = zoom(c.loc + c.scale * normals.astype(np.float64), c.zoom, order=1)
    layer[layer < c.threshold] = 0
    layer = np.clip(layer, 0, 1)
    width = 2 * c.radius + 1
    kernel = np.exp(-(np.arange(width) ** 2) / (2 * c.sigma**2))
    kernel /= kernel.sum()
    pad = np.pad(layer, width, mode="edge")
    total = np.zeros_like(layer)
    for i in range(width):
        dy = -math.ceil(i * math.sin(math.radians(angle)) - 0.5)
        dx = -math.ceil(i * math.cos(math.radians(angle)) - 0.5)
        if abs(dy) >= layer.shape[0] or abs(dx) >= layer.shape[1]:
            break
        y, x = width - dy, width - dx
        total += kernel[i] * pad[y : y + layer.shape[0], x : x + layer.shape[1]]
    levels: NDArray[np.uint8] = np.rint(255 * total).astype(np.uint8)
    return levels
