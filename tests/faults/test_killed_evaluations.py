"""An evaluation that is killed or interrupted ends with the same files when it is given again."""

from __future__ import annotations

import signal
import time

import pytest

from tests.faults.running import contents, interrupt_itself, run, start

pytestmark = pytest.mark.slow

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def hit(running, number, aim, seconds):
    aim.wait(running, seconds)
    return aim.hit(running, number)


@pytest.mark.repeated(3, 36)
def test_hit_once(number, evaluating, aim, tmp_path):
    kind = SIGNALS[number % len(SIGNALS)]
    while not aim.hits:
        out = tmp_path / str(aim.late)
        words = [*evaluating.words, "--out", out]
        ended = hit(start("eval", words, tmp_path), kind, aim, evaluating.seconds)
        ended.assert_stopped_by(kind)
        run("eval", words, tmp_path).assert_well()
        assert contents(out) == evaluating.files


def test_killed_again_and_again(evaluating, aim, several, tmp_path):
    wanted = several(3, 12)
    while aim.hits < wanted:
        out = tmp_path / str(aim.late)  # one that was finished cannot be killed again
        words = [*evaluating.words, "--out", out]
        running = start("eval", words, tmp_path)
        ended = hit(running, signal.SIGKILL, aim, evaluating.seconds)
        ended.assert_stopped_by(signal.SIGKILL)
        if ended.code == 0 or aim.hits == wanted:
            run("eval", words, tmp_path).assert_well()
            assert contents(out) == evaluating.files


def test_an_impatient_user_presses_ctrl_c_twice(evaluating, rng, aim, tmp_path):
    while not aim.hits:
        out = tmp_path / str(aim.late)
        words = [*evaluating.words, "--out", out]
        running = start("eval", words, tmp_path)
        aim.wait(running, evaluating.seconds)
        running.signal(signal.SIGINT)
        time.sleep(rng.uniform(0, 0.02))
        assert "Traceback" not in aim.hit(running, signal.SIGINT).told
        run("eval", words, tmp_path).assert_well()
        assert contents(out) == evaluating.files


@pytest.mark.parametrize(
    "kind", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)]
)
def test_the_command_itself_is_interrupted(kind, evaluating, tmp_path):
    out = tmp_path / "out"
    words = [*evaluating.words, "--out", out]
    (run_folder,) = evaluating.folder.iterdir()
    ended = interrupt_itself("eval", words, tmp_path, kind, out / run_folder.name / "cells")
    ended.assert_stopped_by(kind)
    assert ended.code != 0
    run("eval", words, tmp_path).assert_well()
    assert contents(out) == evaluating.files
