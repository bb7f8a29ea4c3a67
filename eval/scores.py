"""From predictions to errors: overall, by class, by video and over time. Errors are percent."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vidc.frames import FrameLabels

WINDOWS = 50


def right(prediction: NDArray[np.int32], labels: Sequence[tuple[int, ...]]) -> NDArray[np.bool_]:
    """Whether each prediction is one of its frame's classes; outside the class map is wrong.

    >>> right(np.array([1, 2, -1], np.int32), [(1,), (0, 1), (2,)]).tolist()
    [True, False, False]
    """
    counts = np.fromiter((len(classes) for classes in labels), np.int64, len(labels))
    flat = np.fromiter((c for classes in labels for c in classes), np.int64, int(counts.sum()))
    owner = np.repeat(np.arange(len(labels)), counts)
    hit = np.zeros(len(labels), np.bool_)
    hit[owner[flat == prediction[owner]]] = True
    return hit


def column_scores(
    prediction: NDArray[np.int32], scored: FrameLabels, class_names: Sequence[str]
) -> dict[str, Any]:
    """What a result file says about one column of one cell, but for what was measured."""
    wrong = ~right(prediction, scored.labels)
    names = np.array(class_names)
    return {
        "error": percent(wrong),
        "frames": len(wrong),
        "classes": _by_class(wrong, names[scored.label]),
        "videos": _by_video(wrong, scored, names),
        "over_time": _over_time(wrong),
    }


def percent(wrong: NDArray[np.bool_]) -> float:
    """The share of frames that are wrong, in percent.

    >>> percent(np.array([True, False, False, False]))
    25.0
    """
    return 100.0 * int(wrong.sum()) / len(wrong)


def _by_class(wrong: NDArray[np.bool_], names: NDArray[np.str_]) -> dict[str, Any]:
    return {str(name): _error(wrong[names == name]) for name in np.unique(names)}


def _by_video(
    wrong: NDArray[np.bool_], scored: FrameLabels, names: NDArray[np.str_]
) -> dict[str, Any]:
    videos, owner = np.unique(scored.videos, return_inverse=True)
    frames = np.bincount(owner)
    errors = 100.0 * np.bincount(owner, weights=wrong) / frames
    # A video's label is the class most of its frames have, so that it is the same in any order.
    votes = np.zeros((len(videos), len(names)), np.int64)
    np.add.at(votes, (owner, scored.label), 1)
    return {
        str(video): {
            "error": float(errors[i]),
            "frames": int(frames[i]),
            "label": str(names[votes[i].argmax()]),
        }
        for i, video in enumerate(videos)
    }


def _error(wrong: NDArray[np.bool_]) -> dict[str, Any]:
    return {"error": percent(wrong), "frames": len(wrong)}


def _over_time(wrong: NDArray[np.bool_]) -> dict[str, Any]:
    """The error in each of up to fifty windows of the stream, and where each window ends."""
    ends = np.linspace(0, len(wrong), min(WINDOWS, len(wrong)) + 1).round().astype(np.int64)
    windows = [wrong[start:end] for start, end in itertools.pairwise(ends)]
    return {"frames": ends[1:].tolist(), "error": [percent(window) for window in windows]}
