"""The sheets and the command that say how a run was made, as they stand on the page."""

import dataclasses
import shlex

import pytest

from tests.report.generated import Shape, write_run
from vidc.eval.report.runs import read_run
from vidc.eval.report.settings import command_line, sheets

SHAPE = Shape(
    datasets=("imagenet-vid-c", "lasot-c"),
    corruptions=("rain", "snow"),
    videos=2,
    frames=20,
    columns=("source",),
)


@pytest.fixture
def run(tmp_path):
    return read_run(write_run(tmp_path / "run", SHAPE))


def with_raw(run, **changes):
    return dataclasses.replace(run, raw={**run.raw, **changes})


def test_the_sheets_hold_every_setting_by_its_full_name(run):
    settings = {
        "stream": {"batch": 16, "orders": ["a", 2]},
        "tent": {"nesterov": False, "lr": 1e-6},
    }
    made = with_raw(run, protocol=settings, environment={"torch": "2.15", "cuda": None})
    found = {sheet.title: dict(sheet.values) for sheet in sheets(made)}
    assert list(found) == [
        *("Model", "Protocol", "Dataset imagenet-vid-c", "Dataset lasot-c", "Environment")
    ]
    assert found["Model"] == run.raw["model"]
    assert found["Protocol"] == {
        "stream.batch": "16",
        "stream.orders": "a, 2",
        "tent.nesterov": "no",
        "tent.lr": "1e-06",
    }
    assert found["Environment"] == {"torch": "2.15", "cuda": "–"}


def test_a_datasets_sheet_counts_its_classes_and_the_frames_left_out(run):
    left_out = {
        ("imagenet-vid-c", "rain"): {"unlabelled": 1200, "several_classes": 3},
        ("imagenet-vid-c", "snow"): {"unlabelled": 1100, "several_classes": 4},
        ("lasot-c", "rain"): {"unlabelled": 99_999},
        ("lasot-c", "snow"): {},
    }
    cells = tuple(
        dataclasses.replace(cell, left_out=left_out[cell.dataset, cell.corruption])
        for cell in run.cells
    )
    made = dataclasses.replace(run, cells=cells)
    found = {sheet.title: dict(sheet.values) for sheet in sheets(made)}
    assert found["Dataset imagenet-vid-c"] == {
        "path": "datasets/imagenet-vid-c",
        "fingerprint": "ab" * 32,
        "split": "val",
        "complete": "yes",
        "classes": "28",
        "left out, unlabelled": "1,200",
        "left out, several classes": "4",
    }
    assert found["Dataset lasot-c"]["left out, unlabelled"] == "99,999"


def test_a_run_that_says_little_has_empty_sheets(run):
    raw = {"datasets": run.raw["datasets"]}
    found = {sheet.title: sheet.values for sheet in sheets(dataclasses.replace(run, raw=raw))}
    assert found["Model"] == found["Protocol"] == found["Environment"] == ()
    assert command_line(dataclasses.replace(run, raw=raw)) == ""


def test_the_command_can_be_typed_in_a_shell(run):
    words = ["python", "-m", "vidc.eval", "my folder", "it's", "--set", "a=$b", ""]
    typed = command_line(with_raw(run, command=words))
    assert shlex.split(typed) == words
    assert command_line(with_raw(run, command=typed)) == typed
