"""Mistakes of the caller's, each told in one sentence that says what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """A mistake in what the caller gave: commands print it as one sentence and exit with 2."""


def unknown(what: str, given: object, valid: Iterable[str]) -> InputError:
    """The error for a name that is not one of ``valid``, with the nearest one suggested.

    >>> str(unknown("corruption", "snwo", ["rain", "snow"]))
    "unknown corruption 'snwo': did you mean 'snow'? Known: rain, snow."
    """
    names = sorted(valid)
    near = difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
    hint = f" did you mean '{near[0]}'?" if near else ""
    return InputError(f"unknown {what} '{given}':{hint} Known: {', '.join(names)}.")
