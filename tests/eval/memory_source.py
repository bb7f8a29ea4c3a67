"""Frames in memory: videos of flat colours and noise, whose classes a small network can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vidc.classes import ClassList
from vidc.eval.inputs import About, Corruption
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
    videos: int = 6,
    frames: int = 7,
    size: int = 16,
    *,
    seed: int = 0,
    corruption: str = "snow",
    severity: int = 5,
    dataset: str = "tiny-c",
) -> MemorySource:
    """Videos of one class each; the last frame of each video has a second class."""
    random = np.random.default_rng([seed, len(corruption), severity])
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
                    corruption=corruption,
                    severity=severity,
                    image=noise.astype(np.uint8),
                )
            )
    info = StreamInfo(
        dataset, "val", corruption, severity, CLASSES, f"{seed}{corruption}", True, (size, size)
    )
    return MemorySource(rows, info)


@dataclass(frozen=True)
class MemoryInput:
    """A :class:`vidc.eval.inputs.Input` that hands out one source."""

    source: FrameSource

    @property
    def about(self) -> About:
        info = self.source.info
        return About(info.dataset, "memory", info.split, info.classes, info.fingerprint, True)

    def corruptions(self, names: Sequence[str], severities: Sequence[int]) -> list[Corruption]:
        return [(self.source.info.corruption, self.source.info.severity)]

    def open(self, corruption: Corruption, threads: int | None) -> FrameSource:
        return self.source
