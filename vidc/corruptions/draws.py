"""Random numbers that depend on a key alone: Philox words, and normals through a fixed table."""

from __future__ import annotations

import functools
import hashlib
import json
import statistics
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

from vidc.errors import InputError

Indices = NDArray[np.uint16]
Array = TypeVar("Array", bound=NDArray[Any])

# One normal takes 16 bits: a 64-bit word holds four, and a Philox block of four words sixteen.
TABLE_SIZE = 1 << 16
BLOCK = 16
# The table's values are multiples of this, far coarser than the last bits in which two machines'
# logarithms may differ.
TABLE_STEP = 2.0**-18
# Streams may be entered at a negative block; they start far from where the counter wraps.
_ORIGIN = 1 << 128
_WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Key:
    """What names one frame: its corruption depends on this, the name and the severity alone."""

    seed: int
    dataset: str  # the source's name: "imagenet-vid", "lasot", "tao-lasot"
    video: str
    frame: int

    def __post_init__(self) -> None:
        """Refuse what would not name the same frame on every machine."""
        for field in ("seed", "frame"):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise InputError(f"key.{field} must be an integer, not {value!r}.")
        for field in ("dataset", "video"):
            value = getattr(self, field)
            if not isinstance(value, str):
                raise InputError(f"key.{field} must be a string, not {value!r}.")


class Stream:
    """Draws in a fixed order. What they are depends on the stream's name and the place alone."""

    def __init__(self, name: tuple[int | str, ...], block: int = 0) -> None:
        """Start at a block of the stream; any place in it costs the same."""
        digest = hashlib.sha256(json.dumps(name).encode()).digest()
        self._philox = np.random.Philox(
            _KeyOnly(digest),  # type: ignore[arg-type]  # its stub knows SeedSequence alone
            counter=_counter(block),
        )

    def indices(self, count: int) -> Indices:
        """The next ``count`` indices, each uniform over the table; whole words are used up."""
        words = self._philox.random_raw(-(-count // 4))
        # Which quarter of a word comes first is part of the draw, so it must not be the machine's.
        return words.astype("<u8", copy=False).view("<u2")[:count]

    def between(self, low: float, high: float) -> float:
        """The middle of one of the 65,536 equal parts of a range."""
        return low + (high - low) * (int(self.indices(1)[0]) + 0.5) / TABLE_SIZE


class _KeyOnly(ISeedSequence):
    """Gives Philox its key. Philox(key=...) would ask the system for a seed that it never uses."""

    def __init__(self, digest: bytes) -> None:
        self._key = np.frombuffer(digest, "<u8", count=2).astype(np.uint64, copy=False)

    def generate_state(self, n_words: int, dtype: Any = np.uint64) -> NDArray[np.uint64]:
        """The two words of the key, whatever is asked for: Philox asks for two."""
        return self._key


def _counter(block: int) -> NDArray[np.uint64]:
    """The 256-bit counter at a block of a stream, lowest word first."""
    place = _ORIGIN + block
    return np.array([place >> shift & _WORD for shift in (0, 64, 128, 192)], np.uint64)


def frame_stream(key: Key, corruption: str, severity: int) -> Stream:
    """The draws of one frame."""
    return Stream((int(key.seed), key.dataset, key.video, int(key.frame), corruption, severity))


def video_stream(key: Key, corruption: str, severity: int, use: str, block: int = 0) -> Stream:
    """Draws that all frames of a video share, a stream for each use made of them."""
    return Stream((int(key.seed), key.dataset, key.video, use, corruption, severity), block)


@functools.cache
def normal_table() -> NDArray[np.float32]:
    """The normal quantiles in the middle of 65,536 equally likely parts, rising."""
    normal = statistics.NormalDist()
    upper = [normal.inv_cdf((k + 0.5) / TABLE_SIZE) for k in range(TABLE_SIZE // 2, TABLE_SIZE)]
    half = np.rint(np.array(upper) / TABLE_STEP) * TABLE_STEP
    return read_only(np.concatenate([-half[::-1], half]).astype(np.float32))


def look_up(table: NDArray[Any], indices: Indices) -> NDArray[Any]:
    """The table's entries at the indices."""
    import cv2

    # numpy's take would first turn the indices into 64-bit ones, four times their size.
    return np.asarray(cv2.LUT(indices.reshape(1, -1), table)).reshape(-1)


def read_only(array: Array) -> Array:
    """The array itself, closed to writing: for tables that calls share."""
    array.flags.writeable = False
    return array
