"""Killed at any moment and started again, an evaluation leaves the files it would have left."""

from __future__ import annotations

import json
import multiprocessing
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.eval.tiny_dataset import write_dataset, write_model
from vidc.eval.__main__ import main

# One server has the imports, and every attempt is a fork of it: starting Python takes longer than
# evaluating this little.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["vidc.eval.evaluate", "vidc.reading", "torch._dynamo"])


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """For every process started here: on so little work, two threads wait for each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        yield


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """The command on a small dataset, a checkpoint after every batch."""
    root = tmp_path_factory.mktemp("dataset")
    settings = ["--set", "stream.batch=2", "--set", "unmix_tns.components=4", "--no-report"]
    columns = ["--columns", "source", "unmix_tns", "tent_unmix", "lame_unmix"]
    dataset, model = str(write_dataset(root)), write_model(root)
    return [dataset, "--model", model, *columns, "--checkpoint-every", "1", *settings]


def start(words, out):
    process = FORKS.Process(target=main, args=([*words, "--out", str(out)],))
    process.start()
    return process


def wait_for_progress(is_running, out, changes):
    """Wait until files have been written this often, then for a moment of any length."""
    seen = set()
    while len(seen) < changes and is_running():
        for path in out.glob("*/cells/*"):
            try:
                seen.add((path.name, path.stat().st_mtime_ns))
            except FileNotFoundError:  # a temporary file that has its name by now
                continue
        time.sleep(0.001)
    time.sleep(random.random() * 0.02)


def files(out):
    """Every result file; of JSON files all but what was measured."""
    (folder,) = out.iterdir()
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            readable = json.dumps(repeatable(json.loads(data))) if path.suffix == ".json" else data
            found[str(path.relative_to(folder))] = readable
    return found


def repeatable(value):
    if isinstance(value, dict):
        left_out = ("measured", "environment", "command")
        return {key: repeatable(each) for key, each in value.items() if key not in left_out}
    return [repeatable(each) for each in value] if isinstance(value, list) else value


@pytest.mark.slow
def test_killed_again_and_again_it_ends_with_the_same_files(words, tmp_path):
    whole = start(words, tmp_path / "whole")
    whole.join()
    assert whole.exitcode == 0

    kills = 0
    for changes in (1, 7, 20, 3, 40, 11):
        process = start(words, tmp_path / "killed")
        wait_for_progress(process.is_alive, tmp_path / "killed", changes)
        process.kill()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
    assert kills >= 3
    last = start(words, tmp_path / "killed")
    last.join()
    assert last.exitcode == 0
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_killed_before_it_could_clear_up_the_next_one_does(words, tmp_path):
    assert main([*words, "--out", str(tmp_path)]) == 0
    finished = files(tmp_path)
    (folder,) = tmp_path.iterdir()
    record = next(folder.glob("cells/*.json"))
    record.with_suffix(".safetensors").write_bytes(b"of a finished cell")
    record.with_name(f".{record.name}.tmp").write_bytes(b"half a rec")
    (folder / ".table.md.tmp").write_bytes(b"half a tab")
    assert main([*words, "--out", str(tmp_path)]) == 0
    assert files(tmp_path) == finished


@pytest.mark.slow
def test_interrupted_from_the_keyboard_it_says_that_it_can_continue(words, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "vidc.eval", *words, "--out", str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_progress(lambda: process.poll() is None, tmp_path, 4)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 130
    assert told.splitlines() == [
        "python -m vidc.eval: interrupted; the same command continues where it stopped"
    ]
    assert list(tmp_path.glob("*/cells/*.safetensors"))
