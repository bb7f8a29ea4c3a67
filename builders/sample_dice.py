"""Where the sample's randomness is from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class Dice:
    """Random numbers that depend on a text alone, on every machine and numpy version."""

    def __init__(self, text: str) -> None:
        key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")
        self._bits = np.random.Philox(key=key)

    def between(self, low: float, high: float) -> float:
        """A number of [low, high)."""
        return low + (high - low) * (int(self._bits.random_raw()) >> 11) * 2.0**-53

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[int(self._bits.random_raw()) % len(choices)]

    def grid(self, rows: int, columns: int) -> NDArray[np.float32]:
        """A grid of numbers of [-1, 1)."""
        raw = self._bits.random_raw(rows * columns) >> np.uint64(40)
        return (raw.astype(np.float32) * 2.0**-23 - 1.0).reshape(rows, columns)
