"""Source: the network as its normalization layers leave it, and nothing else."""

from __future__ import annotations

from vidc.eval.methods.base import Method


class Source(Method):
    """The softmax of the logits."""
