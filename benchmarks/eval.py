"""Evaluating on a CPU: layers against Source's forward, and one pass against eight runs.

Run: ``python -m benchmarks.eval [--quick]``. ResNet-50, 224 × 224, batch 16, K = 256,
channels_last, random weights; what is compared runs alternately, and medians are taken.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.eval_pass import Passes
from benchmarks.measuring import Row, alone, alternate, at_least, at_most, row, seconds_of
from benchmarks.straightforward import StraightforwardUnMixTNS
from vidc.classes import class_list
from vidc.eval.methods import COLUMNS, method_class
from vidc.eval.models import Classifier, make_classifier
from vidc.eval.normalization import with_normalization
from vidc.eval.normalization.swap import swapped_copy
from vidc.eval.protocol import Protocol, load_protocol
from vidc.eval.weights import LoadedModel, wrap

BATCH = 16
SIZE = 224


def measure(quick: bool) -> list[Row]:
    """The rows of the benchmark page."""
    loaded = model()
    return [
        *layer_rows(network(loaded), 2 if quick else 9),
        *step_rows(network(loaded), batch(4 if quick else BATCH), 1 if quick else 5),
        *together_rows(loaded, 1 if quick else 3, batches=1 if quick else 2),
        *overhead_rows(loaded, 2 if quick else 5, batches=2 if quick else 8),
    ]


def layer_rows(classifier: Classifier, repeats: int) -> list[Row]:
    """Forwards of one network, with different layers in it."""
    images = batch()
    forwards = {
        name: partial(seconds_of, _forward(with_layers(classifier, name), images))
        for name in ("source", "tbn", "unmix_tns", "straightforward")
    }
    seconds = alternate(forwards, repeats)
    return [
        row("Source forward", seconds["source"].times(1e3), "ms"),
        row("TBN forward / Source forward", seconds["tbn"].over(seconds["source"])),
        at_most(
            "UnMix-TNS forward / Source forward", seconds["unmix_tns"].over(seconds["source"]), 1.4
        ),
        at_least(
            "B×K×C forward / UnMix-TNS forward",
            seconds["straightforward"].over(seconds["unmix_tns"]),
            2,
        ),
    ]


def step_rows(classifier: Classifier, images: Tensor, repeats: int) -> list[Row]:
    """Steps of TENT, with different layers under it."""
    tent, settings = method_class("tent"), load_protocol("paper").settings("tent")
    steps = {
        name: partial(
            seconds_of, partial(tent(with_layers(classifier, name), settings).step, images)
        )
        for name in ("tbn", "unmix_tns", "straightforward")
    }
    steps["source"] = partial(seconds_of, _forward(with_layers(classifier, "source"), images))
    seconds = alternate(steps, repeats)
    return [
        row("TENT step / Source forward", seconds["tbn"].over(seconds["source"])),
        at_most("TENT† step / TENT step", seconds["unmix_tns"].over(seconds["tbn"]), 1.4),
        row("B×K×C TENT† step / TENT step", seconds["straightforward"].over(seconds["tbn"])),
    ]


def together_rows(loaded: LoadedModel, repeats: int, batches: int) -> list[Row]:
    """All columns in one pass over a built dataset, against a pass for each."""
    columns = list(COLUMNS.values())
    with passes(loaded, batches) as run:
        seconds = alternate(
            {
                "together": lambda: run.seconds(columns),
                "apart": lambda: sum(run.seconds([column]) for column in columns),
            },
            repeats,
            warm_up=0,
        )
    name = "eight columns in one pass / eight passes"
    return [at_most(name, seconds["together"].over(seconds["apart"]), 0.9)]


def overhead_rows(loaded: LoadedModel, repeats: int, batches: int) -> list[Row]:
    """Reading, decoding, copying and bookkeeping, against the network that they feed."""
    forward = _forward(with_layers(network(loaded), "source"), batch())
    with passes(loaded, batches) as run:
        seconds = alternate(
            {
                "pass": lambda: run.seconds([COLUMNS["source"]]),
                "forwards": lambda: seconds_of(lambda: [forward() for _ in range(batches)]),
            },
            repeats,
        )
    return [
        row("Source pass", seconds["pass"].rate(batches * BATCH), "frames/s"),
        at_most("Source pass / its forwards alone", seconds["pass"].over(seconds["forwards"]), 1.1),
    ]


@contextmanager
def passes(loaded: LoadedModel, batches: int) -> Iterator[Passes]:
    """A dataset of a few batches, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        yield Passes(Path(folder), loaded, batches * BATCH)


def model() -> LoadedModel:
    """A ResNet-50 whose source statistics are those of a batch: else activations overflow."""
    from torchvision.models import resnet50

    torch.manual_seed(0)
    backbone = resnet50(weights=None).to(memory_format=torch.channels_last).train()
    for layer in backbone.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.momentum = None
    with torch.no_grad():
        backbone(batch())
    return wrap(backbone, "resnet50", "random")


def network(loaded: LoadedModel) -> Classifier:
    """The model as a classifier of ImageNet-VID's classes."""
    return make_classifier(loaded, class_list("imagenet-vid"), "sum")


def batch(count: int = BATCH, side: int = SIZE) -> Tensor:
    """Images of noise."""
    images = torch.randn(count, 3, side, side, generator=torch.Generator().manual_seed(1))
    return images.contiguous(memory_format=torch.channels_last)


def with_layers(classifier: Classifier, name: str) -> Classifier:
    """A copy of the classifier with these layers in it."""
    protocol: Protocol = load_protocol("paper")
    if name == "straightforward":
        settings = protocol.settings("unmix_tns")
        return swapped_copy(classifier, StraightforwardUnMixTNS, settings, 0)
    layers = "bn" if name == "source" else name
    return with_normalization(classifier, layers, protocol.settings(layers), 0)


def _forward(classifier: Classifier, images: Tensor) -> Callable[[], object]:
    def run() -> object:
        with torch.no_grad():
            return classifier(images)

    return run


if __name__ == "__main__":
    sys.exit(alone(measure, sys.argv[1:]))
