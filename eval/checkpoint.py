"""The exact state of a cell on the way: tensors and a few numbers, in one file, without pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import save_file

from vidc.errors import InputError
from vidc.files import move_into_place


@dataclass(frozen=True)
class Checkpoint:
    """Where a cell stands: the next batch, its tensors, and the plain values beside them."""

    batch: int
    tensors: dict[str, torch.Tensor]
    values: dict[str, Any]


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write the file whole: a kill leaves the one before or this one."""
    temporary = path.with_name(f".{path.name}.tmp")
    notes = {"batch": str(checkpoint.batch), "values": json.dumps(checkpoint.values)}
    save_file(_storable(checkpoint.tensors), temporary, metadata=notes)
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    move_into_place(temporary, path)


def load(path: Path) -> Checkpoint | None:
    """The checkpoint in this file, or None where there is none."""
    if not path.exists():
        return None
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            notes = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except safetensors.SafetensorError:
        raise InputError(f"{path} is damaged: delete it, and its cell starts again.") from None
    return Checkpoint(int(notes["batch"]), tensors, json.loads(notes["values"]))


def _storable(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copies on the CPU, each with memory of its own: the format stores no views."""
    return {
        name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()
    }
