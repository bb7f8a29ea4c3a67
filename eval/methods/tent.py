"""TENT: one gradient step on the entropy of each batch, over the normalization layers' affines."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vidc.errors import InputError
from vidc.eval.methods.base import Method
from vidc.eval.normalization.layer import NormalizationLayer

NORMALIZATIONS = (
    NormalizationLayer,
    nn.modules.batchnorm._BatchNorm,
    nn.GroupNorm,
    nn.LayerNorm,
)


class Tent(Method):
    """The prediction is that of the forward that gives the gradient: never a second look."""

    adapts = True
    optimizer: torch.optim.SGD

    def setup(self) -> None:
        """Train the affine parameters of the normalization layers, and only those."""
        self.classifier.requires_grad_(False)
        parameters = affine_parameters(self.classifier)
        for parameter in parameters.values():
            parameter.requires_grad_(True)
        self.optimizer = torch.optim.SGD(
            parameters.values(),
            lr=self.settings["lr"],
            momentum=self.settings["momentum"],
            nesterov=self.settings["nesterov"],
            weight_decay=self.settings["weight_decay"],
        )

    def step(self, images: Tensor) -> Tensor:
        """The probabilities from before the first step; steps change what later batches see."""
        with torch.enable_grad():
            forwards = [self._descend(images) for _ in range(self.settings["steps"])]
        return forwards[0].exp()

    def _descend(self, images: Tensor) -> Tensor:
        log_probabilities: Tensor = self.classifier(images).logits.log_softmax(1)
        torch.autograd.backward(entropy(log_probabilities).mean())
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return log_probabilities.detach()

    def changing(self) -> dict[str, Tensor]:
        """The affine parameters and the layers' statistics: the rest is never touched."""
        return self.stream_statistics() | affine_parameters(self.classifier)


def entropy(log_probabilities: Tensor) -> Tensor:
    """The entropy of each row, in nats."""
    return -(log_probabilities.exp() * log_probabilities).sum(1)


def affine_parameters(network: nn.Module) -> dict[str, Tensor]:
    """The scales and shifts of the network's normalization layers, each once, by name."""
    parameters: dict[str, Tensor] = {
        f"{name}.{kind}": parameter
        for name, module in network.named_modules()
        if isinstance(module, NORMALIZATIONS)
        for kind, parameter in module.named_parameters(recurse=False)
    }
    if not parameters:
        raise InputError("TENT has nothing to adapt: no normalization layer has a scale or shift.")
    return parameters
