"""Errors over time and videos' labels, against plain loops."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.eval.memory_source import memory_source
from tests.eval.one_cell import run, settings_of
from vidc.eval.methods import COLUMNS
from vidc.eval.scores import column_scores
from vidc.frames import FrameLabels

NAMES = ("right", "wrong")


def frames_of(label):
    """Frames of one video with these labels; their classes' names are NAMES."""
    return FrameLabels(
        videos=np.full(len(label), "v"),
        frames=np.arange(len(label), dtype=np.int32),
        label=np.asarray(label),
        labels=tuple((one,) for one in label),
    )


@given(arrays.arrays(np.bool_, st.integers(1, 400)))
def test_the_error_over_time_is_that_of_a_loop_over_windows(wrong):
    scores = column_scores(wrong.astype(np.int32), frames_of([0] * len(wrong)), NAMES)
    ends = scores["over_time"]["frames"]
    assert len(ends) == min(50, len(wrong))
    assert ends[-1] == len(wrong)
    sizes = [stop - start for start, stop in pairwise([0, *ends])]
    assert max(sizes) - min(sizes) <= 1
    errors = []
    for start, stop in pairwise([0, *ends]):
        mistakes = 0
        for position in range(start, stop):
            mistakes += bool(wrong[position])
        errors.append(100 * mistakes / (stop - start))
    assert scores["over_time"]["error"] == pytest.approx(errors)


def relabelled(frames, label):
    """A source whose first video has another label in its first frames."""
    source = memory_source()
    for place in range(frames):
        source.all[place] = dataclasses.replace(source.all[place], label=label, labels=(label,))
    return source


@pytest.mark.parametrize("order", ["in-order", "shuffled"])
@pytest.mark.parametrize(("frames", "name"), [(3, "ant"), (4, "bee")])
def test_a_video_has_the_label_of_most_of_its_frames(tmp_path, frames, name, order):
    """The first video's seven frames are ants; its first three or four become bees."""
    settings = settings_of([COLUMNS["source"]], (f"stream.order={order}",))
    record, _ = run(tmp_path / "run", settings, relabelled(frames, 1))
    videos = record["columns"]["source"]["videos"]
    assert videos["v00"]["label"] == name
    assert [about["label"] for about in videos.values()][1:4] == ["bee", "cat", "ant"]


@given(
    st.lists(st.tuples(st.sampled_from("zyäa"), st.integers(0, 3), st.integers(-1, 3)), min_size=1)
)
def test_errors_by_class_and_video_are_those_of_a_loop(rows):
    """Each row is a frame: its video, its class, and what was predicted."""
    names = ("dog", "ant", "cat", "bee")
    videos, label, prediction = zip(*rows, strict=True)
    frames = dataclasses.replace(frames_of(label), videos=np.array(videos))
    scores = column_scores(np.array(prediction, np.int32), frames, names)
    for part, keys in (("classes", [names[each] for each in label]), ("videos", videos)):
        assert list(scores[part]) == sorted(set(keys))
        for name, found in scores[part].items():
            hits = [
                p == c for key, c, p in zip(keys, label, prediction, strict=True) if key == name
            ]
            assert found["frames"] == len(hits)
            assert found["error"] == 100.0 * hits.count(False) / len(hits)
