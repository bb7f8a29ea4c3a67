"""TBN: the batch's own mean and biased variance, and nothing of the source's."""

from __future__ import annotations

import torch
from torch import Tensor

from vidc.eval.normalization.layer import NormalizationLayer


class TBN(NormalizationLayer):
    """Batch statistics in eval mode."""

    needs_source = False

    def normalise(self, x: Tensor) -> Tensor:
        """BatchNorm's training forward, with no running statistics to change."""
        # torch.batch_norm and not F.batch_norm: that one refuses a single value a channel, which
        # a last batch of one frame may well be, and whose answer is the shift.
        cudnn = torch.backends.cudnn.enabled
        return torch.batch_norm(x, self.weight, self.bias, None, None, True, 0.0, self.eps, cudnn)
