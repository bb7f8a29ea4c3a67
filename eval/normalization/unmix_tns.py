"""UnMix-TNS: each image is normalised with a mixture of K components, which follow the stream.

Only B × C, B × K and K × C tensors are made: with q = 1 - p and Σₖ p = 1, the averages over the
components of p·image + q·component are matrix products.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from vidc.eval.normalization.layer import NormalizationLayer
from vidc.eval.normalization.moments import full_precision, moments
from vidc.eval.normalization.statistics import Statistics, normalise


class UnMixTNS(NormalizationLayer):
    """K components a channel, drawn around the source statistics at the start."""

    stream_statistics = ("means", "vars")

    means: Tensor  # K × C
    vars: Tensor

    def setup(self, settings: Mapping[str, Any], noise: torch.Generator) -> None:
        """Draw the components: in expectation their mixture has the source's mean and variance."""
        self.tau: float = settings["tau"]
        self.momentum0: float = settings["momentum0"]
        self.base_batch: int = settings["base_batch"]
        self.eps = settings["eps"] or self.eps
        count: int = settings["components"]
        between = settings["alpha"] if count > 1 else 0.0  # one component has nothing between
        spread = math.sqrt(between * count / max(count - 1, 1))
        draws = torch.randn(count, len(self.source_mean), generator=noise, device=noise.device)
        draws = draws.to(self.source_mean)
        self.register_buffer("means", self.source_mean + self.source_var.sqrt() * spread * draws)
        self.register_buffer("vars", (1 - between) * self.source_var.expand(count, -1))

    def normalise(self, x: Tensor) -> Tensor:
        """Mix with the components as they are, then let them follow, in eval mode too."""
        with torch.no_grad(), full_precision(x):
            mean, var = moments(x, per_image=True)
            p = self.assign(mean)
            statistics = self.mix(mean, var, p)
            self.update(mean, var, p)
        return normalise(x, statistics, self.weight, self.bias, self.eps)

    def assign(self, mean: Tensor) -> Tensor:
        """How much each image belongs to each component, B × K: softmax of cosines."""
        norms = self.means.norm(dim=1).clamp(min=1e-12)
        cosines = F.normalize(mean, dim=1) @ self.means.T / norms
        return torch.softmax(cosines / self.tau, 1)

    def mix(self, mean: Tensor, var: Tensor, p: Tensor) -> Statistics:
        """The mean and variance of each image's mixture."""
        count = len(self.means)
        q = 1 - p
        # Around the source mean, so that the squares' difference below keeps its digits.
        image = mean - self.source_mean
        components = self.means - self.source_mean
        cross = (p * q) @ components
        square = (p * p).sum(1, keepdim=True)
        mixed = (q @ components + image) / count
        squares = ((q * q) @ components.square() + image * (2 * cross + image * square)) / count
        between = (squares - mixed.square()).clamp(min=0)
        return Statistics(
            mean=mixed + self.source_mean,
            var=(q @ self.vars + var) / count + between,
            batch_mean=mean,
            dmean_dmean=1 / count,
            dvar_dmean=(cross + image * square - mixed) * (2 / count),
            dvar_dvar=1 / count,
        )

    def update(self, mean: Tensor, var: Tensor, p: Tensor) -> None:
        """Move each component towards the images that belong to it."""
        rate = self.momentum(len(mean)) / len(mean)
        kept = 1 - rate * p.sum(0)[:, None]
        self.means.mul_(kept).addmm_(p.T, mean, alpha=rate)
        self.vars.mul_(kept).addmm_(p.T, var, alpha=rate)

    def momentum(self, batch: int) -> float:
        """λ for a batch of this size: as many frames, as much movement, in batches of any size."""
        return 1 - math.pow(1 - self.momentum0, batch / self.base_batch)
