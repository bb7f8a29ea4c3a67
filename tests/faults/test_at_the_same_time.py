"""Commands that meet in one folder: one waits, is refused, or is right; none is wrong."""

from __future__ import annotations

import shutil

import pytest

from tests.faults.counting import PARTS
from tests.faults.running import contents, run, start

pytestmark = pytest.mark.slow

REFUSED = {"build": "a build is running in", "eval": "another evaluation is writing to"}


def test_two_builds_in_one_folder(building, tmp_path):
    words = [*building.words, "--out", tmp_path / "out"]
    (tmp_path / "second").mkdir()
    both = [start("build", words, tmp_path), start("build", words, tmp_path / "second")]
    ended = sorted((running.end() for running in both), key=lambda each: each.code)
    ended[0].assert_well()
    if ended[1].code:  # the second may have come after the first
        ended[1].assert_told(REFUSED["build"])
    assert contents(tmp_path / "out") == building.files


@pytest.mark.repeated(1, PARTS)
@pytest.mark.parametrize("command", REFUSED)
def test_beside_the_same_command_that_pauses_anywhere(
    command, number, step_by_step, changes, moments, tmp_path
):
    left_alone = step_by_step[command]
    second_place = tmp_path / "second"
    second_place.mkdir()
    for moment in moments(changes[command], 1):
        out = tmp_path / str(moment)
        words = [*left_alone.words, "--out", out]
        running = start(command, words, tmp_path, pause_at=moment)
        assert running.wait_until_paused()
        second = run(command, words, second_place)
        first = running.resume()
        for ended in (first, second):
            if ended.code:
                ended.assert_told(REFUSED[command])
        assert 0 in (first.code, second.code)
        assert contents(out) == left_alone.files
        shutil.rmtree(out)


@pytest.mark.repeated(1, 12)
def test_an_evaluation_of_a_folder_that_is_being_built(
    number, step_by_step, changes, rng, tmp_path
):
    left_alone, evaluated = step_by_step["build"], step_by_step["eval"]
    mine, results = tmp_path / "mine", tmp_path / "results"
    build_words = [*left_alone.words, "--out", mine]
    running = start("build", build_words, tmp_path, pause_at=rng.randint(2, changes["build"]))
    assert running.wait_until_paused()
    (tmp_path / "second").mkdir()
    words = [str(mine), *evaluated.words[1:], "--out", results]
    early = run("eval", words, tmp_path / "second")
    if early.code:
        early.assert_told("mine")
        assert not results.exists()
    running.resume().assert_well()
    assert contents(mine) == left_alone.files
    run("eval", words, tmp_path / "second").assert_well()
    assert predictions(results) == predictions(evaluated.folder)


@pytest.mark.repeated(1, 12)
def test_a_folder_that_is_built_anew_while_an_evaluation_reads_it(
    number, step_by_step, changes, rng, tmp_path
):
    left_alone, evaluated = step_by_step["build"], step_by_step["eval"]
    mine, results = shutil.copytree(left_alone.folder, tmp_path / "mine"), tmp_path / "results"
    words = [str(mine), *evaluated.words[1:], "--out", results]
    running = start("eval", words, tmp_path, pause_at=rng.randint(2, changes["eval"]))
    assert running.wait_until_paused()
    shutil.rmtree(mine)
    (tmp_path / "second").mkdir()
    other = [*left_alone.words, "--seed", "1", "--out", mine]
    run("build", other, tmp_path / "second").assert_well()
    ended = running.resume()
    if ended.code:  # it had read enough, or says what has happened
        ended.assert_told("data/" if "data/" in ended.told else "mine")
        assert not list(results.glob("*/predictions.parquet"))
    else:
        assert predictions(results) == predictions(evaluated.folder)


def predictions(results):
    """What an evaluation answered, by cell."""
    return {path.name: path.read_bytes() for path in results.glob("*/cells/*.parquet")}
