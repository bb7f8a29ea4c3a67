"""An evaluation that is killed or interrupted ends with the same files when it is given again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.faults.running import contents, interrupt_itself, run, start

pytestmark = pytest.mark.slow

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def hit(running, number, rng, seconds):
    time.sleep(rng.uniform(0, seconds))
    family = running.family()
    assert family == []  # it works in threads: there is nobody to be orphaned
    running.signal(number)
    return running.end()


@pytest.mark.repeated(3, 36)
def test_hit_once(number, evaluating, rng, tmp_path):
    kind = SIGNALS[number % len(SIGNALS)]
    words = [*evaluating.words, "--out", tmp_path / "out"]
    hit(start("eval", words, tmp_path), kind, rng, evaluating.seconds).assert_stopped_by(kind)
    run("eval", words, tmp_path).assert_well()
    assert contents(tmp_path / "out") == evaluating.files


def test_killed_again_and_again(evaluating, rng, several, tmp_path):
    words = [*evaluating.words, "--out", tmp_path / "out"]
    for _ in range(several(3, 12)):
        running = start("eval", words, tmp_path)
        hit(running, signal.SIGKILL, rng, evaluating.seconds).assert_stopped_by(signal.SIGKILL)
    run("eval", words, tmp_path).assert_well()
    assert contents(tmp_path / "out") == evaluating.files


def test_an_impatient_user_presses_ctrl_c_twice(evaluating, rng, tmp_path):
    words = [*evaluating.words, "--out", tmp_path / "out"]
    running = start("eval", words, tmp_path)
    time.sleep(rng.uniform(0, evaluating.seconds))
    for _ in range(2):
        running.signal(signal.SIGINT)
        time.sleep(rng.uniform(0, 0.02))
    assert "Traceback" not in running.end().told
    run("eval", words, tmp_path).assert_well()
    assert contents(tmp_path / "out") == evaluating.files


@pytest.mark.parametrize(
    "kind", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)]
)
def test_the_command_itself_is_interrupted(kind, evaluating, tmp_path):
    out = tmp_path / "out"
    words = [*evaluating.words, "--out", out]
    (run_folder,) = evaluating.folder.iterdir()
    ended = interrupt_itself("eval", words, kind, out / run_folder.name / "cells")
    ended.assert_stopped_by(kind)
    assert ended.code != 0
    run("eval", words, tmp_path).assert_well()
    assert contents(out) == evaluating.files


# The options of each engine that has workers, and what the command line of a worker holds.
WORKERS = {
    "processes": (["--engine", "processes"], "vidc.processes"),
    "ray": (["--engine", "ray", "--gpus-per-cell", "0", "--device", "cpu"], "run_task"),
}


@pytest.fixture(params=["processes", pytest.param("ray", marks=pytest.mark.thorough)])
def engine(request):
    if request.param == "ray":
        pytest.importorskip("ray")
    return request.param


def with_workers(engine, words):
    """An evaluation whose cells are tasks of workers, Ray's in a Ray of its own."""
    settings = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    line = [sys.executable, "-m", "vidc.eval", *map(str, words), *WORKERS[engine][0]]
    return subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=os.environ | settings)


def wait_for_cell(process, out):
    while process.poll() is None and not list(out.glob("*/cells/*.safetensors")):
        time.sleep(0.01)


def test_a_worker_killed_alone_is_replaced(engine, evaluating, tmp_path):
    process = with_workers(engine, [*evaluating.words, "--out", tmp_path])
    wait_for_cell(process, tmp_path)
    family = psutil.Process(process.pid).children(recursive=True)
    workers = [each for each in family if WORKERS[engine][1] in " ".join(each.cmdline())]
    assert workers
    workers[0].kill()
    _, told = process.communicate()
    assert process.returncode == 0, told
    assert psutil.wait_procs(family, timeout=120)[1] == []
    assert contents(tmp_path) == evaluating.files


@pytest.mark.parametrize("kind", SIGNALS)
def test_the_parent_of_workers(kind, engine, evaluating, tmp_path):
    words = [*evaluating.words, "--out", tmp_path / "out"]
    process = with_workers(engine, words)
    wait_for_cell(process, tmp_path / "out")
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(kind)
    process.communicate()
    assert psutil.wait_procs(family, timeout=120)[1] == []  # no orphan
    run("eval", words, tmp_path).assert_well()
    assert contents(tmp_path / "out") == evaluating.files
