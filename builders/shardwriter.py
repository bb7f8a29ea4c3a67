"""One shard of every config, written side by side, a row group at a time."""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from vidc.frames import ANNOTATIONS, Box, annotations_schema, image_path, image_schema, parse_config
from vidc.manifest import Shard

_IMAGE_BYTES = "image.bytes"


class _HashedFile:
    """A file that knows the sha256 of what was written, so that nothing is read a second time."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._length = 0
        self._abandoned = False
        self.closed = False

    def write(self, data: Any) -> int:
        view = memoryview(data)
        if not self._abandoned:
            self._hash.update(view)
            rest = view.cast("B")
            while rest:  # on a disk that is nearly full a part may be taken, and no error raised
                rest = rest[self._file.write(rest) :]
        self._length += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        return self._length

    def flush(self) -> None:
        """Nothing is held back here; Arrow expects the method."""

    def finish(self, rows: int) -> Shard:
        """Bring the file onto the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return Shard(self._hash.hexdigest(), rows, self._length)

    def abandon(self) -> None:
        """Drop whatever Arrow may still write: it closes its files even after a full disk."""
        self._abandoned = True
        self._file.close()


class _ConfigWriter:
    """The Parquet file of one config."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = _HashedFile(path.open("wb", buffering=0))
        self._writer = pq.ParquetWriter(self._file, schema, **_writer_options(schema))
        self._rows = 0

    def write(self, columns: Mapping[str, pa.Array]) -> None:
        """Write one row group."""
        table = pa.table(dict(columns), schema=self._writer.schema)
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._rows += table.num_rows

    def finish(self) -> Shard:
        self._writer.close()
        return self._file.finish(self._rows)

    def abandon(self) -> None:
        self._file.abandon()
        self._writer.close()


def _writer_options(schema: pa.Schema) -> dict[str, Any]:
    """Images as they are, found by page; everything else small. Fixed, so that bytes are too."""
    columns = [column for column in _leaves(schema) if column != _IMAGE_BYTES]
    options: dict[str, Any] = {
        "version": "2.6",
        "data_page_version": "1.0",
        "compression": dict.fromkeys(columns, "snappy") | {_IMAGE_BYTES: "none"},
        "use_dictionary": columns,
        "write_statistics": columns,
        "write_page_index": True,
    }
    if "use_content_defined_chunking" in inspect.signature(pq.ParquetWriter).parameters:
        options["use_content_defined_chunking"] = True  # an upload sends only what has changed
    return options


def _leaves(schema: pa.Schema) -> list[str]:
    """The names of the Parquet columns, ``objects.list.element.bbox.list.element`` and such."""
    sink = pa.BufferOutputStream()
    pq.ParquetWriter(sink, schema).close()
    stored = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [stored.column(i).path for i in range(len(stored))]


@dataclass(frozen=True, slots=True)
class Row:
    """One frame in all configs: its labels once, its stored image and pixel hash for each."""

    video: str
    frame: int
    label: int
    labels: tuple[int, ...]
    objects: tuple[Box, ...]
    images: Mapping[str, bytes]
    hashes: Mapping[str, str]


class ShardWriter:
    """Takes rows in order and writes them into one file a config, in a folder of its own.

    At most one row group is in memory, as encoded images. ``hashed`` are the configs whose pixel
    hashes are stored, in order.
    """

    def __init__(
        self, folder: Path, configs: Sequence[str], hashed: Sequence[str], extension: str
    ) -> None:
        self._hashed = tuple(hashed)
        self._extension = extension
        self._waiting: list[Row] = []
        schemas = {config: image_schema() for config in configs}
        schemas[ANNOTATIONS] = annotations_schema(self._hashed)
        self._files = {
            config: _ConfigWriter(folder / file_name(config), schema)
            for config, schema in schemas.items()
        }

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, row: Row) -> None:
        """Take a row into the row group that is being filled."""
        self._waiting.append(row)

    def end_row_group(self) -> None:
        """Write what is waiting, in every config."""
        if not self._waiting:
            return
        labels = self._label_columns()
        for config, file in self._files.items():
            file.write(self._columns(config, labels))
        self._waiting.clear()

    def finish(self) -> dict[str, Shard]:
        """Write what is left and bring all files onto the disk."""
        self.end_row_group()
        return {config: file.finish() for config, file in self._files.items()}

    def abandon(self) -> None:
        """Close the files, which are not to be used."""
        for file in self._files.values():
            file.abandon()

    def _label_columns(self) -> dict[str, pa.Array]:
        rows = self._waiting
        types = {field.name: field.type for field in image_schema()}
        values: dict[str, list[Any]] = {
            "video": [row.video for row in rows],
            "frame": [row.frame for row in rows],
            "label": [row.label for row in rows],
            "labels": [row.labels for row in rows],
            "objects": [[asdict(box) for box in row.objects] for row in rows],
        }
        return {name: pa.array(column, types[name]) for name, column in values.items()}

    def _columns(self, config: str, labels: dict[str, pa.Array]) -> dict[str, pa.Array]:
        rows = self._waiting
        if config == ANNOTATIONS:
            hashes = [pa.array([row.hashes[name] for row in rows]) for name in self._hashed]
            return labels | {"sha256": pa.StructArray.from_arrays(hashes, names=self._hashed)}
        corruption, severity = parse_config(config)
        paths = [image_path(row.video, row.frame, self._extension) for row in rows]
        image = pa.StructArray.from_arrays(
            [pa.array([row.images[config] for row in rows], pa.binary()), pa.array(paths)],
            names=["bytes", "path"],
        )
        return {
            "image": image,
            **labels,
            "corruption": pa.array([corruption] * len(rows)),
            "severity": pa.array([severity] * len(rows), pa.int8()),
        }


def file_name(config: str) -> str:
    """The name of a config's file in the writer's folder."""
    return f"{config}.parquet"
