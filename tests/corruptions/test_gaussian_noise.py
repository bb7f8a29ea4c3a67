"""Gaussian noise against imagecorruptions on the same normals, and against its exact law."""

import numpy as np
import pytest
from scipy.special import ndtr

from tests.reference import imagecorruptions_draws as package
from tests.reference import law, pictures
from vidc.corruptions import Key, corrupt, draws
from vidc.corruptions.gaussian_noise import PART, SIGMAS, level_table

KEY = Key(0, "lasot", "bird-3", 5)
SIZES = [(224, 224), (375, 500), (720, 1280), (113, 97)]


def normals_of(key, severity, count):
    indices = draws.frame_stream(key, "gaussian_noise", severity).indices(count)
    return draws.normal_table().astype(np.float64)[indices]


@pytest.mark.parametrize("severity", range(1, 6))
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_equals_imagecorruptions(size, severity):
    frame = pictures.made(1, *size)
    ours = corrupt(frame, "gaussian_noise", severity, KEY)
    theirs = package.gaussian_noise(frame, severity, normals_of(KEY, severity, frame.size))
    off = np.abs(ours.astype(int) - theirs)
    assert off.max() <= 1
    # The package's v/255·255 falls below v for some v, where the noise is a whole number of levels.
    assert (off > 0).mean() < 1e-4


def test_parts_of_a_large_frame_are_one_stream():
    frame = pictures.integers(400, 400)
    assert frame.size > 2 * PART
    noise = np.floor(255 * SIGMAS[1] * normals_of(KEY, 2, frame.size)).reshape(frame.shape)
    expected = np.clip(frame + noise, 0, 255)
    assert np.array_equal(corrupt(frame, "gaussian_noise", 2, KEY), expected)


@pytest.mark.parametrize("severity", range(1, 6))
def test_noise_has_the_law_of_the_definition(severity):
    """Over all draws: mean, deviation, and the largest distance of the distribution functions."""
    levels = level_table(severity).astype(int)
    sigma = 255 * SIGMAS[severity - 1]
    # floor(σn) has mean -1/2 and variance σ² + 1/12, both to within e^(-2π²σ²).
    assert levels.mean() == pytest.approx(-0.5, abs=1e-3)
    assert levels.std() == pytest.approx(np.sqrt(sigma**2 + 1 / 12), rel=2e-5)
    whole = np.arange(levels.min() - 1, levels.max() + 1)
    ours = np.searchsorted(np.sort(levels), whole, side="right") / levels.size
    distance = np.abs(ours - ndtr((whole + 1) / sigma)).max()
    assert distance <= 1 / levels.size


@pytest.mark.parametrize("severity", range(1, 6))
def test_pixels_have_the_law_of_the_definition(severity):
    """On a large grey frame, within what so many independent draws may differ."""
    levels = law.gaussian_noise(severity, KEY)
    distance = law.distance_in_levels(levels, 255 * SIGMAS[severity - 1])
    # The Kolmogorov distribution exceeds 1.95 once in a thousand samples.
    assert distance < 1.95 / np.sqrt(levels.size) + 1 / 65536


def test_neighbours_channels_frames_and_severities_are_independent():
    frame = np.full((300, 300, 3), 127, np.uint8)

    def noise(severity=3, number=0):
        pixels = corrupt(frame, "gaussian_noise", severity, Key(0, "d", "v", number))
        return pixels.astype(float) - 127

    one = noise()
    pairs = [
        (one[:, 1:], one[:, :-1]),
        (one[1:], one[:-1]),
        (one[..., 0], one[..., 1]),
        (one, noise(number=1)),
        (one, noise(severity=4)),
    ]
    for first, second in pairs:
        correlation = np.corrcoef(first.ravel(), second.ravel())[0, 1]
        assert abs(correlation) < 4.5 / np.sqrt(first.size)


def test_coherent_noise_is_still_a_sensors():
    frame = pictures.integers(40, 50)
    assert np.array_equal(
        corrupt(frame, "gaussian_noise", 3, KEY, "coherent"),
        corrupt(frame, "gaussian_noise", 3, KEY),
    )
