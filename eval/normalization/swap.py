"""Swapping the BatchNorm2d layers of a network for others, in a copy."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from vidc.errors import InputError
from vidc.eval.normalization.layer import NormalizationLayer

Network = TypeVar("Network", bound=nn.Module)


def swapped_copy(
    network: Network, kind: type[NormalizationLayer] | None, settings: Mapping[str, Any], seed: int
) -> Network:
    """A copy of the network in eval mode, its BatchNorm2d layers replaced by layers of a kind."""
    swapped = copy.deepcopy(network).eval()
    if kind is None:
        return swapped
    places = [
        (name, layer)
        for name, layer in swapped.named_modules(remove_duplicate=False)
        if isinstance(layer, nn.BatchNorm2d)
    ]
    if not places:
        raise InputError(
            f"The network has no BatchNorm2d layer, so {kind.__name__} has nothing to replace: "
            "ask for bn, or choose a network with BatchNorm2d."
        )
    made: dict[nn.Module, NormalizationLayer] = {}  # a layer used in two places stays one layer
    for name, layer in places:
        if layer not in made:
            _check(name, layer, kind)
            made[layer] = kind(layer, settings, _noise(seed, len(made)))
        parent, _, child = name.rpartition(".")
        setattr(swapped.get_submodule(parent), child, made[layer])
    return swapped.eval()


def _check(name: str, layer: nn.BatchNorm2d, kind: type[NormalizationLayer]) -> None:
    """Refuse a layer whose work would be lost with it."""
    plain = type(layer).forward is nn.BatchNorm2d.forward
    if not plain and not (hasattr(layer, "drop") and hasattr(layer, "act")):
        raise InputError(
            f"The layer {name} is a {type(layer).__name__}, which does more than BatchNorm2d and "
            "cannot be replaced: ask for bn, or make it a plain BatchNorm2d."
        )
    if kind.needs_source and layer.running_mean is None:
        raise InputError(
            f"The layer {name} keeps no running statistics, which {kind.__name__} starts from: "
            "ask for tbn, or train it with track_running_stats."
        )


def _noise(seed: int, index: int) -> torch.Generator:
    """A layer's own random numbers: on the CPU, so that every device starts from the same ones."""
    state = np.random.SeedSequence([seed, index]).generate_state(1, np.uint64)
    return torch.Generator("cpu").manual_seed(int(state[0]))
