"""ImageNet-C's other seventeen, through the imagecorruptions package.

Their pixels depend on the key, and on the versions of that package and of what it stands on; in
defocus_blur and frost also on the processor, by whose instructions OpenCV rounds a few of them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from vidc.corruptions import draws
from vidc.corruptions.draws import Key
from vidc.errors import InputError
from vidc.frames import Pixels

NAMES = (
    "shot_noise",
    "impulse_noise",
    "defocus_blur",
    "glass_blur",
    "motion_blur",
    "zoom_blur",
    "frost",
    "fog",
    "brightness",
    "contrast",
    "elastic_transform",
    "pixelate",
    "jpeg_compression",
    "speckle_noise",
    "gaussian_blur",
    "spatter",
    "saturate",
)
SMALLEST = 32
# These two do not read numpy's global state: they take a seed. (glass_blur seeds numba's own
# generator with it, which nothing but numba code can see.)
SEEDED = ("impulse_noise", "glass_blur")

# What the package takes for numpy's random numbers is one thing for all threads of a process.
_STATE = threading.Lock()


class Packaged:
    """One of the package's corruptions; one channel gets what the red of a grey frame gets."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, frame: Pixels, severity: int, key: Key, *, coherent: bool) -> Pixels:
        """The package's own pixels, with its random numbers seeded from the key."""
        import imagecorruptions

        height, width, channels = frame.shape
        if min(height, width) < SMALLEST:
            raise InputError(
                f"frame is {height} x {width}, but {self.name} needs at least "
                f"{SMALLEST} x {SMALLEST} pixels."
            )
        seed = draws.frame_stream(key, self.name, severity).indices(2).view("<u4")[0]
        with _STATE:
            if self.name in SEEDED:
                out = imagecorruptions.corrupt(frame, severity, self.name, seed=int(seed))
            else:
                with _seeded(int(seed)):
                    out = imagecorruptions.corrupt(frame, severity, self.name)
        return np.ascontiguousarray(out[..., :channels], np.uint8)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """The package draws as if numpy's global state had the seed, and does not touch that state.

    Another thread may draw from numpy's global state meanwhile. If the package did so too, that
    would change these pixels, and the other thread would get the seed's numbers.
    """
    from imagecorruptions import corruptions as package

    package.np = _Numpy(seed)
    try:
        yield
    finally:
        package.np = np


class _Numpy:
    """numpy, with random numbers of its own."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.RandomState(seed)  # noqa: NPY002

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)
