"""The examples in docstrings run as written, those of the public API on frames of the sample."""

import doctest
import importlib
from pathlib import Path

import pytest

from tests.builders.builds import request
from vidc.builders import sample
from vidc.builders.building import build
from vidc.builders.sample_layout import write_lasot
from vidc.builders.source import RENDERED

ROOT = Path(__file__).parents[2]


def module_of(file):
    """The name of the module in a file; builders and eval lie beside vidc and belong into it."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(("vidc", *parts) if parts[0] != "vidc" else parts).removesuffix(".__init__")


MODULES = sorted(
    module_of(file)
    for folder in ("vidc", "builders", "eval")
    for file in (ROOT / folder).rglob("*.py")
    if ">>> " in file.read_text("utf-8")
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with one short video of what ``python -m vidc.build`` makes there."""
    folder = tmp_path_factory.mktemp("place")
    clean = folder / "datasets/sample/clean"
    (video,) = (each for each in sample.lasot_videos() if each.id == "car-6")
    write_lasot(clean, video.id, video.clip(), video.times[:4])
    (clean / "LaSOT" / RENDERED).touch()
    asked = {"corruptions": (("clean", 0), ("snow", sample.SEVERITY)), "size": sample.SIZE}
    out = folder / "datasets/sample/lasot-c"
    build(request(clean, out, source="lasot", allow_missing=True, **asked))
    return folder


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name, place, monkeypatch):
    monkeypatch.chdir(place)
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_all_four_names_of_the_api_have_examples():
    assert {"vidc", "vidc.reading", "vidc.eval.evaluate"} <= set(MODULES)
    assert "SKIP" not in "".join(
        (ROOT / "vidc" / file).read_text("utf-8") for file in ("reading.py", "eval/evaluate.py")
    )
