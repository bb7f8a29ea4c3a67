"""The classifier that every method adapts: a backbone, its features, and the class-map head."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, cast

from torch import Tensor, nn

from vidc.classes import ClassList
from vidc.errors import InputError
from vidc.eval.head import IMAGENET_OUTPUTS, ClassMap, groups
from vidc.eval.weights import LoadedModel, Preprocessing, load_model

__all__ = [
    "Classifier",
    "LoadedModel",
    "Outputs",
    "Preprocessing",
    "load_model",
    "make_classifier",
]


@dataclass(frozen=True)
class Outputs:
    """What one forward gives: the candidates' logits, and the features the logits come from."""

    logits: Tensor  # B × candidates, after the class-map head
    features: Tensor  # B × D, the input of the last linear layer


class Classifier(nn.Module):
    """A backbone and the class-map head over it."""

    def __init__(self, backbone: nn.Module, head: ClassMap) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self._last = _last_linear(backbone, head.outputs)
        if self._last is not None:
            backbone.get_submodule(self._last).register_forward_pre_hook(_keep_input)

    def forward(self, images: Tensor) -> Outputs:
        """Normalised images, B × 3 × H × W, to logits and features."""
        logits = _checked(self.backbone(images), len(images), self.head.outputs)
        return Outputs(self.head(logits), self._features(logits))

    def predict(self, scores: Tensor) -> Tensor:
        """The dataset's label for each row of logits or probabilities; -1 is outside the map."""
        return self.head.predict(scores)

    def _features(self, logits: Tensor) -> Tensor:
        """The last linear layer's input; a network without one gives its logits."""
        if self._last is None:
            return logits.flatten(1)
        linear: Any = self.backbone.get_submodule(self._last)
        kept: Tensor | None = getattr(linear, "last_input", None)
        if kept is None:
            raise InputError(
                f"The network's last linear layer, {self._last}, takes no part in its forward, "
                "so there are no features: remove it from the network."
            )
        linear.last_input = None  # else the whole graph of this batch would live on
        return kept.flatten(1)


def make_classifier(model: LoadedModel, classes: ClassList, head: str) -> Classifier:
    """A classifier of a dataset's classes over a copy of the model's backbone, in eval mode."""
    members = groups(classes, model.outputs)
    if not any(members):
        raise InputError(
            f"The model {model.name} knows none of the classes of {classes.name}; "
            "choose a model trained on ImageNet-1k or on those classes with --model."
        )
    outputs = IMAGENET_OUTPUTS if model.outputs is None else len(model.outputs)
    backbone = copy.deepcopy(model.backbone).eval().requires_grad_(False)
    found = _output_size(backbone, outputs)
    if found is not None and found != outputs:
        raise InputError(
            f"The model {model.name} has {found} outputs where {outputs} are expected: give its "
            "network an attribute `wnids` with the wnid of each output."
        )
    return Classifier(backbone, ClassMap(head, members, outputs)).eval()


def _checked(logits: Any, batch: int, outputs: int) -> Tensor:
    """The logits; too few of them would make the class map read past their end on a GPU."""
    if isinstance(logits, Tensor) and logits.shape == (batch, outputs):
        return logits
    found = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
    raise InputError(
        f"The network returned {found} where logits of ({batch}, {outputs}) are due: let its "
        "forward return the logits alone, and name other outputs than ImageNet's in an attribute "
        "`wnids`."
    )


def _keep_input(module: Any, inputs: tuple[Tensor, ...]) -> None:
    # A plain function that writes to its own module: a copy of the network keeps to itself.
    module.last_input = inputs[0]


def _last_linear(network: nn.Module, outputs: int) -> str | None:
    """The last linear layer with so many outputs, else the last of all.

    Layers are listed as they were made, not as they are used: the classifier may come earlier.
    """
    sizes = {
        name: module.out_features
        for name, module in network.named_modules()
        if isinstance(module, nn.Linear)
    }
    fitting = [name for name, size in sizes.items() if size == outputs]
    return next(reversed(fitting or list(sizes)), None)


def _output_size(network: nn.Module, outputs: int) -> int | None:
    name = _last_linear(network, outputs)
    return None if name is None else cast(nn.Linear, network.get_submodule(name)).out_features
