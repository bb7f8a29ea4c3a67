"""Curves, reliability and the error since a change, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.reference import stream_loops
from vidc.eval.report import measures

flags = arrays.arrays(np.bool_, st.integers(1, 200))


@given(st.integers(1, 5000), st.integers(1, 400))
def test_curve_positions_rise_and_end_at_the_last_frame(frames, points):
    positions = measures.curve_positions(frames, points)
    assert len(positions) == min(frames, points)
    assert positions[-1] == frames - 1
    assert (np.diff(positions) > 0).all()
    assert positions[0] >= 0


@given(flags, st.integers(1, 60), st.integers(1, 250))
def test_curves_are_those_of_a_loop(wrong, points, window):
    positions = measures.curve_positions(len(wrong), points)
    so_far = measures.error_so_far(wrong, positions)
    recent = measures.recent_error(wrong, positions, window)
    for i, position in enumerate(positions):
        assert so_far[i] == pytest.approx(stream_loops.error_so_far(wrong, position))
        assert recent[i] == pytest.approx(stream_loops.recent_error(wrong, position, window))


@given(flags)
def test_the_curve_ends_at_the_error_of_the_table(wrong):
    positions = measures.curve_positions(len(wrong), 7)
    assert measures.error_so_far(wrong, positions)[-1] == pytest.approx(100 * wrong.mean())


@given(st.data(), flags, st.integers(1, 20))
def test_reliability_is_that_of_a_loop(data, wrong, bins):
    edges = st.integers(0, bins).map(lambda at: at / bins)
    sure = st.one_of(st.floats(0, 1, width=32), edges, st.just(1.0001))
    confidence = np.array(
        data.draw(st.lists(sure, min_size=len(wrong), max_size=len(wrong))), np.float32
    )
    found = measures.reliability(confidence, wrong, bins)
    expected = stream_loops.reliability([float(one) for one in confidence], wrong, bins)
    assert found.frames.tolist() == [frames for frames, _, _ in expected]
    np.testing.assert_allclose(found.confidence, [mean for _, mean, _ in expected], atol=1e-4)
    np.testing.assert_allclose(found.accuracy, [right for _, _, right in expected], atol=1e-9)
    ece = stream_loops.expected_calibration_error(confidence.tolist(), wrong, bins)
    assert found.ece == pytest.approx(ece, abs=1e-4)


def test_ece_by_hand():
    # Two bins: (0.2, 0.4) of which one is right, and (0.9, 1.0) of which none is.
    confidence = np.array([0.2, 0.4, 0.9, 1.0], np.float32)
    wrong = np.array([False, True, True, True])
    found = measures.reliability(confidence, wrong, bins=2)
    assert found.accuracy.tolist() == [50.0, 0.0]
    assert found.ece == pytest.approx(0.5 * abs(30 - 50) + 0.5 * abs(95 - 0), abs=1e-4)


@given(arrays.arrays(np.int64, st.integers(1, 300), elements=st.integers(0, 2)), st.data())
def test_the_error_since_a_change_is_that_of_a_loop(labels, data):
    wrong = data.draw(arrays.arrays(np.bool_, len(labels)))
    since = measures.frames_since_change(labels)
    assert since.tolist() == stream_loops.frames_since_change(labels.tolist())
    found = measures.error_since_change(since, wrong)
    assert found.frames.sum() == len(labels)
    for start, stop, error in zip(found.starts, found.stops, found.error, strict=True):
        expected = stream_loops.error_between(since.tolist(), wrong.tolist(), start, stop)
        assert error == pytest.approx(expected)


@given(st.integers(0, 10**6))
def test_bins_cover_every_distance_and_none_crosses_a_batch(longest):
    edges = measures.change_bins(longest)
    assert edges[0] == 0
    assert edges[-1] > longest
    assert (np.diff(edges) > 0).all()
    assert 16 in edges


def test_bins_by_hand():
    assert measures.change_bins(70).tolist() == [0, 1, 2, 4, 8, 16, 24, 32, 48, 64, 96]


@pytest.mark.parametrize(("frames", "window"), [(10, 10), (64, 64), (2000, 64), (700_000, 17_500)])
def test_the_window_grows_with_the_stream(frames, window):
    assert measures.window_length(frames) == window
