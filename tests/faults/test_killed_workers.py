"""Evaluations with workers: one that is lost is replaced, and none outlives its evaluation."""

from __future__ import annotations

import signal
import time
from functools import partial

import pytest

from tests.faults.counting import cases
from tests.faults.running import contents, start, start_anew

pytestmark = pytest.mark.slow

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# The options of each engine that has workers, and how its command is started: Ray must not be
# forked, and is one of the command's own.
ENGINES = {
    "processes": (["--engine", "processes"], start),
    "ray": (
        ["--engine", "ray", "--gpus-per-cell", "0", "--device", "cpu"],
        partial(start_anew, settings={"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}),
    ),
}


@pytest.fixture(params=["processes", pytest.param("ray", marks=pytest.mark.thorough)])
def engine(request):
    if request.param == "ray":
        pytest.importorskip("ray")
    return request.param


def in_a_cell(running, out, aim, seconds):
    """The evaluation at a random moment after its first checkpoint."""
    while running.alive and not list(out.glob("*/cells/*.safetensors")):
        time.sleep(0.01)
    aim.wait(running, seconds)
    return running


def assert_well(ended, engine):
    if engine == "ray":  # which has its own to say
        assert ended.code == 0, ended.told
        assert "Traceback" not in ended.told
    else:
        ended.assert_well()


@pytest.mark.parametrize("kind", cases({kind.name: kind for kind in SIGNALS}, "SIGKILL"))
def test_a_worker_hit_alone_is_replaced(kind, engine, evaluating, aim, tmp_path):
    options, start_it = ENGINES[engine]
    while not aim.hits:
        out = tmp_path / str(aim.late)
        words = [*evaluating.words, *options, "--out", out]
        running = in_a_cell(start_it("eval", words, tmp_path), out, aim, evaluating.seconds / 2)
        assert_well(aim.hit_worker(running, kind), engine)
        assert contents(out) == evaluating.files


@pytest.mark.parametrize("kind", SIGNALS)
def test_the_parent_of_workers(kind, engine, evaluating, aim, tmp_path):
    options, start_it = ENGINES[engine]
    while not aim.hits:
        out = tmp_path / str(aim.late)
        words = [*evaluating.words, *options, "--out", out]
        running = in_a_cell(start_it("eval", words, tmp_path), out, aim, evaluating.seconds / 2)
        ended = aim.hit(running, kind)
        if engine == "ray":
            assert "Traceback" not in ended.told
        else:
            ended.assert_stopped_by(kind)
        assert_well(start_it("eval", words, tmp_path).end(), engine)
        assert contents(out) == evaluating.files
