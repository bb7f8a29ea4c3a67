"""Cells spread over processes or Ray give the files that cells one after another give."""

from __future__ import annotations

import json

import pytest
import torch

from tests.eval.tiny_dataset import write_dataset, write_model
from vidc.errors import InputError
from vidc.eval import environment, plan
from vidc.eval.evaluate import evaluate
from vidc.eval.options import Options

torch.set_num_threads(1)


@pytest.fixture(params=["processes", "ray"])
def elsewhere(request, monkeypatch):
    """The options of an engine whose workers have one thread each."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    if request.param == "processes":
        yield {"engine": "processes", "workers": 2}
        return
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # else a token in the home folder
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # One for all evaluations of a test.
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield {"engine": "ray", "gpus_per_cell": 0, "device": "cpu"}
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
def test_elsewhere_and_here_agree(elsewhere, tmp_path):
    write_dataset(tmp_path)
    write_model(tmp_path)
    serial = evaluate(**asked(tmp_path, tmp_path / "serial"))
    spread = evaluate(**asked(tmp_path, tmp_path / "elsewhere", **elsewhere))
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
        evaluate(**asked(tmp_path, tmp_path / "bad", **elsewhere, **bad))
    assert list((tmp_path / "bad").iterdir()) == []


def test_cells_share_the_cores(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(plan, "cores", lambda: 8)
    shared = Options(engine="processes")
    assert plan.network_threads(shared, cells=100) == 1
    assert plan.network_threads(shared, cells=2) == 4  # the other six would only start and stop
    assert plan.network_threads(Options(engine="processes", workers=3), cells=100) == 2
    assert plan.network_threads(Options(engine="processes", workers=99), cells=100) == 1
    assert plan.network_threads(Options(), cells=100) is None


def test_a_cell_leaves_the_callers_threads():
    before = torch.get_num_threads()
    with environment.settings(torch.device("cpu"), deterministic=False, threads=before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


def test_workers_belong_to_processes():
    with pytest.raises(InputError, match="--workers belongs to --engine processes"):
        Options(workers=2)
