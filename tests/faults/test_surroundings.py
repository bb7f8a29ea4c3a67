"""Clocks, host names and places change between two halves of a command: nothing depends on them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pytest

from tests.faults.counting import cases
from tests.faults.running import Ended, contents, run, start

pytestmark = pytest.mark.slow

COMMANDS = ("build", "eval")
NEXT_CENTURY = 4e9
# Each look at the calendar finds it a minute earlier; only the clock that measures spans goes on.
BACKWARDS = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long earlier;
int clock_gettime(clockid_t which, struct timespec *now) {
    long failed = syscall(SYS_clock_gettime, which, now);
    if (which == CLOCK_REALTIME) now->tv_sec -= 60 * __atomic_add_fetch(&earlier, 1, 5);
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *now) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (now) *now = found.tv_sec;
    return found.tv_sec;
}
"""


@pytest.fixture
def half_done(request, step_by_step, changes, rng, tmp_path):
    """A folder in which a command was killed, and that command."""
    left_alone = step_by_step[request.param]
    out = tmp_path / "out"
    total = changes[request.param]
    words = [*left_alone.words, "--out", out]
    moment = rng.randint(total // 4, total * 3 // 4)
    running = start(left_alone.command, words, tmp_path, pause_at=moment)
    assert running.wait_until_paused()
    running.signal(signal.SIGKILL)
    running.end()
    return left_alone, out


def command_line(left_alone, out):
    words = [sys.executable, "-m", f"vidc.{left_alone.command}", *left_alone.words]
    return [*words, "--out", str(out)]


def finish(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    Ended(done.returncode, done.stderr).assert_well()


@pytest.mark.parametrize("half_done", cases(COMMANDS, "build"), indirect=True)
def test_the_clock_is_set_back_between_two_runs(half_done, tmp_path):
    left_alone, out = half_done
    for path in (out, *out.rglob("*")):
        os.utime(path, (NEXT_CENTURY, NEXT_CENTURY))
    run(left_alone.command, [*left_alone.words, "--out", out], tmp_path).assert_well()
    assert contents(out) == left_alone.files


@pytest.mark.parametrize("half_done", cases(COMMANDS, "eval"), indirect=True)
def test_the_clock_runs_backwards(half_done, tmp_path):
    left_alone, out = half_done
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to make a clock with")
    (tmp_path / "clock.c").write_text(BACKWARDS)
    library = tmp_path / "clock.so"
    compiling = [compiler, "-shared", "-fPIC", "-o", library, tmp_path / "clock.c"]
    subprocess.run(compiling, check=True)
    environment = os.environ | {"LD_PRELOAD": str(library)}
    looks = "import time; before = time.time(); assert time.time() < before - 30"
    subprocess.run([sys.executable, "-c", looks], check=True, env=environment)
    finish(command_line(left_alone, out), environment)
    assert contents(out) == left_alone.files


@pytest.mark.parametrize("half_done", cases(COMMANDS, "build"), indirect=True)
def test_the_host_has_another_name(half_done):
    left_alone, out = half_done
    for tool in ("unshare", "hostname"):
        if shutil.which(tool) is None:
            pytest.skip(f"no host name of one's own here: there is no {tool}")
    elsewhere = ["unshare", "--user", "--map-root-user", "--uts"]
    if os.geteuid() == 0:
        elsewhere = ["unshare", "--uts"]
    allowed = subprocess.run([*elsewhere, "true"], capture_output=True, text=True)
    if allowed.returncode:
        pytest.skip(f"no host name of one's own here: {allowed.stderr.strip()}")
    renamed = [*elsewhere, "sh", "-c", 'hostname another-host && exec "$@"', "sh"]
    finish([*renamed, *command_line(left_alone, out)])
    assert contents(out) == left_alone.files


@pytest.mark.parametrize("half_done", cases(COMMANDS, "eval"), indirect=True)
def test_the_output_folder_is_moved(half_done, tmp_path):
    left_alone, out = half_done
    moved = tmp_path / "elsewhere" / "moved"
    moved.parent.mkdir()
    out.rename(moved)
    run(left_alone.command, [*left_alone.words, "--out", moved], tmp_path).assert_well()
    assert contents(moved) == left_alone.files


@pytest.mark.thorough
def test_the_clean_videos_are_moved(step_by_step, changes, videos, rng, tmp_path):
    left_alone, out = step_by_step["build"], tmp_path / "out"
    first = shutil.copytree(videos, tmp_path / "first")
    words = [str(first) if word == str(videos) else word for word in left_alone.words]
    moment = rng.randint(2, changes["build"])
    running = start("build", [*words, "--out", out], tmp_path, pause_at=moment)
    assert running.wait_until_paused()
    running.signal(signal.SIGKILL)
    running.end()
    shutil.rmtree(first)
    run("build", [*left_alone.words, "--out", out], tmp_path).assert_well()
    assert contents(out) == left_alone.files
