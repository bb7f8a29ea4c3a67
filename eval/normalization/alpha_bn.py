"""α-BN: source and batch statistics, mixed in a fixed proportion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from vidc.eval.normalization.layer import NormalizationLayer
from vidc.eval.normalization.moments import moments
from vidc.eval.normalization.statistics import Statistics, normalise


class AlphaBN(NormalizationLayer):
    """(1 - α)·source + α·batch, for the mean and for the variance."""

    def setup(self, settings: Mapping[str, Any], noise: torch.Generator) -> None:
        """Keep the proportion, and which batch variance is meant."""
        self.alpha: float = settings["alpha"]
        self.unbiased: bool = settings["unbiased"]

    def normalise(self, x: Tensor) -> Tensor:
        """The batch normalised with the mixed statistics; the gradient goes through its share."""
        return normalise(x, self.statistics(x), self.weight, self.bias, self.eps)

    @torch.no_grad()
    def statistics(self, x: Tensor) -> Statistics:
        """The mixed mean and variance of a batch."""
        mean, var = moments(x, per_image=False)
        values = x.numel() // x.shape[1]
        # A single value has no unbiased variance; its biased one, zero, stands in.
        unbias = values / max(values - 1, 1) if self.unbiased else 1.0
        return Statistics(
            mean=torch.lerp(self.source_mean, mean, self.alpha),
            var=torch.lerp(self.source_var, unbias * var, self.alpha),
            batch_mean=mean,
            dmean_dmean=self.alpha,
            dvar_dmean=torch.zeros_like(mean),
            dvar_dvar=self.alpha * unbias,
        )
