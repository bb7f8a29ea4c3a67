"""Snow against imagecorruptions and scipy on the same draws, and against exact fractions."""

import math
from fractions import Fraction
from unittest import mock

import imagecorruptions
import imagecorruptions.corruptions as package_parts
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import zoom as scipy_zoom

from tests.reference import imagecorruptions_draws as package
from tests.reference import law, pictures
from vidc.corruptions import Key, blur, corrupt, draws, lattice
from vidc.corruptions import snow as snow_module

KEY = Key(0, "lasot", "bird-3", 5)
SIZES = [(224, 224), (375, 500), (720, 1280), (113, 97)]
SNOW = snow_module.SEVERITIES


def drawn(key, severity, height, width):
    """The angle and the normals that a key gives."""
    stream = draws.frame_stream(key, "snow", severity)
    angle = stream.between(-135, -45)
    shape = package.centre(height, width, SNOW[severity - 1].zoom)
    indices = stream.indices(math.prod(shape))
    return angle, draws.normal_table().astype(np.float64)[indices].reshape(shape)


@pytest.mark.parametrize("channels", [3, 1])
@pytest.mark.parametrize("severity", range(1, 6))
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_equals_imagecorruptions(size, severity, channels):
    frame = np.ascontiguousarray(pictures.made(2, *size)[..., :channels])
    for number in range(1 if size[0] > 400 else 3):
        key = Key(0, "lasot", "bird-3", number)
        angle, normals = drawn(key, severity, *size)
        theirs = package.snow(frame, severity, normals, angle)
        off = np.abs(corrupt(frame, "snow", severity, key).astype(int) - theirs)
        assert off.max() <= 2
        assert (off > 1).mean() <= 1e-5


@settings(max_examples=300)
@given(
    st.integers(1, 60),
    st.integers(1, 60),
    st.sampled_from([c.zoom for c in SNOW]),
    st.integers(0, 2**32),
)
def test_zoom_is_scipys(down, right, zoom, seed):
    """With the rows and columns that scipy leaves at zero where its rounding overshoots."""
    points = np.random.default_rng(seed).normal(size=(down, right))
    theirs = scipy_zoom(points[..., None], (zoom, zoom, 1), order=1)[..., 0]
    padded = np.pad(points, ((0, 2), (0, 2)))
    rows = snow_module.zoomed_axis(down, zoom, 0, theirs.shape[0])
    columns = snow_module.zoomed_axis(right, zoom, 0, theirs.shape[1])
    ours = lattice.interpolate(padded, rows, columns)
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() < 1e-12


def test_scipys_zero_rows_do_occur():
    """Else the test above would not have met them."""
    empty = [
        points for points in range(2, 500) if scipy_zoom(np.ones(points), 4.5, order=1)[-1] == 0
    ]
    assert empty
    for points in empty:
        axis = snow_module.zoomed_axis(points, 4.5, 0, round(points * 4.5))
        assert axis.low[-1] == points


@settings(max_examples=100)
@given(st.integers(5, 70), st.integers(5, 70), st.integers(0, 65535), st.integers(0, 2**32))
def test_blur_is_imagecorruptions(height, width, index, seed):
    """Borders repeated, and the line broken off where it leaves a small layer."""
    source = np.random.default_rng(seed).random((height, width)).astype(np.float32)
    angle = -135 + 90 * (index + 0.5) / 65536
    theirs = 255 * package_parts._motion_blur(source.astype(float), 12, 8, angle)
    made = blur.downwards(angle, 12, 8, (height, width))

    def rows(start, stop):
        y = np.clip(np.arange(start, stop), 0, height - 1)
        x = np.clip(np.arange(-made.left, width + made.right), 0, width - 1)
        return source[np.ix_(y, x)]

    ours = made.layer(height, width, rows)
    assert np.abs(ours - theirs).max() <= 0.5 + 1e-4


@pytest.mark.parametrize("pixels", [60, 1000, 4096])
def test_strips_leave_no_seam(pixels, monkeypatch):
    frame = pictures.integers(150, 90)
    temporal = ("iid", "coherent")
    whole = [corrupt(frame, "snow", 5, KEY, t) for t in temporal]
    monkeypatch.setattr(blur, "STRIP_PIXELS", pixels)
    monkeypatch.setattr(snow_module, "STRIP_PIXELS", pixels)
    assert all(
        np.array_equal(expected, corrupt(frame, "snow", 5, KEY, t))
        for expected, t in zip(whole, temporal, strict=True)
    )


def test_no_angle_puts_a_tap_between_two_pixels():
    """So the last bit of a machine's sine cannot move a tap, for any angle that can be drawn."""
    angles = np.radians(-135 + 90 * (np.arange(65536) + 0.5) / 65536)
    for function in (np.sin, np.cos):
        taps = np.arange(25) * function(angles)[:, None]
        from_edge = np.abs(taps - np.floor(taps) - 0.5)
        assert from_edge.min() > 1e-12


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from([1, 3]), st.sampled_from([c.keep for c in SNOW]))
def test_paler_is_exact(seed, channels, keep):
    frame = np.random.default_rng(seed).integers(0, 256, (4, 5, channels), dtype=np.uint8)
    ours = snow_module.paler(frame, keep)
    m = Fraction(keep, 20)
    weights = [Fraction(w, 1000) for w in ((299, 587, 114) if channels == 3 else (1000,))]
    for pixel, result in zip(frame.reshape(-1, channels), ours.reshape(-1, channels), strict=True):
        values = [int(v) for v in pixel]
        gray = sum(w * v for w, v in zip(weights, values, strict=True))
        veil = Fraction(3, 2) * gray + Fraction(255, 2)
        expected = [min(255, math.floor(m * v + (1 - m) * max(v, veil))) for v in values]
        assert result.tolist() == expected


@pytest.mark.parametrize("severity", range(1, 6))
def test_the_noise_is_drawn_with_the_packages_numbers(severity):
    asked = {}

    def normal(size, loc, scale):
        asked["normal"] = (loc, scale)
        return np.full(size, loc)

    def uniform(low, high):
        asked["uniform"] = (low, high)
        return low

    with (
        mock.patch.object(np.random, "normal", normal),
        mock.patch.object(np.random, "uniform", uniform),
    ):
        imagecorruptions.corrupt(pictures.integers(64, 64), severity, "snow")
    c = SNOW[severity - 1]
    assert asked == {"normal": (c.loc, c.scale), "uniform": snow_module.ANGLES}


@pytest.mark.parametrize("severity", range(1, 6))
def test_the_noise_has_the_law_of_the_definition(severity):
    """The lattice of a large frame, within what so many independent draws may differ."""
    drawn = law.snow(severity, KEY)
    c = SNOW[severity - 1]
    n = drawn.size
    assert drawn.mean() == pytest.approx(c.loc, abs=4.5 * c.scale / np.sqrt(n))
    assert drawn.std() == pytest.approx(c.scale, rel=4.5 / np.sqrt(2 * n))
    # The Kolmogorov distribution exceeds 1.95 once in a thousand samples.
    assert law.distance(drawn, c.loc, c.scale) < 1.95 / np.sqrt(n) + 1 / 65536


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1), (2, 3), (7, 300)], ids=str)
@pytest.mark.parametrize("temporal", ["iid", "coherent"])
def test_small_and_thin_frames_work(size, temporal):
    frame = pictures.integers(*size)
    for severity in range(1, 6):
        out = corrupt(frame, "snow", severity, KEY, temporal)
        assert out.shape == frame.shape
        assert (out >= frame).all()


@pytest.mark.parametrize("keep", sorted({c.keep for c in SNOW}))
def test_the_division_of_gray_is_exact_for_every_gray(keep):
    """float32 holds the dividend; the quotient must not be rounded up to a whole number."""
    exact = 3 * (20 - keep) * (np.arange(255_001) + 85_000)
    assert exact.max() < 2**24
    divided = exact.astype(np.float32) / np.float32(2_000)
    assert np.array_equal(divided.astype(np.int16), exact // 2_000)
