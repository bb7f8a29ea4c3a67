"""Single images of a shard, read from where they lie in its file: for frames in no order.

A row group is up to 256 images. A reader that goes through in order uses all of them; one that
jumps about would read all of them for each.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vidc.errors import InputError
from vidc.rowgroups import IMAGE_BYTES, RowGroup, readable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_LENGTH_BYTES = 4  # Parquet's plain encoding puts a value's length before it
_START_BYTES = 64


@dataclass(frozen=True)
class LocatedGroup:
    """A row group whose images stay in the file until they are asked for."""

    shard: str
    path: Path
    first: int
    table: pa.Table  # every column but the image
    ranges: tuple[tuple[int, int], ...]  # offset in the file and length of each image

    @property
    def stop(self) -> int:
        """The position after its last row."""
        return self.first + len(self.ranges)

    def row(self, place: int) -> dict[str, Any]:
        """Every column but the image at this position of the config."""
        (row,) = self.table.slice(place - self.first, 1).to_pylist()
        return dict(row)

    def image(self, place: int) -> bytes:
        """The stored bytes at this position of the config."""
        offset, length = self.ranges[place - self.first]
        with readable(self.shard), self.path.open("rb", buffering=0) as file:
            file.seek(offset)
            data = file.read(length)
        if len(data) < length:
            raise InputError(f"{self.shard} was cut short while it was read.")
        return data


class LocatedGroups:
    """The groups met so far, by the positions that they hold."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._groups: dict[int, LocatedGroup] = {}

    def find(self, place: int) -> LocatedGroup | None:
        """The group with this position."""
        at = bisect.bisect_right(self._firsts, place) - 1
        group = self._groups[self._firsts[at]] if at >= 0 else None
        return group if group is not None and place < group.stop else None

    def add(self, group: LocatedGroup) -> None:
        """Keep a group that is not there yet."""
        bisect.insort(self._firsts, group.first)
        self._groups[group.first] = group


def located(group: RowGroup) -> LocatedGroup | None:
    """The group by its places in the file; None where images are not stored as they are.

    vidc writes them plain. Another program's copy of the dataset may be compressed.
    """
    start, stop = _chunk(group.file.metadata.row_group(group.number))
    with readable(group.shard), group.path.open("rb") as file:
        file.seek(start)
        ranges = _ranges(file.read(stop - start), group.images)
    if ranges is None:
        return None
    inside = tuple((start + offset, length) for offset, length in ranges)
    return LocatedGroup(group.shard, group.path, group.first, group.table, inside)


def _chunk(group: pq.RowGroupMetaData) -> tuple[int, int]:
    """Where the file has the images of the group, with the headers of their pages between them."""
    columns = (group.column(i) for i in range(group.num_columns))
    (images,) = (column for column in columns if column.path_in_schema == IMAGE_BYTES)
    return images.data_page_offset, images.data_page_offset + images.total_compressed_size


def _ranges(chunk: bytes, images: pa.Array) -> list[tuple[int, int]] | None:
    """Offset and length in the chunk of each image, looked for in their order."""
    found: list[tuple[int, int]] = []
    end = 0
    for image in images:
        data = memoryview(image.as_buffer()).cast("B")
        start = _find(chunk, data, end)
        if start is None:
            return None
        end = start + len(data)
        found.append((start, len(data)))
    return found


def _find(chunk: bytes, data: memoryview, begin: int) -> int | None:
    """Where the chunk has this value, its length before it, at or after ``begin``."""
    head = len(data).to_bytes(_LENGTH_BYTES, "little") + bytes(data[:_START_BYTES])
    at = chunk.find(head, begin)
    while at >= 0:
        start = at + _LENGTH_BYTES
        if memoryview(chunk)[start : start + len(data)] == data:
            return start
        at = chunk.find(head, at + 1)
    return None
