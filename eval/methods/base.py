"""What a method is: something that turns each batch of a stream into probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from vidc.eval.models import Classifier, Outputs
from vidc.eval.normalization.layer import NormalizationLayer

NETWORK = "network."
OPTIMIZER = "optimizer."


class Method:
    """Every part has a default, so that a method says only what is its own.

    Override :meth:`refine` to work on a forward's outputs, or :meth:`step` to adapt.

    A method that keeps an optimiser sets ``self.optimizer`` in :meth:`setup`; one that keeps
    tensors of its own also extends :meth:`state` and :meth:`load_state`.
    """

    adapts: ClassVar[bool] = False  # changes the network by itself, so it cannot share a forward

    def __init__(self, classifier: Classifier, settings: Mapping[str, Any]) -> None:
        self.classifier = classifier
        self.settings = settings
        self.optimizer: torch.optim.Optimizer | None = None
        self.setup()
        self._initial = self.state()

    def setup(self) -> None:
        """What is done once, before the first batch."""

    def step(self, images: Tensor) -> Tensor:
        """The probabilities, B × candidates, of a batch of normalised images."""
        with torch.no_grad():
            return self.refine(self.classifier(images))

    def refine(self, outputs: Outputs) -> Tensor:
        """The probabilities that the method makes of one forward of its network."""
        return outputs.logits.softmax(1)

    def reset(self) -> None:
        """Back to the state at construction, exactly."""
        self.load_state(self._initial)

    def state(self) -> dict[str, Tensor]:
        """A copy of all that batches change: layers' statistics, trained parameters, optimiser.

        Two methods that share a network both hold its part, under the same ``network.`` names.
        """
        tensors = {NETWORK + name: tensor for name, tensor in self.changing().items()}
        if self.optimizer is not None:
            tensors |= _optimizer_tensors(self.optimizer)
        return {name: tensor.detach().clone() for name, tensor in tensors.items()}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over what :meth:`state` returned."""
        with torch.no_grad():
            for name, tensor in self.changing().items():
                _check_shape(name, state[NETWORK + name], tensor)
                tensor.copy_(state[NETWORK + name])
        if self.optimizer is not None:
            self.optimizer.zero_grad(set_to_none=True)
            _load_optimizer(self.optimizer, state)

    def changing(self) -> dict[str, Tensor]:
        """The tensors of the network that a batch may change, by name.

        A method that adapts, or has a step of its own, may touch any of them; otherwise only
        layers that keep statistics of the stream do.
        """
        if self.adapts or type(self).step is not Method.step:
            return self.classifier.state_dict(keep_vars=True)
        return self.stream_statistics()

    def stream_statistics(self) -> dict[str, Tensor]:
        """The statistics of the stream that layers keep, by name."""
        return {
            f"{name}.{buffer}": getattr(layer, buffer)
            for name, layer in self.classifier.named_modules()
            if isinstance(layer, NormalizationLayer)
            for buffer in layer.stream_statistics
        }


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"{OPTIMIZER}{index}.{key}": value
        for index, entries in optimizer.state_dict()["state"].items()
        for key, value in entries.items()
        if isinstance(value, Tensor)
    }


def _load_optimizer(optimizer: torch.optim.Optimizer, state: Mapping[str, Tensor]) -> None:
    entries: dict[int, dict[str, Tensor]] = {}
    for name, tensor in state.items():
        if name.startswith(OPTIMIZER):
            index, key = name.removeprefix(OPTIMIZER).split(".", 1)
            # Torch leaves the count of steps where it finds it, and on a GPU would wait for it.
            kept = tensor.cpu() if key == "step" else tensor
            entries.setdefault(int(index), {})[key] = kept.clone()
    optimizer.load_state_dict(optimizer.state_dict() | {"state": entries})
    for parameter, loaded in optimizer.state.items():
        for key, value in loaded.items():
            if isinstance(value, Tensor) and value.dim():  # Adam counts its steps in a scalar
                _check_shape(key, value, parameter)


def _check_shape(name: str, given: Tensor, wanted: Tensor) -> None:
    """What has another shape would be spread over the tensor, or fail at the next batch."""
    if given.shape != wanted.shape:
        raise ValueError(f"{name} is {tuple(given.shape)}, not {tuple(wanted.shape)}")
