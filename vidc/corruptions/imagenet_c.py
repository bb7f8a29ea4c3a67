"""ImageNet-C's other seventeen, through the imagecorruptions package.

Their pixels depend on the key, and on the versions of that package and of what it stands on; in
defocus_blur and frost also on the processor, by whose instructions OpenCV rounds a few of them.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
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
# These two do not read numpy's global state: they take a seed.
SEEDED = ("impulse_noise", "glass_blur")

# What the package takes for numpy's random numbers is one thing for all threads of a process.
_STATE = threading.Lock()


class Packaged:
    """One of the package's corruptions; one channel gets what the red of a grey frame gets."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, frame: Pixels, severity: int, key: Key, *, coherent: bool) -> Pixels:
        """The package's own pixels, with its random numbers seeded from the key."""
        height, width, channels = frame.shape
        if min(height, width) < SMALLEST:
            raise InputError(
                f"frame is {height} x {width}, but {self.name} needs at least "
                f"{SMALLEST} x {SMALLEST} pixels."
            )
        seed = draws.frame_stream(key, self.name, severity).indices(2).view("<u4")[0]
        make = _made_with_seed if self.name in SEEDED else _made
        with _STATE:
            out = make(frame, severity, self.name, int(seed))
        # A copy: some of them are a view on memory of Pillow's, closed to writing.
        return np.array(out[..., :channels], np.uint8, order="C")


def _made(frame: Pixels, severity: int, name: str, seed: int) -> Pixels:
    """As if numpy's global state had the seed; that state is not touched.

    Another thread may draw from numpy's global state meanwhile. If the package did so too, that
    would change these pixels, and the other thread would get the seed's numbers.
    """
    import imagecorruptions
    from imagecorruptions import corruptions as package

    package.np = _Numpy(seed)
    try:
        return imagecorruptions.corrupt(frame, severity, name)  # type: ignore[no-any-return]
    finally:
        package.np = np


def _made_with_seed(frame: Pixels, severity: int, name: str, seed: int) -> Pixels:
    """In a thread of its own, for glass_blur seeds numba's generator.

    Each thread has one: the caller's, which code of theirs may draw from, is left as it is.
    """
    import imagecorruptions

    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(imagecorruptions.corrupt, frame, severity, name, seed=seed)
        return made.result()  # type: ignore[no-any-return]


class _Numpy:
    """numpy, with random numbers of its own."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.RandomState(seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)
