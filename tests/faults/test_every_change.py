"""Faults at the very moments that matter: just before each change that a command makes on disk."""

from __future__ import annotations

import json
import shutil
import signal

import pytest

from tests.faults.counting import PARTS
from tests.faults.running import contents, run, start

pytestmark = pytest.mark.slow

COMMANDS = ("build", "eval")


def finish(left_alone, words, folder, out):
    """The same command once more, and what it leaves."""
    run(left_alone.command, words, folder).assert_well()
    assert contents(out) == left_alone.files


def finished_shards(out):
    """The shards of a build's finished tasks."""
    markers = [json.loads(file.read_text()) for file in out.glob(".vidc/done/*.json")]
    return [out / path for marker in markers for path in marker["shards"]]


@pytest.mark.repeated(1, PARTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_killed_before_a_change(command, number, step_by_step, changes, moments, tmp_path):
    left_alone = step_by_step[command]
    for moment in moments(changes[command], 2):
        out = tmp_path / str(moment)
        words = [*left_alone.words, "--out", out]
        running = start(command, words, tmp_path, pause_at=moment)
        assert running.wait_until_paused()
        running.signal(signal.SIGKILL)
        running.end().assert_stopped_by(signal.SIGKILL)
        finish(left_alone, words, tmp_path, out)
        shutil.rmtree(out)


@pytest.mark.repeated(1, PARTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_the_disk_is_full(command, number, step_by_step, changes, disk, moments, tmp_path):
    left_alone = step_by_step[command]
    for moment in moments(changes[command], 1, 32):
        out = disk.folder / str(moment)
        words = [*left_alone.words, "--out", out]
        running = start(command, words, tmp_path, pause_at=moment)
        assert running.wait_until_paused()
        finished = {path: path.stat().st_mtime_ns for path in finished_shards(out)}
        disk.fill()
        ended = running.resume()
        disk.make_room()
        if ended.code:  # what is left to do may need no room
            ended.assert_told("is full: make room")
        finish(left_alone, words, tmp_path, out)
        assert finished.items() <= {p: p.stat().st_mtime_ns for p in finished}.items()
        shutil.rmtree(out)


@pytest.mark.repeated(1, PARTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_the_folder_is_deleted(command, number, step_by_step, changes, moments, tmp_path):
    left_alone = step_by_step[command]
    for moment in moments(changes[command], 1, 32):
        out = tmp_path / str(moment)
        words = [*left_alone.words, "--out", out]
        running = start(command, words, tmp_path, pause_at=moment)
        assert running.wait_until_paused()
        shutil.rmtree(out, ignore_errors=True)
        ended = running.resume()
        if ended.code:  # it may have made it anew
            ended.assert_told(str(out))
        finish(left_alone, words, tmp_path, out)
        shutil.rmtree(out)


@pytest.mark.repeated(1, PARTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_the_folder_is_moved_away_and_back(
    command, number, step_by_step, changes, moments, tmp_path
):
    left_alone = step_by_step[command]
    for moment in moments(changes[command], 1, 16):
        out, away = tmp_path / str(moment), tmp_path / "away"
        words = [*left_alone.words, "--out", out]
        running = start(command, words, tmp_path, pause_at=moment)
        assert running.wait_until_paused()
        if out.exists():
            out.rename(away)
        ended = running.resume()
        if ended.code:
            ended.assert_told(str(out))
        if away.exists():
            shutil.rmtree(out, ignore_errors=True)
            away.rename(out)
        finish(left_alone, words, tmp_path, out)
        shutil.rmtree(out)
