"""The readers of a built dataset, finished or not: manifest, shards, and a build's markers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.core import folders
from tests.fuzz import damage
from tests.fuzz.reader import Reader
from vidc import manifest as manifests
from vidc.builders import card
from vidc.builders.settings import from_manifest
from vidc.builders.verify import verify
from vidc.builders.workfolder import WorkFolder
from vidc.engines import Engine
from vidc.eval.head import groups
from vidc.eval.models import Preprocessing
from vidc.eval.stream import Stream, scored_frames
from vidc.reading import load

SHAPE = folders.Shape(videos=2, frames=3, size=8, configs=("clean", "snow"), rows_a_group=2)
SHARDS = ("data/snow/val-00000-of-00001.parquet", "data/annotations/val-00000-of-00001.parquet")


def use_dataset(folder: Path) -> None:
    """All that the reader and the evaluation do with a dataset before a network sees it."""
    for config in SHAPE.configs:
        reader = load(folder, config, threads=1)
        info = reader.info
        scored = scored_frames(reader.labels(), groups(info.classes, None), "any")
        fitted = Preprocessing(crop=8, resize=None)
        for batch in Stream(reader, scored, 2, fitted).batches():
            assert batch.images.shape[1:] == (8, 8, 3)
        for frame in reader:
            assert frame.label < len(info.classes)


def verify_dataset(folder: Path) -> None:
    for finding in verify(folder, Engine("serial")):
        assert finding.strip()


def manifest(folder: Path) -> Reader:
    """manifest.json: the dataset's reader, its card, and the recipe to build it again."""
    folders.write_folder(folder, SHAPE)
    valid = [(folder / "manifest.json").read_bytes()]

    def read(data: bytes) -> None:
        (folder / "manifest.json").write_bytes(data)
        found = manifests.read(folder)
        for path in found.shards:
            assert (folder / path).resolve().is_relative_to(folder.resolve()), path
        found.to_json().encode()
        use_dataset(folder)
        card.render(found).encode()
        from_manifest(found)

    return Reader(valid, damage.damaged_json(valid), read)


def shard(use: Callable[[Path], object], which: int) -> Callable[[Path], Reader]:
    """A shard whose damage the manifest does not betray: its size and hash are put right."""

    def make(folder: Path) -> Reader:
        folders.write_folder(folder, SHAPE)
        path = folder / SHARDS[which]
        recorded = json.loads((folder / "manifest.json").read_text())
        valid = [path.read_bytes()]

        def read(data: bytes) -> None:
            path.write_bytes(data)
            try:
                rows = pq.ParquetFile(path).metadata.num_rows
            except (pa.ArrowException, OSError):
                rows = SHAPE.videos * SHAPE.frames
            recorded["shards"][SHARDS[which]] = folders.record(path, rows)
            (folder / "manifest.json").write_text(json.dumps(recorded))
            use(folder)

        return Reader(
            valid, damage.damaged(valid) | damage.damaged_parquet(pq.read_table(path)), read
        )

    return make


def marker(folder: Path) -> Reader:
    """The marker of a finished shard in a build that was interrupted."""
    work = WorkFolder(folder)
    work.create()
    shard = {"sha256": "0" * 64, "rows": 1, "bytes": 3}
    (folder / SHARDS[0]).parent.mkdir(parents=True)
    (folder / SHARDS[0]).write_bytes(b"abc")
    content = {
        "shards": {SHARDS[0]: shard},
        "videos": ["v"],
        "frames": 1,
        "class_counts": {"dog": 1},
    }
    content |= {"skipped": [{"file": "f", "why": "w"}], "seconds": 1.5}
    valid = [json.dumps(content).encode()]

    def read(data: bytes) -> object:
        (work.path / "done" / "key.json").write_bytes(data)
        (work.path / "plan.json").write_bytes(data)
        work.begun()
        return work.finished("key", skip_broken=True)

    return Reader(valid, damage.damaged_json(valid), read)
