"""Weather that moves, measured: it travels with the wind, at its speed, and does not thin out."""

import itertools
import math

import numpy as np
import pytest

from tests.reference import pictures, weather_loops
from vidc.corruptions import Key, corrupt, lattice
from vidc.corruptions import rain as rain_module
from vidc.corruptions import snow as snow_module
from vidc.errors import InputError

WEATHER = ("snow", "rain")
SNOW, RAIN = snow_module.SEVERITIES, rain_module.SEVERITIES


def layer(name, severity, video, frame, size=(224, 224), temporal="coherent"):
    """What a corruption lays over a black frame, in grey levels above its darkest pixel."""
    black = np.zeros((*size, 1), np.uint8)
    out = corrupt(black, name, severity, Key(0, "lasot", video, frame), temporal)[..., 0]
    return out.astype(float) - out.min()


def correlation(one, other):
    return np.corrcoef(one.ravel(), other.ravel())[0, 1]


def displacement(one, other):
    """How far (down, right) the content of one layer has moved in the other: the best match."""
    (height, width), reach = one.shape, 80
    spectra = [np.fft.rfft2(x - x.mean(), s=(2 * height, 2 * width)) for x in (one, other)]
    match = np.roll(np.fft.irfft2(np.conj(spectra[0]) * spectra[1]), (reach, reach), (0, 1))
    shifts = np.abs(np.arange(-reach, reach + 1))
    # Each sum is over as many pixels as overlap at its shift.
    overlap = (height - shifts)[:, None] * (width - shifts)
    best = (match[: 2 * reach + 1, : 2 * reach + 1] / overlap).argmax()
    return tuple(n - reach for n in divmod(int(best), 2 * reach + 1))


def with_wind(monkeypatch, angle, speed):
    wind = snow_module.Wind(angle, speed)
    monkeypatch.setattr(snow_module, "wind_of", lambda *video: wind)


def with_fall(monkeypatch, tilt, speed):
    fall = rain_module.Fall(tilt, speed)
    monkeypatch.setattr(rain_module, "fall_of", lambda *video: fall)


@pytest.mark.parametrize("name", WEATHER)
def test_a_frame_alone_is_the_frame_of_the_clip(name):
    frame = pictures.integers(60, 70)

    def make(number):
        return corrupt(frame, name, 4, Key(0, "lasot", "bird-3", number), "coherent")

    clip = [make(number) for number in range(20)]
    assert all(np.array_equal(clip[number], make(number)) for number in (19, 3, 11))
    assert len({made.tobytes() for made in clip}) == len(clip)


@pytest.mark.parametrize(("frame", "severity"), [(0, 5), (7, 5), (400, 2), (90_001, 1)])
def test_snow_is_the_definition(frame, severity):
    key = Key(3, "lasot", "bird-3", frame)
    wind = snow_module.wind_of(3, "lasot", "bird-3", severity)
    pace = wind.speed * 36 / 224 * 256
    radians = math.radians(wind.angle)
    moved = [round(-pace * part(radians)) * frame / 256 for part in (math.sin, math.cos)]
    name = (3, "lasot", "bird-3", "flakes", "snow", severity)
    expected = weather_loops.travelling_snow(36, 30, SNOW[severity - 1], name, wind.angle, moved)
    ours = snow_module.travelling_flakes(36, 30, severity, key)
    assert expected.any()
    assert np.abs(ours.astype(int) - expected).max() <= 1
    assert (ours == expected).mean() > 0.99


@pytest.mark.parametrize(("frame", "severity"), [(0, 5), (7, 5), (400, 2), (90_001, 3)])
def test_rain_is_the_definition(frame, severity):
    fall = rain_module.fall_of(3, "lasot", "bird-3", severity)
    length = max(1, round(RAIN[severity - 1].length * 40 / 224))
    fallen = round(fall.speed * length * 256) * frame / 256
    name = (3, "lasot", "bird-3", "drops", "rain", severity)
    expected = weather_loops.rain_layer(
        *(40, 30, RAIN[severity - 1]),
        lambda number, points: weather_loops.Lattice(name, points).row(number),
        *(fall.tilt, fallen),
    )
    ours = rain_module.travelling_streaks(40, 30, severity, Key(3, "lasot", "bird-3", frame))
    assert expected.any()
    assert np.abs(ours.astype(int) - expected).max() <= 1
    assert (ours == expected).mean() > 0.99


@pytest.mark.parametrize("steps", [(5, 0), (4, 3), (4, -3), (6, 6)])
def test_flakes_keep_their_shape_as_they_travel(steps, monkeypatch):
    """A wind of whole pixels moves the layer, and changes nothing but what comes in."""
    down, right = steps
    angle = -math.degrees(math.atan2(down, -right))
    with_wind(monkeypatch, angle, math.hypot(down, right))
    first, second = (layer("snow", 5, "v", frame) for frame in (30, 31))
    columns = slice(max(0, right), min(224, 224 + right))
    before = slice(max(0, -right), min(224, 224 - right))
    assert np.array_equal(second[down:, columns], first[:-down, before])


def test_drops_keep_their_shape_as_they_fall(monkeypatch):
    with_fall(monkeypatch, 0.0, 1.0)
    first, second = (layer("rain", 3, "v", frame) for frame in (30, 31))
    length = RAIN[2].length
    assert np.array_equal(second[length:], first[:-length])


def test_no_flake_rises_or_drifts_against_the_wind():
    """In many videos, between many frames: always down, to the wind's side, at its pace."""
    for number in range(12):
        video = f"video {number}"
        step = snow_module.wind_of(0, "lasot", video, 5).steps(224)
        assert step[0] > 0
        for frame in (0, 17, 5000):
            moved = displacement(*(layer("snow", 5, video, frame + i) for i in (0, 1)))
            assert moved == pytest.approx([part / lattice.SUBPIXEL for part in step], abs=1.1)


def test_no_drop_rises_or_drifts_against_the_wind():
    for number in range(12):
        video = f"video {number}"
        fall = rain_module.fall_of(0, "lasot", video, 2)
        down = fall.step(RAIN[1].length) / lattice.SUBPIXEL
        lean = math.tan(math.radians(fall.tilt))
        for frame in (0, 17, 5000):
            moved = displacement(*(layer("rain", 2, video, frame + i) for i in (0, 1)))
            off_sideways = moved[1] - down * lean
            assert abs(off_sideways) < 0.6
            # A leaning streak matches best where it has moved by whole pixels to the side, which
            # may be a few pixels on along itself; a streak here is 19 pixels long.
            assert abs(moved[0] - down) < 1.1 + min(4, abs(off_sideways / lean))


@pytest.mark.parametrize("name", WEATHER)
def test_correlation_falls_with_speed_as_it_should(name, monkeypatch):
    """Between frames it is what the layer has with itself at the distance travelled."""
    severity, found = 3, []
    for pixels in (0, 1, 2, 4, 8, 16, 32):
        if name == "snow":
            with_wind(monkeypatch, -90.0, float(pixels))
        else:
            with_fall(monkeypatch, 0.0, pixels / RAIN[2].length)
        frames = [layer(name, severity, "v", frame) for frame in range(20, 26)]
        between = np.mean([correlation(a, b) for a, b in itertools.pairwise(frames)])
        within = np.mean([correlation(a[pixels:], a[: 224 - pixels]) for a in frames])
        assert between == pytest.approx(within, abs=0.06)
        found.append(between)
    assert found[0] == pytest.approx(1)
    assert (np.diff(found) < 0).all()
    assert found[-1] < 0.2


@pytest.mark.parametrize("name", WEATHER)
@pytest.mark.parametrize("severity", [1, 5])
def test_density_is_that_of_iid_weather_and_does_not_drift(name, severity):
    def mean_and_spread(temporal, start):
        # As many videos as frames: within a video neighbouring frames show the same flakes.
        # The borders are left out: there ImageNet-C's blur repeats what the frame ends with.
        layers = [
            layer(name, severity, f"video {i}", start + 3 * i, temporal=temporal)[30:-30, 30:-30]
            for i in range(150)
        ]
        return np.mean(layers), np.std(layers)

    still = mean_and_spread("iid", 0)
    for start in (0, 1_000, 1_000_000):
        assert mean_and_spread("coherent", start) == pytest.approx(still, rel=0.06)


@pytest.mark.parametrize("name", WEATHER)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_farthest_frames_have_weather_too(name, sign):
    def mean_and_spread(start):
        layers = [layer(name, 5, f"video {i}", start - sign * i) for i in range(20)]
        return np.mean(layers), np.std(layers)

    assert mean_and_spread(sign * 2**40) == pytest.approx(mean_and_spread(100), rel=0.06)


@pytest.mark.parametrize("frame", [2**40 + 1, -(2**40) - 1, 2**60, -(10**30)])
@pytest.mark.parametrize("name", WEATHER)
def test_a_frame_too_far_is_told(name, frame):
    """Such as a time in nanoseconds, which is no frame number."""
    picture = pictures.integers(40, 40)
    with pytest.raises(InputError, match=f"key.frame must be from .*coherent.*, not {frame}.$"):
        corrupt(picture, name, 5, Key(0, "lasot", "bird-3", frame), "coherent")
    assert corrupt(picture, name, 5, Key(0, "lasot", "bird-3", frame)).shape == picture.shape


@pytest.mark.parametrize("name", WEATHER)
def test_a_long_video_keeps_its_density(name):
    """Along one video, from its first frames to its last: no trend in the layer's mean."""
    frames = np.arange(0, 6000, 40)
    means = np.array([layer(name, 5, "long", frame, size=(112, 112)).mean() for frame in frames])
    slope = np.polyfit(frames, means, 1)[0] * frames[-1]
    error = means.std() * math.sqrt(12 / len(frames))
    assert abs(slope) < 3.5 * error
    assert means.std() < 0.2 * means.mean()


@pytest.mark.parametrize("name", WEATHER)
def test_a_video_does_not_repeat_itself(name):
    """The same flakes do not come back: far apart, frames have nothing in common."""
    frames = [layer(name, 5, "v", frame) for frame in range(0, 4000, 250)]
    for i, one in enumerate(frames):
        for other in frames[i + 1 :]:
            assert correlation(one, other) < 0.25


@pytest.mark.parametrize("name", WEATHER)
def test_videos_have_their_own_wind(name):
    find = {"snow": snow_module.wind_of, "rain": rain_module.fall_of}[name]
    winds = {find(0, "lasot", f"video {i}", 5) for i in range(200)}
    assert len(winds) > 190
    leans = [wind.angle if name == "snow" else wind.tilt for wind in winds]
    low, high = {"snow": (-135, -45), "rain": (-15, 15)}[name]
    assert low < min(leans) < low + 0.1 * (high - low)
    assert high - 0.1 * (high - low) < max(leans) < high
