"""Swapping layers in torchvision's and timm's networks, and what must stay as it was."""

import copy
import re

import pytest
import timm
import torch
import torchvision
from torch import nn

from benchmarks.straightforward import StraightforwardUnMixTNS
from tests.eval.networks_to_adapt import settings, small_classifier, small_network
from vidc.errors import InputError
from vidc.eval.normalization import NORMALIZATIONS, with_normalization
from vidc.eval.normalization.layer import NormalizationLayer
from vidc.eval.normalization.swap import swapped_copy
from vidc.eval.normalization.tbn import TBN
from vidc.eval.normalization.unmix_tns import UnMixTNS

FEW = "unmix_tns.components=4"


def torchvision_network(name):
    return lambda: torchvision.models.get_model(name, weights=None)


def timm_network(name):
    return lambda: timm.create_model(name, pretrained=False)


NETWORKS = {
    "resnet18": torchvision_network("resnet18"),
    "mobilenet_v3_small": torchvision_network("mobilenet_v3_small"),
    "densenet121": torchvision_network("densenet121"),
    "timm resnet10t": timm_network("resnet10t"),
    "timm mobilenetv3_small_050": timm_network("mobilenetv3_small_050"),  # BatchNormAct2d
}


def made(name):
    torch.manual_seed(0)
    return NETWORKS[name]().eval()


def batch_norms(network):
    return [layer for layer in network.modules() if isinstance(layer, nn.BatchNorm2d)]


@pytest.mark.parametrize("name", NETWORKS)
def test_tbn_equals_the_networks_own_training_statistics(name):
    network = made(name)
    x = torch.randn(3, 3, 64, 64)
    ours = swapped_copy(network, TBN, {}, 0)
    assert len(batch_norms(ours)) == 0
    expected = copy.deepcopy(network)
    for layer in batch_norms(expected):
        layer.train()  # batch statistics; dropout elsewhere stays off
    with torch.no_grad():
        torch.testing.assert_close(ours(x), expected(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["resnet18", "timm mobilenetv3_small_050"])
def test_unmix_equals_the_straightforward_layer_on_a_whole_network(name):
    network = made(name)
    values = settings("unmix_tns", "unmix_tns.components=16")
    ours = swapped_copy(network, UnMixTNS, values, 5)
    theirs = swapped_copy(network, StraightforwardUnMixTNS, values, 5)
    with torch.no_grad():
        for seed in range(2):
            x = torch.randn(3, 3, 64, 64, generator=torch.Generator().manual_seed(seed))
            torch.testing.assert_close(ours(x), theirs(x), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_the_callers_network_is_never_changed(name):
    classifier = small_classifier()
    before = copy.deepcopy(classifier.state_dict())
    types = [type(module) for module in classifier.modules()]
    copied = with_normalization(classifier, name, settings(name, FEW), 0)
    copied(torch.randn(4, 3, 8, 8)).logits.sum().backward()
    with torch.no_grad():
        for parameter in copied.parameters():
            parameter.add_(1)
    assert [type(module) for module in classifier.modules()] == types
    assert before.keys() == classifier.state_dict().keys()
    assert all(torch.equal(before[key], value) for key, value in classifier.state_dict().items())
    assert all(parameter.grad is None for parameter in classifier.parameters())


@pytest.mark.parametrize("name", ["tbn", "alpha_bn", "unmix_tns"])
def test_affine_parameters_are_those_of_the_copy(name):
    classifier = small_classifier()
    copied = with_normalization(classifier, name, settings(name, FEW), 0)
    own = {id(parameter) for parameter in copied.parameters()}
    layers = [layer for layer in copied.modules() if isinstance(layer, NormalizationLayer)]
    assert len(layers) == len(batch_norms(classifier)) == 2
    for layer, source in zip(layers, batch_norms(classifier), strict=True):
        assert {id(layer.weight), id(layer.bias)} <= own
        assert torch.equal(layer.weight, source.weight)
        assert layer.weight is not source.weight
    assert len(own) == len(list(classifier.parameters()))


def test_bn_is_the_network_in_eval_mode():
    classifier = small_classifier()
    x = torch.randn(4, 3, 8, 8)
    copied = with_normalization(classifier.train(), "bn", {}, 0)
    assert torch.equal(copied(x).logits, classifier.eval()(x).logits)


def test_batch_norms_of_other_dimensions_keep_the_source_statistics():
    network = nn.Sequential(
        nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.Flatten(), nn.BatchNorm1d(16), nn.Linear(16, 2)
    )
    swapped = swapped_copy(network.train(), TBN, {}, 0)
    kept = swapped[3]
    assert isinstance(kept, nn.BatchNorm1d)
    assert not kept.training
    before = copy.deepcopy(kept.state_dict())
    swapped(torch.randn(8, 3, 2, 2))
    assert all(torch.equal(before[key], value) for key, value in kept.state_dict().items())


def test_a_layer_used_twice_stays_one_layer():
    shared = nn.BatchNorm2d(3)
    network = nn.Sequential(shared, nn.ReLU(), shared)
    swapped = swapped_copy(network, UnMixTNS, settings("unmix_tns", FEW), 0)
    assert swapped[0] is swapped[2]
    assert isinstance(swapped[0], UnMixTNS)


def test_each_layer_has_noise_of_its_own_and_the_seed_decides_it():
    network = nn.Sequential(nn.BatchNorm2d(3), nn.BatchNorm2d(3))
    first, again, other = (
        swapped_copy(network, UnMixTNS, settings("unmix_tns", FEW), seed) for seed in (1, 1, 2)
    )
    assert torch.equal(first[0].means, again[0].means)
    assert not torch.equal(first[0].means, first[1].means)
    assert not torch.equal(first[0].means, other[0].means)


def test_activation_and_dropout_inside_a_layer_are_kept():
    from timm.layers import BatchNormAct2d

    layer = BatchNormAct2d(3, act_layer=nn.Hardswish, drop_layer=lambda: nn.Dropout(0.5)).eval()
    network = nn.Sequential(layer)
    swapped = swapped_copy(network, TBN, {}, 0)
    assert isinstance(swapped[0].drop, nn.Dropout)
    x = torch.randn(4, 3, 5, 5)
    expected = nn.functional.hardswish(nn.BatchNorm2d(3).train()(x))
    torch.testing.assert_close(swapped(x), expected)


class Odd(nn.BatchNorm2d):
    def forward(self, x):
        return super().forward(x) * 2


@pytest.mark.parametrize(
    ("network", "kind", "sentence"),
    [
        (nn.Sequential(nn.Conv2d(3, 3, 1), nn.GroupNorm(1, 3)), TBN, "has no BatchNorm2d layer"),
        (nn.Sequential(Odd(3)), TBN, "layer 0 is a Odd"),
        (
            nn.Sequential(nn.BatchNorm2d(3, track_running_stats=False)),
            UnMixTNS,
            "layer 0 keeps no running statistics",
        ),
    ],
)
def test_networks_that_cannot_be_swapped_are_refused(network, kind, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        swapped_copy(network, kind, settings("unmix_tns"), 0)


def test_unknown_normalization_suggests_the_nearest():
    with pytest.raises(InputError, match="did you mean 'unmix_tns'"):
        with_normalization(small_classifier(), "unmix_tn", {}, 0)


def test_a_subclass_that_only_renames_is_swapped():
    class Renamed(nn.BatchNorm2d):
        pass

    swapped = swapped_copy(nn.Sequential(Renamed(3)), TBN, {}, 0)
    assert isinstance(swapped[0], TBN)


def test_swapping_keeps_the_rest_of_the_network():
    network = small_network()
    swapped = swapped_copy(network, TBN, {}, 0)
    before, after = network.state_dict(), swapped.state_dict()
    rest = [key for key in before if key in after]
    assert len(rest) == 9
    assert all(torch.equal(before[key], after[key]) for key in rest)
