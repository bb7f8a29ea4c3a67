"""Class lists as data: names, wnids, and the ImageNet-1k indices that count as each class."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from vidc.errors import unknown

LISTS = ("imagenet-vid", "lasot")


@dataclass(frozen=True)
class ClassList:
    """The classes of a dataset, in the order of their labels."""

    name: str
    names: tuple[str, ...]
    wnids: tuple[str | None, ...]
    imagenet: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """The label of a class name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise unknown(f"{self.name} class", name, self.names) from None


@functools.cache
def class_list(name: str) -> ClassList:
    """The class list called ``name``.

    >>> len(class_list("imagenet-vid")), class_list("lasot").names[0]
    (30, 'airplane')
    """
    if name not in LISTS:
        raise unknown("class list", name, LISTS)
    rows = json.loads(resources.files(__package__).joinpath(f"{name}.json").read_text("utf-8"))
    return ClassList(
        name=name,
        names=tuple(row["name"] for row in rows),
        wnids=tuple(row["wnid"] for row in rows),
        imagenet=tuple(tuple(row["imagenet"]) for row in rows),
    )


@functools.cache
def lasot_test_sequences() -> tuple[str, ...]:
    """The names of LaSOT's 280 testing sequences, ``airplane-1`` and so on, sorted."""
    text = resources.files(__package__).joinpath("lasot-test-sequences.json").read_text("utf-8")
    by_class: dict[str, list[int]] = json.loads(text)
    return tuple(
        sorted(f"{name}-{number}" for name, numbers in by_class.items() for number in numbers)
    )


@functools.cache
def tao_synsets() -> dict[str, str]:
    """The LaSOT class of each WordNet synset (``dog.n.01``) that a category of TAO may have.

    ``descent`` lists what lies below a class in WordNet, each synset with the nearest class above
    it. Of ``person`` only the synset itself is listed: TAO calls every human that. ``added`` are
    TAO's own words: its cats, books and fans have a more general synset than LaSOT's, and WordNet
    files young animals under no species.
    """
    text = resources.files(__package__).joinpath("tao-synsets.json").read_text("utf-8")
    data: dict[str, Any] = json.loads(text)
    added: dict[str, str] = data["added"]
    return {synset: name for name, below in data["descent"].items() for synset in below} | added
