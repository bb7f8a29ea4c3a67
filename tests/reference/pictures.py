"""Pictures to corrupt: made ones with the spectrum of photographs, and photographs."""

from __future__ import annotations

import numpy as np


def made(seed, height=224, width=224):
    """Coloured 1/f noise, as in natural scenes, with a few flat shapes on it."""
    rng = np.random.default_rng(seed)
    fy, fx = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :]
    falloff = 1 / np.maximum(np.hypot(fy, fx), 1 / max(height, width))
    layers = []
    for _ in range(3):
        spectrum = falloff * np.exp(2j * np.pi * rng.random(falloff.shape))
        layers.append(np.fft.irfft2(spectrum, s=(height, width)))
    grey, *chroma = (layer / layer.std() for layer in layers)
    colours = np.stack([grey + 0.3 * chroma[0], grey, grey - 0.3 * chroma[1]], axis=2)
    picture = np.clip(118 + 45 * colours, 0, 255)
    y, x = np.mgrid[:height, :width]
    for _ in range(6):
        centre, radius = rng.random(2) * (height, width), rng.uniform(0.05, 0.2) * height
        inside = (y - centre[0]) ** 2 + (x - centre[1]) ** 2 < radius**2
        picture[inside] = 0.3 * picture[inside] + 0.7 * rng.uniform(0, 255, 3)
    return picture.astype(np.uint8)


def photographs(size=224):
    """Four photographs that scikit-image ships, their middles at ``size``."""
    from PIL import Image
    from skimage import data

    found = {}
    for name in ("astronaut", "chelsea", "coffee", "rocket"):
        picture = getattr(data, name)()
        edge = min(picture.shape[:2])
        top, left = ((n - edge) // 2 for n in picture.shape[:2])
        middle = Image.fromarray(picture[top : top + edge, left : left + edge])
        found[name] = np.array(middle.resize((size, size), Image.Resampling.BILINEAR))
    return found


def integers(height, width, channels=3):
    """A picture made in integers alone, the same on every machine: for hashes."""
    y, x, c = np.ogrid[:height, :width, :channels]
    waves = (x * x + 3 * y * y + 101 * c) // 97 + 5 * x + 7 * y * (c + 1)
    return (waves % 256).astype(np.uint8)
