"""The recipe's pixels, for ever: hashes that only a new recipe version may change."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.corruptions.golden import BY_PROCESSOR, OURS, fingerprints, instructions
from vidc.corruptions import RECIPE_VERSION, names

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text("utf-8"))
ROOT = Path(__file__).parents[2]


def golden_of(name):
    return {key: v for key, v in GOLDEN["fingerprints"].items() if key.split()[0] == name}


def test_golden_pixels_are_of_this_recipe():
    assert GOLDEN["recipe version"] == RECIPE_VERSION
    assert {key.split()[0] for key in GOLDEN["fingerprints"]} == set(names())


@pytest.mark.parametrize("name", [name for name in names() if name not in BY_PROCESSOR])
def test_pixels_are_golden(name):
    """The package's own also depend on the versions of constraints.txt; ours on nothing."""
    assert len(golden_of(name)) >= 15
    assert fingerprints([name]) == golden_of(name)


@pytest.mark.parametrize("name", BY_PROCESSOR)
def test_means_are_golden(name):
    found = fingerprints([name])
    assert found.keys() == golden_of(name).keys()
    for key, means in golden_of(name).items():
        ours, theirs = ([float(n) for n in words.split()] for words in (found[key], means))
        assert ours == pytest.approx(theirs, abs=0.1)


# What an older processor still has, by numpy's names and OpenCV's.
OLDER_PROCESSORS = {
    "plain": set(),
    "no FMA": {"SSSE3", "SSE41", "SSE42", "SSE4.1", "SSE4.2", "POPCNT", "AVX", "F16C", "FP16"},
}
CHILD = (
    "import json, cv2; from tests.corruptions.golden import OURS, fingerprints, instructions\n"
    "print(json.dumps([instructions(), cv2.ipp.useIPP(), fingerprints(OURS)]))"
)


@pytest.mark.parametrize("processor", OLDER_PROCESSORS)
def test_other_processors_give_the_same_pixels(processor):
    """With the vector instructions of numpy and OpenCV switched off, as an older machine has it."""
    has, kept = instructions(), OLDER_PROCESSORS[processor]
    off = {library: [name for name in names if name not in kept] for library, names in has.items()}
    switches = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(off["numpy"]),
        "OPENCV_CPU_DISABLE": ",".join(off["opencv"]),
        "OPENCV_IPP": "" if kept else "disabled",
    }
    run = subprocess.run(
        [sys.executable, "-c", CHILD],
        env=os.environ | switches,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    left, ipp, found = json.loads(run.stdout)
    for library, supported in has.items():
        assert left[library] == [name for name in supported if name in kept]
    assert kept or not ipp
    assert found == {key: value for name in OURS for key, value in golden_of(name).items()}
