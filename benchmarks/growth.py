"""How cost grows with the work: ``python -m benchmarks.growth [--quick]``.

Time and memory of building and evaluating against the number of frames, the size of the clean
frames, workers, UnMix-TNS's components K and the batch. Each curve is measured in turns, fitted
by a straight line and drawn into docs/growth.png.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks import build, eval_pass
from benchmarks.eval import SIZE, batch, model, network
from benchmarks.measuring import (
    Figure,
    Row,
    alone,
    alternate,
    at_least,
    at_most,
    command,
    row,
    seconds_of,
)
from vidc.engines import cores
from vidc.eval.models import Classifier
from vidc.eval.normalization import with_normalization
from vidc.eval.protocol import load_protocol

PICTURE = Path(__file__).parents[1] / "docs" / "growth.png"
STEPS = (1, 4, 16)
SIDES = (180, 360, 720, 1080)
COMPONENTS = (16, 64, 256, 1024)
BATCHES = (1, 4, 16, 64)
LARGE_OVER_SMALL_K = 1.15
TWO_WORKERS = 1.7


@dataclass(frozen=True)
class Curve:
    """One quantity against another."""

    title: str
    against: str
    unit: str
    places: tuple[float, ...]
    figures: tuple[Figure, ...]

    @property
    def values(self) -> list[float]:
        """The medians."""
        return [figure.median for figure in self.figures]

    def line(self) -> tuple[float, float]:
        """Slope and start of the straight line that is nearest, by relative distance."""
        values = np.asarray(self.values)
        slope, start = np.polyfit(self.places, values, 1, w=1 / values)
        return float(slope), float(start)


def measure(quick: bool) -> list[Row]:
    """The rows of the benchmark page; the picture is drawn on the way."""
    rounds = 1 if quick else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workers = build_workers(folder, 16 if quick else 40, rounds)
        curves = [
            *build_frames(folder, 8 if quick else 32, rounds),
            build_size(folder, rounds),
            workers,
            *eval_frames(folder, 8 if quick else 48, rounds),
        ]
    classifier = network(model())
    components = eval_components(classifier, batch(), 2 if quick else 9)
    largest = batch(max(BATCHES), 112 if quick else SIZE)
    curves += [components, *eval_batch(classifier, largest, 1 if quick else 5)]
    draw(curves)
    return [
        *itertools.chain.from_iterable(map(rows, curves)),
        two_over_one(workers),
        large_over_small(components),
    ]


def rows(curve: Curve) -> list[Row]:
    """Every measured place, and the fitted line."""
    slope, start = curve.line()
    places = zip(curve.places, curve.figures, strict=True)
    return [
        *(row(f"{curve.title}, {curve.against} {x:g}", figure, curve.unit) for x, figure in places),
        row(f"{curve.title}: fitted start", start, curve.unit),
        row(f"{curve.title}: fitted slope", slope, f"{curve.unit} for each of {curve.against}"),
    ]


def two_over_one(curve: Curve) -> Row:
    """What a second worker gives."""
    one, two = curve.figures[:2]
    return at_least("two workers / one worker", two.over(one), TWO_WORKERS)


def large_over_small(curve: Curve) -> Row:
    """What 256 components cost more than 16."""
    small, large = (curve.figures[COMPONENTS.index(k)] for k in (16, 256))
    return at_most("UnMix-TNS forward, K = 256 / K = 16", large.over(small), LARGE_OVER_SMALL_K)


def build_frames(folder: Path, base: int, rounds: int) -> list[Curve]:
    """The whole command on one worker, on more and more frames."""
    counts = [base * step for step in STEPS]
    roots = {
        count: build.make_tree(folder / f"frames{count}", videos=4, frames=count // 4)
        for count in counts
    }

    def built(count: int) -> tuple[float, int]:
        out = folder / "built"
        words = ["imagenet-vid", "--root", roots[count], "--out", out, "--workers", 1]
        seconds, memory = command("vidc.build", *words)
        shutil.rmtree(out)
        return seconds, memory

    return time_and_memory("build", "frames", counts, built, rounds)


def time_and_memory(
    what: str,
    against: str,
    places: Sequence[int],
    run: Callable[[int], tuple[float, int]],
    rounds: int,
) -> list[Curve]:
    """Two curves from runs that tell seconds and bytes."""
    memory: dict[int, list[float]] = {place: [] for place in places}

    def seconds(place: int) -> float:
        taken, peak = run(place)
        memory[place].append(peak / 1e6)
        return taken

    runs = {str(place): partial(seconds, place) for place in places}
    found = alternate(runs, rounds, warm_up=0)
    spots = tuple(map(float, places))
    peaks = tuple(Figure(tuple(memory[place])) for place in places)
    return [
        Curve(f"{what}, time", against, "s", spots, tuple(found.values())),
        Curve(f"{what}, peak memory", against, "MB", spots, peaks),
    ]


def build_size(folder: Path, rounds: int) -> Curve:
    """A frame in three corruptions, by the size of the clean frame that it is made from."""
    from PIL import Image

    from vidc.builders.pipeline import prepare
    from vidc.builders.shards import make_row

    root = build.make_tree(folder / "sizes", videos=1, frames=1)
    source, video, (frame,) = build.first_video(root)
    files = {}
    for side in SIDES:
        file = folder / f"{side}.JPEG"
        Image.fromarray(build.picture(0)).resize((side * 16 // 9, side)).save(file, quality=90)
        files[side] = file

    def made(side: int) -> None:
        one = replace(frame, file=files[side])
        for _ in range(4):
            make_row(prepare(source, video, one, build.RECIPE), build.RECIPE)

    timed = {str(side): partial(seconds_of, partial(made, side)) for side in SIDES}
    found = alternate(timed, 3 * rounds)
    megapixels = tuple(side * side * 16 / 9 / 1e6 for side in SIDES)
    figures = tuple(figure.times(1e3 / 4) for figure in found.values())
    return Curve("build a frame", "megapixels", "ms", megapixels, figures)


def build_workers(folder: Path, frames: int, rounds: int) -> Curve:
    """Frames a second of the real command, by its workers."""
    root = build.make_tree(folder / "workers", videos=16, frames=frames)
    counts = [count for count in (1, 2, 4, 8, 16, 32) if count <= max(2, cores())]
    rates = {str(count): partial(rate, root, folder, count) for count in counts}
    found = alternate(rates, rounds, warm_up=0)
    places = tuple(map(float, counts))
    return Curve("build, rate", "workers", "frames/s", places, tuple(found.values()))


def rate(root: Path, folder: Path, count: int) -> float:
    """Frames a second with so many workers: two builds' difference, without start-up and end."""
    source, video, _ = build.first_video(root)
    frames = (len(source.videos()) - 2) * video.frames
    few, all_of_them = (_build_seconds(root, folder, count, limit) for limit in (2, None))
    return frames / (all_of_them - few)


def _build_seconds(root: Path, folder: Path, count: int, videos: int | None) -> float:
    out = folder / "built"
    words = ["imagenet-vid", "--root", root, "--out", out, "--workers", count, "--no-clean"]
    words += ["--limit-videos", videos] if videos else []
    seconds, _ = command("vidc.build", *words)
    shutil.rmtree(out)
    return seconds


def eval_frames(folder: Path, base: int, rounds: int) -> list[Curve]:
    """The whole command with all eight columns, on more and more frames."""
    counts = [base * step for step in STEPS]
    dataset = eval_pass.build_dataset(folder, counts[-1])

    def evaluated(count: int) -> tuple[float, int]:
        out = folder / "results"
        words = [dataset, "--model", "sample", "--limit-frames", count, "--out", out]
        found = command("vidc.eval", *words, "--no-report")
        shutil.rmtree(out)
        return found

    return time_and_memory("evaluate the small network", "frames", counts, evaluated, rounds)


def eval_components(classifier: Classifier, images: torch.Tensor, rounds: int) -> Curve:
    """UnMix-TNS's forward of a ResNet-50, by K."""
    settings = load_protocol("paper").settings("unmix_tns")
    layers = {
        str(k): with_normalization(classifier, "unmix_tns", {**settings, "components": k}, 0)
        for k in COMPONENTS
    }
    found = alternate(_forwards(layers, images), rounds)
    figures = tuple(figure.times(1e3) for figure in found.values())
    return Curve("UnMix-TNS forward", "K", "ms", tuple(map(float, COMPONENTS)), figures)


def eval_batch(classifier: Classifier, images: torch.Tensor, rounds: int) -> list[Curve]:
    """A forward of a ResNet-50, Source's and UnMix-TNS's, by the batch: the first of the images."""
    protocol = load_protocol("paper")
    curves = []
    for name, title in (("bn", "Source"), ("unmix_tns", "UnMix-TNS")):
        layers = with_normalization(classifier, name, protocol.settings(name), 0)
        forwards: dict[str, Callable[[], float]] = {}
        for count in BATCHES:
            part = images[:count].contiguous(memory_format=torch.channels_last)
            forwards |= {str(count): _forwards({"": layers}, part)[""]}
        found = alternate(forwards, rounds)
        figures = tuple(found[str(count)].times(1e3) for count in BATCHES)
        places = tuple(map(float, BATCHES))
        curves.append(Curve(f"{title} forward by batch", "batch", "ms", places, figures))
    return curves


def _forwards(
    networks: Mapping[str, torch.nn.Module], images: torch.Tensor
) -> dict[str, Callable[[], float]]:
    def forward(model: torch.nn.Module) -> None:
        with torch.no_grad():
            model(images)

    return {name: partial(seconds_of, partial(forward, model)) for name, model in networks.items()}


def draw(curves: Sequence[Curve]) -> None:
    """A panel a curve: what was measured with its spread, and the line fitted to it."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(12, 6.6), layout="constrained")
    panels = canvas.subplots(3, 3).flat
    for panel, curve in zip(panels, curves, strict=True):
        low, high = np.array([figure.spread for figure in curve.figures]).T
        values = np.asarray(curve.values)
        panel.errorbar(
            curve.places, values, (values - low, high - values), fmt="o", color="#0072b2", capsize=3
        )
        slope, start = curve.line()
        ends = np.array([0, max(curve.places)])
        panel.plot(ends, start + slope * ends, color="#d55e00", linewidth=1)
        panel.set(xlabel=curve.against, ylabel=curve.unit, ylim=(0, 1.1 * max(high)))
        panel.set_title(curve.title, fontsize="medium")
        panel.grid(alpha=0.3)
    canvas.savefig(PICTURE, dpi=100)


if __name__ == "__main__":
    sys.exit(alone(measure, sys.argv[1:]))
