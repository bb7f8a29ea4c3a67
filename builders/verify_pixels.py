"""Make some frames of a built dataset again from the clean videos, and compare them exactly."""

from __future__ import annotations

import bisect
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from vidc import manifest as manifests
from vidc.builders.building import open_clean
from vidc.builders.pipeline import prepare
from vidc.builders.settings import Settings, from_manifest
from vidc.builders.shards import make_row
from vidc.builders.source import Source, SourceFrame, SourceVideo, index_and_file
from vidc.engines import Advance, Engine, run
from vidc.errors import InputError
from vidc.frames import ANNOTATIONS
from vidc.manifest import Manifest


@dataclass(frozen=True)
class Remake:
    """Rows of the annotations, all of one video, that are to be made again."""

    source: Source
    settings: Settings
    video: SourceVideo
    rows: tuple[dict[str, Any], ...]


def remake(
    folder: Path, root: Path, samples: int, seed: int, engine: Engine
) -> tuple[int, list[str]]:
    """Make random frames again; how many, and what differs."""
    manifest = manifests.read(folder)
    settings = from_manifest(manifest)
    source = clean_videos(manifest, root)
    videos = {video.id: video for video in source.videos()}
    chosen = _choose(folder, manifest, samples, seed)
    absent = [f"--root {root} has no video {name}" for name in chosen if name not in videos]
    jobs = [
        Remake(source, settings, videos[name], tuple(rows))
        for name, rows in chosen.items()
        if name in videos
    ]
    found = dict(run(engine, remake_rows, jobs))
    differing = [finding for index in sorted(found) for finding in found[index]]
    return sum(len(job.rows) for job in jobs), absent + differing


def clean_videos(manifest: Manifest, root: Path) -> Source:
    """The source that a dataset was built from, as far as it is at ``root``."""
    return open_clean(manifest.source, root, manifest.split, allow_missing=True)[0]


def _choose(
    folder: Path, manifest: Manifest, samples: int, seed: int
) -> dict[str, list[dict[str, Any]]]:
    """Random rows of the annotations, by video."""
    picked = random.Random(seed).sample(  # noqa: S311 - a choice to look at, not a secret
        range(manifest.frames), min(samples, manifest.frames)
    )
    wanted = iter(sorted(picked))
    position = next(wanted, None)
    first = 0
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in manifest.files(ANNOTATIONS):
        count = manifest.shards[path].rows
        inside = []
        while position is not None and position < first + count:
            inside.append(position - first)
            position = next(wanted, None)
        first += count
        if inside:
            for row in pq.read_table(folder / path).take(inside).to_pylist():
                rows[row["video"]].append(row)
    return rows


def remake_rows(job: Remake, advance: Advance) -> list[str]:
    """Make the rows of one video again; what differs."""
    return [finding for row in job.rows for finding in _differences(job, row)]


def _differences(job: Remake, row: dict[str, Any]) -> Iterator[str]:
    where = f"frame {row['frame']} of {row['video']}"
    try:
        frame = _find(job.source, job.video, row["frame"])
        again = make_row(
            prepare(job.source, job.video, frame, job.settings.recipe), job.settings.recipe
        )
    except InputError as mistake:
        yield f"{where} cannot be made again: {mistake}"
        return
    for config, sha256 in row["sha256"].items():
        if again.hashes[config] != sha256:
            yield f"{where} has other pixels in {config} when it is made again"
    objects = [asdict(box) | {"bbox": list(box.bbox)} for box in again.objects]
    if (again.label, list(again.labels), objects) != (row["label"], row["labels"], row["objects"]):
        yield f"{where} has other labels when it is made again"


def _find(source: Source, video: SourceVideo, index: int) -> SourceFrame:
    """The frame of a video by its index, which in a numbering with gaps is not its position.

    The frames on the way to it may be those that --skip-broken left out: they are not read.
    """
    frames = source.frames(video)
    places = range(len(frames))
    place = bisect.bisect_left(places, index, key=lambda at: index_and_file(frames, at)[0])
    if place == len(frames) or index_and_file(frames, place)[0] != index:
        raise InputError(f"{video.folder} has no frame of index {index}")
    return frames[place]
