"""Small pictures of frames, read back from the dataset that a run was made with.

A dataset that is not there, or is not the one it was, costs the page its pictures and nothing
else: the page says so in their place.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vidc.errors import InputError
from vidc.eval.inputs import BuiltInput, built_input
from vidc.eval.report.disagreement import Pick
from vidc.eval.report.runs import Cell, Dataset
from vidc.frames import Frame

SIDE = 184  # twice what the page shows, for dense screens
QUALITY = 78


@dataclass(frozen=True)
class Pictures:
    """A data URI for each frame asked for, or None; and a sentence where any are missing."""

    images: tuple[str | None, ...]
    why_not: str = ""


class Album:
    """Pictures from the runs' datasets, as long as there is room for them in the page."""

    def __init__(self, most_bytes: int) -> None:
        self._room = most_bytes
        self._inputs: dict[Dataset, BuiltInput] = {}

    def pictures(self, cell: Cell, dataset: Dataset, picks: Sequence[Pick]) -> Pictures:
        """Pictures of ``picks``, or of those that there is still room for."""
        if not picks:
            return Pictures(())
        try:
            images = self._read(cell, dataset, picks)
        except InputError as trouble:
            return Pictures((None,) * len(picks), f"No pictures: {trouble}")
        return self._fitting(images)

    def _read(self, cell: Cell, dataset: Dataset, picks: Sequence[Pick]) -> list[str]:
        frames = self._input(dataset).open((cell.corruption, cell.severity), threads=None)
        # In the dataset's order each row group is read once.
        order = sorted(range(len(picks)), key=lambda i: picks[i].position)
        images = [""] * len(picks)
        read = frames.frames([picks[i].position for i in order])
        for i, frame in zip(order, read, strict=True):
            if (frame.video, frame.frame) != (picks[i].video, picks[i].frame):
                raise _changed(dataset)
            images[i] = _data_uri(frame)
        return images

    def _input(self, dataset: Dataset) -> BuiltInput:
        if dataset not in self._inputs:
            # A local folder only: making a report must not start a download.
            if not dataset.path or not Path(dataset.path).is_dir():
                where = f"at {dataset.path}" if dataset.path else "there"
                raise InputError(f"the dataset is not {where} on this machine.")
            found = built_input(dataset.path)
            if found.about.fingerprint != dataset.fingerprint:
                raise _changed(dataset)
            self._inputs[dataset] = found
        return self._inputs[dataset]

    def _fitting(self, images: Sequence[str]) -> Pictures:
        kept: list[str | None] = []
        for image in images:
            fits = len(image) <= self._room
            self._room -= len(image) if fits else 0
            kept.append(image if fits else None)
        left_out = "Some pictures are left out to keep the page small." if None in kept else ""
        return Pictures(tuple(kept), left_out)


def _changed(dataset: Dataset) -> InputError:
    return InputError(f"the dataset at {dataset.path} is not the one that was evaluated.")


def _data_uri(frame: Frame) -> str:
    from PIL import Image

    picture = Image.fromarray(np.asarray(frame.image))
    picture.thumbnail((SIDE, SIDE))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode("ascii")
