"""How cost grows with the work: ``python -m benchmarks.growth [--quick]``.

Time and memory of building and evaluating against the number of frames, their size, workers,
UnMix-TNS's components K and the batch. Each curve is measured in turns, fitted by a straight line
and drawn into docs/growth.png.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.curve import Curve, draw
from benchmarks.eval import SIZE, batch, model, network
from benchmarks.growth_build import (
    SIDES,
    build_frames,
    build_size,
    build_size_memory,
    build_workers,
)
from benchmarks.growth_eval import (
    eval_batch,
    eval_components,
    eval_frames,
    eval_size,
    eval_workers,
)
from benchmarks.measuring import Row, alone, at_least, at_most

PICTURE = Path(__file__).parents[1] / "docs" / "growth.png"
LARGE_OVER_SMALL_K = 1.15
TWO_WORKERS = 1.7


@dataclass(frozen=True)
class Amount:
    """How much is measured."""

    rounds: int = 3
    steps: tuple[int, ...] = (1, 4, 16)
    forward_rounds: int = 7
    build_frames: int = 32
    build_sides: tuple[int, ...] = SIDES
    worker_frames: int = 40
    eval_frames: int = 48
    stored_sides: tuple[int, ...] = (112, 224, 448)
    workers: tuple[int, ...] = (1, 2)
    components: tuple[int, ...] = (16, 64, 256, 1024)
    batches: tuple[int, ...] = (1, 4, 16, 64)
    batch_side: int = SIZE


QUICK = Amount(
    rounds=1,
    steps=(1, 16),
    forward_rounds=2,
    build_frames=8,
    build_sides=SIDES[::3],
    worker_frames=16,
    eval_frames=8,
    # An evaluation this short is all start-up: it tells nothing of sizes and workers.
    stored_sides=(),
    workers=(),
    components=(16, 256),
    batches=(1, 16),
    batch_side=112,
)


def measure(quick: bool) -> list[Row]:
    """The rows of the benchmark page; the picture is drawn on the way."""
    amount = QUICK if quick else Amount()
    with tempfile.TemporaryDirectory() as name:
        built, evaluated = Path(name) / "build", Path(name) / "eval"
        built.mkdir()
        evaluated.mkdir()
        workers = build_workers(built, amount.worker_frames, amount.rounds)
        curves = [*build_curves(built, amount), *workers, *eval_curves(evaluated, amount)]
    classifier = network(model())
    components = eval_components(classifier, batch(), amount.components, amount.forward_rounds)
    largest = batch(max(amount.batches), amount.batch_side)
    curves += [*components, *eval_batch(classifier, largest, amount.batches, amount.rounds)]
    draw(curves, PICTURE)
    return [
        *itertools.chain.from_iterable(curve.rows() for curve in curves),
        two_over_one(workers[0]),
        large_over_small(components[0]),
    ]


def build_curves(folder: Path, amount: Amount) -> list[Curve]:
    """A build by its frames, and by their size."""
    return [
        *build_frames(folder, [amount.build_frames * step for step in amount.steps], amount.rounds),
        build_size(folder, amount.rounds),
        build_size_memory(folder, amount.build_sides, amount.rounds),
    ]


def eval_curves(folder: Path, amount: Amount) -> list[Curve]:
    """Whole evaluations with the small network: a ResNet-50 would hide all but itself."""
    counts = [amount.eval_frames * step for step in amount.steps]
    curves = eval_frames(folder, counts, amount.rounds)
    if amount.stored_sides:
        curves += eval_size(folder, amount.stored_sides, 4 * amount.eval_frames, amount.rounds)
    if amount.workers:
        curves += eval_workers(folder, amount.workers, 4 * amount.eval_frames, amount.rounds)
    return curves


def two_over_one(curve: Curve) -> Row:
    """What a second worker gives."""
    one, two = curve.figures[:2]
    return at_least("two workers / one worker", two.over(one), TWO_WORKERS)


def large_over_small(curve: Curve) -> Row:
    """What 256 components cost more than 16."""
    small, large = (curve.figures[curve.places.index(k)] for k in (16, 256))
    return at_most("UnMix-TNS forward, K = 256 / K = 16", large.over(small), LARGE_OVER_SMALL_K)


if __name__ == "__main__":
    sys.exit(alone(measure, sys.argv[1:]))
