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

# Stored in every manifest. The pixels of a key change only with this.
RECIPE_VERSION = "1"
TEMPORAL = ("iid", "coherent")


def corrupt(frame: Pixels, name: str, severity: int, key: Key, temporal: str = "iid") -> Pixels:
    """The frame (height x width x channels, uint8) under a corruption, in a new array."""
    corruption = lookup(name)
    _check_frame(frame)
    if temporal not in TEMPORAL:
        raise unknown("temporal", temporal, TEMPORAL)
    level = _severity(severity)
    return corruption(np.ascontiguousarray(frame), level, key, coherent=temporal == "coherent")


def _check_frame(frame: Pixels) -> None:
    allowed = "height x width x 1 or 3 channels of uint8, none of them empty"
    if not isinstance(frame, np.ndarray):
        raise InputError(f"frame must be {allowed}, not a {type(frame).__name__}.")
    if frame.dtype != np.uint8:
        raise InputError(f"frame must be {allowed}, not of dtype {frame.dtype}.")
    if frame.ndim != 3 or frame.shape[2] not in (1, 3) or frame.size == 0:
        raise InputError(f"frame must be {allowed}, not of shape {frame.shape}.")


def _severity(severity: int) -> int:
    try:
        level = operator.index(severity)
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
