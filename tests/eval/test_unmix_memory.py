"""UnMix-TNS never holds a B × K × C tensor, forward or backward."""

import pytest
import torch

from benchmarks.straightforward import StraightforwardUnMixTNS
from tests.eval.allocations import Allocations
from tests.eval.networks_to_adapt import images, make_layer
from vidc.eval.normalization.unmix_tns import UnMixTNS

FLOAT = 4
SIZES = [(4, 8, 32), (32, 8, 32), (4, 64, 32), (4, 8, 256), (32, 64, 256), (64, 128, 256)]


def held(kind, batch, components, channels, *, gradients):
    """The peak and the largest tensor, in floats; images of one pixel, so that they are B × C."""
    layer = make_layer(channels, components, kind)
    x = images(batch, channels, 1, 1).requires_grad_(gradients)
    with Allocations() as allocations, torch.set_grad_enabled(gradients):
        out = layer(x)
        if gradients:
            out.sum().backward()
    return allocations.peak / FLOAT, allocations.largest / FLOAT


@pytest.mark.parametrize("gradients", [False, True])
def test_memory_grows_with_the_matrices_and_not_with_their_product(gradients):
    for batch, components, channels in SIZES:
        peak, largest = held(UnMixTNS, batch, components, channels, gradients=gradients)
        matrices = (batch * channels, components * channels, batch * components)
        assert largest <= max(matrices)
        # Of the last size, a single B × K × C tensor would be 36 times the matrices' sum.
        assert peak <= 10 * sum(matrices)


@pytest.mark.parametrize("gradients", [False, True])
def test_the_straightforward_layer_is_caught(gradients):
    batch, components, channels = SIZES[-1]
    peak, largest = held(StraightforwardUnMixTNS, batch, components, channels, gradients=gradients)
    assert largest == batch * components * channels
    assert peak > 100 * (batch * channels + components * channels + batch * components)
