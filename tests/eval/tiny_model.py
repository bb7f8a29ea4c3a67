"""A network small enough to run a hundred times in a test, trained for a moment on its classes."""

from __future__ import annotations

import functools

import torch
from torch import nn
from torch.nn import functional as F

from vidc.eval.models import LoadedModel, Preprocessing
from vidc.eval.weights import wrap

# On images this small a second thread only waits, and tests run in parallel anyway.
torch.set_num_threads(1)

SIZE = 16
WNIDS = ("n3", "n1", "n2", "elsewhere")
PREPROCESSING = Preprocessing(resize=None, crop=SIZE)


@functools.cache
def network() -> nn.Module:
    """Two convolutions with BatchNorm2d, taught which colour the classes have."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 12, 3, stride=2, bias=False),
            nn.BatchNorm2d(12),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(12, len(WNIDS)),
        )
        optimizer = torch.optim.SGD(made.parameters(), lr=0.05, momentum=0.9)
        for _ in range(30):
            images, targets = _batch()
            optimizer.zero_grad()
            F.cross_entropy(made(images), targets).backward()
            optimizer.step()
    return made.eval()


def _batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Noisy images with one colour raised; colour 0 is n1, which is output 1, and so on."""
    colour = torch.randint(3, (16,))
    images = torch.rand(16, 3, SIZE, SIZE) * 200
    images[torch.arange(16), colour] += 20
    mean = torch.tensor(PREPROCESSING.mean)[:, None, None]
    std = torch.tensor(PREPROCESSING.std)[:, None, None]
    return (images / 255 - mean) / std, torch.tensor([1, 2, 0])[colour]


def tiny_model() -> LoadedModel:
    """The network as the evaluator wants it."""
    return wrap(network(), "tiny", "made by the test", WNIDS, PREPROCESSING)
