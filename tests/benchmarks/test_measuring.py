"""The benchmarks' own arithmetic, and that the README says what was measured last."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import readme
from benchmarks.curve import Curve
from benchmarks.measuring import (
    Figure,
    Row,
    alternate,
    at_least,
    at_most,
    command,
    from_json,
    peak_memory,
    row,
    table,
    to_json,
)
from benchmarks.paper_scale import DATASETS, duration, makespan, networks


def test_a_ratio_is_taken_round_by_round():
    slow, fast = Figure((10.0, 40.0, 12.0)), Figure((5.0, 10.0, 6.0))
    assert slow.over(fast).rounds == (2.0, 4.0, 2.0)
    assert slow.over(fast).median == 2
    assert slow.over(fast).spread == (2, 4)
    assert fast.rate(30).rounds == (6.0, 3.0, 5.0)
    assert slow.least_over(fast).value == 2
    assert slow.least_over(fast).spread == (2, 4)


def test_what_is_compared_takes_turns_and_the_first_is_not_counted():
    order = []

    def told(name):
        order.append(name)
        return float(len(order))

    found = alternate({"a": lambda: told("a"), "b": lambda: told("b")}, rounds=2)
    assert order == ["a", "b"] * 3
    assert found == {"a": Figure((3.0, 5.0)), "b": Figure((4.0, 6.0))}


def test_a_floor_holds_on_its_own_side_only():
    assert at_least("x", 4.0, 4).holds
    assert not at_least("x", 3.99, 4).holds
    assert at_most("x", 1.4, 1.4).holds
    assert not at_most("x", Figure((1.0, 1.5, 1.6)), 1.4).holds
    assert row("x", 2.0).holds is None


def test_rows_come_back_from_json_and_show_their_floor():
    rows = [at_least("fast", Figure((4.0, 6.0)), 4), row("plain", 3.0, "ms")]
    assert [from_json(each) for each in json.loads(to_json(rows))] == rows
    assert table(rows)[2:] == ["| fast | 5 × | 4 to 6 | ≥ 4 | yes |", "| plain | 3 ms |  |  |  |"]


def test_a_straight_curve_is_fitted_exactly():
    curve = Curve("t", "n", "s", (1.0, 4.0, 16.0), tuple(Figure((3 + 2 * n,)) for n in (1, 4, 16)))
    assert curve.line() == pytest.approx((2, 3))


def test_a_crooked_curve_is_fitted_by_relative_distance():
    """Least squares of relative distances by hand: the normal equations with weights 1/y²."""
    x, y = np.array([1.0, 4.0, 16.0]), np.array([1.0, 9.0, 20.0])
    design = np.stack([x, np.ones(3)], 1) / y[:, None]
    by_hand = np.linalg.solve(design.T @ design, design.T @ np.ones(3))
    curve = Curve("t", "n", "s", tuple(x), tuple(Figure((value,)) for value in y))
    assert curve.line() == pytest.approx(by_hand)


def test_memory_that_a_call_gives_back_is_counted():
    small = peak_memory(lambda: None)
    large = peak_memory(lambda: np.ones(25_000_000))
    assert 190e6 < large - small < 220e6
    assert peak_memory(lambda: None) < small + 20e6


HEAVY = """
import subprocess, sys, time

held = b"x" * 100_000_000
if sys.argv[1:] == ["below"]:
    print("held", flush=True)
    sys.stdin.read()
else:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    other = subprocess.Popen([sys.executable, __file__, "below"], **pipes)
    other.stdout.readline()
    time.sleep(1)  # for the looks: both hold their memory now
    other.communicate()
"""


def test_a_commands_processes_are_weighed_one_by_one_and_together(monkeypatch, tmp_path):
    (tmp_path / "heavy.py").write_text(HEAVY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ran = command("heavy")
    assert 100e6 < ran.largest < 150e6
    assert 200e6 < ran.together < 300e6
    assert ran.seconds > 1


def test_the_longest_cell_decides_when_there_are_gpus_enough():
    assert makespan([5, 5, 5, 1, 1, 1], 1) == 18
    assert makespan([5, 5, 5, 1, 1, 1], 8) == 5
    assert makespan([5, 5, 5, 1, 1, 1], 2) == 10  # 5+5 and 5+1+1+1


def test_a_frame_costs_six_networks():
    values = {
        "TBN forward / Source forward": 1.2,
        "UnMix-TNS forward / Source forward": 1.4,
        "TENT step / Source forward": 3,
        "TENT† step / TENT step": 1.5,
    }
    assert networks({name: Row(name, value, "") for name, value in values.items()}) == (
        pytest.approx(1 + 1.2 + 1.2 + 1.4 + 3 + 4.5)
    )


def test_a_shard_is_one_cores_work():
    # 500 MB hold 3690 frames of 224 · 224 · 2.7 bytes: eleven videos of 317 or 318, or one of
    # 2446 or 2447.
    vid, lasot = (DATASETS[k].shards() for k in (0, 1))
    assert (len(vid), sum(vid)) == (51, 176_126)
    assert vid[0] == pytest.approx(11 * 317.5, abs=6)
    assert (len(lasot), sum(lasot), lasot[0]) == (280, 685_000, 2447)


def test_durations_are_for_people():
    times = [duration(seconds) for seconds in (21.3, 119, 150, 1800, 5400)]
    assert times == ["21 s", "119 s", "2 min", "30 min", "1.5 h"]


def test_the_readme_says_what_was_measured_last():
    text = readme.README.read_text("utf-8")
    assert readme.rendered(text, readme.rows()) == text


def test_a_readme_without_a_place_for_the_figures_is_told():
    text = readme.README.read_text("utf-8").replace("<!-- scale: made by", "<!-- made by")
    with pytest.raises(ValueError, match="scale"):
        readme.rendered(text, readme.rows())
