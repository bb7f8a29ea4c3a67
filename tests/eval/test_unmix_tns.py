"""UnMix-TNS against plain loops, hand-computed cases, instance norm and numerical gradients."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from benchmarks.straightforward import StraightforwardUnMixTNS
from tests.eval.networks_to_adapt import images, make_layer, source_layer
from tests.reference import normalization_loops as loops
from vidc.eval.normalization import moments
from vidc.eval.normalization.unmix_tns import UnMixTNS


def loops_of(layer, x):
    """The reference's output and new components for this layer."""
    state = [t.detach().double().numpy() for t in (layer.means, layer.vars)]
    affine = [t.detach().double().numpy() for t in (layer.weight, layer.bias)]
    out = loops.unmix_forward(x.double().numpy(), *state, *affine, layer.tau, layer.eps)
    after = loops.unmix_update(
        x.double().numpy(), *state, layer.tau, layer.momentum0, layer.base_batch
    )
    return out, *after


@pytest.fixture(params=[moments.KERNELS, moments.PASSES, moments.FUSED])
def reductions(request, monkeypatch):
    """Every way to sum: for large and small batches on a CPU, for GPUs and compilers."""
    monkeypatch.setattr(moments, "_way", lambda x, per_image: request.param)


@pytest.mark.usefixtures("reductions")
@pytest.mark.parametrize("batch", [1, 2, 7])
@pytest.mark.parametrize("components", [1, 9])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_equals_the_loops_over_several_batches(batch, components, layout):
    layer = make_layer(components=components).double()
    for turn in range(3):
        x = images(batch, 5, seed=turn, dtype=torch.float64).contiguous(memory_format=layout)
        out, means, variances = loops_of(layer, x)
        np.testing.assert_allclose(layer(x).detach().numpy(), out, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(layer.means.numpy(), means, rtol=1e-11)
        np.testing.assert_allclose(layer.vars.numpy(), variances, rtol=1e-11)


@hypothesis_settings(max_examples=25, deadline=None)
@given(
    batch=st.integers(1, 4),
    channels=st.integers(1, 4),
    components=st.integers(1, 5),
    side=st.integers(1, 3),
    tau=st.floats(0.02, 5),
    seed=st.integers(0, 99),
)
def test_equals_the_loops_for_any_shape(batch, channels, components, side, tau, seed):
    layer = make_layer(channels, components, seed=seed, tau=tau).double()
    x = images(batch, channels, side, side, seed=seed, dtype=torch.float64)
    out, means, variances = loops_of(layer, x)
    np.testing.assert_allclose(layer(x).detach().numpy(), out, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(layer.means.numpy(), means, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(layer.vars.numpy(), variances, rtol=1e-9, atol=1e-12)


def test_by_hand():
    """Components 1 and 3, an image of 1 and 3: p is half and half, as cosines of one channel."""
    layer = make_layer(1, 2, momentum0=0.1, base_batch=1, eps=0.25)
    with torch.no_grad():
        layer.weight.fill_(2)
        layer.bias.fill_(5)
    layer.means.copy_(torch.tensor([[1.0], [3.0]]))
    layer.vars.fill_(1)
    out = layer(torch.tensor([[[[1.0, 3.0]]]]))
    # Mixed means 1.5 and 2.5: mean 2, variance 1 + 0.25, and ε is 0.25.
    step = 2 / math.sqrt(1.5)
    torch.testing.assert_close(out.flatten().tolist(), [5 - step, 5 + step])
    # λ = 0.1: each component moves by 0.1 · 0.5 of its way to the image's mean of 2.
    torch.testing.assert_close(layer.means.flatten().tolist(), [1.05, 2.95])
    torch.testing.assert_close(layer.vars.flatten().tolist(), [1.0, 1.0])


def test_one_component_is_instance_norm():
    layer = make_layer(components=1)
    x = images(6, 5)
    expected = F.instance_norm(x, weight=layer.weight, bias=layer.bias, eps=layer.eps)
    torch.testing.assert_close(layer(x), expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(make_layer(components=1).means[0], source_layer(5).running_mean)
    assert torch.equal(make_layer(components=1).vars[0], source_layer(5).running_var)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_components_start_as_a_mixture_with_the_sources_moments(alpha):
    channels, components = 40_000, 6
    source = nn.BatchNorm2d(channels)
    source.running_mean.fill_(0.8)
    source.running_var.fill_(2.5)
    layer = make_layer(channels, components, source=source, alpha=alpha)
    means, variances = layer.means.double(), layer.vars.double()
    mixture_mean = means.mean(0)
    mixture_var = variances.mean(0) + means.var(0, correction=0)
    # Each channel is one draw of the mixture: its average must lie within five standard errors.
    for found, wanted in ((mixture_mean, 0.8), (mixture_var, 2.5)):
        error = found.std() / math.sqrt(channels)
        assert abs(found.mean() - wanted) <= 5 * error + 1e-6
    if alpha:
        expected = math.sqrt(alpha * components / (components - 1) * 2.5)
        assert means.std() == pytest.approx(expected, rel=0.01)


def test_the_noise_is_the_seeds_alone():
    same, again, other = (make_layer(seed=seed).means for seed in (4, 4, 5))
    assert torch.equal(same, again)
    assert not torch.equal(same, other)
    torch.manual_seed(99)  # the global generator has no part in it
    assert torch.equal(make_layer(seed=4).means, same)


def test_momentum_of_full_and_short_batches():
    layer = make_layer(momentum0=0.1, base_batch=16)
    assert layer.momentum(16) == pytest.approx(0.1)
    assert layer.momentum(1) == pytest.approx(1 - 0.9 ** (1 / 16))
    # Two batches of eight leave as much of the old as one of sixteen.
    assert (1 - layer.momentum(8)) ** 2 == pytest.approx(1 - layer.momentum(16))


def test_train_and_eval_mode_are_the_same():
    x = images(4, 5)
    training, evaluating = make_layer().train(), make_layer().eval()
    for _ in range(2):
        assert torch.equal(training(x), evaluating(x))
    assert torch.equal(training.means, evaluating.means)
    assert not torch.equal(training.means, make_layer().means)


def test_settings_zero_takes_the_layers_own_eps():
    source = source_layer(5)
    source.eps = 1e-3
    assert make_layer(source=source, eps=0.0).eps == 1e-3
    assert make_layer(source=source, eps=1e-6).eps == 1e-6


@pytest.mark.usefixtures("reductions")
def test_float32_keeps_its_digits_at_large_means():
    """Means of a thousand standard deviations: raw squares would lose the variance."""
    source = source_layer(5, offset=1000.0)
    single, double = make_layer(source=source), make_layer(source=source).double()
    x = images(4, 5, seed=2) + 1000
    expected = double(x.double())
    # Rounding x·scale + shift itself costs about 1000 · 6e-8 of a standard deviation.
    torch.testing.assert_close(single(x).double(), expected, rtol=0, atol=1e-3)
    torch.testing.assert_close(single.vars.double(), double.vars, rtol=1e-5, atol=0)


def freeze_assignment(layer, x):
    """The layer with p as it is for this batch, whatever the batch becomes, and no update."""
    p = layer.assign(x.detach().mean((2, 3)))
    layer.assign = lambda mean: p
    layer.update = lambda mean, var, p: None
    return layer


@pytest.mark.usefixtures("reductions")
@pytest.mark.parametrize("components", [1, 3])
@pytest.mark.parametrize("batch", [1, 3])
def test_gradients_numerically_with_p_held_still(components, batch):
    x = images(batch, 2, 2, 3, dtype=torch.float64).requires_grad_()
    layer = freeze_assignment(make_layer(2, components).double(), x)

    def run(x, weight, bias):
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (x,))

    assert torch.autograd.gradcheck(run, (x, layer.weight, layer.bias))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_gradients_equal_autograds_with_none_through_p(layout):
    layers = [make_layer(kind=kind).double() for kind in (UnMixTNS, StraightforwardUnMixTNS)]
    found = []
    for layer in layers:
        x = images(3, 5, dtype=torch.float64).contiguous(memory_format=layout).requires_grad_()
        out = layer(x)
        (out.sin() * torch.arange(out.numel(), dtype=out.dtype).view_as(out)).sum().backward()
        found.append((out, x.grad, layer.weight.grad, layer.bias.grad))
    for ours, autograds in zip(*found, strict=True):
        torch.testing.assert_close(ours, autograds, rtol=1e-8, atol=1e-8)


def test_state_dict_round_trip():
    first, second = make_layer(seed=1), make_layer(seed=2)
    for seed in range(2):
        first(images(4, 5, seed=seed))
    second.load_state_dict(first.state_dict())
    x = images(4, 5, seed=7)
    assert torch.equal(first(x), second(x))
    assert torch.equal(first.vars, second.vars)


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_keeps_float32_statistics(half):
    layer, exact = make_layer(), make_layer()
    x = (images(4, 5) + 3).to(half)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = layer(x)
    assert out.dtype == half
    assert layer.means.dtype == layer.vars.dtype == torch.float32
    expected = exact(x.float())  # the same rounded pixels, all in float32
    torch.testing.assert_close(layer.means, exact.means)
    torch.testing.assert_close(layer.vars, exact.vars)
    torch.testing.assert_close(out, expected.to(half))


def test_half_precision_gradients():
    layer, exact = make_layer(), make_layer()
    x = images(4, 5).bfloat16()
    gradients = []
    for each, dtype in ((layer, torch.bfloat16), (exact, torch.float32)):
        leaf = x.detach().to(dtype, copy=True).requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = each(leaf)
        (out.float().cos().sum()).backward()
        gradients.append((leaf.grad.float(), each.weight.grad, each.bias.grad))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0.05, atol=0.05)


def test_a_channel_without_variance_stays_finite():
    source = source_layer(3)
    source.running_var.zero_()
    source.running_mean.zero_()
    layer = make_layer(source=source)
    x = torch.zeros(2, 3, 4, 4).requires_grad_()
    out = layer(x)
    out.sum().backward()
    assert torch.isfinite(out).all()
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
# Sixteen images of 32 × 64 × 64 are 2^21 values, the most that count as cached; seventeen do not.
@pytest.mark.parametrize(("batch", "way"), [(16, moments.PASSES), (17, moments.KERNELS)])
def test_small_and_large_batches_have_the_same_moments(batch, way, layout):
    x = images(batch, 32, 64, 64).contiguous(memory_format=layout)
    assert moments._way(x, per_image=True) == way
    mean, var = moments.moments(x, per_image=True)
    exact = x.double().flatten(2)
    torch.testing.assert_close(mean, exact.mean(2).float(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(var, exact.var(2, correction=0).float(), rtol=1e-5, atol=0)
