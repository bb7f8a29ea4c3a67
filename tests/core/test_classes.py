"""The class lists against WordNet's own files and ImageNet's own list of wnids."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from tests.reference import wordnet
from vidc.classes import LISTS, class_list, lasot_test_sequences, tao_synsets
from vidc.errors import InputError

needs_wordnet = pytest.mark.skipif(
    not (wordnet.FOLDER / "data.noun").is_file(),
    reason="WordNet's files are not installed (Debian: wordnet-base)",
)

# TAO's words for classes of LaSOT that WordNet files elsewhere, each for a reason of its own.
ADDED = {
    "cat.n.01": "cat",  # TAO's only cat; WordNet's also covers the big ones
    "kitten.n.01": "cat",
    "book.n.01": "book",  # the written work; LaSOT's book is the volume, book.n.02
    "fan.n.01": "electricfan",  # TAO's only fan
    "bull.n.11": "cattle",  # TAO's definition: mature male cow
    "calf.n.01": "cattle",
    "foal.n.01": "horse",
    "lamb.n.01": "sheep",
    "piglet.n.01": "pig",
}


@pytest.fixture(scope="module")
def imagenet() -> list[str]:
    """The 1000 wnids in the order of the indices."""
    package = find_spec("timm")  # without importing it, and torch with it
    assert package is not None
    file = Path(package.origin).parent / "data" / "_info" / "imagenet_synsets.txt"
    return file.read_text().split()


def test_the_numbers():
    """Counted in WordNet 3.0: there 288 of ImageNet's wnids lie below one of VID's thirty classes,
    and 51 of LaSOT's seventy have one of ImageNet's below them."""
    vid, lasot = class_list("imagenet-vid"), class_list("lasot")
    assert (len(vid), sum(map(len, vid.imagenet))) == (30, 288)
    assert (len(lasot), sum(map(bool, lasot.imagenet))) == (70, 51)


def test_lasot_tests_on_four_of_the_twenty_sequences_of_each_class():
    sequences = [name.rpartition("-") for name in lasot_test_sequences()]
    assert Counter(kind for kind, _, _ in sequences) == dict.fromkeys(class_list("lasot").names, 4)
    assert len(set(sequences)) == 280
    assert {number for _, _, number in sequences} <= {str(number) for number in range(1, 21)}


@pytest.mark.parametrize("name", LISTS)
def test_names_and_indices_are_sorted_and_in_one_class_only(name):
    classes = class_list(name)
    assert all(a.lower() < b.lower() for a, b in pairwise(classes.names))
    indices = [index for group in classes.imagenet for index in group]
    assert len(set(indices)) == len(indices)
    assert all(0 <= index < 1000 for index in indices)
    assert all(list(group) == sorted(group) for group in classes.imagenet)
    wnids = [wnid for wnid in classes.wnids if wnid]
    assert len(set(wnids)) == len(wnids)


@needs_wordnet
@pytest.mark.parametrize("name", LISTS)
def test_indices_are_those_below_the_class_in_wordnet(name, imagenet):
    classes, nouns = class_list(name), wordnet.nouns()
    by_offset = {
        wnid[1:]: kind for wnid, kind in zip(classes.wnids, classes.names, strict=True) if wnid
    }
    assert len(imagenet) == 1000
    expected = {kind: set() for kind in classes.names}
    for index, wnid in enumerate(imagenet):
        levels = nouns.rising(wnid[1:])
        above = {by_offset[synset] for level in levels for synset in level if synset in by_offset}
        if above:
            expected[most_specific(above, classes, nouns)].add(index)
    found = {kind: set(group) for kind, group in zip(classes.names, classes.imagenet, strict=True)}
    assert found == expected


def most_specific(kinds, classes, nouns):
    """The class that lies below all the other classes of a set; of car and truck, car."""
    offsets = {kind: classes.wnids[classes.index(kind)][1:] for kind in kinds}

    def depth(kind):
        reached = set().union(*nouns.rising(offsets[kind]))
        return sum(other in reached for other in offsets.values())

    best = max(map(depth, kinds))
    deepest = sorted(kind for kind in kinds if depth(kind) == best)
    assert len(deepest) == 1 or deepest == ["car", "truck"]
    return deepest[0]


@needs_wordnet
def test_wnids_are_synsets_that_have_the_class_for_a_word():
    nouns = wordnet.nouns()
    other_words = {
        "cat": "domestic_cat",
        "electricfan": "electric_fan",
        "hippo": "hippopotamus",
        "licenseplate": "license_plate",
        "pool": "pool_ball",
        "racing": "racing_car",
        "sepia": "cuttlefish",
        "watercraft": "vessel",
        "yoyo": "yo-yo",
    }
    for name in LISTS:
        classes = class_list(name)
        for kind, wnid in zip(classes.names, classes.wnids, strict=True):
            if wnid:
                word = other_words.get(kind, kind).replace(" ", "_")
                assert word in nouns.words[wnid[1:]]


@needs_wordnet
def test_taos_synsets_are_those_whose_nearest_class_above_is_the_class():
    classes, nouns = class_list("lasot"), wordnet.nouns()
    by_offset = {
        wnid[1:]: kind for wnid, kind in zip(classes.wnids, classes.names, strict=True) if wnid
    }
    expected = dict(ADDED)
    for offset in nouns.words:
        for kind in nouns.nearest(offset, by_offset):
            if kind != "person" or by_offset.get(offset) == "person":
                assert nouns.name(offset) not in expected
                expected[nouns.name(offset)] = kind
    assert tao_synsets() == expected


@needs_wordnet
def test_taos_added_synsets_exist():
    nouns = wordnet.nouns()
    assert all(nouns.name(nouns.offset(synset)) == synset for synset in ADDED)


def test_some_of_taos_synsets_by_hand():
    synsets = tao_synsets()
    assert {synsets[f"{kind}.n.01"] for kind in ("beagle", "dog", "puppy")} == {"dog"}
    assert synsets["racer.n.02"] == "racing"
    assert synsets["minivan.n.01"] == "car"
    assert synsets["african_chameleon.n.01"] == "chameleon"
    assert synsets["beef.n.01"] == "cattle"
    assert "apron.n.01" not in synsets
    assert "man.n.01" not in synsets


def test_a_class_by_name():
    assert class_list("lasot").index("zebra") == 69
    with pytest.raises(InputError, match="did you mean 'zebra'"):
        class_list("lasot").index("zerba")
    with pytest.raises(InputError, match="did you mean 'lasot'"):
        class_list("lassot")
