"""Cells spread over processes or Ray give the files that cells one after another give."""

from __future__ import annotations

import pytest
import torch

from tests.eval.repeated import without_measured
from tests.eval.tiny_dataset import NAN_METHOD, write_dataset, write_model
from vidc.errors import InputError
from vidc.eval import environment, plan, runner
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


@pytest.mark.slow
def test_elsewhere_and_here_agree(elsewhere, tmp_path):
    write_dataset(tmp_path)
    write_model(tmp_path)
    serial = evaluate(**asked(tmp_path, tmp_path / "serial"))
    spread = evaluate(**asked(tmp_path, tmp_path / "elsewhere", **elsewhere))
    cells, wanted = (without_measured(each.results["cells"]) for each in (spread, serial))
    assert cells == wanted
    assert len(wanted) == 2
    files = [each.folder / "predictions.parquet" for each in (spread, serial)]
    assert files[0].read_bytes() == files[1].read_bytes()
    # A mistake in a worker arrives as the same sentence.
    (tmp_path / "mine.py").write_text(NAN_METHOD)
    bad = {"columns": [f"{tmp_path / 'mine.py'}:Bad"], "seeds": 1}
    with pytest.raises(InputError, match=r"column Bad@bn .* in video v0"):
        evaluate(**asked(tmp_path, tmp_path / "bad", **elsewhere, **bad))
    assert list((tmp_path / "bad").iterdir()) == []


@pytest.mark.parametrize(
    ("device", "options", "workers", "threads"),
    [
        ("cpu", {"engine": "processes"}, 8, 1),
        ("cpu", {"engine": "processes", "workers": 3}, 3, 2),
        ("cpu", {"engine": "processes", "workers": 99}, 99, 1),
        ("cuda", {"engine": "processes"}, 1, 8),  # cells beside each other must fit on the GPU
        ("cpu", {}, None, 8),
        ("cpu", {"engine": "ray"}, None, 1),
    ],
)
def test_cells_share_the_cores(device, options, workers, threads, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(plan, "cores", lambda: 8)
    given = Options(**options)
    assert plan.cells_at_once(given, torch.device(device)) == workers
    assert plan.network_threads(given, workers) == threads


def planned(root):
    """Options of an evaluation that is only planned, on a CPU, whose threads are part of it."""
    model = f"{root / 'tiny.py'}:network"
    return Options(datasets=(str(root / "built"),), model=model, device="cpu")


def test_another_number_of_threads_is_another_run(tmp_path, monkeypatch):
    write_dataset(tmp_path)
    write_model(tmp_path)
    options = planned(tmp_path)
    name = plan.make_plan(options).folder.path
    threads = torch.get_num_threads()
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads + 1)
    assert plan.make_plan(options).folder.path != name


def test_another_torch_is_another_run(tmp_path, monkeypatch):
    write_dataset(tmp_path)
    write_model(tmp_path)
    options = planned(tmp_path)
    name = plan.make_plan(options).folder.path
    assert plan.make_plan(options).folder.path == name
    monkeypatch.setattr(torch, "__version__", "99.0.0")
    assert plan.make_plan(options).folder.path != name


def test_a_model_that_is_another_each_time(tmp_path):
    write_dataset(tmp_path)
    write_model(tmp_path)
    with (tmp_path / "tiny.py").open("a") as file:
        file.write(
            "\n\ndef unseeded():\n    made = network()\n    torch.seed()\n"
            "    nn.init.normal_(made[0].weight)\n    return made\n"
        )
    changes = {"model": f"{tmp_path / 'tiny.py'}:unseeded", "engine": "processes"}
    with pytest.raises(InputError, match="other weights each time"):
        evaluate(**asked(tmp_path, tmp_path / "out", **changes))


@pytest.mark.parametrize(
    ("asked", "gpus", "device"),
    [("auto", 1, "cuda"), ("cuda", 0.5, "cuda"), ("auto", 0, "cpu"), ("cpu", 1, "cpu")],
)
@pytest.mark.parametrize("here", [True, False])
def test_rays_gpus_are_not_this_machines(asked, gpus, device, here, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: here)
    options = Options(engine="ray", device=asked, gpus_per_cell=gpus)
    assert plan._device(options) == torch.device(device)


def test_ray_gives_a_cell_one_gpu_where_nothing_is_said():
    assert Options(engine="ray").gpus_of_a_cell == 1
    assert Options(engine="ray", gpus_per_cell=0).gpus_of_a_cell == 0


@pytest.mark.parametrize(("asked", "gpus"), [("cuda:1", 1), ("cuda", 0)])
def test_a_gpu_that_ray_would_not_give(asked, gpus):
    with pytest.raises(InputError, match=f"--device {asked}: Ray chooses .* --gpus-per-cell"):
        plan._device(Options(engine="ray", device=asked, gpus_per_cell=gpus))


def test_a_cluster_without_gpus_is_told_at_once(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    write_dataset(tmp_path)
    write_model(tmp_path)
    ray.init("local", num_cpus=1, num_gpus=0, include_dashboard=False, log_to_driver=False)
    try:
        with pytest.raises(InputError, match="no node of the Ray cluster has 1 GPUs"):
            evaluate(**asked(tmp_path, tmp_path / "out", engine="ray"))
    finally:
        ray.shutdown()


def test_a_finished_run_is_read_without_its_cluster(tmp_path):
    # As many threads as Ray gives a cell: with another number the run would be another one.
    torch.set_num_threads(1)
    write_dataset(tmp_path)
    write_model(tmp_path)
    few = {"columns": "source", "seeds": 1}
    finished = evaluate(**asked(tmp_path, tmp_path / "out", **few))
    nowhere = {"engine": "ray", "gpus_per_cell": 0, "ray_address": "127.0.0.1:1"}
    assert evaluate(**asked(tmp_path, tmp_path / "out", **few, **nowhere)).table == finished.table
    with pytest.raises(InputError, match=r"--ray-address|needs Ray"):
        evaluate(**asked(tmp_path, tmp_path / "other", **few, **nowhere))


def test_tasks_hold_absolute_paths(tmp_path, monkeypatch):
    write_dataset(tmp_path)
    write_model(tmp_path)
    monkeypatch.chdir(tmp_path)
    options = Options(
        datasets=("built",),
        model="tiny.py:network",
        columns=("mine.py:MyMethod",),
        engine="processes",
    )
    made = plan.make_plan(options)
    task = runner._task(made, options, made.cells[0])
    assert task.model == f"{tmp_path / 'tiny.py'}:network"
    assert task.settings.columns[0].method == f"{tmp_path / 'mine.py'}:MyMethod"
    assert task.source.about.path == str(tmp_path / "built")
    assert task.folder.path.is_absolute()
    (told,) = made.header["datasets"].values()
    assert told["path"] == "built"


def test_a_cell_leaves_the_callers_threads():
    before = torch.get_num_threads()
    with environment.settings(torch.device("cpu"), deterministic=False, threads=before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("option", "engine"),
    [
        ({"workers": 2}, "processes"),
        ({"ray_address": "auto"}, "ray"),
        ({"gpus_per_cell": 1}, "ray"),
        ({"gpus_per_cell": 0, "engine": "processes"}, "ray"),
    ],
)
def test_an_option_of_another_engine(option, engine):
    with pytest.raises(InputError, match=f"belongs to --engine {engine}"):
        Options(**option)
