"""The recipe's pixels, for ever: hashes that only a new recipe version may change."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.corruptions.golden import BY_PROCESSOR, OURS, fingerprints
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


SLOWER_PROCESSORS = {
    "plain": {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX2 FMA3",
        "OPENCV_CPU_DISABLE": "AVX,FP16,AVX2,FMA3,AVX512-SKX,SSE4.1,SSE4.2",
        "OPENCV_IPP": "disabled",
    },
    "no FMA": {"NPY_DISABLE_CPU_FEATURES": "FMA3 X86_V3", "OPENCV_CPU_DISABLE": "AVX2,FMA3"},
}


@pytest.mark.parametrize("processor", SLOWER_PROCESSORS)
def test_other_processors_give_the_same_pixels(processor):
    """With the vector instructions of numpy and OpenCV switched off, as an older machine has it."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.corruptions.golden", *OURS],
        env=os.environ | SLOWER_PROCESSORS[processor],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = {key: value for name in OURS for key, value in golden_of(name).items()}
    assert json.loads(run.stdout)["fingerprints"] == expected
