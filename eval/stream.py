"""The frames of a cell: which are scored, in which order, and in batches made ahead of the model.

Frames are decoded by the source's own threads; one more thread stacks them into batches and
waits when a few are ready, so that the model never waits and memory stays small.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from vidc.ahead import made_ahead, mapped
from vidc.errors import InputError
from vidc.eval.head import select_frames
from vidc.eval.models import Preprocessing
from vidc.eval.pixels import fitted
from vidc.frames import Frame, FrameLabels, FrameSource, Pixels

BATCHES_AHEAD = 4


@dataclass(frozen=True)
class Scored:
    """The frames that are scored, in the order in which the model sees them."""

    positions: NDArray[np.int64]
    labels: FrameLabels
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.positions)

    def part(self, rows: slice) -> Scored:
        """Some of the frames, one after the other."""
        labels = self.labels
        return Scored(
            self.positions[rows],
            FrameLabels(
                labels.videos[rows], labels.frames[rows], labels.label[rows], labels.labels[rows]
            ),
            self.left_out,
        )


@dataclass(frozen=True)
class Batch:
    """Consecutive scored frames: pixels (B x H x W x 3, 8 bits), or files still to be decoded."""

    number: int
    start: int
    stop: int
    images: torch.Tensor | tuple[bytes, ...]


def scored_frames(
    labels: FrameLabels,
    members: Sequence[Sequence[int]],
    multi_label: str,
    limit: int | None = None,
) -> Scored:
    """The frames that can be scored, in the source's order; ``limit`` keeps only the first."""
    selection = select_frames(labels, members, multi_label)
    positions = selection.positions[:limit]
    return Scored(positions, _taken(labels, positions), selection.left_out())


def shuffled(scored: Scored, seed: int) -> Scored:
    """The same frames in an order drawn from the seed: the i.i.d. control."""
    # Sorting raw bits, because numpy promises to keep those from version to version, unlike
    # `permutation`.
    keys = np.random.Philox(key=seed).random_raw(len(scored))
    order = np.argsort(keys, kind="stable")
    return Scored(scored.positions[order], _taken(scored.labels, order), scored.left_out)


def _taken(labels: FrameLabels, rows: NDArray[np.int64]) -> FrameLabels:
    return FrameLabels(
        videos=labels.videos[rows],
        frames=labels.frames[rows],
        label=labels.label[rows],
        labels=tuple(labels.labels[row] for row in rows),
    )


class Stream:
    """Batches of a cell's scored frames, from any batch on."""

    def __init__(
        self,
        source: FrameSource,
        scored: Scored,
        batch: int,
        preprocessing: Preprocessing,
        *,
        threads: int = 1,
        pin: bool = False,
        files: bool = False,
    ) -> None:
        self.scored = scored
        self._source = source
        self._batch = batch
        self._preprocessing = preprocessing
        self._threads = threads
        self._pin = pin
        self._files = files

    def __len__(self) -> int:
        return -(-len(self.scored) // self._batch)

    def batches(self, first: int = 0) -> Generator[Batch, None, None]:
        """The batches from number ``first`` on, a few of them made ahead in a thread."""
        return made_ahead(self._assembled(first), BATCHES_AHEAD)

    def _assembled(self, first: int) -> Iterator[Batch]:
        images = self._images(first * self._batch)
        for number in range(first, len(self)):
            start = number * self._batch
            stop = min(start + self._batch, len(self.scored))
            of_batch = list(itertools.islice(images, stop - start))
            if len(of_batch) < stop - start:
                raise InputError(f"{self._source.info.dataset} ended before its last frame.")
            yield Batch(number, start, stop, self._together(of_batch))

    def _images(self, start: int) -> Iterator[Pixels | bytes]:
        images = (frame.image for frame in self._frames(start))
        if self._files:
            return images
        crop = self._preprocessing.crop
        if self._source.info.size == (crop, crop):
            return images
        return mapped(self._fit, images, threads=self._threads, ahead=2 * self._threads)

    def _fit(self, image: Pixels | bytes) -> Pixels | bytes:
        return fitted(cast(Pixels, image), self._preprocessing)

    def _together(self, images: Sequence[Pixels | bytes]) -> torch.Tensor | tuple[bytes, ...]:
        if self._files:
            return tuple(image for image in images if isinstance(image, bytes))
        crop = self._preprocessing.crop
        stacked = torch.empty((len(images), crop, crop, 3), dtype=torch.uint8, pin_memory=self._pin)
        for row, image in zip(stacked.numpy(), images, strict=True):
            if np.shape(image) != row.shape:  # numpy would spread a small frame over the row
                raise InputError(
                    f"{self._source.info.dataset} holds a frame of {np.shape(image)[:2]} pixels "
                    f"where {crop} x {crop} was promised: build or download it again."
                )
            row[...] = image
        return stacked

    def _frames(self, start: int) -> Iterator[Frame]:
        """The frames from this place of the order on, each being indeed the one that is due."""
        positions = self.scored.positions[start:].tolist()
        frames = self._source.frames(positions, decode=not self._files)
        for place, frame in enumerate(frames, start):
            self._check_order(frame, place)
            yield frame

    def _check_order(self, frame: Frame, place: int) -> None:
        labels = self.scored.labels
        due = (str(labels.videos[place]), int(labels.frames[place]), int(labels.label[place]))
        if (frame.video, frame.frame, frame.label) != due:
            raise InputError(
                f"{self._source.info.dataset} is out of order: frame {frame.frame} of video "
                f"{frame.video} (label {frame.label}) came where frame {due[1]} of video {due[0]} "
                f"(label {due[2]}) was due; build or download it again."
            )
