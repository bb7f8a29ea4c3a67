"""What every layer in BatchNorm2d's place has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn


class NormalizationLayer(nn.Module, ABC):
    """Takes over a BatchNorm2d's scale, shift, source statistics, and what it does afterwards."""

    needs_source: ClassVar[bool] = True  # starts from the replaced layer's running statistics
    stream_statistics: ClassVar[tuple[str, ...]] = ()  # buffers that follow the stream

    weight: nn.Parameter | None
    bias: nn.Parameter | None
    source_mean: Tensor
    source_var: Tensor

    def __init__(
        self, replaced: nn.BatchNorm2d, settings: Mapping[str, Any], noise: torch.Generator
    ) -> None:
        """``noise`` is this layer's own source of random numbers, always on the CPU."""
        super().__init__()
        self.weight = replaced.weight
        self.bias = replaced.bias
        self.eps = replaced.eps
        self.register_buffer("source_mean", replaced.running_mean)
        self.register_buffer("source_var", replaced.running_var)
        # timm's BatchNormAct2d carries its dropout and activation inside.
        self.drop: nn.Module = getattr(replaced, "drop", nn.Identity())
        self.act: nn.Module = getattr(replaced, "act", nn.Identity())
        self.setup(settings, noise)

    def setup(self, settings: Mapping[str, Any], noise: torch.Generator) -> None:
        """What the layer needs beside the replaced layer's own."""

    @abstractmethod
    def normalise(self, x: Tensor) -> Tensor:
        """The normalised batch, scaled and shifted."""

    def forward(self, x: Tensor) -> Tensor:
        """The batch normalised, then what the replaced layer did afterwards."""
        activated: Tensor = self.act(self.drop(self.normalise(x)))
        return activated
