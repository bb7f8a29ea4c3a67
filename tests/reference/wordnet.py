"""WordNet 3.0's nouns, read from the files of the Debian package ``wordnet-base``.

The wnids of ImageNet are offsets into ``data.noun`` of this version.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path("/usr/share/wordnet")


@dataclass(frozen=True)
class Nouns:
    """The words and the hypernyms of each noun synset, by offset, and the senses of each word."""

    words: dict[str, tuple[str, ...]]
    above: dict[str, tuple[str, ...]]
    senses: dict[str, tuple[str, ...]]

    def name(self, offset: str) -> str:
        """The synset's name as NLTK, and so LVIS and TAO, write it: ``dog.n.01``."""
        word = self.words[offset][0].lower()
        return f"{word}.n.{self.senses[word].index(offset) + 1:02d}"

    def offset(self, name: str) -> str:
        """The synset of a name."""
        word, _, number = name.rsplit(".", 2)
        return self.senses[word][int(number) - 1]

    def rising(self, offset: str) -> list[set[str]]:
        """The synset, then its hypernyms, then theirs, and so on."""
        levels, seen = [{offset}], {offset}
        while levels[-1]:
            higher = {up for synset in levels[-1] for up in self.above[synset]} - seen
            seen |= higher
            levels.append(higher)
        return levels

    def nearest(self, offset: str, classes: dict[str, str]) -> set[str]:
        """The classes that are fewest steps above a synset, itself included."""
        for level in self.rising(offset):
            found = {classes[synset] for synset in level if synset in classes}
            if found:
                return found
        return set()


@functools.cache
def nouns() -> Nouns:
    """All noun synsets."""
    words, above, senses = {}, {}, {}
    for line in _lines("data.noun"):
        fields = line.split(" | ")[0].split()
        count = int(fields[3], 16)
        words[fields[0]] = tuple(fields[4 : 4 + 2 * count : 2])
        pointers = fields[5 + 2 * count :]
        above[fields[0]] = tuple(
            pointers[at + 1] for at in range(0, len(pointers), 4) if pointers[at] in ("@", "@i")
        )
    for line in _lines("index.noun"):
        fields = line.split()
        senses[fields[0]] = tuple(fields[-int(fields[2]) :])
    return Nouns(words, above, senses)


def _lines(name: str) -> list[str]:
    text = (FOLDER / name).read_text("latin-1")
    return [line for line in text.split("\n") if line and not line.startswith("  ")]
