"""Which of a dataset's corruptions are meant by the names and severities that were given."""

import pytest

from vidc.classes import class_list
from vidc.errors import InputError
from vidc.eval.inputs import About, recorded

BUILT = [("clean", 0), ("snow", 5), ("rain", 3), ("rain", 5)]
ABOUT = About("x-c", "datasets/x-c", "val", class_list("lasot"), "0", complete=True)


@pytest.mark.parametrize(
    ("names", "severities", "chosen"),
    [
        ([], [], BUILT[1:]),
        ([], [3], [("rain", 3)]),
        (["rain"], [], [("rain", 3), ("rain", 5)]),
        (["snow", "rain"], [5], [("snow", 5), ("rain", 5)]),
        (["clean", "rain"], [3], [("clean", 0), ("rain", 3)]),
        (["clean"], [], [("clean", 0)]),
    ],
)
def test_those_that_were_named(names, severities, chosen):
    assert recorded(ABOUT, BUILT, names, severities) == chosen


@pytest.mark.parametrize(
    ("names", "severities", "sentence"),
    [
        (["snwo"], [], "corruption of datasets/x-c 'snwo': did you mean 'snow'"),
        ([], [0], "--severity 0: datasets/x-c has only 3, 5\\."),
        (["snow"], [3], "--severity 3: datasets/x-c has only 5 of snow"),
        (["snow", "rain"], [3], "of snow datasets/x-c has only 5"),
    ],
)
def test_what_is_not_there_is_told(names, severities, sentence):
    with pytest.raises(InputError, match=sentence):
        recorded(ABOUT, BUILT, names, severities)


def test_a_dataset_of_clean_frames_alone():
    with pytest.raises(InputError, match="holds no corruption: give --corruptions clean"):
        recorded(ABOUT, BUILT[:1], [], [5])
    assert recorded(ABOUT, BUILT[:1], ["clean"], []) == [("clean", 0)]
