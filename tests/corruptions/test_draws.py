"""The draws against Philox in plain integers, and the table against scipy's quantiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from tests.reference import philox
from tests.reference.weather_loops import named_indices
from vidc.corruptions import Key, corrupt, draws
from vidc.errors import InputError

NAME = (7, "lasot", "bird-3", 12, "snow", 5)


def test_philox_reference_gives_the_published_answer():
    # Random123's known-answer test for philox4x64, 10 rounds, counter and key all ones.
    ones = (1 << 64) - 1
    assert philox.block((ones, ones), (1 << 256) - 1) == [
        0x87B092C3013FE90B,
        0x438C3C67BE8D0224,
        0x9CC7D7C69CD777B6,
        0xA09CAEBF594F0BA0,
    ]


@pytest.mark.parametrize("block", [0, 1, -3, 10**12])
def test_indices_are_philox(block):
    drawn = draws.Stream(NAME, block).indices(70)
    assert drawn.dtype == np.uint16
    assert drawn.tolist() == named_indices(NAME, block, 70)


@given(st.integers(0, 50), st.integers(1, 40))
def test_a_stream_can_be_entered_at_any_block(skipped, count):
    whole = draws.Stream(NAME).indices(skipped * draws.BLOCK + count)
    entered = draws.Stream(NAME, skipped).indices(count)
    assert np.array_equal(whole[skipped * draws.BLOCK :], entered)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_draws_in_parts_are_the_draws_in_one(words):
    parts = draws.Stream(NAME)
    drawn = np.concatenate([parts.indices(4 * count) for count in words])
    assert np.array_equal(drawn, draws.Stream(NAME).indices(4 * sum(words)))


texts = st.text(max_size=8)
keys = st.builds(Key, st.integers(-(2**70), 2**70), texts, texts, st.integers(-9, 2**40))


@given(keys, keys, st.integers(1, 5), st.integers(1, 5))
def test_different_names_give_different_draws(one, other, severity, other_severity):
    first = draws.frame_stream(one, "snow", severity).indices(16).tolist()
    second = draws.frame_stream(other, "snow", other_severity).indices(16).tolist()
    assert (first == second) == ((one, severity) == (other, other_severity))


def test_every_part_of_the_key_counts():
    key = Key(0, "lasot", "bird-3", 5)
    streams = [
        draws.frame_stream(key, "snow", 5),
        draws.frame_stream(key, "rain", 5),
        draws.frame_stream(key, "snow", 4),
        *(
            draws.frame_stream(other, "snow", 5)
            for other in (
                Key(1, "lasot", "bird-3", 5),
                Key(0, "tao-lasot", "bird-3", 5),
                Key(0, "lasot", "bird-4", 5),
                Key(0, "lasot", "bird-3", 6),
            )
        ),
        draws.video_stream(key, "snow", 5, "flakes"),
        draws.video_stream(key, "snow", 5, "wind"),
    ]
    assert len({stream.indices(16).tobytes() for stream in streams}) == len(streams)


def test_numpy_integers_name_the_same_frame():
    plain = draws.frame_stream(Key(3, "d", "v", 4), "snow", 1).indices(8)
    numpy = draws.frame_stream(Key(np.int64(3), "d", "v", np.int32(4)), "snow", 1).indices(8)
    assert np.array_equal(plain, numpy)


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ((0.5, "d", "v", 0), "key.seed"),
        ((True, "d", "v", 0), "key.seed"),
        ((0, 7, "v", 0), "key.dataset"),
        ((0, "d", None, 0), "key.video"),
        ((0, "d", "v", "0"), "key.frame"),
    ],
)
def test_a_key_that_names_no_frame_is_refused(parts, named):
    with pytest.raises(InputError, match=named):
        Key(*parts)


def test_table_is_the_normal_quantiles():
    table = draws.normal_table().astype(np.float64)
    exact = ndtri((np.arange(65536) + 0.5) / 65536)
    assert np.abs(table - exact).max() <= draws.TABLE_STEP / 2 + 1e-12
    assert np.array_equal(table, -table[::-1])
    assert (np.diff(table) > 0).all()


def test_no_table_entry_is_near_the_edge_of_its_step():
    """So a logarithm that is off in its last bits cannot move an entry to the next step."""
    steps = ndtri((np.arange(65536) + 0.5) / 65536) / draws.TABLE_STEP
    from_edge = 0.5 - np.abs(steps - np.rint(steps))
    assert from_edge.min() * draws.TABLE_STEP > 1e-12


def test_table_has_the_moments_of_the_normal():
    table = draws.normal_table().astype(np.float64)
    assert table.mean() == 0
    assert table.std() == pytest.approx(1, abs=2e-5)
    assert (table**4).mean() == pytest.approx(3, abs=2e-3)


def test_tables_are_closed_to_writing():
    with pytest.raises(ValueError, match="read-only"):
        draws.normal_table()[0] = 0


def test_global_random_state_is_neither_read_nor_changed():
    frame = np.full((20, 20, 3), 90, np.uint8)
    key = Key(0, "d", "v", 1)
    results = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        results.append(
            [corrupt(frame, name, 3, key) for name in ("gaussian_noise", "snow", "rain")]
        )
        assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert all(np.array_equal(*pair) for pair in zip(*results, strict=True))
