"""Mistakes of the caller's, each told in one sentence that says what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# A sentence that is longer has swallowed a piece of a file; its two ends are what one needs.
_LONGEST_START, _LONGEST_END = 700, 300


class InputError(ValueError):
    """A mistake in what the caller gave: commands print it as one sentence and exit with 2."""


def told(mistake: InputError) -> str:
    """The sentence as a terminal may show it: on one line, and not without end."""
    text = printable(str(mistake))
    if len(text) <= _LONGEST_START + _LONGEST_END:
        return text
    return f"{text[:_LONGEST_START]} … {text[-_LONGEST_END:]}"


def printable(text: str) -> str:
    """The text as one line: a name from a file can hold line breaks, and commands to a terminal.

    >>> print(printable("a\\nb\\x1b[2J"))
    a\\nb\\x1b[2J
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def unknown(what: str, given: object, valid: Iterable[str]) -> InputError:
    """The error for a name that is not one of ``valid``, with the nearest one suggested.

    >>> str(unknown("corruption", "snwo", ["rain", "snow"]))
    "unknown corruption 'snwo': did you mean 'snow'? Known: rain, snow."
    """
    names = sorted(valid)
    near = difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
    hint = f" did you mean '{near[0]}'?" if near else ""
    return InputError(f"unknown {what} '{given}':{hint} Known: {', '.join(names)}.")
