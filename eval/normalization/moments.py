"""Sums over a batch or over each of its images, without a copy of the batch.

A group is one image of the batch, or the whole batch: statistics have a row for each group.
"""

from __future__ import annotations

import contextlib

import torch
from torch import Tensor

# The ways to sum; see _way.
KERNELS, PASSES, FUSED = "kernels", "passes", "fused"
# A temporary of so many values, 8 MB in float32, is still cheaper than a call for each image.
CACHED_VALUES = 1 << 21


def moments(x: Tensor, *, per_image: bool) -> tuple[Tensor, Tensor]:
    """The mean and the biased variance of each group and channel, in float32 or wider."""
    wide = widened(x)
    way = _way(wide, per_image)
    if way == KERNELS:
        pairs = [
            torch.ops.aten.batch_norm_update_stats(group, None, None, 0.0)
            for group in _groups(wide, per_image)
        ]
        return torch.stack([mean for mean, _ in pairs]), torch.stack([var for _, var in pairs])
    axes = (2, 3) if per_image else (0, 2, 3)
    if way == PASSES:
        mean = wide.mean(axes, keepdim=True)
        var = (wide - mean).square_().mean(axes)
    else:
        var, mean = torch.var_mean(wide, axes, correction=0)
    return mean.view(-1, x.shape[1]), var.view(-1, x.shape[1])


def products(gradient: Tensor, x: Tensor, centre: Tensor) -> tuple[Tensor, Tensor]:
    """The sums of the gradient, and of gradient·(x - centre), of each group and channel."""
    per_image = len(centre) == len(x)
    gradient, wide = widened(gradient), widened(x)
    if _way(wide, per_image) != KERNELS:
        axes = (2, 3) if per_image else (0, 2, 3)
        total = gradient.sum(axes).view_as(centre)
        return total, (wide - centre[:, :, None, None]).mul_(gradient).sum(axes).view_as(centre)
    ones = torch.ones_like(centre[0])
    pairs = [
        torch.ops.aten.native_batch_norm_backward(
            each, group, None, None, None, middle, ones, True, 0.0, [False, True, True]
        )
        for each, group, middle in zip(
            _groups(gradient, per_image), _groups(wide, per_image), centre, strict=True
        )
    ]
    return torch.stack([total for _, _, total in pairs]), torch.stack([dot for _, dot, _ in pairs])


def widened(x: Tensor) -> Tensor:
    """Half precision as float32: sums over an image do not fit in sixteen bits."""
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


def full_precision(x: Tensor) -> contextlib.AbstractContextManager[object]:
    """No autocast inside: statistics are small, and wrong in half precision."""
    if x.device.type == "meta" or not torch.is_autocast_enabled(x.device.type):
        return contextlib.nullcontext()
    return torch.autocast(x.device.type, enabled=False)


def _way(x: Tensor, per_image: bool) -> str:
    """The fastest way to sum.

    On a CPU torch.var_mean reads channels_last memory ten times slower than one pass after another
    does. The kernels that batch norm has there read it in order and write no temporary as large
    as the batch, but have to be called for each image: where the temporary stays in the cache,
    waking the threads that often costs more. On a GPU, and where a compiler fuses them, the plain
    reductions are the fast ones.
    """
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return FUSED
    return PASSES if per_image and x.numel() <= CACHED_VALUES else KERNELS


def _groups(x: Tensor, per_image: bool) -> tuple[Tensor, ...]:
    return torch.split(x, 1) if per_image else (x,)
