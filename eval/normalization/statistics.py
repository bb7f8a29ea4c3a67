"""Normalising with statistics that depend on the batch, and the gradient through them by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vidc.eval.normalization.moments import products, widened


@dataclass(frozen=True)
class Statistics:
    """What to normalise with, and how it follows from the moments of the batch.

    Tensors have a row for each group, which is an image, or one row for the whole batch.
    """

    mean: Tensor
    var: Tensor
    batch_mean: Tensor  # the group's own mean
    dmean_dmean: float  # slope of ``mean`` in the group's own mean
    dvar_dmean: Tensor  # slope of ``var`` in the group's own mean
    dvar_dvar: float  # slope of ``var`` in the group's own biased variance


def normalise(
    x: Tensor, statistics: Statistics, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """(x - mean) / sqrt(var + eps), scaled and shifted, in the dtype of ``x``."""
    normalised: Tensor = _Normalise.apply(
        x,
        weight,
        bias,
        eps,
        statistics.mean,
        statistics.var,
        statistics.batch_mean,
        statistics.dmean_dmean,
        statistics.dvar_dmean,
        statistics.dvar_dvar,
    )
    return normalised


class _Normalise(torch.autograd.Function):
    """One pass over the batch forward, two backward: autograd's own would make a dozen."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        eps: float,
        mean: Tensor,
        var: Tensor,
        batch_mean: Tensor,
        dmean_dmean: float,
        dvar_dmean: Tensor,
        dvar_dvar: float,
    ) -> Tensor:
        inverse = torch.rsqrt(var + eps)
        scale = inverse if weight is None else inverse * weight
        shift = -mean * scale if bias is None else torch.addcmul(bias, mean, scale, value=-1)
        ctx.save_for_backward(x, weight, mean, inverse, batch_mean, dvar_dmean)
        ctx.slopes = dmean_dmean, dvar_dvar
        return torch.addcmul(_wide(shift), widened(x), _wide(scale)).to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, mean, inverse, batch_mean, dvar_dmean = ctx.saved_tensors
        dmean_dmean, dvar_dvar = ctx.slopes
        total, dot = products(gradient, x, mean)
        scale = inverse if weight is None else inverse * weight
        to_var = -0.5 * dot * scale * inverse.square()
        to_batch_mean = to_var * dvar_dmean - (scale * dmean_dmean) * total
        to_batch_var = to_var * dvar_dvar
        return (
            _input_gradient(gradient, x, scale, batch_mean, to_batch_mean, to_batch_var)
            if ctx.needs_input_grad[0]
            else None,
            (dot * inverse).sum(0) if ctx.needs_input_grad[1] else None,
            total.sum(0) if ctx.needs_input_grad[2] else None,
            *[None] * 7,
        )


def _input_gradient(
    gradient: Tensor,
    x: Tensor,
    scale: Tensor,
    batch_mean: Tensor,
    to_batch_mean: Tensor,
    to_batch_var: Tensor,
) -> Tensor:
    """gradient·scale, and what reaches ``x`` through its group's own mean and variance."""
    members = x.numel() // to_batch_mean.numel()
    slope = to_batch_var * (2 / members)
    offset = torch.addcmul(to_batch_mean / members, slope, batch_mean, value=-1)
    through = torch.addcmul(_wide(offset), widened(x), _wide(slope))
    return through.addcmul_(widened(gradient), _wide(scale)).to(x.dtype)


def _wide(statistic: Tensor) -> Tensor:
    return statistic[:, :, None, None]
