"""TENT against finite differences and SGD written out, and what it must not touch."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from tests.eval.networks_to_adapt import settings, small_classifier
from tests.reference.entropy_descent import Descent, mean_entropy, slopes
from tests.reference.normalization_loops import softmax, tbn_forward
from vidc.errors import InputError
from vidc.eval.head import ClassMap
from vidc.eval.methods.tent import Tent, affine_parameters
from vidc.eval.models import Classifier
from vidc.eval.normalization import with_normalization

PAIRS = ["bn", "tbn", "alpha_bn", "unmix_tns"]


def batches(count, batch=4):
    generator = torch.Generator().manual_seed(11)
    return [torch.randn(batch, 3, 8, 8, generator=generator) for _ in range(count)]


def tent_on(normalization, classifier=None, **values):
    network = with_normalization(
        classifier or small_classifier(),
        normalization,
        settings(normalization, "unmix_tns.components=4"),
        0,
    )
    return Tent(network, settings("tent") | {"lr": 0.05} | values)


def one_layer_classifier():
    """One BatchNorm2d and a linear layer over its average: small enough for loops."""
    torch.manual_seed(2)
    backbone = nn.Sequential(
        nn.BatchNorm2d(2), nn.Tanh(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2, 3)
    )
    return Classifier(backbone, ClassMap("sum", ((0,), (1,), (2,)), 3)).double().eval()


def loop_logits(x, weight, bias, linear):
    """The one-layer classifier's logits with batch statistics, in plain loops."""
    active = np.tanh(tbn_forward(x, weight, bias, 1e-5))
    rows = []
    for image in active:
        pooled = [float(np.mean(channel)) for channel in image]
        rows.append([sum(w * v for w, v in zip(row, pooled, strict=True)) + b for row, b in linear])
    return rows


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_equals_finite_differences_and_sgd_written_out(nesterov, weight_decay):
    classifier = one_layer_classifier()
    fc = classifier.backbone[-1]
    linear = list(zip(fc.weight.tolist(), fc.bias.tolist(), strict=True))
    tent = tent_on("tbn", classifier, nesterov=nesterov, weight_decay=weight_decay, lr=0.3)
    values = [1.0, 1.0, 0.0, 0.0]
    descent = Descent(0.3, 0.9, nesterov, weight_decay)
    for seed in range(3):
        x = torch.randn(3, 2, 2, 2, generator=torch.Generator().manual_seed(seed)).double()
        x = x * 2 + seed

        def logits(values, x=x):
            return loop_logits(x.numpy(), values[:2], values[2:], linear)

        # The prediction is that of the parameters before the step.
        expected = [softmax(row) for row in logits(values)]
        np.testing.assert_allclose(tent.step(x).numpy(), expected, rtol=1e-9)
        gradient = slopes(lambda values: mean_entropy(logits(values)), values)
        values = descent.step(values, gradient)
        layer = tent.classifier.backbone[0]
        found = [*layer.weight.tolist(), *layer.bias.tolist()]
        np.testing.assert_allclose(found, values, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("normalization", PAIRS)
def test_only_the_affine_parameters_are_trained(normalization):
    tent = tent_on(normalization)
    affine = affine_parameters(tent.classifier)
    assert len(affine) == 4
    before = copy.deepcopy(tent.classifier.state_dict())
    for images in batches(2):
        tent.step(images)
    for name, tensor in tent.classifier.state_dict().items():
        follows = name in affine or name.endswith((".means", ".vars"))
        assert torch.equal(tensor, before[name]) != follows, name
    trained = {name for name, each in tent.classifier.named_parameters() if each.requires_grad}
    assert trained == set(affine)
    optimised = {id(p) for group in tent.optimizer.param_groups for p in group["params"]}
    assert optimised == {id(parameter) for parameter in affine.values()}


@pytest.mark.parametrize("normalization", PAIRS)
def test_the_prediction_is_from_before_the_step(normalization):
    images = batches(1)[0]
    tent = tent_on(normalization, lr=500.0)
    plain = with_normalization(
        small_classifier(), normalization, settings(normalization, "unmix_tns.components=4"), 0
    )
    torch.testing.assert_close(tent.step(images), plain(images).logits.softmax(1))
    assert not torch.allclose(tent.step(images), plain(images).logits.softmax(1), atol=1e-3)


def test_more_steps_are_more_updates_but_the_same_prediction():
    images = batches(1)[0]
    once, thrice = tent_on("tbn"), tent_on("tbn", steps=3)
    assert torch.equal(once.step(images), thrice.step(images))
    once.step(images)
    once.step(images)
    for one, other in zip(once.state().items(), thrice.state().items(), strict=True):
        assert one[0] == other[0]
        assert torch.equal(one[1], other[1])


@pytest.mark.parametrize("normalization", PAIRS)
def test_reset_is_exact(normalization):
    stream = batches(3)
    tent = tent_on(normalization)
    start = tent.state()
    first = [tent.step(images) for images in stream]
    assert any(key.startswith("optimizer.") for key in tent.state())
    tent.reset()
    assert tent.state().keys() == start.keys()
    assert all(torch.equal(tent.state()[key], value) for key, value in start.items())
    again = [tent.step(images) for images in stream]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize("normalization", PAIRS)
def test_state_continues_exactly_in_another_copy(normalization, tmp_path):
    from safetensors.torch import load_file, save_file

    stream = batches(5)
    whole = tent_on(normalization)
    expected = [whole.step(images) for images in stream]
    stopped = tent_on(normalization)
    for images in stream[:2]:
        stopped.step(images)
    save_file(stopped.state(), tmp_path / "state.safetensors")
    for images in stream[2:]:  # a state is a copy: what comes after does not reach it
        stopped.step(images)
    continued = tent_on(normalization)
    continued.load_state(load_file(tmp_path / "state.safetensors"))
    found = [continued.step(images) for images in stream[2:]]
    assert all(torch.equal(a, b) for a, b in zip(found, expected[2:], strict=True))


def test_the_step_works_where_gradients_are_off():
    with torch.no_grad():
        tent = tent_on("tbn")
        before = tent.state()
        scores = tent.step(batches(1)[0])
    assert not scores.requires_grad
    name = "network.backbone.1.weight"
    assert not torch.equal(before[name], tent.state()[name])


def test_certain_predictions_give_finite_gradients():
    classifier = small_classifier()
    with torch.no_grad():
        classifier.backbone[-1].weight.mul_(1e4)
    tent = tent_on("tbn", classifier)
    for images in batches(2):
        assert torch.isfinite(tent.step(images)).all()
    assert all(torch.isfinite(tensor).all() for tensor in tent.state().values())


def test_nothing_to_adapt_is_refused():
    backbone = nn.Sequential(nn.BatchNorm2d(3, affine=False), nn.Flatten(), nn.Linear(12, 3))
    classifier = Classifier(backbone, ClassMap("sum", ((0,), (1,)), 3)).eval()
    with pytest.raises(InputError, match="nothing to adapt"):
        Tent(classifier, settings("tent"))
