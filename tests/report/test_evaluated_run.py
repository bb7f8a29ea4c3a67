"""The evaluator's own files: every evaluation ends with a report that can be made again."""

import html
import json
import shlex

import pytest
import torch

from tests.eval.tiny_dataset import write_dataset, write_model
from vidc.eval.__main__ import main
from vidc.eval.report.predictions import Predictions
from vidc.eval.report.runs import read_run

torch.set_num_threads(1)
COLUMNS = ("source", "lame_unmix", "unmix_tns")


@pytest.mark.slow
def test_an_evaluation_ends_with_a_report_that_can_be_made_again(tmp_path, capsys):
    dataset, model = write_dataset(tmp_path), write_model(tmp_path)
    small = ["--set", "stream.batch=4", "--set", "unmix_tns.components=4", "--model", model]
    words = ["--corruptions", "snow", "--columns", *COLUMNS, "--out", str(tmp_path / "results")]
    assert main([str(dataset), *small, *words]) == 0
    (folder,) = (tmp_path / "results").iterdir()
    page = folder / "report.html"
    assert str(page) in capsys.readouterr().out

    run = read_run(folder)
    frames = Predictions(run.predictions, COLUMNS).read(run.cells[0].key)
    for column in COLUMNS:
        assert frames.error(column) == pytest.approx(run.cells[0].columns[column].error)
    assert frames.position.tolist() == list(range(len(frames)))  # v5, the unlabelled one, is last

    first = page.read_bytes()
    command = json.loads((folder / "results.json").read_text())["command"]
    assert f"<code>{shlex.join(command)}</code>" in html.unescape(first.decode())
    assert (folder / "figures" / "table.tex").read_text() == (folder / "table.tex").read_text()
    assert main(["report", str(folder), "--no-figures"]) == 0
    assert page.read_bytes() == first
    # On a CPU a column's memory is not known; the process's is, and the page says so.
    assert run.cells[0].process_memory is not None
    assert b"measured on a GPU only" in first
    assert b"Peak memory" not in first


@pytest.mark.slow
def test_of_both_orders_each_has_a_report_and_the_second_holds_both(tmp_path, capsys):
    dataset, model = write_dataset(tmp_path), write_model(tmp_path)
    words = ["--set", "stream.batch=4", "--order", "both", "--columns", "source", "--corruptions"]
    out = tmp_path / "results"
    assert main([str(dataset), "--model", model, *words, "snow", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    one, both = sorted(out.iterdir(), key=lambda folder: "shuffled" in folder.name)
    assert printed.index(f"Report: {one}") < printed.index(f"Report: {both}")
    assert "side by side" not in (one / "report.html").read_text("utf-8")
    assert "2 runs side by side" in (both / "report.html").read_text("utf-8")
