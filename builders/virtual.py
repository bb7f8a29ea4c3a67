"""The frames that a build would store, made on the fly from clean videos; nothing is written."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from vidc import images
from vidc.ahead import mapped
from vidc.builders.crop import Crop
from vidc.builders.pipeline import Labels, Recipe, corrupted, labels_in, prepare, selected
from vidc.builders.source import Source, SourceFrame, SourceVideo
from vidc.corruptions import RECIPE_VERSION
from vidc.engines import cores
from vidc.errors import InputError
from vidc.frames import Frame, FrameLabels, Pixels, StreamInfo

# Frames in the making for each thread: few, as a frame may be large.
_AHEAD = 3


@dataclass(frozen=True, slots=True)
class _Row:
    """One frame without its pixels."""

    video: str
    frame: int
    bytes: int  # of the clean file
    found: Labels


class VirtualFrames:
    """Clean videos under one corruption: a :class:`vidc.frames.FrameSource`.

    Pixels, order and labels are those of the dataset that the same settings build, JPEG's changes
    included, where no frame is left out as broken. A broken frame is an error when it is reached.
    """

    def __init__(
        self,
        source: Source,
        recipe: Recipe,
        *,
        limit_videos: int | None = None,
        threads: int | None = None,
    ) -> None:
        if len(recipe.corruptions) != 1:
            raise InputError("frames on the fly have one corruption: name one.")
        listed = source.videos()
        self._source = source
        self._recipe = recipe
        self._videos = listed[:limit_videos]
        whole_videos = len(self._videos) == len(listed) == source.videos_in_release
        frames = sum(video.frames for video in listed)
        self._whole = whole_videos and source.frames_in_release in (None, frames)
        self._ends = np.cumsum([len(selected(video, recipe)) for video in self._videos])
        self._threads = threads or cores()
        self._listed = functools.lru_cache(maxsize=4)(source.frames)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @functools.cached_property
    def info(self) -> StreamInfo:
        """What this stream is; the fingerprint needs every label."""
        recipe, source = self._recipe, self._source
        corruption, severity = recipe.corruptions[0]
        return StreamInfo(
            dataset=source.dataset,
            split=source.split,
            corruption=corruption,
            severity=severity,
            classes=source.classes,
            fingerprint=self._fingerprint(),
            complete=self._whole and recipe.stride == 1,
            size=(recipe.size, recipe.size) if recipe.size else None,
        )

    def labels(self) -> FrameLabels:
        """The labels of all frames in order; of the images only the headers are read."""
        rows = self._rows
        return FrameLabels(
            videos=np.array([row.video for row in rows], dtype=np.str_),
            frames=np.array([row.frame for row in rows], dtype=np.int32),
            label=np.array([row.found.label for row in rows], dtype=np.int64),
            labels=tuple(row.found.labels for row in rows),
        )

    def frames(self, positions: Sequence[int], *, decode: bool = True) -> Iterator[Frame]:
        """The frames at these positions of the order, as they are asked for; made ahead."""
        return mapped(
            lambda place: self._frame(*place, decode),
            (self._find(position) for position in positions),
            threads=self._threads,
            ahead=self._threads * _AHEAD,
        )

    def _find(self, position: int) -> tuple[SourceVideo, Sequence[SourceFrame], int]:
        """The video of a position, its frames, and which of them it is."""
        if not 0 <= position < len(self):
            raise IndexError(f"position {position} of {len(self)} frames")
        number = int(np.searchsorted(self._ends, position, side="right"))
        video = self._videos[number]
        steps = selected(video, self._recipe)
        before = int(self._ends[number]) - len(steps)
        return video, self._listed(video), steps[int(position) - before]

    def _frame(
        self, video: SourceVideo, frames: Sequence[SourceFrame], place: int, decode: bool
    ) -> Frame:
        corruption, severity = self._recipe.corruptions[0]
        with _remedied():
            frame = frames[place]
        with _remedied(frame.file):
            prepared = prepare(self._source, video, frame, self._recipe)
            pixels = corrupted(prepared, corruption, severity, self._recipe)
        return Frame(
            video=prepared.video,
            frame=prepared.frame,
            label=prepared.label,
            labels=prepared.labels,
            objects=prepared.objects,
            corruption=corruption,
            severity=severity,
            image=self._image(pixels, decode),
        )

    def _image(self, pixels: Pixels, decode: bool) -> bytes | Pixels:
        encoding = self._recipe.encoding
        if decode and encoding.format == "png":
            return pixels  # to encode and decode again would change nothing
        data = images.encode(pixels, encoding)
        return images.decode(data, "a frame just encoded") if decode else data

    @functools.cached_property
    def _rows(self) -> list[_Row]:
        """Every frame without its pixels, read by a thread a video."""
        from tqdm import tqdm

        done = mapped(
            self._video_rows, self._videos, threads=self._threads, ahead=self._threads * _AHEAD
        )
        with closing(done):
            bar = tqdm(done, "annotations", len(self._videos), unit=" videos", disable=None)
            return [row for rows in bar for row in rows]

    def _video_rows(self, video: SourceVideo) -> list[_Row]:
        with _remedied():
            frames = self._source.frames(video)
            chosen = [frames[place] for place in selected(video, self._recipe)]
        return [self._row(video, frame) for frame in chosen]

    def _row(self, video: SourceVideo, frame: SourceFrame) -> _Row:
        with _remedied(frame.file):
            crop = Crop.of(images.file_size(frame.file), self._recipe.size)
        found = labels_in(crop, frame, self._source)
        return _Row(video.id, frame.index, frame.file.stat().st_size, found)

    def _fingerprint(self) -> str:
        """Names the pixels through the recipe and the clean files' listing, and the labels."""
        source = self._source
        parts = [RECIPE_VERSION, source.name, source.split, asdict(self._recipe)]
        digest = hashlib.sha256(json.dumps(parts).encode())
        for row in self._rows:
            digest.update(repr(row).encode())
        return digest.hexdigest()


@contextmanager
def _remedied(file: Path | None = None) -> Iterator[None]:
    """Say what else can be done with what cannot be used, and of a frame which it is."""
    try:
        yield
    except InputError as mistake:
        why = str(mistake).removesuffix(".")
        whose = f"{file}: " if file and str(file) not in why else ""
        raise InputError(
            f"{whose}{why}; mend it, or build with --skip-broken and evaluate what that makes."
        ) from mistake
