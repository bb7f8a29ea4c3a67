"""A build that is killed or interrupted at any moment ends in the same bytes when given again."""

from __future__ import annotations

import random
import signal
import time

import psutil
import pytest

from tests.faults.running import contents, interrupt_itself, run, start

pytestmark = pytest.mark.slow

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# A scheduler and a terminal send theirs to the whole group.
HITS = [(victim, number) for victim in ("parent", "group", "worker") for number in SIGNALS]


def hit(running, victim, number, rng, seconds):
    """Send the signal at a random moment; how the command ended, and that nobody is left."""
    until = time.monotonic() + rng.uniform(0, seconds)
    family = running.family()
    while running.alive and (time.monotonic() < until or (victim == "worker" and not family)):
        time.sleep(0.002)
        family = running.family()
    if victim == "worker":
        for worker in family[:1]:
            worker.send_signal(number)
    else:
        running.signal(number, group=victim == "group")
    ended = running.end()
    assert psutil.wait_procs(family, timeout=120)[1] == []  # no orphan
    return ended


@pytest.mark.repeated(3, 36)
def test_hit_once(number, building, request, rng, tmp_path):
    order = random.Random(request.config.option.fault_seed).sample(HITS, len(HITS))
    victim, kind = order[number % len(order)]
    print(f"{signal.Signals(kind).name} to the {victim}")  # noqa: T201 - where the test fails
    words = [*building.words, "--out", tmp_path / "out"]
    ended = hit(start("build", words, tmp_path), victim, kind, rng, building.seconds)
    if victim == "worker":
        ended.assert_well()  # another one does its work
    else:
        ended.assert_stopped_by(kind)
        run("build", words, tmp_path).assert_well()
    assert contents(tmp_path / "out") == building.files


def test_killed_again_and_again(building, rng, several, tmp_path):
    words = [*building.words, "--out", tmp_path / "out"]
    for _ in range(several(2, 12)):
        ended = hit(start("build", words, tmp_path), "group", signal.SIGKILL, rng, building.seconds)
        ended.assert_stopped_by(signal.SIGKILL)
    run("build", words, tmp_path).assert_well()
    assert contents(tmp_path / "out") == building.files


@pytest.mark.thorough
def test_an_impatient_user_presses_ctrl_c_twice(building, rng, tmp_path):
    words = [*building.words, "--out", tmp_path / "out"]
    running = start("build", words, tmp_path)
    time.sleep(rng.uniform(0, building.seconds))
    family = running.family()
    for _ in range(2):
        running.signal(signal.SIGINT, group=True)
        time.sleep(rng.uniform(0, 0.02))
    ended = running.end()
    assert "Traceback" not in ended.told
    assert psutil.wait_procs(family, timeout=120)[1] == []
    run("build", words, tmp_path).assert_well()
    assert contents(tmp_path / "out") == building.files


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_the_command_itself_is_interrupted(kind, building, tmp_path):
    out = tmp_path / "out"
    words = [*building.words, "--out", out]
    ended = interrupt_itself("build", words, kind, out / ".vidc" / "tasks")
    ended.assert_stopped_by(kind)
    assert ended.code != 0
    run("build", words, tmp_path).assert_well()
    assert contents(out) == building.files
