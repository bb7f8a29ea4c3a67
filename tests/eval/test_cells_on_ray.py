"""Cells spread over Ray give the files that cells one after another give."""

from __future__ import annotations

import json

import pytest
import torch

from tests.eval.tiny_dataset import write_dataset, write_model
from vidc.errors import InputError
from vidc.eval.evaluate import evaluate

torch.set_num_threads(1)


@pytest.fixture
def _ray(monkeypatch):
    """One Ray for all evaluations here: no token in the home folder, and one thread a worker."""
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def asked(root, out, **changes):
    return {
        "datasets": str(root / "built"),
        "model": f"{root / 'tiny.py'}:network",
        "columns": ["source", "tent_unmix"],
        "corruptions": "snow",
        "seeds": 2,
        "settings": ["stream.batch=4", "unmix_tns.components=4"],
        "out": out,
    } | changes


def scores(evaluation):
    text = json.dumps(evaluation.results["cells"])
    return json.loads(text, object_hook=lambda d: {k: v for k, v in d.items() if k != "measured"})


@pytest.mark.slow
@pytest.mark.usefixtures("_ray")
def test_ray_and_serial_agree(tmp_path):
    write_dataset(tmp_path)
    write_model(tmp_path)
    serial = evaluate(**asked(tmp_path, tmp_path / "serial"))
    ray = {"engine": "ray", "gpus_per_cell": 0, "device": "cpu"}
    spread = evaluate(**asked(tmp_path, tmp_path / "ray", **ray))
    assert scores(spread) == scores(serial)
    assert len(scores(serial)) == 2
    files = [each.folder / "predictions.parquet" for each in (spread, serial)]
    assert files[0].read_bytes() == files[1].read_bytes()
    # A mistake in a worker arrives as the same sentence.
    (tmp_path / "mine.py").write_text(
        "from vidc.eval.methods.base import Method\n"
        "class Bad(Method):\n"
        "    def refine(self, outputs):\n"
        "        return outputs.logits * float('nan')\n"
    )
    bad = {"columns": [f"{tmp_path / 'mine.py'}:Bad"], "seeds": 1}
    with pytest.raises(InputError, match=r"column Bad@bn .* in video v0"):
        evaluate(**asked(tmp_path, tmp_path / "bad", **ray, **bad))
    assert list((tmp_path / "bad").iterdir()) == []
