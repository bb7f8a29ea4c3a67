"""The answers of all columns, left on the device until it is worth waiting for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from vidc.eval.networks import ScoresError
from vidc.eval.scores import right
from vidc.eval.stream import Scored


class BadFrameError(ScoresError):
    """A column gave something else than probabilities for the frame at ``place``."""

    def __init__(self, column: str, place: int) -> None:
        super().__init__(column, "returned values that are not probabilities (NaN, or not 0 to 1)")
        self.place = place


class Answers:
    """Labels and confidences, columns x frames, filled batch by batch."""

    def __init__(self, columns: Sequence[str], scored: Scored) -> None:
        self.columns = tuple(columns)
        self.prediction = np.full((len(columns), len(scored)), -1, np.int32)
        self.confidence = np.full((len(columns), len(scored)), np.nan, np.float32)
        self.done = 0
        self._scored = scored
        self._wrong = np.zeros(len(columns), np.int64)
        self._waiting: list[tuple[Tensor, Tensor]] = []

    def add(self, labels: Tensor, confidences: Tensor) -> None:
        """Keep a batch's answers where they are."""
        self._waiting.append((labels, confidences))

    @property
    def waiting(self) -> int:
        """The number of batches not yet collected."""
        return len(self._waiting)

    def collect(self) -> None:
        """Fetch what has been added since the last time; the one place that waits for the device.

        Raises :class:`BadFrameError` for the first frame without probabilities.
        """
        if not self._waiting:
            return
        labels = torch.cat([labels for labels, _ in self._waiting], 1).cpu()
        confidences = torch.cat([confidences for _, confidences in self._waiting], 1).cpu()
        self._waiting.clear()
        self.fill(labels, confidences)

    def fill(self, labels: Tensor, confidences: Tensor) -> None:
        """Put answers, columns x frames, after those that are there."""
        bad = torch.isnan(confidences).numpy()
        if bad.any():
            frame = int(bad.any(0).argmax())
            raise BadFrameError(self.columns[int(bad[:, frame].argmax())], self.done + frame)
        stop = self.done + labels.shape[1]
        self.prediction[:, self.done : stop] = labels.numpy()
        self.confidence[:, self.done : stop] = confidences.numpy()
        truth = self._scored.labels.labels[self.done : stop]
        for row in range(len(self.columns)):
            self._wrong[row] += int((~right(self.prediction[row, self.done : stop], truth)).sum())
        self.done = stop

    def errors(self) -> dict[str, float]:
        """Each column's error so far, in percent."""
        return {
            column: 100.0 * int(wrong) / max(self.done, 1)
            for column, wrong in zip(self.columns, self._wrong, strict=True)
        }
