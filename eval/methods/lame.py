"""LAME: the probabilities of a batch are pulled together where their features are alike."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from vidc.eval.methods.base import Method
from vidc.eval.models import Outputs
from vidc.eval.normalization.moments import full_precision, widened


class Lame(Method):
    """The network stays as it is; only its probabilities are adjusted."""

    def refine(self, outputs: Outputs) -> Tensor:
        """The probabilities after Laplacian adjustment over the batch."""
        with full_precision(outputs.logits):
            unary = -torch.log(outputs.logits.softmax(1) + self.settings["floor"])
            affinity = rbf_affinity(widened(outputs.features), self.settings["neighbours"])
            return laplacian_optimisation(
                unary,
                affinity,
                self.settings["iterations"],
                self.settings["tolerance"],
                ask=unary.device.type == "cpu",
            )


def rbf_affinity(features: Tensor, neighbours: int) -> Tensor:
    """exp(-d² / 2s²) between unit features, s the mean distance to a near neighbour.

    Where s is zero (one frame, or a paused video's identical ones) the limit is taken: frames at
    distance zero are wholly alike, so identical predictions stay as they are.
    """
    unit = F.normalize(features, dim=1)
    # Differences, not the matrix product's expansion, so that identical frames are at zero exactly.
    distances = torch.cdist(unit, unit, compute_mode="donot_use_mm_for_euclid_dist")
    rank = min(neighbours, len(features))
    width = distances.sort(dim=1).values[:, rank - 1].mean()
    scaled = torch.where(distances == 0, 0.0, distances / width)
    return torch.exp(-scaled.square() / 2)


def laplacian_optimisation(
    unary: Tensor, affinity: Tensor, iterations: int, tolerance: float, *, ask: bool = False
) -> Tensor:
    """Iterate Y = softmax(-unary + W·Y) until the energy settles.

    The stopping rule is a mask on the device: after it holds, further iterations change nothing.
    To ``ask`` after each whether it holds saves those, but would make the host wait for a GPU.
    """
    assignment = torch.softmax(-unary, 1)
    old_energy = torch.full((), torch.inf, dtype=unary.dtype, device=unary.device)
    settled = torch.zeros((), dtype=torch.bool, device=unary.device)
    for iteration in range(iterations):
        pairwise = affinity @ assignment
        proposal = torch.softmax(pairwise - unary, 1)
        assignment = torch.where(settled, assignment, proposal)
        energy = _energy(unary, pairwise, proposal)
        if iteration > 1:
            settled = settled | ((energy - old_energy).abs() <= tolerance * old_energy.abs())
        old_energy = energy
        if ask and settled:
            break
    return assignment


def _energy(unary: Tensor, pairwise: Tensor, assignment: Tensor) -> Tensor:
    """The bound that the iteration lowers: unary, minus pairwise, minus entropy."""
    logarithm = torch.log(assignment.clamp(min=1e-20))
    return (assignment * (unary - pairwise + logarithm)).sum()
