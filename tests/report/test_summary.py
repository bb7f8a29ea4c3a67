"""The sentence on top, for winners, ties, spreads and a Source that nobody beats."""

import pytest

from vidc.eval.report.summary import headlines
from vidc.eval.table import Row, Section, Table, Value

NAMES = {"source": "Source", "tbn": "TBN", "unmix_tns": "UnMix-TNS"}


def table(*rows):
    return Table("", tuple(NAMES), tuple(NAMES.values()), (Section("lasot-c", rows, ()),))


def row(corruption, *errors, kind="ours", severity=5):
    values = tuple(Value(*error) if isinstance(error, tuple) else Value(error) for error in errors)
    return Row(corruption, None if corruption == "mean" else severity, kind, values)


@pytest.mark.parametrize(
    ("errors", "sentence"),
    [
        (
            (70.0, 90.0, 60.0),
            "UnMix-TNS has the lowest mean error over 2 corruptions, 60.0 %: "
            "10.0 points below Source, the next.",
        ),
        (
            (90.0, 61.0, 60.0),
            "UnMix-TNS has the lowest mean error over 2 corruptions, 60.0 %: "
            "30.0 points below Source and 1.0 point below TBN, the next.",
        ),
        (
            (70.0, 90.0, 70.04),
            "Source and UnMix-TNS share the lowest mean error over 2 corruptions, 70.0 %: "
            "20.0 points below TBN, the next; no adaptation lowers it.",
        ),
        (
            (50.0, 90.0, 60.0),
            "Source has the lowest mean error over 2 corruptions, 50.0 %: "
            "10.0 points below UnMix-TNS, the next; no adaptation lowers it.",
        ),
        (
            ((70.0, 1.0), (90.0, 1.0), (69.0, 0.5)),
            "UnMix-TNS has the lowest mean error over 2 corruptions, 69.0 ± 0.5 %: "
            "1.0 point below Source, the next, which is within the spread of the seeds.",
        ),
        (
            ((70.0, 0.4), (90.0, 1.0), (69.0, 0.5)),
            "UnMix-TNS has the lowest mean error over 2 corruptions, 69.0 ± 0.5 %: "
            "1.0 point below Source, the next.",
        ),
        (
            (70.0, 70.04, 60.0),
            "UnMix-TNS has the lowest mean error over 2 corruptions, 60.0 %: "
            "10.0 points below Source and TBN, the next.",
        ),
        (
            (60.0, 60.0, 60.0),
            "Source, TBN and UnMix-TNS all have a mean error over 2 corruptions of 60.0 %.",
        ),
    ],
)
def test_the_mean_decides(errors, sentence):
    rows = (row("clean", 1, 2, 3), row("rain", 1, 2, 3), row("snow", 3, 2, 1))
    (found,) = headlines(table(*rows, row("mean", *errors)))
    assert found.dataset == "lasot-c"
    assert found.sentence.replace("\u00a0", " ") == sentence


def test_one_corruption_speaks_for_itself():
    paper = row("gaussian_noise", 1.0, 1.0, 1.0, kind="paper")
    (found,) = headlines(table(row("gaussian_noise", 30.0, 20.0, 10.0), paper))
    assert found.sentence.startswith("UnMix-TNS has the lowest error under gaussian noise, 10.0")


def test_a_single_column_has_nobody_to_beat():
    alone = Table("", ("source",), ("Source",), (Section("d", (row("snow", 41.23),), ()),))
    (found,) = headlines(alone)
    assert found.sentence.replace("\u00a0", " ") == "Source has an error under snow of 41.2 %."


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [row("clean", 3.0, 9.0, 4.0, severity=0)],
            "Source has the lowest error on clean frames, 3.0 %: "
            "1.0 point below UnMix-TNS, the next; no adaptation lowers it.",
        ),
        (
            [row("clean", 3.0, 9.0, 4.0, severity=0), row("snow", 40.0, 90.0, 30.0, severity=3)],
            "UnMix-TNS has the lowest error under snow of severity 3, 30.0 %: "
            "10.0 points below Source, the next.",
        ),
        (
            [
                row("snow", 30.0, 80.0, 20.0, severity=3),
                row("snow", 50.0, 90.0, 40.0),
                row("mean", 40.0, 85.0, 30.0),
            ],
            "UnMix-TNS has the lowest mean error over 2 corruptions and severities, 30.0 %: "
            "10.0 points below Source, the next.",
        ),
    ],
)
def test_the_sentence_says_which_frames_it_speaks_of(rows, sentence):
    (found,) = headlines(table(*rows))
    assert found.sentence.replace("\u00a0", " ") == sentence


def test_two_that_are_alone_and_equal_are_both():
    two = Table("", ("a", "b"), ("A", "B"), (Section("d", (row("snow", 41.2, 41.2),), ()),))
    (found,) = headlines(two)
    assert (
        found.sentence.replace("\u00a0", " ") == "A and B both have an error under snow of 41.2 %."
    )
