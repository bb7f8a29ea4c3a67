"""Corruptions against imagecorruptions, one thread: ``python -m benchmarks.corruptions [--quick]``.

What is compared runs in turns in one process, in batches; a call takes the seconds that this thread
spent on a processor in the best of its batches, which other programs disturbed least. The last
columns say how far the pixels are from imagecorruptions' on the same draws.
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measuring import Figure, Row, alone, alternate, at_least, at_most
from tests.reference import imagecorruptions_draws as package
from tests.reference import law, pictures
from vidc.corruptions import Key, corrupt, draws
from vidc.corruptions.gaussian_noise import SIGMAS
from vidc.corruptions.snow import SEVERITIES as SNOW
from vidc.frames import Pixels

SIZES = ((224, 224), (720, 1280))
SEVERITY = 5
FASTER = {
    ("gaussian_noise", (224, 224)): 10,
    ("snow", (224, 224)): 8,
    ("gaussian_noise", (720, 1280)): 8,
    ("snow", (720, 1280)): 8,
}
RAIN_AGAINST_SNOW = 1.5
# No slower, as far as alternating batches can tell.
COHERENT_AGAINST_IID = 1.05
BATCH_SECONDS = 0.03
KEYS = 32
PACKAGE = "imagecorruptions"


def measure(quick: bool) -> list[Row]:
    """The ratios that have floors, at severity 5."""
    rows = []
    for size in SIZES:
        times = _times(_contenders(size, SEVERITY), rounds=7 if quick else 25)
        rows += _ratios(size, times)
    return rows


def _ratios(size: tuple[int, int], times: Mapping[str, Figure]) -> list[Row]:
    where = f"{size[0]}×{size[1]}, severity {SEVERITY}"
    rows = []
    for name in ("gaussian_noise", "snow"):
        what = f"{name}, {where}: faster than imagecorruptions"
        ratio = times[f"{PACKAGE} {name}"].least_over(times[name])
        rows.append(at_least(what, ratio, FASTER[name, size]))
    bounds = [("rain", "snow", RAIN_AGAINST_SNOW)]
    bounds += [(f"coherent {name}", name, COHERENT_AGAINST_IID) for name in ("snow", "rain")]
    for name, base, most in bounds:
        what = f"{name}, {where}: time against {base}"
        rows.append(at_most(what, times[name].least_over(times[base]), most))
    return rows


def _contenders(size: tuple[int, int], severity: int) -> dict[str, Callable[[], object]]:
    import imagecorruptions

    frame = pictures.made(1, *size)

    def ours(name: str, temporal: str = "iid") -> Callable[[], object]:
        # Another key each time, as in a build: nothing may be found ready from the call before.
        numbers = itertools.cycle(range(KEYS))
        return lambda: corrupt(frame, name, severity, _key(next(numbers)), temporal)

    def theirs(name: str) -> Callable[[], object]:
        return lambda: imagecorruptions.corrupt(frame, severity, name)

    return {
        **{name: ours(name) for name in ("gaussian_noise", "snow", "rain")},
        **{f"coherent {name}": ours(name, "coherent") for name in ("snow", "rain")},
        **{f"{PACKAGE} {name}": theirs(name) for name in ("gaussian_noise", "snow")},
    }


def _key(number: int) -> Key:
    return Key(0, "lasot", f"bird-{number}", number)


def _times(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Figure]:
    """The seconds of a call of each, batches taking turns."""
    import cv2

    cv2.setNumThreads(1)
    batches = {}
    for name, call in contenders.items():
        call()
        # Ours goes through all keys in each batch: a slanting rain costs more than a straight one,
        # so that batches of other keys would be other work.
        theirs = name.startswith(PACKAGE)
        count = max(1, round(BATCH_SECONDS / _seconds(call, 2))) if theirs else KEYS
        batches[name] = partial(_seconds, call, count)
    return alternate(batches, rounds)


def _seconds(call: Callable[[], object], count: int) -> float:
    start = time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - start) / count


def _difference(name: str, size: tuple[int, int], severity: int) -> tuple[int, float]:
    """The largest difference from imagecorruptions in levels, and the share that differs."""
    frame, key = pictures.made(1, *size), _key(0)
    stream = draws.frame_stream(key, name, severity)
    theirs: Pixels
    if name == "snow":
        angle = stream.between(-135, -45)
        shape = package.centre(*size, SNOW[severity - 1].zoom)
        theirs = package.snow(frame, severity, _normals(stream, shape), angle)
    else:
        theirs = package.gaussian_noise(frame, severity, _normals(stream, frame.shape))
    off = np.abs(corrupt(frame, name, severity, key).astype(int) - theirs)
    return int(off.max()), float((off > 0).mean())


def _normals(stream: draws.Stream, shape: tuple[int, ...]) -> Any:
    indices = stream.indices(math.prod(shape))
    return draws.normal_table().astype(np.float64)[indices].reshape(shape)


def main(words: list[str]) -> int:
    """All severities, which the page does not hold, then the floors; 1 where one does not hold."""
    if "--json" not in words:
        _print_severities(rounds=3 if "--quick" in words else 9)
    return alone(measure, words)


def _print_severities(rounds: int) -> None:
    print(
        "| corruption | size | severity | frames/s | imagecorruptions | ratio | largest off | off |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for size, severity in itertools.product(SIZES, range(1, 6)):
        times = _times(_contenders(size, severity), rounds)
        for name in (key for key in times if not key.startswith(PACKAGE)):
            print(_line(name, size, severity, times))
    print("\n| drawn by | severity | mean | deviation | Kolmogorov-Smirnov distance | of |")
    print("|---|---:|---:|---:|---:|---:|")
    for severity in range(1, 6):
        for line in _laws(severity):
            print(line)
    print()


def _laws(severity: int) -> list[str]:
    """How far the noise of one large frame is from the law of its definition."""
    levels, flakes = law.gaussian_noise(severity, _key(0)), law.snow(severity, _key(0))
    c = SNOW[severity - 1]
    far = {
        "gaussian_noise, in grey levels": (
            levels,
            law.distance_in_levels(levels, 255 * SIGMAS[severity - 1]),
        ),
        "snow, on its lattice": (flakes, law.distance(flakes, c.loc, c.scale)),
    }
    return [
        f"| {name} | {severity} | {drawn.mean():.4f} | {drawn.std():.4f} | {distance:.5f} "
        f"| {drawn.size:,} draws |"
        for name, (drawn, distance) in far.items()
    ]


def _line(name: str, size: tuple[int, int], severity: int, times: Mapping[str, Figure]) -> str:
    cells = [name, f"{size[0]}×{size[1]}", str(severity), f"{1 / min(times[name].rounds):.0f}"]
    theirs = times.get(f"{PACKAGE} {name}")
    if theirs is None:
        return f"| {' | '.join(cells)} | | | | |"
    most, share = _difference(name, size, severity)
    ratio = theirs.least_over(times[name]).value
    cells += [f"{1 / min(theirs.rounds):.0f}", f"{ratio:.1f}×", str(most), f"{share:.1e}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
