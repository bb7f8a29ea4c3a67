"""An evaluation of a published dataset gives the numbers of the folder it was published from."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.eval.tiny_dataset import write_model
from tests.hub.conftest import build
from tests.hub.test_publish import NAME


def evaluated(dataset, model, out, environment):
    words = [dataset, "--model", model, "--columns", "source", "unmix_tns", "--out", out]
    words += ["--set", "unmix_tns.components=4", "--corruptions", "snow", "--no-report"]
    done = subprocess.run(
        [sys.executable, "-m", "vidc.eval", *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (results,) = out.glob("*/results.json")
    (predictions,) = out.glob("*/predictions.parquet")
    cells = json.loads(results.read_text("utf-8"))["cells"]
    errors = {name: column["error"] for name, column in cells[0]["columns"].items()}
    return errors, predictions.read_bytes()


@pytest.mark.slow
def test_a_hub_id_gives_what_its_folder_gives(hub, environment, dataset, tmp_path):
    published = build(["publish", dataset, NAME], environment())
    assert published.returncode == 0, published.stderr
    model = write_model(tmp_path)
    here = evaluated(dataset, model, tmp_path / "here", environment())
    there = evaluated(NAME, model, tmp_path / "there", environment(home="empty"))
    assert there == here
    assert set(here[0]) == {"source", "unmix_tns"}
