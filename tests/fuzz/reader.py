"""What a reader of outside files is to the fuzzer: valid files, damaged ones, and one way in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.fuzz import bounds
from vidc.errors import InputError, told


@dataclass(frozen=True)
class Reader:
    """Valid files, damaged ones, and what reads a file's bytes."""

    valid: Sequence[bytes]
    inputs: st.SearchStrategy[bytes]
    read: Callable[[bytes], object]


def outcome(reader: Reader, data: bytes) -> str:
    """``value`` or ``refused``; whatever else is raised is a bug, and so is what takes too much."""
    with bounds.in_a_minute(), bounds.in_a_gigabyte():
        try:
            reader.read(data)
        except InputError as mistake:
            sentence = told(mistake)
            assert sentence.strip(), "an error without a word"
            return "refused"
    return "value"
