"""A dataset folder in the documented layout, written plainly with pyarrow and Pillow.

With the builder it shares the schemas, the names of configs and the class lists, but nothing that
makes, encodes or hashes a frame, so the reader's tests do not depend on the writer.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from vidc import frames
from vidc.classes import class_list


@dataclass(frozen=True)
class Shape:
    """What the folder holds."""

    videos: int = 4
    frames: int = 5
    size: int = 16
    configs: tuple[str, ...] = ("clean", "snow", "rain_s3")
    videos_a_shard: int = 2
    rows_a_group: int = 3
    name: str = "imagenet-vid-c"
    classes: str = "imagenet-vid"


def pixels_of(config: str, video: int, frame: int, size: int) -> np.ndarray:
    """Pixels that no two frames or configs share."""
    seed = int.from_bytes(hashlib.sha256(f"{config}/{video}/{frame}".encode()).digest()[:8])
    return np.random.default_rng(seed).integers(0, 256, (size, size, 3), np.uint8)


def write_folder(root: Path, shape: Shape = Shape()) -> Path:  # noqa: B008
    """Write the folder: shards of every config, annotations and the manifest."""
    shards = -(-shape.videos // shape.videos_a_shard)
    records = {}
    for shard in range(shards):
        first = shard * shape.videos_a_shard
        videos = range(first, min(first + shape.videos_a_shard, shape.videos))
        groups = [
            [
                (video, frame)
                for frame in range(start, min(start + shape.rows_a_group, shape.frames))
            ]
            for video in videos
            for start in range(0, shape.frames, shape.rows_a_group)
        ]
        for config in (*shape.configs, "annotations"):
            name = f"data/{config}/val-{shard:05d}-of-{shards:05d}.parquet"
            records[name] = write_shard(root / name, config, groups, shape)
    (root / "manifest.json").write_text(json.dumps(manifest(shape, records), sort_keys=True))
    return root


def write_shard(
    path: Path, config: str, groups: Sequence[Sequence[tuple[int, int]]], shape: Shape
) -> dict[str, object]:
    """Write one shard, a row group for each list of (video, frame); its record."""
    if config == "annotations":
        schema = frames.annotations_schema(_hashed(shape))
    else:
        schema = frames.image_schema()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Plain bytes, so that a test that looks for an image in the file finds the one that is read.
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": ["video", "frame"]}
    with pq.ParquetWriter(path, schema, **plain) as writer:
        for group in groups:
            rows = [row(config, video, frame, shape) for video, frame in group]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return record(path, sum(len(group) for group in groups))


def record(path: Path, rows: int) -> dict[str, object]:
    """What the manifest says of a shard."""
    data = path.read_bytes()
    return {"sha256": hashlib.sha256(data).hexdigest(), "rows": rows, "bytes": len(data)}


def row(config: str, video: int, frame: int, shape: Shape) -> dict[str, object]:
    """One row; every third frame has two objects, every fourth none."""
    labels = [] if frame % 4 == 3 else [video % 30] if frame % 3 else [video % 30, 29 - video % 30]
    box = {"bbox": [1.0, 2.0, 3.0, 4.5], "track": 0, "occluded": False, "generated": True}
    shared = {
        "video": f"val_{video:03d}",
        "frame": frame,
        "label": labels[0] if labels else -1,
        "labels": sorted(labels),
        "objects": [box | {"category": label} for label in labels],
    }
    if config == "annotations":
        return shared | {
            "sha256": {name: digest(name, video, frame, shape) for name in _hashed(shape)}
        }
    corruption, severity = frames.parse_config(config)
    file = io.BytesIO()
    Image.fromarray(pixels_of(config, video, frame, shape.size)).save(file, "PNG")
    image = {"bytes": file.getvalue(), "path": f"val_{video:03d}/{frame:06d}.png"}
    return {"image": image} | shared | {"corruption": corruption, "severity": severity}


def digest(config: str, video: int, frame: int, shape: Shape) -> str:
    """The recorded hash of a frame's pixels."""
    pixels = pixels_of(config, video, frame, shape.size)
    return hashlib.sha256(
        f"({shape.size}, {shape.size}, 3)".encode() + pixels.tobytes()
    ).hexdigest()


def _hashed(shape: Shape) -> list[str]:
    return ["clean", *(config for config in shape.configs if config != "clean")]


def manifest(shape: Shape, records: dict[str, dict[str, object]]) -> dict[str, object]:
    """The manifest of such a folder."""
    names = class_list(shape.classes).names
    counts = dict.fromkeys(names, 0)
    for video in range(shape.videos):
        counts[names[video % 30]] += sum(frame % 4 != 3 for frame in range(shape.frames))
    return {
        "schema": 1,
        "name": shape.name,
        "source": shape.classes,
        "split": "val",
        "classes": shape.classes,
        "complete": True,
        "recipe": {
            "version": "1",
            "corruptions": [list(frames.parse_config(config)) for config in shape.configs],
            "size": shape.size,
            "format": "png",
            "quality": None,
            "subsampling": None,
            "temporal": "iid",
            "seed": 0,
            "stride": 1,
        },
        "build": {
            "limit_videos": None,
            "shard_size": 1,
            "allow_missing": False,
            "skip_broken": False,
            "plan": "0" * 64,
        },
        "versions": {"vidc": "0.1.0", "numpy": "2", "opencv": "5", "pillow": "13", "pyarrow": "26"},
        "videos": shape.videos,
        "frames": shape.videos * shape.frames,
        "class_counts": counts,
        "skipped": [],
        "missing": [],
        "shards": records,
    }
