"""Stored rows: the annotations as an index of positions, and the image shards by row group."""

from __future__ import annotations

import bisect
import hashlib
import itertools
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vidc import frames
from vidc.classes import class_list
from vidc.errors import InputError
from vidc.hub import Files, Folder
from vidc.manifest import Manifest, Shard

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ROW_COLUMNS = ("video", "frame", "label", "labels", "objects")
IMAGE_BYTES = "image.bytes"
# Enough for a reader going through in order and another one beside it.
_GROUPS_KEPT = 4
_SHARDS_KEPT = 8

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class RowGroup:
    """Consecutive rows of one shard, in memory."""

    shard: str
    path: Path
    file: pq.ParquetFile
    number: int  # of the group in its file
    first: int  # position of its first row in the config's order
    images: pa.Array  # encoded bytes
    table: pa.Table  # every column but the image
    rows: list[dict[str, Any]]  # the same

    @property
    def stop(self) -> int:
        """The position after its last row."""
        return self.first + len(self.rows)

    def row(self, place: int) -> dict[str, Any]:
        """Every column but the image at this position of the config."""
        return self.rows[place - self.first]

    def only(self, place: int) -> RowGroup:
        """The one row at this position, without the memory of the others."""
        import pyarrow as pa

        return replace(
            self,
            first=place,
            images=pa.array([self.image(place)]),
            table=self.table.slice(place - self.first, 1),
            rows=[self.row(place)],
        )

    def image(self, place: int) -> bytes:
        """The stored bytes at this position of the config."""
        data: bytes = self.images[place - self.first].as_py()
        return data


@contextmanager
def readable(shard: str, remedy: str = "build or download the dataset again") -> Iterator[None]:
    """Name the shard in whatever pyarrow raises for a damaged file."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as damage:
        if isinstance(damage, OSError) and damage.errno:
            reason = os.strerror(damage.errno)
            raise InputError(f"{shard} cannot be read: {reason}.") from damage
        reason = str(damage).split("\n")[0].rstrip(". ")
        raise InputError(f"{shard} is damaged ({reason}): {remedy}.") from damage


def read_index(files: Files, manifest: Manifest, config: str, *, verify: bool) -> pa.Table:
    """The labels, boxes and pixel hashes (column ``sha256``) of a config's rows, in order."""
    import pyarrow as pa

    classes = len(class_list(manifest.classes))
    index = pa.concat_tables(
        _read_annotations(files, name, manifest.shards[name], config, verify)
        for name in manifest.files(frames.ANNOTATIONS)
    )
    _check_labels(files.where, index, classes)
    stored = sum(manifest.shards[name].rows for name in manifest.files(config))
    if stored != index.num_rows:
        raise InputError(
            f"{files.where} has {stored} frames in {config} and {index.num_rows} in its "
            "annotations: build or download it again."
        )
    return index


def _check_labels(where: str, index: pa.Table, classes: int) -> None:
    """Every label is one of the classes, or the mark of a frame that has none."""
    import pyarrow.compute as pc

    inside = _between(index.column("label"), frames.UNLABELLED, classes)
    if not (inside and _between(pc.list_flatten(index.column("labels")), 0, classes)):
        raise InputError(
            f"{where} has a label outside its {classes} classes: build or download it again."
        )


def _between(values: pa.ChunkedArray, least: int, stop: int) -> bool:
    import pyarrow.compute as pc

    found = pc.min_max(values).as_py()
    return found["min"] is None or (least <= found["min"] and found["max"] < stop)


def _read_annotations(files: Files, name: str, shard: Shard, config: str, verify: bool) -> pa.Table:
    import pyarrow as pa

    columns = [*ROW_COLUMNS, f"sha256.{config}"]
    table = read_checked(files, name, shard, columns, verify=verify)
    hashes = [chunk.field(config) for chunk in table.column("sha256").chunks]
    return table.set_column(
        table.schema.get_field_index("sha256"), "sha256", pa.chunked_array(hashes, pa.string())
    )


def read_checked(
    files: Files, name: str, shard: Shard, columns: list[str], *, verify: bool = True
) -> pa.Table:
    """Columns of an annotations shard that is, byte for byte, the one in the manifest."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Read once, for the hash and for the rows: annotations are small.
    path = files.path(name)
    with readable(name):
        data = path.read_bytes()
    if verify and hashlib.sha256(data).hexdigest() != shard.sha256:
        raise InputError(
            f"{name} in {files.where} is not the file its manifest.json describes: "
            "build or download the dataset again."
        )
    configs = [column.partition(".")[2] for column in columns if column.startswith("sha256.")]
    with readable(name):
        stored = pq.ParquetFile(pa.BufferReader(data))
        _check_schema(name, stored.schema_arrow, frames.annotations_schema(configs))
        _check_rows(name, shard, sum(_group_rows(name, stored)))
        # In this thread: one of Arrow's that lets go of Python's bytes while the process ends
        # ends it with an abort, after all is done.
        table = stored.read(columns=columns, use_threads=False)
        check_values(name, table)
    return table


class ShardReader:
    """Row groups of one config's shards by position, the last few kept; safe among threads."""

    def __init__(self, files: Files, manifest: Manifest, config: str) -> None:
        self._files = files
        self._names = manifest.files(config)
        self._shards = [manifest.shards[name] for name in self._names]
        self._firsts = [0, *itertools.accumulate(shard.rows for shard in self._shards)]
        self._lock = threading.Lock()
        self._open: OrderedDict[int, _OpenShard] = OrderedDict()
        self._groups: OrderedDict[tuple[int, int], RowGroup] = OrderedDict()

    def check(self, first: int, stop: int) -> None:
        """Look at the shards of these rows without reading a frame: there, whole, and ours.

        Only in a folder: on the Hub it would mean downloading everything before the first frame.
        """
        if not isinstance(self._files, Folder):
            return
        for number in range(self._number(first), self._number(max(first, stop - 1)) + 1):
            self._opened(number)

    def read(self, position: int) -> RowGroup:
        """The row group that holds this position."""
        with self._lock:
            number = self._number(position)
            shard = _kept(self._open, number, lambda: self._opened(number), _SHARDS_KEPT)
            row = position - self._firsts[number]
            group = bisect.bisect_right(shard.starts, row) - 1
            return _kept(
                self._groups,
                (number, group),
                lambda: self._read_group(number, shard, group),
                _GROUPS_KEPT,
            )

    def _number(self, position: int) -> int:
        return bisect.bisect_right(self._firsts, position, hi=len(self._shards)) - 1

    def _opened(self, number: int) -> _OpenShard:
        return _open_shard(self._files, self._names[number], self._shards[number])

    def _read_group(self, number: int, shard: _OpenShard, group: int) -> RowGroup:
        name = self._names[number]
        with readable(name):
            table = shard.file.read_row_group(group).combine_chunks()
            check_values(name, table)
            rest = table.drop_columns(["image"])
            return RowGroup(
                shard=name,
                path=shard.path,
                file=shard.file,
                number=group,
                first=self._firsts[number] + shard.starts[group],
                images=table.column("image").chunk(0).field("bytes"),
                table=rest,
                rows=rest.to_pylist(),
            )


@dataclass(frozen=True)
class _OpenShard:
    path: Path
    file: pq.ParquetFile
    starts: list[int]  # first row of each row group


def _open_shard(files: Files, name: str, shard: Shard) -> _OpenShard:
    import pyarrow.parquet as pq

    path = files.path(name)
    with readable(name):
        size = path.stat().st_size
    if size != shard.bytes:
        raise InputError(
            f"{name} in {files.where} has {size} bytes where its "
            f"manifest.json says {shard.bytes}: build or download the dataset again."
        )
    with readable(name):
        # Not memory-mapped: a file cut short while it is read would end the process by a signal.
        stored = pq.ParquetFile(path)
        _check_schema(name, stored.schema_arrow, frames.image_schema())
        groups = _group_rows(name, stored)
    _check_rows(name, shard, sum(groups))
    return _OpenShard(path, stored, [0, *itertools.accumulate(groups[:-1])])


def _group_rows(name: str, stored: pq.ParquetFile) -> list[int]:
    """The rows of each row group: few, so that a small file cannot unpack to a large table."""
    groups = [stored.metadata.row_group(i).num_rows for i in range(stored.num_row_groups)]
    if any(not 0 < rows <= frames.ROW_GROUP_FRAMES for rows in groups):
        raise InputError(
            f"{name} has a row group that is empty or of more than {frames.ROW_GROUP_FRAMES} "
            "frames: it is not a shard made by vidc."
        )
    return groups


def _check_schema(name: str, found: pa.Schema, wanted: pa.Schema) -> None:
    for field in wanted:
        at = found.get_field_index(field.name)
        if at < 0 or not _same_type(found.field(at).type, field.type):
            raise InputError(
                f"{name} is not a shard of this dataset: its column '{field.name}' is missing or "
                "of another type."
            )


def _same_type(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Equal, but for the names of list items (writers differ) and further hashed configs."""
    import pyarrow as pa

    if pa.types.is_list(wanted):
        return pa.types.is_list(found) and _same_type(found.value_type, wanted.value_type)
    if pa.types.is_struct(wanted):
        return pa.types.is_struct(found) and all(
            found.get_field_index(part.name) >= 0
            and _same_type(found.field(part.name).type, part.type)
            for part in wanted
        )
    return bool(found == wanted)


def check_values(name: str, table: pa.Table) -> None:
    """No value is missing and every text is Unicode: neither is looked at again."""
    table.validate(full=True)
    if any(_has_null(chunk) for column in table.columns for chunk in column.chunks):
        raise InputError(f"{name} has rows with nothing in them: build the dataset again.")


def _has_null(array: pa.Array) -> bool:
    """Whether a value is missing, at any depth: no writer of ours leaves one out."""
    import pyarrow as pa

    if array.null_count:
        return True
    if pa.types.is_list(array.type):
        return _has_null(array.flatten())
    return pa.types.is_struct(array.type) and any(_has_null(part) for part in array.flatten())


def _check_rows(name: str, shard: Shard, rows: int) -> None:
    if rows != shard.rows:
        raise InputError(
            f"{name} has {rows} rows where its manifest.json says {shard.rows}: "
            "build or download the dataset again."
        )


def _kept(
    cache: OrderedDict[_Key, _Value], key: _Key, make: Callable[[], _Value], limit: int
) -> _Value:
    """The cached value, made where it is not there; the least recently used one goes."""
    if key not in cache:
        cache[key] = make()
        if len(cache) > limit:
            cache.popitem(last=False)
    cache.move_to_end(key)
    return cache[key]
