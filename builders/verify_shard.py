"""Look at one shard in every config: bytes, schema, order, labels, and each frame's pixels."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from vidc import images
from vidc.classes import class_list
from vidc.engines import Advance
from vidc.errors import InputError
from vidc.frames import (
    ANNOTATIONS,
    ROW_GROUP_FRAMES,
    annotations_schema,
    image_path,
    image_schema,
    parse_config,
)
from vidc.images import Encoding
from vidc.manifest import Manifest
from vidc.rowgroups import check_values

LABELS = ("video", "frame", "label", "labels", "objects")
_MOST_FINDINGS = 5  # of one kind in one file: the first few tell the rest
_READ = 1 << 20


@dataclass(frozen=True)
class ShardCheck:
    """A shard that is to be looked at, by its index."""

    folder: Path
    manifest: Manifest
    index: int


@dataclass(frozen=True)
class Seen:
    """What a shard was found to hold, and what is wrong with it."""

    findings: tuple[str, ...]
    frames: tuple[tuple[str, int], ...]  # (video, frame index) in order
    labels: Counter[int]


def check_shard(job: ShardCheck, advance: Advance) -> Seen:
    """Compare the annotations with the manifest, then every config with the annotations."""
    annotations = _annotations(job)
    findings = [*annotations.findings]
    for config in job.manifest.configs:
        findings += _check_config(job, config, annotations.table, advance)
    rows = annotations.table.select(["video", "frame", "label"]).to_pylist()
    return Seen(
        findings=tuple(findings),
        frames=tuple((row["video"], row["frame"]) for row in rows),
        labels=Counter(row["label"] for row in rows),
    )


@dataclass(frozen=True)
class _Annotations:
    table: pa.Table
    findings: list[str]


def _annotations(job: ShardCheck) -> _Annotations:
    path = job.manifest.files(ANNOTATIONS)[job.index]
    schema = annotations_schema(job.manifest.hashed_configs)
    findings = _check_file(job, path)
    file = _open(job, path, schema, findings)
    try:
        table = file.read() if file else schema.empty_table()
        check_values(path, table)
    except (pa.ArrowException, OSError, InputError) as damage:
        findings.append(f"{path} cannot be read: {_first_line(damage)}")
        table = schema.empty_table()
    classes = len(class_list(job.manifest.classes))
    findings += _few(_wrong_labels(path, table, classes))
    return _Annotations(table, findings)


def _wrong_labels(path: str, table: pa.Table, classes: int) -> Iterator[str]:
    for row in table.select(["video", "frame", "label", "labels"]).to_pylist():
        label, labels = row["label"], row["labels"]
        inside = all(0 <= each < classes for each in labels)
        if not inside or (label not in labels if labels else label != -1):
            yield f"{path}: frame {row['frame']} of {row['video']} has label {label} of {labels}"


def _check_config(
    job: ShardCheck, config: str, annotations: pa.Table, advance: Advance
) -> list[str]:
    path = job.manifest.files(config)[job.index]
    findings = _check_file(job, path)
    file = _open(job, path, image_schema(), findings)
    if file is None:
        return findings
    if file.metadata.num_rows != annotations.num_rows:
        findings.append(f"{path} has {file.metadata.num_rows} rows, not {annotations.num_rows}")
        return findings
    return findings + list(_few(_wrong_groups(job, path, config, file, annotations, advance)))


def _wrong_groups(
    job: ShardCheck,
    path: str,
    config: str,
    file: pq.ParquetFile,
    annotations: pa.Table,
    advance: Advance,
) -> Iterator[str]:
    """What is wrong with the rows of a file, up to a row group that cannot be read."""
    first = 0
    for number in range(file.num_row_groups):
        try:
            group = file.read_row_group(number)
            check_values(path, group)
        except (pa.ArrowException, OSError, InputError) as damage:
            yield f"{path}, row group {number} cannot be read: {_first_line(damage)}"
            return
        recorded = annotations.slice(first, group.num_rows)
        yield from _wrong_rows(job, path, config, group, recorded)
        first += group.num_rows
        advance(group.num_rows)


def _check_file(job: ShardCheck, path: str) -> list[str]:
    """The file's sha256."""
    shard = job.manifest.shards[path]
    digest = hashlib.sha256()
    try:
        with (job.folder / path).open("rb") as file:
            while data := file.read(_READ):
                digest.update(data)
    except OSError as error:
        return [f"{path} cannot be read: {error.strerror}"]
    if digest.hexdigest() != shard.sha256:
        return [f"{path} is not the file that was built: its sha256 is not the manifest's"]
    return []


def _open(
    job: ShardCheck, path: str, schema: pa.Schema, findings: list[str]
) -> pq.ParquetFile | None:
    """The Parquet file, where its footer, schema, rows and row groups are as they must be."""
    try:
        file = pq.ParquetFile(job.folder / path)
    except (FileNotFoundError, PermissionError):
        return None  # told when its sha256 was to be taken
    except (pa.ArrowException, OSError) as damage:
        findings.append(f"{path} is not a whole Parquet file: {_first_line(damage)}")
        return None
    if not file.schema_arrow.equals(schema):
        findings.append(f"{path} has other columns or types than a dataset of this recipe")
        return None
    if file.metadata.num_rows != job.manifest.shards[path].rows:
        findings.append(
            f"{path} has {file.metadata.num_rows} rows and the manifest says "
            f"{job.manifest.shards[path].rows}"
        )
    groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    if any(rows > ROW_GROUP_FRAMES for rows in groups):
        findings.append(f"{path} has a row group of more than {ROW_GROUP_FRAMES} rows")
    return file


def _wrong_rows(
    job: ShardCheck, path: str, config: str, group: pa.Table, recorded: pa.Table
) -> Iterator[str]:
    """What is wrong with the rows of one row group."""
    recipe = job.manifest.recipe
    extension = Encoding(recipe.format).extension
    kind = parse_config(config)
    videos = set(group.column("video").to_pylist())
    if len(videos) > 1:
        yield f"{path} has a row group with frames of {len(videos)} videos"
    same = all(group.column(name).equals(recorded.column(name)) for name in LABELS)
    wanted = recorded.to_pylist()
    for row, want in zip(group.to_pylist(), wanted, strict=True):
        where = f"{path}, frame {want['frame']} of {want['video']}"
        if not same and any(row[name] != want[name] for name in LABELS):
            yield f"{where}: the row is frame {row['frame']} of {row['video']} or other labels"
        elif (row["corruption"], row["severity"]) != kind:
            yield f"{where}: it says {row['corruption']} {row['severity']}"
        elif row["image"]["path"] != image_path(want["video"], want["frame"], extension):
            yield f"{where}: its image has the path {row['image']['path']}"
        else:
            yield from _wrong_pixels(where, row["image"]["bytes"], want["sha256"][config])


def _wrong_pixels(where: str, data: bytes, sha256: str) -> Iterator[str]:
    try:
        pixels = images.decode(data, where)
    except InputError as mistake:
        yield str(mistake)
        return
    if images.pixel_hash(pixels) != sha256:
        yield f"{where}: its pixels are not those that were built"


def _few(findings: Iterator[str]) -> Iterator[str]:
    """The first few, and how many more."""
    more = 0
    for number, finding in enumerate(findings):
        if number < _MOST_FINDINGS:
            yield finding
        else:
            more += 1
    if more:
        yield f"    and {more} more like it"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
