"""The exact state of a cell on the way: tensors and a few numbers, in one file, without pickle."""

from __future__ import annotations

import itertools
import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import safetensors
import torch

from vidc.errors import InputError
from vidc.files import write_whole_by

AGAIN = "delete it, and its cell starts again"
# As the format calls them.
_KINDS = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


@dataclass(frozen=True)
class Checkpoint:
    """Where a cell stands: the next batch, its tensors, and the plain values beside them."""

    batch: int
    tensors: dict[str, torch.Tensor]
    values: dict[str, Any]


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write the file whole: a kill leaves the one before or this one."""
    for name, tensor in checkpoint.tensors.items():
        if tensor.dtype not in _KINDS:
            raise InputError(
                f"{path} cannot hold {name}, which is {tensor.dtype}: let the method keep it in "
                "numbers of another type."
            )
    tensors = _storable(checkpoint.tensors)
    notes = {"batch": str(checkpoint.batch), "values": json.dumps(checkpoint.values)}
    notes["sum"] = _sum(tensors, notes)
    write_whole_by(path, lambda file: _write(file, tensors, notes))


def _write(file: BinaryIO, tensors: Mapping[str, torch.Tensor], notes: Mapping[str, str]) -> None:
    """A safetensors file, straight from the tensors.

    The library would make one piece of it first, a little larger each time that a cell is saved:
    of what such pieces leave behind, memory grows with the stream.
    """
    # The largest numbers first, so that each tensor lies where its kind of number may.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0]))
    ends = list(itertools.accumulate((tensor.nbytes for _, tensor in ordered), initial=0))
    header: dict[str, object] = {"__metadata__": notes}
    for (name, tensor), place in zip(ordered, itertools.pairwise(ends), strict=True):
        header[name] = {
            "dtype": _KINDS[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": list(place),
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for _, tensor in ordered:
        file.write(_bytes(tensor))


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
        raise InputError(f"{path} is damaged: {AGAIN}.")
    try:
        return Checkpoint(int(notes["batch"]), tensors, dict(json.loads(notes["values"])))
    except (KeyError, ValueError, TypeError, RecursionError):
        raise InputError(f"{path} is not a checkpoint of vidc's: {AGAIN}.") from None


def _sum(tensors: Mapping[str, torch.Tensor], notes: Mapping[str, str]) -> str:
    """A checksum of everything in the file; against accidents, so the quickest will do."""
    total = zlib.crc32(json.dumps(dict(sorted(notes.items()))).encode())
    for name, tensor in sorted(tensors.items()):
        total = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), total)
        total = zlib.crc32(_bytes(tensor), total)
    return f"{total:08x}"


def _bytes(tensor: torch.Tensor) -> memoryview:
    """The tensor's own memory."""
    return tensor.reshape(-1).view(torch.uint8).numpy().data


def _storable(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors on the CPU, copied only where two share their memory: the format has no views."""
    found: dict[str, torch.Tensor] = {}
    taken: set[int] = set()
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        memory = plain.untyped_storage().data_ptr()
        found[name] = plain.clone() if memory in taken else plain
        taken.add(memory)
    return found
