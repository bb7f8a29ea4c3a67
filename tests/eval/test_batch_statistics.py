"""TBN and α-BN against plain loops, torch's own training mode, and numerical gradients."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from tests.eval.networks_to_adapt import images, settings, source_layer
from tests.reference import normalization_loops as loops
from vidc.eval.normalization import moments
from vidc.eval.normalization.alpha_bn import AlphaBN
from vidc.eval.normalization.tbn import TBN

NO_NOISE = torch.Generator()


def alpha_layer(alpha=0.1, unbiased=True):
    values = settings("alpha_bn") | {"alpha": alpha, "unbiased": unbiased}
    return AlphaBN(source_layer(5), values, NO_NOISE)


def arrays(*tensors):
    return [tensor.detach().double().numpy() for tensor in tensors]


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_tbn_equals_the_loops(batch, layout):
    layer = TBN(source_layer(5), {}, NO_NOISE).double()
    x = images(batch, 5, dtype=torch.float64).contiguous(memory_format=layout)
    expected = loops.tbn_forward(x.numpy(), *arrays(layer.weight, layer.bias), layer.eps)
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-9, atol=1e-10)


def test_tbn_of_a_single_value_is_the_shift():
    layer = TBN(source_layer(5), {}, NO_NOISE)
    out = layer(torch.randn(1, 5, 1, 1))
    torch.testing.assert_close(out.flatten(), layer.bias)


def test_tbn_is_batch_norms_training_mode_and_keeps_the_source_statistics():
    source = source_layer(5)
    layer = TBN(copy.deepcopy(source), {}, NO_NOISE).eval()
    x = images(4, 5)
    torch.testing.assert_close(layer(x), copy.deepcopy(source).train()(x))
    assert torch.equal(layer.source_mean, source.running_mean)
    assert torch.equal(layer.source_var, source.running_var)


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("alpha", [0.1, 0.6])
@pytest.mark.parametrize("unbiased", [True, False])
def test_alpha_bn_equals_the_loops(batch, alpha, unbiased):
    layer = alpha_layer(alpha, unbiased).double()
    x = images(batch, 5, dtype=torch.float64)
    source = arrays(layer.source_mean, layer.source_var, layer.weight, layer.bias)
    expected = loops.alpha_bn_forward(x.numpy(), *source, layer.eps, alpha, unbiased)
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-9, atol=1e-10)


def test_alpha_bn_by_hand():
    """Source mean 0, variance 1; half and half with a batch of 2 and 6, mean 4 and variance 8."""
    source = nn.BatchNorm2d(1, eps=0.5)
    layer = AlphaBN(source, {"alpha": 0.5, "unbiased": True}, NO_NOISE)
    out = layer(torch.tensor([2.0, 6.0]).view(2, 1, 1, 1)).flatten()
    # 0.5·0 + 0.5·4 = 2 and 0.5·1 + 0.5·8 = 4.5, so (x - 2) / sqrt(5).
    torch.testing.assert_close(out.tolist(), [0.0, 4 / 5**0.5])


def test_alpha_bn_at_its_ends_is_source_and_batch():
    x = images(4, 5)
    torch.testing.assert_close(alpha_layer(0.0)(x), source_layer(5)(x))
    batch = TBN(source_layer(5), {}, NO_NOISE)(x)
    torch.testing.assert_close(alpha_layer(1.0, unbiased=False)(x), batch)


def test_alpha_bn_of_a_single_value_is_finite():
    assert torch.isfinite(alpha_layer()(torch.randn(1, 5, 1, 1))).all()


@pytest.mark.parametrize("way", [moments.KERNELS, moments.PASSES, moments.FUSED])
@pytest.mark.parametrize("unbiased", [True, False])
def test_alpha_bn_gradients_numerically(unbiased, way, monkeypatch):
    monkeypatch.setattr(moments, "_way", lambda x, per_image: way)
    layer = alpha_layer(0.3, unbiased).double()
    x = images(3, 5, 2, 2, dtype=torch.float64).requires_grad_()

    def run(x, weight, bias):
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (x,))

    assert torch.autograd.gradcheck(run, (x, layer.weight, layer.bias))


def test_layers_without_scale_and_shift():
    plain = nn.BatchNorm2d(5, affine=False)
    x = images(3, 5).requires_grad_()
    layer = AlphaBN(plain, {"alpha": 1.0, "unbiased": False}, NO_NOISE)
    out = layer(x)
    torch.testing.assert_close(out, nn.BatchNorm2d(5, affine=False).train()(x))
    out.square().sum().backward()
    assert torch.isfinite(x.grad).all()
