"""Frames in memory: noise with one colour raised a little, by which a small network tells them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vidc.classes import ClassList
from vidc.eval.inputs import Corruption
from vidc.frames import Frame, FrameLabels, FrameSource, StreamInfo

CLASSES = ClassList(
    "tiny",
    ("ant", "bee", "cat", "dog"),
    ("n1", "n2", "n3", None),
    ((0,), (1, 2), (3,), ()),
)


class MemorySource:
    """A :class:`vidc.frames.FrameSource` over a list of frames."""

    def __init__(self, frames: Sequence[Frame], info: StreamInfo) -> None:
        self.all = list(frames)
        self._info = info
        self.asked: list[int] = []

    @property
    def info(self) -> StreamInfo:
        return self._info

    def labels(self) -> FrameLabels:
        return FrameLabels(
            videos=np.array([frame.video for frame in self.all], np.str_),
            frames=np.array([frame.frame for frame in self.all], np.int32),
            label=np.array([frame.label for frame in self.all], np.int64),
            labels=tuple(frame.labels for frame in self.all),
        )

    def frames(self, positions: Sequence[int], *, decode: bool = True) -> Iterator[Frame]:
        for position in positions:
            self.asked.append(position)
            yield self.all[position]


def memory_source(
    videos: int = 6, frames: int = 7, size: int = 16, *, seed: int = 0
) -> MemorySource:
    """Videos of one class each; the last frame of each video has a second class."""
    random = np.random.default_rng(seed)
    rows = []
    for video in range(videos):
        label = video % 3
        for index in range(frames):
            noise = random.integers(0, 200, (size, size, 3))
            noise[..., label] += 12
            rows.append(
                Frame(
                    video=f"v{video:02d}",
                    frame=index,
                    label=label,
                    labels=(label, (label + 1) % 3) if index == frames - 1 else (label,),
                    objects=(),
                    corruption="snow",
                    severity=5,
                    image=noise.astype(np.uint8),
                )
            )
    info = StreamInfo("tiny-c", "val", "snow", 5, CLASSES, f"seed {seed}", True, (size, size))
    return MemorySource(rows, info)


@dataclass(frozen=True)
class MemoryInput:
    """What a cell needs of a :class:`vidc.eval.inputs.Input`: it opens, and always this source."""

    source: FrameSource

    def open(self, corruption: Corruption, threads: int | None) -> FrameSource:
        return self.source
