"""An evaluation that is killed or interrupted ends with the same files when it is given again."""

from __future__ import annotations

import signal
from functools import partial

import pytest

from tests.faults.running import contents, interrupt_itself, run

pytestmark = pytest.mark.slow

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def strike_again(wanted, number, evaluating, aim, folder):
    def strike(running):
        aim.wait(running, evaluating.seconds)
        ended = aim.hit(running, number)
        ended.assert_stopped_by(number)
        return ended

    aim.strike_again(wanted, evaluating, folder, strike)


@pytest.mark.repeated(3, 36)
def test_hit_once(number, evaluating, aim, tmp_path):
    strike_again(1, SIGNALS[number % len(SIGNALS)], evaluating, aim, tmp_path)


def test_killed_again_and_again(evaluating, aim, several, tmp_path):
    strike_again(several(3, 12), signal.SIGKILL, evaluating, aim, tmp_path)


def test_an_impatient_user_presses_ctrl_c_twice(evaluating, aim, tmp_path):
    strike = partial(aim.interrupt_twice, seconds=evaluating.seconds)
    aim.strike_again(1, evaluating, tmp_path, strike)


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
