"""How the cost of an evaluation grows: with frames, their size, workers, K and the batch."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from benchmarks import eval_pass
from benchmarks.curve import Curve, time_and_memory
from benchmarks.measuring import Figure, Ran, alternate, command, peak_memory, seconds_of
from vidc.eval.models import Classifier
from vidc.eval.normalization import with_normalization
from vidc.eval.protocol import load_protocol

CELLS = 2


def eval_frames(folder: Path, counts: Sequence[int], rounds: int) -> list[Curve]:
    """The whole command with all eight columns, on more and more frames."""
    dataset = eval_pass.build_dataset(folder / "frames", counts[-1])
    return time_and_memory(
        "evaluate",
        "frames",
        counts,
        lambda count: _evaluated(folder, dataset, "--limit-frames", int(count)),
        rounds,
    )


def eval_size(folder: Path, sides: Sequence[int], frames: int, rounds: int) -> list[Curve]:
    """The same on so many frames, by the side of the stored frames; the network sees 112 pixels."""
    datasets = {
        side: eval_pass.build_dataset(folder / f"side{side}", frames, "--size", str(side))
        for side in sides
    }
    return time_and_memory(
        f"evaluate {frames} frames",
        "stored side",
        sides,
        lambda side: _evaluated(folder, datasets[int(side)]),
        rounds,
    )


def eval_workers(folder: Path, workers: Sequence[int], frames: int, rounds: int) -> list[Curve]:
    """Two cells of so many frames, by how many are run beside each other."""
    dataset = eval_pass.build_dataset(folder / "cells", frames)
    return time_and_memory(
        f"evaluate {CELLS} cells",
        "workers",
        workers,
        lambda count: _evaluated(
            folder, dataset, "--seeds", CELLS, "--engine", "processes", "--workers", int(count)
        ),
        rounds,
        together=True,
    )


def _evaluated(folder: Path, dataset: Path, *words: object) -> Ran:
    out = folder / "results"
    ran = command("vidc.eval", dataset, "--model", "sample", "--out", out, "--no-report", *words)
    shutil.rmtree(out)
    return ran


def eval_components(
    classifier: Classifier, images: torch.Tensor, components: Sequence[int], rounds: int
) -> list[Curve]:
    """UnMix-TNS's forward of a ResNet-50, and the memory of a process that does it, by K."""
    # From few to many, and before the times, which this warms up for: what a smaller one leaves
    # behind a larger one uses.
    peaks = [peak_memory(partial(_unmix_forward, classifier, k, images)) for k in components]
    forwards = {
        str(k): partial(seconds_of, partial(_forward, _unmix(classifier, k), images))
        for k in components
    }
    found = alternate(forwards, rounds, warm_up=0)
    figures = tuple(figure.times(1e3) for figure in found.values())
    places = tuple(map(float, components))
    return [
        Curve("UnMix-TNS forward", "K", "ms", places, figures),
        _memory("UnMix-TNS forward, peak memory", "K", places, peaks),
    ]


def eval_batch(
    classifier: Classifier, images: torch.Tensor, batches: Sequence[int], rounds: int
) -> list[Curve]:
    """A forward of a ResNet-50, Source's and UnMix-TNS's, by the batch: the first of the images."""
    parts = {
        count: images[:count].contiguous(memory_format=torch.channels_last) for count in batches
    }
    places = tuple(map(float, batches))
    curves = []
    for name, title in (("bn", "Source"), ("unmix_tns", "UnMix-TNS")):
        network = with_normalization(classifier, name, load_protocol("paper").settings(name), 0)
        peaks = [peak_memory(partial(_forward, network, part)) for part in parts.values()]
        forwards = {
            str(count): partial(seconds_of, partial(_forward, network, part))
            for count, part in parts.items()
        }
        found = alternate(forwards, rounds, warm_up=0)
        figures = tuple(figure.times(1e3) for figure in found.values())
        curves += [
            Curve(f"{title} forward by batch", "batch", "ms", places, figures),
            _memory(f"{title} forward by batch, peak memory", "batch", places, peaks),
        ]
    return curves


def _unmix(classifier: Classifier, components: int) -> Classifier:
    settings = {**load_protocol("paper").settings("unmix_tns"), "components": components}
    return with_normalization(classifier, "unmix_tns", settings, 0)


def _unmix_forward(classifier: Classifier, components: int, images: torch.Tensor) -> None:
    _forward(_unmix(classifier, components), images)


def _forward(network: torch.nn.Module, images: torch.Tensor) -> None:
    with torch.no_grad():
        network(images)


def _memory(title: str, against: str, places: tuple[float, ...], peaks: Sequence[int]) -> Curve:
    return Curve(title, against, "MB", places, tuple(Figure((peak / 1e6,)) for peak in peaks))
