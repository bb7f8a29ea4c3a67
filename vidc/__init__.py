"""Corrupted-video benchmarks, and test-time adaptation measured on them.

Four names are the whole API: :func:`corrupt`, ``corruptions()``, :func:`load`, :func:`evaluate`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vidc import corruptions
    from vidc.eval.evaluate import evaluate
    from vidc.frames import Pixels
    from vidc.reading import load

__version__ = "0.1.0"
__all__ = ["corrupt", "corruptions", "evaluate", "load"]


def corrupt(
    frame: Pixels,
    name: str,
    severity: int = 5,
    *,
    key: tuple[str, str, int],
    seed: int = 0,
    temporal: str = "iid",
) -> Pixels:
    """A corrupted copy of one RGB frame, the same on every machine and in every order.

    ``key`` says whose randomness it is: (source, video, frame index), where the source is
    ``imagenet-vid``, ``lasot`` or ``tao-lasot``, not the name of the dataset built from it. Given
    the clean pixels of a frame that was built and stored as PNG, this returns the stored ones.

    >>> import numpy as np, vidc
    >>> frame = np.full((224, 224, 3), 128, np.uint8)
    >>> snowy = vidc.corrupt(frame, "snow", severity=5, key=("imagenet-vid", "some_video", 17))
    >>> again = vidc.corrupt(frame, "snow", severity=5, key=("imagenet-vid", "some_video", 17))
    >>> snowy.shape, bool((snowy == again).all()), bool((frame == 128).all())
    ((224, 224, 3), True, True)
    >>> vidc.corruptions()[:3]
    ('gaussian_noise', 'snow', 'rain')
    """
    from vidc.corruptions import Key
    from vidc.corruptions import corrupt as corrupt_with_key
    from vidc.errors import InputError

    if not isinstance(key, tuple) or len(key) != 3:
        raise InputError(f"key must be (source, video, frame index), not {key!r}.")
    return corrupt_with_key(frame, name, severity, Key(seed, *key), temporal)


def __getattr__(name: str) -> Any:
    """The rest of the API, imported when first used, so that ``import vidc`` costs nothing."""
    if name == "corruptions":
        return import_module("vidc.corruptions")
    if name == "load":
        return import_module("vidc.reading").load
    if name == "evaluate":
        return import_module("vidc.eval.evaluate").evaluate
    raise AttributeError(f"module 'vidc' has no attribute '{name}'")
