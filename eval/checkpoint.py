"""The exact state of a cell on the way: tensors and a few numbers, in one file, without pickle."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import save as serialized

from vidc.errors import InputError
from vidc.files import write_whole


@dataclass(frozen=True)
class Checkpoint:
    """Where a cell stands: the next batch, its tensors, and the plain values beside them."""

    batch: int
    tensors: dict[str, torch.Tensor]
    values: dict[str, Any]


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write the file whole: a kill leaves the one before or this one."""
    tensors = _storable(checkpoint.tensors)
    notes = {"batch": str(checkpoint.batch), "values": json.dumps(checkpoint.values)}
    write_whole(path, serialized(tensors, notes | {"sum": _sum(tensors, notes)}))


def load(path: Path) -> Checkpoint | None:
    """The checkpoint in this file, or None where there is none.

    One flipped bit in a layer's statistics would give a number that is wrong and looks right, so
    a file that is not as it was written is refused.
    """
    if not path.exists():
        return None
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            notes = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError, ValueError):
        notes, tensors = {}, {}
    if notes.pop("sum", None) != _sum(tensors, notes):
        raise InputError(f"{path} is damaged: delete it, and its cell starts again.")
    return Checkpoint(int(notes["batch"]), tensors, json.loads(notes["values"]))


def _sum(tensors: Mapping[str, torch.Tensor], notes: Mapping[str, str]) -> str:
    """A checksum of everything in the file; against accidents, so the quickest will do."""
    total = zlib.crc32(json.dumps(dict(sorted(notes.items()))).encode())
    for name, tensor in sorted(tensors.items()):
        total = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), total)
        total = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, total)
    return f"{total:08x}"


def _storable(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copies on the CPU, each with memory of its own: the format stores no views."""
    return {
        name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()
    }
