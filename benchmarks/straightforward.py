"""UnMix-TNS as the formulas read, with B × K × C tensors and plain autograd: to compare with."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from vidc.eval.normalization.unmix_tns import UnMixTNS


class StraightforwardUnMixTNS(UnMixTNS):
    """The same components and settings as vidc's layer, mixed and normalised term by term."""

    def normalise(self, x: Tensor) -> Tensor:
        """Mix every image with every component, then average over the components."""
        var, mean = torch.var_mean(x, (2, 3), correction=0)
        with torch.no_grad():
            cosines = F.normalize(mean, dim=1) @ F.normalize(self.means, dim=1).T
            p = torch.softmax(cosines / self.tau, 1)[:, :, None]
        means = (1 - p) * self.means + p * mean[:, None]
        variances = (1 - p) * self.vars + p * var[:, None]
        mixed = means.mean(1)
        mixed_var = variances.mean(1) + means.square().mean(1) - mixed.square()
        with torch.no_grad():
            rate = self.momentum(len(x)) / len(x)
            self.means += rate * (p * (mean[:, None] - self.means)).sum(0)
            self.vars += rate * (p * (var[:, None] - self.vars)).sum(0)
        centred = x - mixed[:, :, None, None]
        normalised = centred * torch.rsqrt(mixed_var + self.eps)[:, :, None, None]
        if self.weight is None or self.bias is None:
            return normalised
        return normalised * self.weight[:, None, None] + self.bias[:, None, None]
