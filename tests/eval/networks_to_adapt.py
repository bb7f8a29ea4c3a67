"""Small networks, layers and batches for the tests of methods and layers."""

import torch
from torch import nn

from vidc.classes import ClassList
from vidc.eval.head import ClassMap
from vidc.eval.models import Classifier
from vidc.eval.normalization.unmix_tns import UnMixTNS
from vidc.eval.protocol import load_protocol

THREE = ClassList(
    name="three",
    names=("cat", "dog", "unicorn"),
    wnids=("n1", "n2", None),
    imagenet=((0, 1), (2,), ()),
)


def small_network():
    """Two convolutions with BatchNorm2d, and a linear layer: every source statistic is drawn."""
    torch.manual_seed(3)
    network = nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1, bias=False),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.Conv2d(6, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 5),
    )
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.3)
            layer.running_var.uniform_(0.5, 2)
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.normal_(layer.bias)
    return network.eval()


def small_classifier():
    return Classifier(small_network(), ClassMap("sum", ((0, 1), (2,), (3, 4)), 5)).eval()


def settings(name, *overrides):
    return load_protocol("paper", overrides).settings(name)


def source_layer(channels, offset=0.0):
    torch.manual_seed(0)
    layer = nn.BatchNorm2d(channels)
    layer.running_mean.normal_().add_(offset)
    layer.running_var.uniform_(0.3, 3)
    nn.init.uniform_(layer.weight, 0.5, 1.5)
    nn.init.normal_(layer.bias)
    return layer.eval()


def make_layer(channels=5, components=4, kind=UnMixTNS, *, source=None, seed=0, **values):
    chosen = settings("unmix_tns", f"unmix_tns.components={components}") | values
    noise = torch.Generator().manual_seed(seed)
    return kind(source or source_layer(channels), chosen, noise)


def images(batch, channels, height=3, width=4, seed=1, **how):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, channels, height, width, generator=generator, **how) * 2 + 0.7
