"""Reading a built dataset: frames in order, decoded ahead in threads and checked on the way."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vidc import frames
from vidc import manifest as manifests
from vidc.ahead import made_ahead, mapped
from vidc.classes import class_list
from vidc.engines import cores
from vidc.errors import InputError, unknown
from vidc.frames import ANNOTATIONS, Box, Frame, FrameLabels, Pixels, StreamInfo
from vidc.hub import find
from vidc.located import LocatedGroup, LocatedGroups, located
from vidc.manifest import Manifest
from vidc.rowgroups import ROW_COLUMNS, RowGroup, ShardReader, read_index

if TYPE_CHECKING:
    import pyarrow as pa

# Frames decoded ahead of the consumer, for each thread: enough to ride out a row group's read.
_AHEAD = 8


def load(
    path_or_id: str | Path,
    config: str | None = None,
    *,
    video: str | None = None,
    start: int = 0,
    stop: int | None = None,
    decode: bool = True,
    threads: int | None = None,
    verify: bool = True,
    revision: str | None = None,
    token: str | None = None,
) -> Reader:
    """Open a built folder or a Hub dataset: an iterable of frames in order.

    ``config`` is a corruption (``snow``, ``snow_s3``, ``clean``); the default is the one the
    dataset's card names. ``video`` keeps one video, ``start`` and ``stop`` a range of the frames;
    the rest is not read. ``decode=False`` gives the stored bytes. ``verify`` compares every
    decoded frame with its recorded hash, and every row with the annotations' row in its place.

    >>> import vidc
    >>> frames = vidc.load("datasets/sample/lasot-c", "snow_s4", video="car-6")
    >>> for frame in frames:
    ...     assert frame.image.shape == (112, 112, 3)
    >>> first = next(iter(frames))
    >>> first.video, first.frame, frames.info.classes.names[first.label]
    ('car-6', 0, 'car')
    """
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads}: give at least 1.")
    files = find(path_or_id, revision, token)
    manifest = manifests.read(files.path(manifests.FILE).parent)
    if config is None:
        config = default_config(manifest.configs)
    elif config not in manifest.configs:
        raise unknown(f"config of {files.where}", config, manifest.configs)
    index = read_index(files, manifest, config, verify=verify)
    span = _span(index, video, start, stop)
    shards = ShardReader(files, manifest, config)
    shards.check(span.start, span.stop)
    return Reader(
        manifest, config, index, shards, span, decode=decode, threads=threads, verify=verify
    )


def default_config(configs: Sequence[str]) -> str:
    """The config that is meant when none is named: snow, or else the first corruption.

    >>> default_config(["clean", "rain", "snow"]), default_config(["clean", "rain_s3", "snow_s3"])
    ('snow', 'snow_s3')
    >>> default_config(["clean", "fog"]), default_config(["clean"])
    ('fog', 'clean')
    """
    corrupted = [config for config in configs if config != frames.CLEAN] or list(configs)
    snowy = [config for config in corrupted if frames.parse_config(config)[0] == "snow"]
    return "snow" if "snow" in snowy else (snowy or corrupted)[0]


class Reader:
    """Frames of one config in order; a :class:`vidc.frames.FrameSource` over stored shards."""

    def __init__(
        self,
        manifest: Manifest,
        config: str,
        index: pa.Table,
        shards: ShardReader,
        span: range,
        *,
        decode: bool,
        threads: int | None,
        verify: bool,
    ) -> None:
        self.manifest = manifest
        self.config = config
        self._index = index.slice(span.start, len(span)).combine_chunks()
        self._shards = shards
        self._span = span
        self._whole = len(span) == index.num_rows
        self._decode = decode
        self._threads = threads or cores()
        self._verify = verify

    def __len__(self) -> int:
        return len(self._span)

    def __iter__(self) -> Iterator[Frame]:
        return self.frames(range(len(self)), decode=self._decode)

    @property
    def info(self) -> StreamInfo:
        """What this stream is."""
        manifest = self.manifest
        corruption, severity = frames.parse_config(self.config)
        size = manifest.recipe.size
        return StreamInfo(
            dataset=manifest.name,
            split=manifest.split,
            corruption=corruption,
            severity=severity,
            classes=class_list(manifest.classes),
            fingerprint=self._fingerprint(),
            complete=manifest.complete and self._whole,
            size=(size, size) if size else None,
        )

    def labels(self) -> FrameLabels:
        """The labels of all frames in order, without reading a pixel."""
        column = self._index.column
        return FrameLabels(
            videos=np.array(column("video").to_pylist(), dtype=np.str_),
            frames=column("frame").to_numpy().astype(np.int32),
            label=column("label").to_numpy().astype(np.int64),
            labels=tuple(tuple(labels) for labels in column("labels").to_pylist()),
        )

    def frames(self, positions: Sequence[int], *, decode: bool = True) -> Iterator[Frame]:
        """The frames at these positions of the order, as they are asked for; decoded ahead."""
        places = [self._place(position) for position in positions]
        return mapped(
            lambda row: self._frame(*row, decode),
            self._rows(places),
            threads=self._threads,
            ahead=self._threads * _AHEAD,
        )

    def _rows(self, places: Sequence[int]) -> Iterator[tuple[RowGroup | LocatedGroup, int]]:
        """Each place with the row group that holds it."""
        rising = all(before < after for before, after in itertools.pairwise(places))
        return self._in_order(places) if rising else self._in_no_order(places)

    def _in_no_order(self, places: Sequence[int]) -> Iterator[tuple[RowGroup | LocatedGroup, int]]:
        """Each row group is read once; from then on its images are found in the file."""
        met = LocatedGroups()
        for place in places:
            group: RowGroup | LocatedGroup | None = met.find(place)
            if group is None:
                read = self._group(place)
                group = located(read) or read.only(place)
                if isinstance(group, LocatedGroup):
                    met.add(group)
            yield group, place

    def _in_order(self, places: Sequence[int]) -> Iterator[tuple[RowGroup, int]]:
        """The next group is read meanwhile."""
        with closing(made_ahead(self._groups(places), ahead=1)) as groups:
            for group, inside in groups:
                for place in inside:
                    yield group, place

    def _groups(self, places: Sequence[int]) -> Iterator[tuple[RowGroup, Sequence[int]]]:
        """The row groups of these places one after the other, each with the places it holds."""
        done = 0
        while done < len(places):
            group = self._group(places[done])
            stop = done + 1
            while stop < len(places) and group.first <= places[stop] < group.stop:
                stop += 1
            yield group, places[done:stop]
            done = stop

    def _place(self, position: int) -> int:
        """The row in the whole config of a position of this reader."""
        if not 0 <= position < len(self):
            raise IndexError(f"position {position} of {len(self)} frames")
        return self._span.start + int(position)

    def _group(self, place: int) -> RowGroup:
        group = self._shards.read(place)
        if self._verify:
            self._check_order(group)
        return group

    def _check_order(self, group: RowGroup) -> None:
        """Every row of the group that is ours is the one the annotations have there."""
        first = max(group.first, self._span.start)
        stop = min(group.stop, self._span.stop)
        recorded = self._index.slice(first - self._span.start, stop - first)
        stored = group.table.slice(first - group.first, stop - first)
        kind = dict(zip(("corruption", "severity"), frames.parse_config(self.config), strict=True))
        # Whole columns at a time, and rows only of one that is another: most are the same.
        for name in ROW_COLUMNS:
            if not stored.column(name).equals(recorded.column(name)):
                wanted = recorded.column(name).to_pylist()
                _refuse_stranger(group.shard, name, stored, recorded, wanted)
        for name, value in kind.items():
            if stored.column(name).unique().to_pylist() != [value]:
                _refuse_stranger(group.shard, name, stored, recorded, [value] * len(stored))

    def _frame(self, group: RowGroup | LocatedGroup, place: int, decode: bool) -> Frame:
        row, data = group.row(place), group.image(place)
        return Frame(
            video=row["video"],
            frame=row["frame"],
            label=row["label"],
            labels=tuple(row["labels"]),
            objects=tuple(Box(**box | {"bbox": tuple(box["bbox"])}) for box in row["objects"]),
            corruption=row["corruption"],
            severity=row["severity"],
            image=self._pixels(data, group.shard, row, place) if decode else data,
        )

    def _pixels(self, data: bytes, shard: str, row: dict[str, Any], place: int) -> Pixels:
        from vidc import images

        what = f"frame {row['frame']} of video {row['video']} in {shard}"
        pixels = images.decode(data, what)
        if self._verify:
            recorded = self._index.column("sha256")[place - self._span.start].as_py()
            if images.pixel_hash(pixels) != recorded:
                raise InputError(
                    f"{what} is not the frame that was built (its pixels' sha256 differs): "
                    "build or download the dataset again."
                )
        return pixels

    def _fingerprint(self) -> str:
        """Names the rows read here through the annotations' hashes, which hold every pixel's."""
        manifest = self.manifest
        shards = [manifest.shards[name].sha256 for name in manifest.files(ANNOTATIONS)]
        parts = [manifest.name, manifest.split, self.config, self._span.start, self._span.stop]
        parts += shards
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _refuse_stranger(
    shard: str, name: str, stored: pa.Table, recorded: pa.Table, wanted: list[Any]
) -> None:
    """Refuse a shard for the first row whose value of a column is not the one that is wanted."""
    videos, numbers = (recorded.column(place).to_pylist() for place in ("video", "frame"))
    values = stored.column(name).to_pylist()
    for video, number, value, due in zip(videos, numbers, values, wanted, strict=True):
        if value != due:
            raise InputError(
                f"{shard} does not belong here: at frame {number} of video {video} its {name} is "
                f"{value}, not {due}; build or download the dataset again."
            )


def _span(index: pa.Table, video: str | None, start: int, stop: int | None) -> range:
    """The rows asked for: of one video or of all, from ``start`` to ``stop``."""
    first, last = 0, index.num_rows
    if video is not None:
        first, last = _video_rows(index, video)
    stop = last - first if stop is None else stop
    if not 0 <= start <= stop <= last - first:
        raise InputError(
            f"the range from {start} to {stop} is not inside the {last - first} frames there are."
        )
    return range(first + start, first + stop)


def _video_rows(index: pa.Table, video: str) -> tuple[int, int]:
    import pyarrow.compute as pc

    if not isinstance(video, str):
        raise InputError(f"video is {video!r}: give the id of a video, which is a string.")
    rows = pc.indices_nonzero(pc.equal(index.column("video"), video)).to_numpy()
    if not len(rows):
        raise unknown("video", video, set(index.column("video").to_pylist()))
    if rows[-1] - rows[0] + 1 != len(rows):
        raise InputError(f"the rows of video {video} are not together: build the dataset again.")
    return int(rows[0]), int(rows[-1]) + 1
