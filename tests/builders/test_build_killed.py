"""A build that is killed at random moments ends in the same bytes when it is started again."""

import os
import random
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.builders import builds, trees

pytestmark = pytest.mark.slow

VIDEOS = {f"video_{number}": 8 for number in range(12)}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return trees.write_imagenet_vid(tmp_path_factory.mktemp("clean"), VIDEOS)


def command(root, out):
    words = ["imagenet-vid", "--root", str(root), "--out", str(out), "--size", "64"]
    return [sys.executable, "-m", "vidc.build", *words, "--workers", "2"]


@pytest.fixture(scope="module")
def undisturbed(root, tmp_path_factory):
    """The files of a build that was left alone, and how long it took."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    started = time.monotonic()
    subprocess.run(command(root, out), check=True, capture_output=True)
    return builds.contents(out), time.monotonic() - started


@pytest.fixture
def rng(request):
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")  # noqa: T201 - to repeat a failure
    return random.Random(seed)


def finish(root, out):
    done = subprocess.run(command(root, out), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return builds.contents(out)


def test_killed_again_and_again(root, undisturbed, rng, tmp_path):
    wanted, seconds = undisturbed
    out = tmp_path / "out"
    for _ in range(5):
        build = subprocess.Popen(
            command(root, out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        time.sleep(rng.uniform(0, seconds))
        family = psutil.Process(build.pid).children(recursive=True)
        build.kill()
        _, told = build.communicate()
        assert told == ""
        assert psutil.wait_procs(family, timeout=60)[1] == []  # no orphan
    assert finish(root, out) == wanted
    assert not (out / ".vidc").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_by_a_scheduler_or_by_ctrl_c(number, root, undisturbed, rng, tmp_path):
    wanted, _ = undisturbed
    out = tmp_path / "out"
    build = subprocess.Popen(
        command(root, out), stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not any((out / ".vidc" / "tasks").glob("*/*")):
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 1))
    os.killpg(build.pid, number)
    _, told = build.communicate()
    if build.returncode != 0:  # it may have come to its end before the signal
        assert build.returncode == 130
        assert told == (
            "python -m vidc.build: interrupted; the same command continues where it stopped\n"
        )
    assert finish(root, out) == wanted


def test_a_worker_killed_alone_is_replaced(root, undisturbed, tmp_path):
    wanted, _ = undisturbed
    out = tmp_path / "out"
    build = subprocess.Popen(command(root, out), stderr=subprocess.PIPE, text=True)
    while not any((out / ".vidc" / "tasks").glob("*/*")):
        time.sleep(0.01)
    workers = psutil.Process(build.pid).children()
    workers[0].kill()
    _, told = build.communicate()
    assert (build.returncode, told) == (0, "")
    assert builds.contents(out) == wanted
