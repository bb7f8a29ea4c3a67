"""results.json: read as it was written, and what is malformed is told in one sentence."""

import json

import pytest

from tests.report.generated import Shape, write_run
from vidc.errors import InputError
from vidc.eval.report import write
from vidc.eval.report.runs import read_run

SMALL = Shape(videos=4, frames=80, columns=("source", "unmix_tns"), corruptions=("rain", "snow"))


@pytest.fixture
def folder(tmp_path):
    return write_run(tmp_path / "run", SMALL)


def test_a_run_is_read_from_its_folder_or_its_file(folder):
    run = read_run(folder)
    raw = json.loads((folder / "results.json").read_text())
    assert run == read_run(folder / "results.json")
    assert [column.id for column in run.columns] == ["source", "unmix_tns"]
    assert [cell.corruption for cell in run.cells] == ["rain", "snow"]
    for cell, given in zip(run.cells, raw["cells"], strict=True):
        for column in SMALL.columns:
            assert cell.columns[column].error == given["columns"][column]["error"]
            assert len(cell.columns[column].videos) == len(given["columns"][column]["videos"])


def change_at(path, value):
    def change(raw):
        *way, last = path
        for step in way:
            raw = raw[step]
        if value is KeyError:
            del raw[last]
        else:
            raw[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (change_at(["schema"], 2), "schema"),
        (change_at(["columns"], KeyError), "columns"),
        (change_at(["columns"], []), "no finished cell"),
        (change_at(["cells"], []), "no finished cell"),
        (change_at(["columns", 0, "name"], 3), "columns\\[0\\].name"),
        (change_at(["cells", 1, "severity"], True), "cells\\[1\\].severity"),
        (change_at(["cells", 0, "dataset"], "elsewhere"), "elsewhere"),
        (change_at(["cells", 0, "columns", "source"], KeyError), "columns.source"),
        (change_at(["cells", 0, "columns", "source", "error"], "low"), "error"),
        (change_at(["cells", 0, "columns", "source", "error"], 101), "percentage"),
        (change_at(["cells", 0, "columns", "source", "videos"], []), "videos"),
        (change_at(["datasets", "imagenet-vid-c-sample", "classes"], KeyError), "classes"),
    ],
)
def test_what_is_malformed_is_told(folder, change, told):
    file = folder / "results.json"
    raw = json.loads(file.read_text())
    change(raw)
    file.write_text(json.dumps(raw))
    with pytest.raises(InputError, match=told) as raised:
        read_run(folder)
    assert str(file) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "{", "[]", '"run"', '{"schema": 1, "error": NaN}'])
def test_what_is_no_result_is_told(folder, text):
    (folder / "results.json").write_text(text)
    with pytest.raises(InputError, match=r"results\.json"):
        read_run(folder)


def test_a_folder_without_a_run_is_told(tmp_path):
    with pytest.raises(InputError, match=r"python -m vidc\.eval"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (change_at(["cells", 0, "frames"], 79), "80 frames"),
        (change_at(["cells", 0, "columns", "unmix_tns", "error"], 1.0), "not of one run"),
    ],
)
def test_files_of_two_runs_are_not_mixed_and_nothing_is_written(folder, tmp_path, change, told):
    raw = json.loads((folder / "results.json").read_text())
    change(raw)
    (folder / "results.json").write_text(json.dumps(raw))
    with pytest.raises(InputError, match=told):
        write([folder], tmp_path / "out")
    assert not (tmp_path / "out").exists()
