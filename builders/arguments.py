"""Values of options that several commands take; light, for help must not wait for libraries."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from vidc.errors import InputError


def path(text: str) -> Path:
    """The value of --root or --out; an empty one would mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty: give a path")
    return Path(text)


def listed(option: str, words: Sequence[str]) -> tuple[str, ...]:
    """The values of an option that takes several, with commas or blanks between them.

    >>> listed("--corruptions", ["snow,rain", "fog"])
    ('snow', 'rain', 'fog')
    """
    found = tuple(each for word in words for each in word.split(",") if each)
    if not found:
        raise InputError(f"{option} is empty: name at least one")
    return found


def numbers(option: str, words: Sequence[str]) -> tuple[int, ...]:
    """The same, of numbers.

    >>> numbers("--severity", ["1,3", "5"])
    (1, 3, 5)
    """
    found = listed(option, words)
    try:
        return tuple(int(each) for each in found)
    except ValueError:
        raise InputError(f"{option} is '{' '.join(found)}': give whole numbers") from None
