"""The classifier shipped for the sample: network, weights, and the script that trained them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

FOLDER = Path(__file__).parent
WEIGHTS = "weights.safetensors"
METADATA = "weights.json"


def load(folder: Path = FOLDER) -> tuple[nn.Module, dict[str, Any]]:
    """The network in evaluation mode, and what ``weights.json`` says of it."""
    from safetensors.torch import load_file

    from vidc.eval.sample_classifier.network import SampleNet

    metadata: dict[str, Any] = json.loads((folder / METADATA).read_text("utf-8"))
    network = SampleNet(len(metadata["wnids"]))
    network.load_state_dict(load_file(folder / WEIGHTS))
    return network.eval(), metadata
