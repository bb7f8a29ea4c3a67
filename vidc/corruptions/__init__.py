"""The pixels of the benchmarks: twenty corruptions, each a pure function of frame and key."""

from __future__ import annotations

import operator
import sys
import types

import numpy as np

from vidc.corruptions.draws import Key
from vidc.corruptions.registry import lookup, names
from vidc.errors import InputError, unknown
from vidc.frames import Pixels

__all__ = ["RECIPE_VERSION", "TEMPORAL", "Key", "corrupt", "names"]

# Stored in every manifest. The pixels that a key gives change with this and with nothing else.
RECIPE_VERSION = "1"
TEMPORAL = ("iid", "coherent")
# Up to here the way that weather has gone is held to a small part of a pixel.
LAST_COHERENT_FRAME = 1 << 40


def corrupt(frame: Pixels, name: str, severity: int, key: Key, temporal: str = "iid") -> Pixels:
    """The frame (height x width x channels, uint8 RGB or grey) corrupted, in a new array.

    With ``temporal="coherent"`` the flakes of snow and the drops of rain travel through a video;
    every other corruption is drawn anew for each frame, as all are with ``"iid"``.
    """
    corruption = lookup(name)
    _check_frame(frame)
    level = _severity(severity)
    if not isinstance(key, Key):
        raise InputError(f"key must be a vidc.corruptions.Key, not a {type(key).__name__}.")
    if temporal not in TEMPORAL:
        raise unknown("temporal", temporal, TEMPORAL)
    if temporal == "coherent" and abs(int(key.frame)) > LAST_COHERENT_FRAME:
        raise InputError(
            f"key.frame must be from -{LAST_COHERENT_FRAME} to {LAST_COHERENT_FRAME} where weather "
            f"moves (temporal='coherent'), not {key.frame}."
        )
    return corruption(np.ascontiguousarray(frame), level, key, coherent=temporal == "coherent")


def _check_frame(frame: object) -> None:
    allowed = "frame must be uint8 of height x width x channels, 1 or 3 channels and none empty"
    if not isinstance(frame, np.ndarray):
        raise InputError(f"{allowed}, not a {type(frame).__name__}.")
    if frame.dtype != np.uint8:
        holds = " holding NaN" if frame.dtype.kind == "f" and np.isnan(frame).any() else ""
        raise InputError(f"{allowed}, not {frame.dtype}{holds}.")
    if frame.ndim != 3 or frame.shape[2] not in (1, 3) or frame.size == 0:
        raise InputError(f"{allowed}, not of shape {frame.shape}.")


def _severity(severity: object) -> int:
    try:
        level = operator.index(severity)  # type: ignore[arg-type]
    except TypeError:
        level = 0
    if isinstance(severity, bool) or not 1 <= level <= 5:
        raise InputError(f"severity must be an integer from 1 to 5, not {severity!r}.")
    return level


class _Callable(types.ModuleType):
    """So that ``vidc.corruptions()`` lists the names."""

    def __call__(self) -> tuple[str, ...]:
        return names()


sys.modules[__name__].__class__ = _Callable
