"""Layers that take BatchNorm2d's place: what a batch is normalised with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vidc.errors import unknown

if TYPE_CHECKING:
    from vidc.eval.models import Classifier

NORMALIZATIONS = ("bn", "tbn", "alpha_bn", "unmix_tns")


def with_normalization(
    classifier: Classifier, name: str, settings: Mapping[str, Any], seed: int
) -> Classifier:
    """A copy of the classifier, in eval mode, with this normalization in each BatchNorm2d's place.

    BatchNorm1d and BatchNorm3d keep their source statistics. The copy's own scales and shifts go
    into the new layers as they are, so an optimiser over the copy's parameters trains them.
    """
    from vidc.eval.normalization.alpha_bn import AlphaBN
    from vidc.eval.normalization.swap import swapped_copy
    from vidc.eval.normalization.tbn import TBN
    from vidc.eval.normalization.unmix_tns import UnMixTNS

    layers = {"bn": None, "tbn": TBN, "alpha_bn": AlphaBN, "unmix_tns": UnMixTNS}
    if name not in layers:
        raise unknown("normalization", name, layers)
    return swapped_copy(classifier, layers[name], settings, seed)
