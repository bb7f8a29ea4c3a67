"""A build, an evaluation and a report touch their own folders and call nobody."""

import os
import subprocess
import sys

import pytest

from tests.builders import trees
from tests.eval.tiny_dataset import write_model
from tests.security.watching import outside, watched

OFF = {"RAY_USAGE_STATS_ENABLED": "0", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}


@pytest.mark.slow
def test_no_address_is_asked_for_and_nothing_is_left_elsewhere(tmp_path):
    secret = outside(tmp_path)
    tree = trees.write_imagenet_vid(tmp_path, {"v0": 3, "v1": 3})
    out, results, model = tmp_path / "out", tmp_path / "results", write_model(tmp_path)
    words = ("--size", "32", "--corruptions", "snow", "--engine", "serial")
    seen = [watched(tmp_path, "vidc.build", "imagenet-vid", "--root", tree, "--out", out, *words)]
    options = ("--model", model, "--columns", "source", "--out", results)
    seen += [watched(tmp_path, "vidc.eval", out, *options)]
    (run,) = results.iterdir()
    seen += [watched(tmp_path, "vidc.eval", "report", run)]
    for one in seen:
        assert one.code == 0, one.stderr
        assert one.calls() == []
        assert one.touched(secret) == []
    assert list((tmp_path / "here").iterdir()) == []
    kept = {
        path.relative_to(tmp_path / "home").parts[:2] for path in (tmp_path / "home").rglob("*")
    }
    # Matplotlib's list of fonts, and nothing of ours.
    assert kept <= {(".cache",), (".config",), (".cache", "matplotlib"), (".config", "matplotlib")}


def test_the_libraries_usage_reports_are_off():
    code = (
        "import os, sys; from vidc import commandline; sys.argv = ['x'];"
        "commandline.run(lambda words: print(*(os.environ.get(k) for k in "
        f"{list(OFF)!r})) or 0, 'x')"
    )
    kept = {key: value for key, value in os.environ.items() if key not in OFF}
    done = subprocess.run([sys.executable, "-c", code], env=kept, capture_output=True, text=True)
    assert done.stdout.split() == list(OFF.values())
    # Who has chosen otherwise is left alone.
    chosen = {**kept, "RAY_USAGE_STATS_ENABLED": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=chosen, capture_output=True, text=True)
    assert done.stdout.split()[0] == "1"
