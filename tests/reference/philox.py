"""Philox4x64-10 in plain integers, from the paper (Salmon et al., SC 2011)."""

from __future__ import annotations

MASK = (1 << 64) - 1
MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def block(key: tuple[int, int], counter: int) -> list[int]:
    """The four words of one value of the counter."""
    words = [(counter >> (64 * i)) & MASK for i in range(4)]
    k0, k1 = key
    for _ in range(10):
        first, second = MULTIPLIERS[0] * words[0], MULTIPLIERS[1] * words[2]
        words = [
            (second >> 64) ^ words[1] ^ k0,
            second & MASK,
            (first >> 64) ^ words[3] ^ k1,
            first & MASK,
        ]
        k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
    return words


def indices(key: tuple[int, int], counter: int, count: int) -> list[int]:
    """``count`` numbers of 16 bits; the counter steps before each block, as numpy's does."""
    found: list[int] = []
    while len(found) < count:
        counter += 1
        for word in block(key, counter):
            found += [(word >> shift) & 0xFFFF for shift in (0, 16, 32, 48)]
    return found[:count]
