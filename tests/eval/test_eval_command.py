"""``python -m vidc.eval`` on small built datasets: its files, its options, and its refusals."""

from __future__ import annotations

import dataclasses
import errno
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from tests.eval.repeated import without_measured
from tests.eval.tiny_dataset import NAN_METHOD, write_dataset, write_model
from vidc.classes import class_list
from vidc.errors import InputError
from vidc.eval.__main__ import main
from vidc.eval.evaluate import evaluate
from vidc.eval.inputs import About, BuiltInput
from vidc.eval.options import Options, parse
from vidc.eval.plan import make_plan
from vidc.eval.results import RunFolder

torch.set_num_threads(1)
SMALL = ["--set", "stream.batch=4", "--set", "unmix_tns.components=4", "--no-report"]

# torch asks the system's linker when it is imported; what comes after that is ours.
WATCHED = """
import sys
import torch._dynamo
import vidc.eval.evaluate
from vidc.eval.__main__ import main

STARTS = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system")
sys.addaudithook(lambda event, about: event in STARTS and print("started", event, about))
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A built dataset and a model file."""
    root = tmp_path_factory.mktemp("dataset")
    return str(write_dataset(root)), write_model(root)


@pytest.fixture
def command(made, tmp_path, capsys):
    """Run the command on the dataset; what it printed and the one run folder it made."""
    dataset, model = made

    def run(*words, datasets=(dataset,)):
        out = tmp_path / "results"
        code = main([*datasets, "--model", model, "--out", str(out), *SMALL, *words])
        assert code == 0
        return capsys.readouterr().out, sorted(out.iterdir())

    return run


def read(folder):
    return json.loads((folder / "results.json").read_text())


def test_it_works_in_threads_and_a_kill_leaves_no_process_behind(made, tmp_path):
    dataset, model = made
    words = [dataset, "--model", model, "--out", str(tmp_path / "results"), *SMALL]
    line = [sys.executable, "-c", WATCHED, *words, "--checkpoint-every", "1"]
    told = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    assert "Gaussian noise" in told
    assert [line for line in told.splitlines() if line.startswith("started")] == []


def test_a_run_prints_the_table_and_leaves_its_files(command, made):
    printed, (folder,) = command()
    assert {file.name for file in folder.iterdir()} == {
        *("cells", "results.json", "predictions.parquet"),
        *("table.md", "table.csv", "table.tex"),
    }
    results = read(folder)
    assert results["schema"] == 1
    assert results["run"] == folder.name
    assert [column["id"] for column in results["columns"]] == [
        *("source", "tbn", "alpha_bn", "unmix_tns", "tent", "tent_unmix", "lame", "lame_unmix")
    ]
    assert [(cell["corruption"], cell["severity"]) for cell in results["cells"]] == [
        ("gaussian_noise", 5),
        ("snow", 5),
    ]
    about = results["datasets"]["imagenet-vid-c"]
    assert about["path"] == made[0]
    assert len(about["classes"]) == 30
    assert results["protocol"]["unmix_tns"]["components"] == 4
    assert results["environment"]["torch"] == torch.__version__
    assert results["model"]["sha256"]
    for word in ("Gaussian noise", "Snow", "Mean", "UnMix-TNS", "LAME†", str(folder)):
        assert word in printed
    assert "Preprocessing: shorter side to 256 (bilinear), centre crop of 32" in printed


def test_results_follow_from_the_predictions(command):
    _, (folder,) = command()
    results = read(folder)
    stored = pq.ParquetFile(folder / "predictions.parquet")
    assert stored.num_row_groups == len(results["cells"])
    classes = results["datasets"]["imagenet-vid-c"]["classes"]
    for number, cell in enumerate(results["cells"]):
        rows = stored.read_row_group(number).to_pylist()
        assert {row["corruption"] for row in rows} == {cell["corruption"]}
        assert len(rows) == cell["frames"] == 30
        assert cell["left_out"] == {"unlabelled": 6, "no_counterpart": 0, "several_classes": 0}
        assert [row["position"] for row in rows] == list(range(30))
        for column, scores in cell["columns"].items():
            wrong = [row[f"{column}_prediction"] not in row["labels"] for row in rows]
            assert scores["error"] == pytest.approx(100 * sum(wrong) / 30)
            for video, about in scores["videos"].items():
                of_video = [w for w, row in zip(wrong, rows, strict=True) if row["video"] == video]
                assert about["frames"] == len(of_video) == 6
                assert about["error"] == pytest.approx(100 * sum(of_video) / 6)
            for name, about in scores["classes"].items():
                label = classes.index(name)
                of_class = [w for w, row in zip(wrong, rows, strict=True) if row["label"] == label]
                assert about["frames"] == len(of_class)
                assert about["error"] == pytest.approx(100 * sum(of_class) / len(of_class))
            over_time = scores["over_time"]
            assert over_time["frames"] == list(range(1, 31))
            assert over_time["error"] == [100.0 * w for w in wrong]


def test_a_finished_cell_is_never_run_again(command, monkeypatch):
    first, (folder,) = command()
    record = folder / "cells" / "imagenet-vid-c.snow.seed0.json"
    before = record.stat().st_mtime_ns, read(folder)
    monkeypatch.setattr("vidc.eval.runner.run_cell", lambda *args: pytest.fail("ran again"))
    again, folders = command()
    assert folders == [folder]
    assert (record.stat().st_mtime_ns, read(folder)) == before
    assert "2 of 2 cells were finished before" in again
    assert again.startswith(first.split("Preprocessing")[0])


def test_what_a_killed_run_left_behind_goes(command):
    _, (folder,) = command()
    names = {path.name for path in folder.rglob("*")}
    record = next(folder.glob("cells/*.json"))
    record.with_suffix(".safetensors").write_bytes(b"of a finished cell")
    record.with_name(f".{record.name}.tmp").write_bytes(b"half a rec")
    (folder / ".table.md.tmp").write_bytes(b"half a tab")
    (folder / ".lock").write_bytes(b"process 1 on another host")
    command()
    assert {path.name for path in folder.rglob("*")} == names


def test_cells_of_later_commands_join_the_folder(command):
    printed, (folder,) = command("--corruptions", "snow")
    assert "Gaussian" not in printed
    printed, folders = command("--corruptions", "gaussian_noise", "clean")
    assert folders == [folder]
    assert "Snow" not in printed
    assert "Clean" in printed
    names = [cell["corruption"] for cell in read(folder)["cells"]]
    assert names == ["clean", "gaussian_noise", "snow"]
    keys = pq.read_table(folder / "predictions.parquet")["corruption"].to_pylist()
    assert list(dict.fromkeys(keys)) == names


@pytest.mark.parametrize(
    "change",
    [
        ["--set", "tent.lr=0.1"],
        ["--protocol", "code"],
        ["--order", "shuffled"],
        ["--columns", "source"],
        ["--limit-frames", "9"],
        ["--amp"],
        ["--deterministic"],
    ],
)
def test_other_settings_start_another_folder(command, change):
    command("--corruptions", "snow", "--columns", "source", "tent")
    _, folders = command("--corruptions", "snow", "--columns", "source", "tent", *change)
    assert len(folders) == 2


def test_seeds_are_cells_and_the_table_has_their_deviation(command):
    printed, (folder,) = command("--seeds", "2", "--columns", "source,unmix_tns")
    assert [(cell["corruption"], cell["seed"]) for cell in read(folder)["cells"]] == [
        ("gaussian_noise", 0),
        ("gaussian_noise", 1),
        ("snow", 0),
        ("snow", 1),
    ]
    assert printed.count("±") == 6


def test_shuffled_and_both_orders(command):
    printed, folders = command("--order", "both", "--columns", "source", "tbn")
    assert len(folders) == 2
    orders = {read(folder)["order"]: folder for folder in folders}
    assert set(orders) == {"in-order", "shuffled"}
    assert "frames in order" in printed
    assert "frames shuffled" in printed
    tables = [pq.read_table(orders[order] / "predictions.parquet") for order in orders]
    positions = [table["position"].to_pylist() for table in tables]
    assert positions[0] != positions[1]
    assert sorted(positions[0]) == sorted(positions[1])
    # Source does not depend on the order; a frame's answer is the same in both.
    names = ["corruption", "position", "source_prediction"]
    answers = [sorted(map(repr, table.select(names).to_pylist())) for table in tables]
    assert answers[0] == answers[1]


def test_frames_with_several_classes_can_be_dropped(command):
    _, (folder,) = command("--set", "head.multi_label=drop", "--columns", "source")
    cell = read(folder)["cells"][0]
    assert cell["frames"] == 24
    assert cell["left_out"]["several_classes"] == 6


def test_a_method_of_the_users_own(command, made):
    mine = made[1].replace("tiny.py:network", "mine.py:MyMethod@unmix_tns")
    printed, (folder,) = command("--methods", "unmix_tns", mine, "--corruptions", "snow")
    assert "MyMethod@unmix_tns" in printed
    ours = pq.read_table(folder / "predictions.parquet")
    # Halving the logits keeps the answer and lowers the confidence.
    predictions = ours["MyMethod@unmix_tns_prediction"].to_pylist()
    assert predictions == ours["unmix_tns_prediction"].to_pylist()
    halved = ours["MyMethod@unmix_tns_confidence"].to_numpy()
    assert (halved < ours["unmix_tns_confidence"].to_numpy()).all()


def test_an_edited_method_starts_another_folder(command, made, tmp_path):
    mine = tmp_path / "mine.py"
    source = Path(made[1].replace("tiny.py:network", "mine.py")).read_text()
    mine.write_text(source)
    command("--methods", f"{mine}:MyMethod", "--corruptions", "snow")
    mine.write_text(source.replace("/ 2", "/ 3"))
    _, folders = command("--methods", f"{mine}:MyMethod", "--corruptions", "snow")
    assert len(folders) == 2


def test_python_gets_what_the_command_prints(command, made, tmp_path):
    printed, (folder,) = command("--corruptions", "snow", "--columns", "source")
    shutil.rmtree(folder)
    evaluation = evaluate(
        made[0],
        model=made[1],
        corruptions="snow",
        columns=["source"],
        settings=["stream.batch=4", "unmix_tns.components=4"],
        out=tmp_path / "results",
    )
    assert f"{evaluation}\n" == printed
    assert evaluation.folder == folder
    assert evaluation.table in printed
    assert without_measured(evaluation.results) == without_measured(read(folder))


def test_the_command_of_a_result_asks_for_the_same(made):
    words = ["--corruptions", "snow", "--seeds", "2", "--columns", "source", "tbn", "--no-report"]
    options = parse([made[0], *words, "--set", "stream.batch=4", "--amp", "--order", "shuffled"])
    assert parse(options.command()[3:]) == options
    assert Options().command() == ["python", "-m", "vidc.eval"]


def test_python_has_the_commands_options_and_defaults():
    parameters = inspect.signature(evaluate).parameters
    assert list(parameters) == [field.name for field in dataclasses.fields(Options)]
    ours = {name: parameter.default for name, parameter in parameters.items()}
    assert Options(**ours | {"report": True}) == Options()


def refused(command, what, *words, datasets=None):
    with pytest.raises(InputError, match=what) as told:
        command(*words, **({} if datasets is None else {"datasets": datasets}))
    sentence = str(told.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--columns", "tennt"], "did you mean 'tent'"),
        (["--columns", "source@bnn"], "did you mean 'bn'"),
        (["--columns", "source", "source"], "asked for twice"),
        (["--columns", "nowhere.py:Mine"], "no file nowhere.py"),
        (["--corruptions", "snwo"], "did you mean 'snow'"),
        (["--severity", "3"], "--severity 3: .* has only 5"),
        (["--severity", "high"], "--severity high is not a number"),
        (["--protocol", "papre"], "did you mean 'paper'"),
        (["--set", "tent.rate=1"], "key of .tent."),
        (["--order", "shuffeld"], "did you mean 'shuffled'"),
        (["--engine", "rey"], "did you mean 'ray'"),
        (["--seeds", "0"], "--seeds is 0"),
        (["--seeds", "1000000000"], "--seeds is 1000000000: give at most 1000"),
        (["--batch", "0"], "--batch is a setting .* --set stream.batch=N"),
        (["--batch-size=8"], "--batch-size is a setting .* --set stream.batch=N"),
        (["--gpus-per-cell", "3"], "--gpus-per-cell belongs to --engine ray"),
        (["--engine", "ray", "--gpus-per-cell", "nan"], "--gpus-per-cell is nan: give a number"),
        (["--engine", "ray", "--gpus-per-cell", "inf"], "--gpus-per-cell is inf: give a number"),
        (["--engine", "ray", "--gpus-per-cell", "-1"], "--gpus-per-cell is -1.0: give a number"),
        (["--threads", "0"], "--threads is 0"),
        (["--device", "tpu"], "--device tpu is not known"),
        (["--source", "imagenet-vid"], "--source and --root belong together"),
        (["--source", "imagenet-vid", "--root", "."], "--source or a dataset"),
        (["--split", "val"], "--split belongs to --source"),
        (["--model", "resnet51"], "did you mean '?resnet50"),
        (["--gpu-decode", "--device", "cpu"], "--gpu-decode needs a CUDA device"),
    ],
)
def test_bad_options_are_told_in_one_sentence(command, tmp_path, words, what):
    refused(command, what, *words)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"severity": "5"}, "severity must be a whole number, not str"),
        ({"severity": ["5"]}, "severity must be a whole number, not str"),
        ({"severity": True}, "severity must be a whole number, not bool"),
        ({"model": read}, "model must be a name or 'FILE.py:FUNCTION', not function"),
        ({"columns": None}, "columns must be text, not NoneType"),
        ({"datasets": None}, "datasets must be text, not NoneType"),
        ({"datasets": ["here", None]}, "datasets must be text, not NoneType"),
        ({"out": None}, "out must be text, not NoneType"),
        ({"seeds": "2"}, "seeds must be a whole number, not str"),
        ({"engine": "ray", "gpus_per_cell": "1"}, "gpus_per_cell must be a number, not str"),
        ({"amp": "no"}, "amp must be True or False, not str"),
    ],
)
def test_python_is_told_of_an_argument_of_the_wrong_type(
    arguments, sentence, made, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=sentence):
        evaluate(**{"datasets": made[0], "model": made[1]} | arguments)
    assert list(tmp_path.iterdir()) == []


def test_python_takes_one_value_or_several_and_paths_as_well(made, tmp_path):
    asked = {"model": made[1], "settings": SMALL[1], "limit_frames": 4, "out": tmp_path}
    one = evaluate(Path(made[0]), corruptions="snow", severity=5, columns="source", **asked)
    same = evaluate([made[0]], corruptions=["snow"], severity=[5], columns=("source",), **asked)
    assert same.folder == one.folder


def test_help_says_where_clean_is_measured_without_being_asked_for(capsys):
    built = (("clean", 0), ("snow", 5))
    classes = class_list("imagenet-vid")
    for name, wanted in (("lasot-c", built[1:]), ("lasot-c-sample", built)):
        about = About(name, name, "val", classes, "fingerprint", complete=True)
        assert tuple(BuiltInput(about, built).corruptions((), ())) == wanted
    with pytest.raises(SystemExit):
        parse(["--help"])
    assert "default: all that are there but clean (sample: all)\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        ("MyMethdo", "did you mean 'MyMethod'"),
        ("NotOne", "NotOne is not a subclass of"),
        ("Mine", r"custom.lr \(of .*mine.py:Mine\): tent.lr must be a number from 0 to"),
    ],
)
def test_a_class_that_does_not_fit_is_told_before_anything_is_written(
    command, made, tmp_path, method, sentence
):
    mine = tmp_path / "mine.py"
    source = Path(made[1].replace("tiny.py:network", "mine.py")).read_text()
    more = "\n\nclass NotOne:\n    pass\n\n\nclass Mine(Tent):\n    pass\n"
    mine.write_text(f"from vidc.eval.methods.tent import Tent\n{source}{more}")
    refused(command, sentence, "--columns", f"{mine}:{method}", "--set", "custom.lr=fast")
    assert list(tmp_path.iterdir()) == [mine]


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ("tbn", "no BatchNorm2d layer, so TBN"),
        ("unmix_tns", "no BatchNorm2d layer, so UnMixTNS"),
        ("tent@bn", "TENT has nothing to adapt"),
    ],
)
def test_a_network_without_the_layers_is_told_before_anything_is_written(
    command, made, tmp_path, column, sentence
):
    model = tmp_path / "bare.py"
    text = Path(made[1].rpartition(":")[0]).read_text()
    model.write_text(re.sub(r"nn\.BatchNorm2d\(\d\)", "nn.Identity()", text))
    refused(command, sentence, "--model", f"{model}:network", "--columns", column)
    assert list(tmp_path.iterdir()) == [model]


def test_a_users_method_starts_only_where_its_cell_runs(made, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from vidc.eval.methods.base import Method\n\n\nclass Mine(Method):\n"
        "    def setup(self):\n        raise RuntimeError('no such device')\n"
    )
    options = Options(datasets=(made[0],), model=made[1], columns=(f"{mine}:Mine@tbn",))
    assert len(make_plan(options).cells) == 2


@pytest.mark.parametrize("option", ["--columns", "--model"])
def test_a_file_of_the_users_that_cannot_be_read_is_told(command, tmp_path, monkeypatch, option):
    mine = tmp_path / "mine.py"
    mine.write_text("")
    read_bytes = Path.read_bytes

    def locked(path):
        if path == mine:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", locked)
    refused(command, r"mine\.py cannot be read .*: Permission denied", option, f"{mine}:Mine")
    assert list(tmp_path.iterdir()) == [mine]


def test_a_file_name_that_no_disk_could_hold_is_told(command, tmp_path):
    refused(command, "cannot be read .*: File name too long", "--columns", f"{'x' * 300}.py:Mine")
    assert not (tmp_path / "results").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_no_cuda_is_told(command, tmp_path, device):
    refused(command, "no CUDA device", "--device", device)
    assert not (tmp_path / "results").exists()


def test_bad_datasets_are_told(command, made, tmp_path):
    refused(command, "no folder", datasets=("nowhere at all",))
    refused(command, r"no manifest\.json", datasets=(str(tmp_path),))
    refused(command, "both named imagenet-vid-c", datasets=(made[0], made[0]))


def test_a_missing_shard_is_found_before_the_first_frame(command, made, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(made[0], broken)
    next((broken / "data" / "snow").iterdir()).unlink()
    sentence = refused(command, "is missing", datasets=(str(broken),))
    assert "data/snow" in sentence
    assert not (tmp_path / "results").exists()


def test_a_class_list_that_the_model_does_not_know_is_told(command, made, tmp_path):
    model = tmp_path / "other.py"
    model.write_text(Path(made[1].rpartition(":")[0]).read_text().replace("n0", "x0"))
    refused(command, "knows none of the classes", "--model", f"{model}:network")
    assert not (tmp_path / "results").exists()


def test_a_method_that_returns_nan_leaves_nothing_behind(command, tmp_path):
    (tmp_path / "bad.py").write_text(NAN_METHOD)
    mine = f"{tmp_path / 'bad.py'}:Bad@tbn"
    refused(command, "column Bad@tbn .* at batch 0 .*, in video v0", "--columns", mine)
    assert list((tmp_path / "results").iterdir()) == []


def test_two_evaluations_do_not_write_one_folder(command):
    words = ["--corruptions", "snow", "--columns", "source"]
    _, (folder,) = command(*words)
    with RunFolder(folder).locked():
        refused(command, "another evaluation is writing", *words)


def test_mistakes_exit_with_two_and_one_line(made):
    words = [made[0], "--model", made[1], "--columns", "tennt"]
    done = subprocess.run(
        [sys.executable, "-m", "vidc.eval", *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("python -m vidc.eval: unknown column 'tennt'")
    assert len(done.stderr.splitlines()) == 1
