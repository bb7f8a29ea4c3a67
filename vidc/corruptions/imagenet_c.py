"""ImageNet-C's other seventeen, through the imagecorruptions package.

Their pixels depend on the key, and on the versions of that package and of what it stands on; in
defocus_blur and frost also on the processor, by whose instructions OpenCV rounds a few of them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

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

# The package draws from numpy's global state, which all threads of a process share.
_STATE = threading.Lock()


class Packaged:
    """One of the package's corruptions; one channel gets what the red of a grey frame gets."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, frame: Pixels, severity: int, key: Key, *, coherent: bool) -> Pixels:
        """The package's own pixels, with its random state seeded from the key."""
        import imagecorruptions

        height, width, channels = frame.shape
        if min(height, width) < SMALLEST:
            raise InputError(
                f"frame is {height} x {width}, but {self.name} needs at least "
                f"{SMALLEST} x {SMALLEST} pixels."
            )
        seed = draws.frame_stream(key, self.name, severity).indices(2).view("<u4")[0]
        arguments = {"seed": int(seed)} if self.name in SEEDED else {}
        with _STATE, _seeded(int(seed)):
            out = imagecorruptions.corrupt(frame, severity, self.name, **arguments)
        return np.ascontiguousarray(out[..., :channels], np.uint8)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
