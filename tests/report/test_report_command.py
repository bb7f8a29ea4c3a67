"""``python -m vidc.eval report``: where it writes, what it says, and its refusals."""

import subprocess
import sys

import pytest

from tests.report.generated import Shape, write_run
from vidc.eval.__main__ import main

SMALL = Shape(videos=3, frames=60, columns=("source", "unmix_tns"), corruptions=("snow",))


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "results" / "one", SMALL)


def test_a_report_is_written_into_its_run(run, capsys):
    assert main(["report", str(run)]) == 0
    assert (run / "report.html").is_file()
    assert (run / "figures" / "table.tex").is_file()
    assert str(run / "report.html") in capsys.readouterr().out


def test_the_results_file_may_be_named_instead(run):
    assert main(["report", str(run / "results.json"), "--no-figures"]) == 0
    assert (run / "report.html").is_file()
    assert not (run / "figures").exists()


def test_several_runs_go_to_a_folder_of_their_own(run, tmp_path, monkeypatch):
    other = write_run(tmp_path / "results" / "two", SMALL)
    monkeypatch.chdir(tmp_path)
    before = {file: file.read_bytes() for file in (tmp_path / "results").rglob("*.json")}
    assert main(["report", str(run), str(other), "--no-figures"]) == 0
    assert (tmp_path / "report" / "report.html").is_file()
    assert main(["report", str(run), str(other), "--no-figures", "--out", "both"]) == 0
    assert (tmp_path / "both" / "report.html").is_file()
    assert before == {file: file.read_bytes() for file in (tmp_path / "results").rglob("*.json")}


def shell(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "vidc.eval", "report", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
    )


def test_a_mistake_is_one_sentence_and_code_2(tmp_path):
    done = shell("results/nothing", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "results/nothing" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_help_opens_with_an_example_and_fits_on_a_screen(tmp_path):
    done = shell("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "python -m vidc.eval report results/RUN" in "\n".join(done.stdout.splitlines()[:3])
    assert len(done.stdout.splitlines()) < 25
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_a_folder_that_cannot_be_written_is_one_sentence(run, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    done = shell(str(run), "--no-figures", "--out", "file/report", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "file/report is not a folder: choose another --out" in done.stderr
