"""The front door: what it takes, what it refuses, and that it leaves its input alone."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vidc.corruptions
from tests.reference import pictures
from vidc.corruptions import TEMPORAL, Key, corrupt, names
from vidc.errors import InputError

KEY = Key(0, "lasot", "bird-3", 5)
OURS = ("gaussian_noise", "snow", "rain")


def test_names_are_the_twenty_and_the_module_says_them():
    import imagecorruptions

    theirs = imagecorruptions.get_corruption_names("all")
    assert names()[:3] == OURS
    assert sorted(names()) == sorted([*theirs, "rain"])
    assert vidc.corruptions() == names()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 80),
    st.integers(1, 80),
    st.sampled_from([1, 3]),
    st.sampled_from(OURS),
    st.integers(1, 5),
    st.sampled_from(TEMPORAL),
    st.integers(-5, 10**7),
)
def test_any_size_works_and_the_input_stays(height, width, channels, name, severity, temporal, at):
    frame = pictures.integers(height, width, channels)
    before = frame.copy()
    frame.flags.writeable = False
    key = Key(1, "lasot", "bird-3", at)
    out = corrupt(frame, name, severity, key, temporal)
    assert out.shape == frame.shape
    assert out.dtype == np.uint8
    assert out.flags.c_contiguous
    assert out.flags.writeable
    assert not np.shares_memory(out, frame)
    assert np.array_equal(frame, before)
    assert np.array_equal(out, corrupt(before, name, severity, key, temporal))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", names())
def test_the_result_is_the_callers_to_write_in(name, channels):
    frame = pictures.integers(40, 44, channels)
    frame.flags.writeable = False
    out = corrupt(frame, name, 3, KEY)
    assert out.flags.writeable
    assert out.flags.c_contiguous
    assert not np.shares_memory(out, frame)


@pytest.mark.parametrize("name", names())
def test_memory_layout_does_not_matter(name):
    frame = pictures.integers(48, 40)
    expected = corrupt(frame, name, 3, KEY)
    flipped = frame[::-1, ::-1].copy()[::-1, ::-1]
    planes = np.ascontiguousarray(frame.transpose(2, 0, 1)).transpose(1, 2, 0)
    assert not planes.flags.c_contiguous
    for other in (flipped, planes, np.asfortranarray(frame)):
        assert np.array_equal(corrupt(other, name, 3, KEY), expected)


@pytest.mark.parametrize("name", names())
def test_order_and_threads_do_not_matter(name):
    frame = pictures.integers(40, 44)
    keys = [Key(0, "lasot", "bird-3", number) for number in range(6)]
    expected = [corrupt(frame, name, 2, key) for key in keys]
    again = [corrupt(frame, name, 2, key) for key in reversed(keys)][::-1]
    threaded = [None] * len(keys)

    def work(number):
        threaded[number] = corrupt(frame, name, 2, keys[number])

    workers = [threading.Thread(target=work, args=(number,)) for number in range(len(keys))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for one, two, three in zip(expected, again, threaded, strict=True):
        assert np.array_equal(one, two)
        assert np.array_equal(one, three)


FRAME = pictures.integers(40, 40)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (FRAME.astype(np.float32), ["frame", "float32", "uint8"]),
        (np.full((40, 40, 3), np.nan), ["frame", "float64", "NaN", "uint8"]),
        (FRAME.astype(np.int16), ["frame", "int16", "uint8"]),
        (FRAME[..., 0], ["frame", "(40, 40)", "channels"]),
        (FRAME[None], ["frame", "(1, 40, 40, 3)", "channels"]),
        (np.zeros((40, 40, 4), np.uint8), ["frame", "(40, 40, 4)", "1 or 3"]),
        (np.zeros((0, 40, 3), np.uint8), ["frame", "(0, 40, 3)", "empty"]),
        (np.zeros((40, 40, 0), np.uint8), ["frame", "(40, 40, 0)"]),
        (FRAME.tolist(), ["frame", "list", "uint8"]),
        (None, ["frame", "NoneType", "uint8"]),
    ],
)
def test_a_wrong_frame_is_told_in_one_sentence(frame, words):
    with pytest.raises(ValueError) as told:  # noqa: PT011
        corrupt(frame, "snow", 3, KEY)
    one_sentence(told.value, words)


@pytest.mark.parametrize("severity", [0, 6, -1, 2.5, 3.0, "3", None, True, np.float32(2)])
def test_a_wrong_severity_is_told_in_one_sentence(severity):
    with pytest.raises(InputError) as told:
        corrupt(FRAME, "snow", severity, KEY)
    one_sentence(told.value, ["severity", repr(severity), "1 to 5"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("snwo", 3, KEY), ["corruption", "'snwo'", "did you mean 'snow'"]),
        ((None, 3, KEY), ["corruption", "None"]),
        ((["snow"], 3, KEY), ["corruption", "snow"]),
        (("snow", 3, KEY, "coherant"), ["temporal", "'coherant'", "did you mean 'coherent'"]),
        (("snow", 3, (0, "d", "v", 1)), ["key", "tuple", "vidc.corruptions.Key"]),
        (("snow", 3, None), ["key", "NoneType", "vidc.corruptions.Key"]),
    ],
    ids=str,
)
def test_other_mistakes_are_told_in_one_sentence(arguments, words):
    with pytest.raises(InputError) as told:
        corrupt(FRAME, *arguments)
    one_sentence(told.value, words)


def one_sentence(error, words):
    text = str(error)
    assert "\n" not in text
    assert all(word in text for word in words), text


def test_severity_may_be_a_numpy_integer():
    assert np.array_equal(corrupt(FRAME, "snow", np.int64(4), KEY), corrupt(FRAME, "snow", 4, KEY))
