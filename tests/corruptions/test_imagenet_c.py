"""The seventeen others: the package's own pixels, and nobody else's random state touched."""

import random
import threading
import time

import imagecorruptions
import imagecorruptions.corruptions as package_parts
import numba
import numpy as np
import pytest

from tests.reference import pictures
from vidc.corruptions import Key, corrupt, draws, imagenet_c
from vidc.errors import InputError

KEY = Key(0, "lasot", "bird-3", 5)


@pytest.mark.parametrize("name", imagenet_c.NAMES)
def test_pixels_are_the_packages(name):
    frame = pictures.made(3, 64, 80)
    for severity in range(1, 6):
        low, high = draws.frame_stream(KEY, name, severity).indices(2).tolist()
        seed = low + 65536 * high
        np.random.seed(seed)  # noqa: NPY002
        arguments = {"seed": seed} if name in ("impulse_noise", "glass_blur") else {}
        theirs = imagecorruptions.corrupt(frame, severity, name, **arguments)
        assert np.array_equal(corrupt(frame, name, severity, KEY), theirs)


@pytest.mark.parametrize("name", imagenet_c.NAMES)
def test_global_state_is_given_back(name):
    frame = pictures.integers(40, 40)
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    np.random.normal()  # noqa: NPY002
    before, plain = np.random.get_state(), random.getstate()  # noqa: NPY002
    corrupt(frame, name, 4, KEY)
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(one, two) for one, two in zip(before, after, strict=True))
    assert random.getstate() == plain


def test_global_state_is_given_back_after_a_failure(monkeypatch):
    def fail(*arguments, **named):
        package_parts.np.random.normal(size=10)
        raise RuntimeError("broken")

    monkeypatch.setattr(imagecorruptions, "corrupt", fail)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    with pytest.raises(RuntimeError, match="broken"):
        corrupt(pictures.integers(40, 40), "fog", 4, KEY)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert package_parts.np is np


@pytest.mark.parametrize("name", ["fog", "shot_noise"])
def test_another_thread_may_draw_meanwhile(name):
    """It changes no pixel, and what it draws is what it would have drawn alone."""
    frame = pictures.made(3, 224, 224)
    expected = corrupt(frame, name, 3, KEY)
    drawn, done = [], threading.Event()

    def draw():
        while not done.is_set():
            drawn.append(np.random.random())  # noqa: NPY002
            time.sleep(0)  # so that the threads take turns

    np.random.seed(1)  # noqa: NPY002
    other = threading.Thread(target=draw)
    other.start()
    try:
        found = [corrupt(frame, name, 3, KEY) for _ in range(10)]
    finally:
        done.set()
        other.join()
    assert all(np.array_equal(one, expected) for one in found)
    np.random.seed(1)  # noqa: NPY002
    assert drawn == np.random.random(len(drawn)).tolist()  # noqa: NPY002


@numba.njit
def numbas_draws(seed, count):
    if seed >= 0:
        np.random.seed(seed)  # noqa: NPY002
    return np.random.random(count)  # noqa: NPY002


@pytest.mark.parametrize("name", ["glass_blur", "fog"])
def test_numbas_state_is_left_alone(name):
    expected = numbas_draws(3, 8)
    first = numbas_draws(3, 4)
    corrupt(pictures.integers(40, 40), name, 4, KEY)
    assert np.array_equal(np.concatenate([first, numbas_draws(-1, 4)]), expected)


RANDOM = sorted(
    set(imagenet_c.NAMES)
    - {"defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg_compression"}
    - {"gaussian_blur", "saturate"}
)


@pytest.mark.parametrize("name", RANDOM)
def test_the_key_decides_and_not_the_global_state(name):
    frame = pictures.made(3, 48, 48)
    np.random.seed(1)  # noqa: NPY002
    one = corrupt(frame, name, 4, KEY)
    np.random.seed(2)  # noqa: NPY002
    assert np.array_equal(one, corrupt(frame, name, 4, KEY))
    others = [corrupt(frame, name, 4, Key(0, "lasot", "bird-3", i)) for i in range(6, 12)]
    assert any(not np.array_equal(one, other) for other in others)


@pytest.mark.parametrize("name", imagenet_c.NAMES)
def test_frames_too_small_are_told(name):
    with pytest.raises(InputError) as told:
        corrupt(pictures.integers(31, 200), name, 1, KEY)
    assert all(word in str(told.value) for word in ("31 x 200", name, "32 x 32"))


@pytest.mark.parametrize("name", imagenet_c.NAMES)
def test_the_smallest_frame_and_one_channel_work(name, capfd):
    for shape in ((32, 32, 1), (32, 90, 3), (90, 32, 1)):
        frame = pictures.integers(*shape)
        assert corrupt(frame, name, 5, KEY).shape == shape
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", imagenet_c.NAMES)
def test_coherent_changes_nothing_for_what_does_not_travel(name):
    frame = pictures.integers(40, 40)
    assert np.array_equal(
        corrupt(frame, name, 3, KEY, "coherent"), corrupt(frame, name, 3, KEY, "iid")
    )
