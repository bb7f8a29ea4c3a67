"""Rain against its definition in loops, and what it was designed to be."""

import functools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from tests.reference import pictures, weather_loops
from vidc.corruptions import Key, corrupt, draws
from vidc.corruptions import rain as rain_module

KEY = Key(0, "lasot", "bird-3", 5)
RAIN = rain_module.SEVERITIES
PICTURES = {"made 1": pictures.made(1), "made 2": pictures.made(2), **pictures.photographs()}


@pytest.mark.parametrize(("height", "width"), [(30, 41), (57, 20), (260, 12)])
@pytest.mark.parametrize("severity", [1, 3, 5])
def test_layer_is_the_definition(height, width, severity):
    stream = draws.frame_stream(KEY, "rain", severity)
    tilt = stream.between(-15, 15)
    name = (0, "lasot", "bird-3", 5, "rain", severity)
    # A frame's own stream goes on after the word of the tilt, row after row from the top.
    indices = weather_loops.named_indices(name, 0, 4 + 160 * 128)[4:]
    length = max(1, round(RAIN[severity - 1].length * height / 224))
    first = math.floor((1 - length) / (2.0 * max(1.0, height / 224)))

    def lattice_row(number, points):
        start = (number - first) * -(-points // 16) * 16
        return [weather_loops.quantile(index) for index in indices[start : start + points]]

    expected = weather_loops.rain_layer(height, width, RAIN[severity - 1], lattice_row, tilt, 0)
    ours = rain_module.streaks(height, width, severity, KEY)
    assert expected.any()
    assert np.abs(ours.astype(int) - expected).max() <= 1
    assert (ours == expected).mean() > 0.999


@pytest.mark.parametrize("severity", range(1, 6))
def test_picture_is_dimmed_veiled_and_lit_by_the_layer(severity):
    c = RAIN[severity - 1]
    frame = pictures.integers(40, 50)
    layer = rain_module.streaks(40, 50, severity, KEY)
    dim = (1 - c.veil / 100) * (c.darken / 100) * frame.astype(float) + c.veil / 100 * 127.5
    expected = np.clip(dim + layer[..., None], 0, 255)
    off = expected - corrupt(frame, "rain", severity, KEY)
    assert off.min() > -1e-9
    assert off.max() < 1


@functools.cache
def scores(name, severity, picture_name):
    """The mean PSNR, SSIM and correlation of edges with the clean picture, over three draws."""
    picture = PICTURES[picture_name]
    found = []
    for seed in range(3):
        out = corrupt(picture, name, severity, Key(seed, "d", "v", 0))
        found.append(
            (
                peak_signal_noise_ratio(picture, out),
                structural_similarity(picture, out, channel_axis=2),
                edge_correlation(picture, out),
            )
        )
    return np.mean(found, axis=0)


def edge_correlation(one, other):
    """How much of the clean picture's edges is left, whatever brightness and contrast are."""
    edges = []
    for picture in (one, other):
        grey = picture.astype(float).mean(axis=2)
        smooth = sum(grey[y : y - 2 or None, x : x - 2 or None] for y in (0, 1) for x in (0, 1))
        edges.append(np.concatenate([np.diff(smooth, axis=axis).ravel() for axis in (0, 1)]))
    return np.corrcoef(*edges)[0, 1]


@pytest.mark.parametrize("name", PICTURES)
def test_severities_grow(name):
    """In PSNR, in SSIM and in lost edges, on every picture."""
    by_severity = np.array([scores("rain", severity, name) for severity in range(1, 6)])
    assert (np.diff(by_severity, axis=0) < 0).all()


@pytest.mark.parametrize("name", PICTURES)
def test_severity_5_is_harder_than_snows(name):
    """In structure and in edges. Snow's PSNR is lower, for it brightens the whole picture."""
    _, rain_ssim, rain_edges = scores("rain", 5, name)
    _, snow_ssim, snow_edges = scores("snow", 5, name)
    assert rain_ssim < 0.75 * snow_ssim
    assert rain_edges < 0.75 * snow_edges


def test_the_card_says_what_is_measured():
    card = (Path(__file__).parents[2] / "DATASET_CARD.md").read_text("utf-8")
    rows = re.findall(r"^\| (\w+) (\d) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", card, re.M)
    assert [(name, severity) for name, severity, *_ in rows] == [
        *(("rain", severity) for severity in "12345"),
        ("snow", "5"),
        ("gaussian_noise", "5"),
    ]
    for name, severity, *written in rows:
        measured = np.mean([scores(name, int(severity), each) for each in PICTURES], axis=0)
        # Half of the last digit, and a little for other versions of the measures.
        assert (np.abs(measured - np.array(written, float)) < [0.06, 0.006, 0.006]).all()


@pytest.mark.parametrize("temporal", ["iid", "coherent"])
def test_borders_are_like_the_middle(temporal):
    """No bright wedge at the top, no empty strip at the sides: all of it was drawn."""
    black = np.zeros((120, 160, 1), np.uint8)
    layers = [
        corrupt(black, "rain", 5, Key(0, "d", f"video {i}", 7 * i), temporal)[..., 0].astype(float)
        for i in range(150)
    ]
    mean = np.mean(layers, axis=0)
    middle = mean[30:90, 40:120].mean()
    for border in (mean[:6], mean[-6:], mean[:, :6], mean[:, -6:], mean[:6, :6], mean[:6, -6:]):
        assert border.mean() == pytest.approx(middle, rel=0.06)


def vertical_reach(layer):
    """How many rows down the layer still looks like itself: where correlation falls to a half."""
    layer = layer - layer.mean()
    for lag in range(1, len(layer) // 2):
        if (layer[lag:] * layer[:-lag]).mean() < 0.5 * (layer**2).mean():
            return lag
    raise AssertionError("the layer does not vary")


def straight_layer(height, width, severity, key):
    window = rain_module.Window.of(height, width, severity, rain_module.Fall(0.0, 0), moved=0)
    return window.streaks(draws.frame_stream(key, "rain", severity)).astype(float)


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_streaks_are_as_long_as_the_frame_is_high(severity):
    reach = {
        height: np.mean(
            [
                vertical_reach(straight_layer(height, 500, severity, Key(i, "d", "v", 0)))
                for i in range(4)
            ]
        )
        for height in (224, 448, 896)
    }
    assert reach[448] / reach[224] == pytest.approx(2, rel=0.12)
    assert reach[896] / reach[224] == pytest.approx(4, rel=0.12)
    # A box of n rows is at half its correlation after n/2, a little later for thick drops.
    assert 0.45 < reach[224] / RAIN[severity - 1].length < 0.75


@pytest.mark.parametrize("tilt", [-15.0, -4.0, 0.0, 9.5, 15.0])
def test_streaks_lean_with_the_wind(tilt):
    """The shift sideways that matches rows 8 apart best."""
    window = rain_module.Window.of(300, 300, 3, rain_module.Fall(tilt, 0), moved=0)
    layer = window.streaks(draws.frame_stream(KEY, "rain", 3)).astype(float)
    layer -= layer.mean()
    upper, lower = layer[:-8, 20:-20], layer[8:]
    matches = [(upper * lower[:, 20 + s : 280 + s]).mean() for s in range(-6, 7)]
    best = int(np.argmax(matches)) - 6
    assert best == pytest.approx(8 * math.tan(math.radians(tilt)), abs=0.6)


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1), (2, 3), (7, 300)], ids=str)
@pytest.mark.parametrize("temporal", ["iid", "coherent"])
def test_small_and_thin_frames_work(size, temporal):
    frame = pictures.integers(*size)
    for severity in range(1, 6):
        assert corrupt(frame, "rain", severity, KEY, temporal).shape == frame.shape
