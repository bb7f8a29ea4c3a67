"""The sample's classifier: a residual network small enough to ship and to run without a GPU."""

from __future__ import annotations

import itertools

from torch import Tensor, nn

WIDTHS = (32, 64, 128)


class Block(nn.Module):
    """Two 3×3 convolutions and a shortcut around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU()
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.shortcut(x))  # type: ignore[no-any-return]


class SampleNet(nn.Module):
    """A stem and two residual blocks; ``fc`` reads the average-pooled features."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, WIDTHS[0], 7, 4, 3, bias=False), nn.BatchNorm2d(WIDTHS[0]), nn.ReLU()
        )
        self.blocks = nn.Sequential(*(Block(i, o, stride=2) for i, o in itertools.pairwise(WIDTHS)))
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fc = nn.Linear(WIDTHS[-1], classes)

    def forward(self, images: Tensor) -> Tensor:
        """The logits of normalised images."""
        return self.fc(self.pool(self.blocks(self.stem(images))))  # type: ignore[no-any-return]
