"""Random numbers that depend on a key alone: Philox words, and normals through a fixed table."""

from __future__ import annotations

import functools
import hashlib
import json
import statistics
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.uint16]

# One normal takes 16 bits, so a 64-bit word holds four of them.
TABLE_SIZE = 1 << 16
# The table's values are multiples of this. A logarithm that differs in its last bit on another
# machine's library is thirty thousand times too small to move a value to another multiple.
TABLE_STEP = 2.0**-18


@dataclass(frozen=True, slots=True)
class Key:
    """What names one frame: the corruption of a frame depends on this and on nothing else."""

    seed: int
    dataset: str  # the source's name: "imagenet-vid", "lasot", "tao-lasot"
    video: str
    frame: int


class Stream:
    """Draws in a fixed order, named by the parts it is made from."""

    def __init__(self, *parts: int | str, block: int = 0) -> None:
        """``block`` is where in the stream to start, in units of sixteen indices."""
        digest = hashlib.sha256(json.dumps(parts).encode()).digest()
        low, high = np.frombuffer(digest, "<u8", count=2)
        # Philox is a function of its key and a 256-bit counter, so any place costs the same.
        self._words = np.random.Philox(
            key=np.array([low, high], np.uint64), counter=(_ORIGIN + block) % (1 << 256)
        )

    def indices(self, count: int) -> Indices:
        """The next ``count`` indices, each uniform over the table."""
        words = self._words.random_raw((count + 3) // 4)
        # Little-endian on every machine: which quarter of a word comes first is part of the draw.
        return np.asarray(words, "<u8").view("<u2")[:count]

    def fraction(self) -> float:
        """A number in (0, 1): the middle of one of 65,536 equal parts."""
        return (int(self.indices(1)[0]) + 0.5) / TABLE_SIZE


# Streams that run backwards from block 0 must not meet the counter's wrap.
_ORIGIN = 1 << 128


def iid(key: Key, corruption: str, severity: int) -> Stream:
    """The draws of one frame."""
    return Stream(key.seed, key.dataset, key.video, key.frame, corruption, severity)


@functools.cache
def normal_table() -> NDArray[np.float32]:
    """The normal quantiles in the middle of 65,536 equally likely parts, rising."""
    normal = statistics.NormalDist()
    upper = [normal.inv_cdf((k + 0.5) / TABLE_SIZE) for k in range(TABLE_SIZE // 2, TABLE_SIZE)]
    half = np.rint(np.array(upper) / TABLE_STEP) * TABLE_STEP
    table = np.concatenate([-half[::-1], half]).astype(np.float32)
    table.flags.writeable = False
    return table
