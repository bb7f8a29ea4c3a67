"""A JSON object from a file that may be anybody's: its values are asked for by type."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from vidc.errors import InputError

NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"  # such a name leads to no other folder
_SHA256 = r"[0-9a-f]{64}"
LARGEST = 2**63 - 1
_DEEPEST = 32  # far deeper than any file of ours, and far from Python's own limit
# In memory a value takes up to fifty times its letters: so many take 0.6 GB at most.
_MOST_VALUES = 5 * 2**19
_HALF_A_LETTER = re.compile(r"[\ud800-\udfff]")


def parse(text: str, where: str, remedy: str = "build or download it again") -> Any:
    """The content of a JSON file: finite numbers, texts that can be written again, few levels.

    Python's parser also takes NaN, numbers beyond every float, halves of letters and a thousand
    levels; all of them would only fail later, in a place that can no longer name the file.
    """
    # Every value but the first stands behind one of these.
    if sum(map(text.count, ",[{")) > _MOST_VALUES:
        raise InputError(f"{where} holds more than {_MOST_VALUES} values: {remedy}")
    try:
        content = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        _check(content, _DEEPEST)
    except (ValueError, RecursionError) as broken:
        reason = "it is nested too deeply" if isinstance(broken, RecursionError) else broken
        raise InputError(f"{where} is not valid JSON ({reason}): {remedy}") from None
    return content


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}")


def _finite(number: str) -> float:
    value = float(number)
    if value in (float("inf"), float("-inf")):
        _refuse(number[:40])
    return value


def _check(value: Any, levels: int) -> None:
    if isinstance(value, str):
        if _HALF_A_LETTER.search(value):
            _refuse("half of a surrogate pair")
    elif isinstance(value, dict | list):
        if levels == 0:
            raise RecursionError
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            _check(inner, levels - 1)


class Fields:
    """A JSON object whose values are asked for by type; anything else is one sentence."""

    def __init__(self, content: object, where: str) -> None:
        if not isinstance(content, dict):
            raise InputError(f"{where} is not a JSON object: build or download it again")
        self.content: dict[str, Any] = content
        self.where = where

    def wrong(self, key: str, expected: str) -> InputError:
        """The error for a value that is not as it must be."""
        return InputError(f"{self.where}: {key[:200]!r} is missing or is not {expected}")

    def text(self, key: str) -> str:
        """A text."""
        value = self.content.get(key)
        if not isinstance(value, str):
            raise self.wrong(key, "text")
        return value

    def optional_text(self, key: str) -> str | None:
        """A text, or null."""
        return None if key in self.content and self.content[key] is None else self.text(key)

    def name(self, key: str) -> str:
        """A text that may be part of a path: it leads to no other folder."""
        value = self.text(key)
        if not re.fullmatch(NAME, value):
            raise self.wrong(key, "a plain name")
        return value

    def sha256(self, key: str) -> str:
        """A sha256 in hexadecimal."""
        value = self.text(key)
        if not re.fullmatch(_SHA256, value):
            raise self.wrong(key, "a sha256")
        return value

    def integer(self, key: str, least: int = 0) -> int:
        """A whole number."""
        value = self.content.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST:
            raise self.wrong(key, f"a whole number from {least}")
        return value

    def optional_integer(self, key: str, least: int = 0) -> int | None:
        """A whole number, or null."""
        if key in self.content and self.content[key] is None:
            return None
        return self.integer(key, least)

    def boolean(self, key: str) -> bool:
        """True or false."""
        value = self.content.get(key)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def inner(self, key: str) -> Fields:
        """The object inside this one."""
        if not isinstance(self.content.get(key), dict):
            raise self.wrong(key, "an object")
        return Fields(self.content[key], f"{self.where}, {key}")

    def keys_of(self, key: str) -> list[str]:
        """The keys of an inner object, sorted."""
        return sorted(self.inner(key).content)

    def values(self, key: str) -> list[Any]:
        """A list of anything."""
        value = self.content.get(key)
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        return value

    def entries(self, key: str) -> list[Fields]:
        """A list of objects."""
        return [Fields(entry, f"{self.where}, {key}") for entry in self.values(key)]

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        values = self.values(key)
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(key, "a list of texts")
        return tuple(values)
