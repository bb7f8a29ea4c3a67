"""A build that is killed or interrupted at any moment ends in the same bytes when given again."""

from __future__ import annotations

import random
import signal
from functools import partial

import pytest

from tests.faults.running import contents, interrupt_itself, run

pytestmark = pytest.mark.slow

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# A scheduler and a terminal send theirs to the whole group.
HITS = [(victim, number) for victim in ("parent", "group", "worker") for number in SIGNALS]


def hit(running, victim, number, aim, seconds):
    aim.wait(running, seconds)
    if victim == "worker":
        return aim.hit_worker(running, number)
    return aim.hit(running, number, group=victim == "group")


@pytest.mark.repeated(3, 36)
def test_hit_once(number, building, request, aim, tmp_path):
    order = random.Random(request.config.option.fault_seed).sample(HITS, len(HITS))
    victim, kind = order[number % len(order)]
    print(f"{signal.Signals(kind).name} to the {victim}")  # noqa: T201 - where the test fails

    def strike(running):
        ended = hit(running, victim, kind, aim, building.seconds)
        if victim == "worker":
            ended.assert_well()  # another one does its work
        else:
            ended.assert_stopped_by(kind)
        return ended

    aim.strike_again(1, building, tmp_path, strike)


def test_killed_again_and_again(building, aim, several, tmp_path):
    def strike(running):
        ended = hit(running, "group", signal.SIGKILL, aim, building.seconds)
        ended.assert_stopped_by(signal.SIGKILL)
        return ended

    aim.strike_again(several(2, 12), building, tmp_path, strike)


@pytest.mark.thorough
def test_an_impatient_user_presses_ctrl_c_twice(building, aim, tmp_path):
    strike = partial(aim.interrupt_twice, seconds=building.seconds, group=True)
    aim.strike_again(1, building, tmp_path, strike)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_the_command_itself_is_interrupted(kind, building, tmp_path):
    out = tmp_path / "out"
    words = [*building.words, "--out", out]
    ended = interrupt_itself("build", words, tmp_path, kind, out / ".vidc" / "tasks")
    ended.assert_stopped_by(kind)
    assert ended.code != 0
    run("build", words, tmp_path).assert_well()
    assert contents(out) == building.files
