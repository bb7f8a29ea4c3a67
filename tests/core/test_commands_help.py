"""What a person sees first: help that opens with an example, and mistakes told in one sentence."""

import subprocess
import sys

import pytest


def run(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, cwd=cwd, check=False
    )


@pytest.mark.parametrize("module", ["vidc.build", "vidc.eval"])
def test_help_opens_with_an_example_and_fits_on_a_screen(module):
    shown = run(module, "--help")
    lines = shown.stdout.splitlines()
    assert shown.returncode == 0
    assert f"python -m {module}" in "\n".join(lines[:4])
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["vidc.build", "imagnet-vid"], "imagenet-vid"),
        (["vidc.build", "lasot", "--rot", "x"], "did you mean --root?"),
        (["vidc.build", "lasot", "--root", ".", "--out", "x", "--corruptions", "snwo"], "snow"),
        (["vidc.eval", "--columns", "tennt"], "tent"),
        (["vidc.eval", "--protcol=paper"], "did you mean --protocol?"),
        (["vidc.eval", "--protocol", "papre"], "paper"),
    ],
)
def test_an_unknown_word_gets_one_sentence_and_the_nearest_known_one(words, expected, tmp_path):
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_evaluator_says_which_command_makes_the_sample(tmp_path):
    done = run("vidc.eval", cwd=tmp_path)
    assert done.returncode == 2
    assert "python -m vidc.build" in done.stderr
    assert list(tmp_path.iterdir()) == []
