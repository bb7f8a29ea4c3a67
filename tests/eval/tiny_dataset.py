"""A small dataset, built by the real builder from a tree in ImageNet-VID's layout, and a model."""

from __future__ import annotations

from pathlib import Path

from tests.builders import builds, trees
from vidc.builders.building import build

CORRUPTIONS = (("clean", 0), ("gaussian_noise", 5), ("snow", 5))
# A network of the user's own. It tells dogs, birds and cars, badly; nothing here needs it good.
MODEL = """
import torch
from torch import nn

from vidc.eval.models import Preprocessing


def network():
    torch.manual_seed(0)
    made = nn.Sequential(
        nn.Conv2d(3, 6, 5, stride=4, bias=False),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.Conv2d(6, 8, 3, stride=2, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 3),
    )
    made.wnids = ["n02084071", "n01503061", "n02958343"]
    made.preprocessing = Preprocessing(crop=32)
    for _ in range(20):
        made(torch.randn(8, 3, 32, 32))
    return made
"""
METHOD = """
from vidc.eval.methods.base import Method


class MyMethod(Method):
    def refine(self, outputs):
        return (outputs.logits / 2).softmax(1)
"""
NAN_METHOD = """
from vidc.eval.methods.base import Method


class Bad(Method):
    def refine(self, outputs):
        return outputs.logits * float("nan")
"""


def write_tree(root: Path) -> Path:
    """Six videos of six frames: dogs, birds and cars, two classes in one, none in another."""
    things = {
        "v0": [trees.Thing(trees.DOG)],
        "v1": [trees.Thing(trees.BIRD)],
        "v2": [trees.Thing(trees.CAR), trees.Thing(trees.DOG, (10, 10, 40, 40), track=1)],
        "v3": [trees.Thing(trees.DOG)],
        "v4": [trees.Thing(trees.BIRD)],
        "v5": [],
    }
    for video, objects in things.items():
        trees.write_imagenet_vid(root, {video: 6}, things=objects)
    return root / "ILSVRC2015"


def write_dataset(root: Path, **choices: object) -> Path:
    """The tree in ``root``, and the dataset built from it at ``root/built``."""
    tree = root / "ILSVRC2015" if (root / "ILSVRC2015").exists() else write_tree(root)
    values = {"corruptions": CORRUPTIONS, "size": 32} | choices
    build(builds.request(tree, root / "built", **values))
    return root / "built"


def write_model(folder: Path) -> str:
    """The user's model file, as the command takes it."""
    folder.mkdir(exist_ok=True)
    (folder / "tiny.py").write_text(MODEL)
    (folder / "mine.py").write_text(METHOD)
    return f"{folder / 'tiny.py'}:network"
