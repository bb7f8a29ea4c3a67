"""Folders that cannot be written or read: told in one sentence, and the same command goes on."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.counting import cases
from tests.faults.running import Ended, contents, run, start

pytestmark = pytest.mark.slow

COMMANDS = ("build", "eval")
BUILT = ("data/snow/val-00001-of-00004.parquet", "data/annotations/val-00001-of-00004.parquet")
BUILT += ("data/snow", "manifest.json", ".")
CLEAN = ("Data/VID/val/car/000003.JPEG", "Data/VID/val/car")
CLEAN += ("Annotations/VID/val/car/000003.xml", "Annotations/VID/val/car")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_that_is_read_only(command, step_by_step, changes, disk, rng, tmp_path):
    left_alone = step_by_step[command]
    out = disk.folder / "out"
    words = [*left_alone.words, "--out", out]
    disk.set_read_only(True)
    run(command, words, tmp_path).assert_told("is read-only: make it writable")
    disk.set_read_only(False)
    running = start(command, words, tmp_path, pause_at=rng.randint(2, changes[command]))
    assert running.wait_until_paused()
    running.signal(signal.SIGKILL)
    running.end()
    disk.set_read_only(True)
    begun = contents_of_any(out)
    run(command, words, tmp_path).assert_told("is read-only: make it writable")
    assert contents_of_any(out) == begun
    disk.set_read_only(False)
    run(command, words, tmp_path).assert_well()
    assert contents(out) == left_alone.files


def contents_of_any(out):
    return {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


@contextlib.contextmanager
def forbidden(path, mode):
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)


@pytest.mark.parametrize("command", cases(COMMANDS, "eval"))
def test_a_folder_that_may_not_be_written(command, step_by_step, tmp_path):
    left_alone = step_by_step[command]
    parent = tmp_path / "somebody's"
    parent.mkdir()
    words = [*left_alone.words, "--out", parent / "out"]
    with forbidden(parent, 0o555):
        run(command, words, tmp_path, as_anybody=True).assert_told("may not be written by you")
    assert list(parent.iterdir()) == []
    run(command, words, tmp_path).assert_well()
    assert contents(parent / "out") == left_alone.files


@pytest.mark.parametrize("command", cases(COMMANDS, "build"))
def test_a_log_on_a_full_disk(command, step_by_step, tmp_path):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no device here that is always full")
    left_alone = step_by_step[command]
    words = [*left_alone.words, "--out", str(tmp_path / "out")]
    line = [sys.executable, "-m", f"vidc.{command}", *words]
    with full.open("w") as log:
        done = subprocess.run(line, stdout=log, stderr=subprocess.PIPE, text=True)
    Ended(done.returncode, done.stderr).assert_told("standard output cannot be written")
    run(command, words, tmp_path).assert_well()
    assert contents(tmp_path / "out") == left_alone.files


@pytest.mark.parametrize("part", cases(CLEAN, CLEAN[0], CLEAN[-1]))
def test_clean_videos_that_may_not_be_read(part, step_by_step, videos, tmp_path):
    left_alone = step_by_step["build"]
    mine = shutil.copytree(videos, tmp_path / "mine")
    words = [str(mine) if word == str(videos) else word for word in left_alone.words]
    words += ["--out", tmp_path / "out"]
    with forbidden(mine / part, 0):
        run("build", words, tmp_path, as_anybody=True).assert_told("Permission denied")
    run("build", words, tmp_path).assert_well()
    assert contents(tmp_path / "out") == left_alone.files


@pytest.mark.parametrize("part", cases(BUILT, BUILT[0], BUILT[-1]))
def test_a_dataset_that_may_not_be_read(part, building, evaluating, tmp_path):
    mine = shutil.copytree(building.folder, tmp_path / "mine")
    words = [str(mine), *evaluating.words[1:], "--out", tmp_path / "out"]
    with forbidden(mine / part, 0):
        run("eval", words, tmp_path, as_anybody=True).assert_told("Permission denied")
    assert not (tmp_path / "out").exists()
    run("eval", words, tmp_path).assert_well()
