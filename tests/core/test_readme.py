"""What README tells a user to write themselves works as it stands there, to the end."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import vidc
from tests.builders import trees
from tests.eval import tiny_dataset
from vidc import build
from vidc.builders import source
from vidc.corruptions import registry
from vidc.eval.usercode import load_user_code

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Writes the code after a heading of README to a file of the user's, in their folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def write(heading: str, file: str) -> None:
        code = README.partition(f"**{heading}**")[2].partition("```python\n")[2].partition("```")[0]
        (tmp_path / file).write_text(code, "utf-8")

    return write


def test_a_source_is_built_loaded_and_evaluated_and_so_is_a_method(example, tmp_path, monkeypatch):
    example("A source", "readme_clips.py")
    example("A method", "mine.py")
    model = tiny_dataset.write_model(tmp_path / "models")
    for video in ("bird-1", "dog-20"):
        for number in range(3):
            file = tmp_path / "clips" / video / f"{number:06d}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(trees.jpeg(trees.picture(60, 80, f"{video}/{number}")))
    monkeypatch.setitem(source._MODULES, "clips", "readme_clips")
    commands = (*build.COMMANDS, ("clips", "build Clips-C", "command"))
    monkeypatch.setattr(build, "COMMANDS", commands)

    words = "clips --root clips --out clips-c --corruptions snow --size 32 --engine serial"
    assert build.main(words.split()) == 0
    card = Path("clips-c/README.md").read_text("utf-8")
    assert "`test` of clips" in card
    rows = list(vidc.load("clips-c", "snow"))
    assert [(row.video, row.frame) for row in rows] == [
        (video, number) for video in ("bird-1", "dog-20") for number in range(3)
    ]
    names = vidc.load("clips-c", "snow").info.classes.names
    assert [names[row.label] for row in rows] == ["bird"] * 3 + ["dog"] * 3
    assert {row.objects[0].bbox for row in rows} == {(0, 0, 32, 32)}

    asked = {"columns": ["source@unmix_tns", "mine.py:Sharpen@unmix_tns"], "model": model}
    built = vidc.evaluate("clips-c", out="built", **asked)
    (cell,) = built.results["cells"]
    unmix = cell["columns"]["unmix_tns"]
    # Sharper probabilities of the same forward: the same answers.
    assert cell["columns"]["Sharpen@unmix_tns"]["videos"] == unmix["videos"]
    straight = vidc.evaluate(
        source="clips", root="clips", corruptions="snow", recipe="clips-c", out="straight", **asked
    )
    (same,) = straight.results["cells"]
    assert same["columns"]["unmix_tns"]["videos"] == unmix["videos"]


def test_a_corruption(example, monkeypatch):
    example("A corruption", "readme_dust.py")
    monkeypatch.setitem(registry.CORRUPTIONS, "dust", load_user_code("readme_dust.py:dust"))
    frame = np.full((224, 224, 3), 128, np.uint8)
    dusty = vidc.corrupt(frame, "dust", severity=5, key=("lasot", "bird-1", 0))
    assert "dust" in vidc.corruptions()
    assert (frame == 128).all()
    assert set(np.unique(dusty)) == {0, 128}
    # 400 · 5 of 65,536 values: 1531 of 50,176 pixels, give or take five deviations of 38.5.
    assert (dusty == 0).all(axis=2).sum() == pytest.approx(1531, abs=193)


def test_a_model(example):
    import torch
    import torchvision

    example("A model", "mine.py")
    weights = torchvision.models.resnet18(num_classes=1000).state_dict()
    torch.save(weights, "mine.pt")
    made = load_user_code("mine.py:network")().state_dict()
    assert all(torch.equal(made[name], tensor) for name, tensor in weights.items())


def commands(program):
    """The words after each ``python -m program``, in a line of its own or in a sentence."""
    lines = README.replace("\\\n", " ")
    start = f"python -m {program} "
    found = re.findall(rf"`{start}([^`]*)`|^(?: *|srun ){start}(.*)$", lines, re.M)
    assert len(found) == lines.count(start)
    return [shlex.split(sentence or line, comments=True) for sentence, line in found]


def test_every_corruption_and_option_in_its_evaluations_is_known():
    from vidc.eval.options import parse

    asked = commands("vidc.eval")
    assert len(asked) > 8
    for words in asked:
        assert set(parse(words).corruptions) <= set(vidc.corruptions())


def test_every_corruption_and_option_in_its_builds_is_known(monkeypatch):
    parsed = []
    for module in {module for _, _, module in build.COMMANDS}:
        monkeypatch.setattr(f"vidc.builders.{module}.main", lambda args: parsed.append(args) or 0)
    asked = commands("vidc.build")
    assert {words[0] for words in asked} >= {"imagenet-vid", "lasot", "verify", "publish"}
    assert all(build.main(words) == 0 for words in asked)
    assert [args.command for args in parsed] == [words[0] for words in asked]
    assert all(set(getattr(args, "corruptions", ())) <= set(vidc.corruptions()) for args in parsed)
