"""What the training does to clean frames: mirrors, light, colour, and patches over them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

MEAN, STD = 0.5, 0.25


@dataclass(frozen=True)
class Augmentation:
    """How far each change goes."""

    contrast: tuple[float, float] = (0.3, 1.3)
    brightness: float = 0.3
    grey: float = 0.2  # of the frames lose their colour
    patches: int = 4  # of one colour each
    patch: tuple[int, int] = (3, 32)  # pixels a side


def normalised(images: Tensor) -> Tensor:
    """8-bit images as the network takes them."""
    return (images.float() / 255 - MEAN) / STD


def augmented(images: Tensor, settings: Augmentation) -> Tensor:
    """8-bit images changed at random, as the network takes them."""
    x = images.float() / 255
    x = torch.where(_some(x, 0.5), x.flip(3), x)
    contrast = _between(x, *settings.contrast)
    brightness = _between(x, -settings.brightness, settings.brightness)
    mean = x.mean(dim=(1, 2, 3), keepdim=True)
    x = ((x - mean) * contrast + mean + brightness).clamp(0, 1)
    x = torch.where(_some(x, settings.grey), x.mean(dim=1, keepdim=True), x)
    for _ in range(settings.patches):
        x = torch.where(_patch(x, *settings.patch), torch.rand(len(x), 3, 1, 1), x)
    return (x - MEAN) / STD


def _between(x: Tensor, low: float, high: float) -> Tensor:
    return low + (high - low) * torch.rand(len(x), 1, 1, 1)


def _some(x: Tensor, share: float) -> Tensor:
    return torch.rand(len(x), 1, 1, 1) < share


def _patch(x: Tensor, smallest: int, largest: int) -> Tensor:
    """Where a rectangle of random size and place is, in each image."""
    height, width = x.shape[2:]
    top, left = _between(x, 0, height - smallest), _between(x, 0, width - smallest)
    tall, wide = _between(x, smallest, largest), _between(x, smallest, largest)
    rows, columns = torch.arange(height).view(1, 1, -1, 1), torch.arange(width).view(1, 1, 1, -1)
    inside_rows = (rows >= top) & (rows < top + tall)
    return inside_rows & (columns >= left) & (columns < left + wide)
