"""The columns under torch.compile: traced whole, and with the same result."""

import pytest
import torch

from tests.eval.networks_to_adapt import settings, small_classifier
from vidc.eval.methods import method_class
from vidc.eval.normalization import moments, with_normalization


def method_of(pair):
    name, normalization = pair.split("@")
    values = settings(normalization, "unmix_tns.components=4")
    network = with_normalization(small_classifier(), normalization, values, 0)
    return method_class(name)(network, settings(name, "tent.lr=0.1"))


@pytest.mark.slow
@pytest.mark.parametrize("pair", ["source@unmix_tns", "tent@unmix_tns", "tent@alpha_bn"])
def test_compiled_columns_equal_plain_ones(pair, monkeypatch):
    # Both with the reductions that a compiled network takes, so that they agree to rounding.
    monkeypatch.setattr(moments, "_way", lambda x, per_image: moments.FUSED)
    torch._dynamo.reset()
    plain, compiled = method_of(pair), method_of(pair)
    # Traces forward and backward like the default backend, but needs no C compiler.
    compiled.classifier.compile(backend="aot_eager", fullgraph=True)
    generator = torch.Generator().manual_seed(0)
    for batch in (4, 4, 3):
        images = torch.randn(batch, 3, 8, 8, generator=generator)
        torch.testing.assert_close(compiled.step(images), plain.step(images))
    expected = plain.state()
    for name, tensor in compiled.state().items():
        torch.testing.assert_close(tensor, expected[name])
