"""Writing files so that a reader sees the old file or the new one, whole, whatever happens."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under a temporary name beside it, flush it to the disk, and rename it.

    The temporary name is always the same, so what a killed process left is used up by the next.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    move_into_place(temporary, path)


def move_into_place(temporary: Path, path: Path) -> None:
    """Rename a finished, flushed file to its name, and make the renaming itself durable."""
    temporary.replace(path)
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Make the names in a folder durable: a rename is only safe once its folder is on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
