"""What is drawn, computed from frames in stream order: curves, reliability, error since a change.

Everything here takes plain arrays and keeps no state; errors are percent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RELIABILITY_BINS = 15  # the number most papers report ECE with
SMALLEST_WINDOW = 64
WINDOWS_IN_STREAM = 40
ENOUGH_FRAMES = 50


@dataclass(frozen=True)
class Reliability:
    """Confidence against accuracy in equal bins of confidence; percent, NaN for an empty bin."""

    frames: Ints
    confidence: Floats
    accuracy: Floats
    ece: float


@dataclass(frozen=True)
class SinceChange:
    """Error by how many frames ago the class last changed: bin ``i`` starts at ``starts[i]``."""

    starts: Ints
    stops: Ints
    frames: Ints
    error: Floats
    enough: int  # a bin with fewer frames is noise: in the table, but not in the chart


def curve_positions(frames: int, points: int) -> Ints:
    """At most ``points`` positions spread evenly over a stream; the last frame is always one."""
    points = min(frames, points)
    return np.arange(1, points + 1, dtype=np.int64) * frames // points - 1


def error_so_far(wrong: Flags, positions: Ints) -> Floats:
    """The error of all frames up to and with each position: the last one is the table's number."""
    return np.cumsum(wrong, dtype=np.int64)[positions] * 100.0 / (positions + 1)


def window_length(frames: int) -> int:
    """How many frames the moving error looks back over: long enough not to be noise alone."""
    return min(frames, max(SMALLEST_WINDOW, frames // WINDOWS_IN_STREAM))


def recent_error(wrong: Flags, positions: Ints, window: int) -> Floats:
    """The error of the last ``window`` frames at each position (fewer at the beginning)."""
    total = np.concatenate(([0], np.cumsum(wrong, dtype=np.int64)))
    first = np.maximum(positions + 1 - window, 0)
    return (total[positions + 1] - total[first]) * 100.0 / (positions + 1 - first)


def reliability(
    confidence: NDArray[np.float32], wrong: Flags, bins: int = RELIABILITY_BINS
) -> Reliability:
    """Accuracy in each bin of confidence, and the expected calibration error.

    A bin holds its upper edge and not its lower one, as in Guo et al. (2017).
    """
    inner_edges = np.arange(1, bins) / bins
    where = np.searchsorted(inner_edges, confidence.astype(np.float64), side="left")
    frames = np.bincount(where, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(where, weights=confidence, minlength=bins) * 100.0 / frames
        right = np.bincount(where, weights=~wrong, minlength=bins) * 100.0 / frames
    gaps = np.where(frames > 0, np.abs(mean - right), 0.0)
    ece = float(np.sum(gaps * frames) / max(1, len(wrong)))
    return Reliability(frames, mean, right, ece)


def frames_since_change(labels: Ints) -> Ints:
    """For each frame, how many frames ago its class began; the stream's first frame begins one."""
    changes = np.ones(len(labels), dtype=bool)
    changes[1:] = labels[1:] != labels[:-1]
    at = np.arange(len(labels), dtype=np.int64)
    return at - np.maximum.accumulate(np.where(changes, at, 0))


def change_bins(longest: int) -> Ints:
    """Edges 0 1 2 4 8 16 24 32 48 64 …: fine where adaptation happens, two to an octave later.

    From 16, a batch, on: so that no bin cuts the first batch and the second into one.
    """
    edges = [0, 1, 2, 4, 8, 16]
    while edges[-1] <= longest:
        octave = 1 << (edges[-1].bit_length() - 1)
        edges.append(edges[-1] + octave // 2)
    return np.asarray(edges, dtype=np.int64)


def error_since_change(since: Ints, wrong: Flags) -> SinceChange:
    """The error of the frames in each bin of :func:`change_bins`; empty bins are left out."""
    edges = change_bins(int(since.max(initial=0)))
    where = np.searchsorted(edges, since, side="right") - 1
    frames = np.bincount(where, minlength=len(edges) - 1)
    mistakes = np.bincount(where, weights=wrong, minlength=len(edges) - 1)
    filled = np.flatnonzero(frames)
    return SinceChange(
        starts=edges[filled],
        stops=edges[filled + 1],
        frames=frames[filled],
        error=mistakes[filled] * 100.0 / frames[filled],
        enough=max(1, min(ENOUGH_FRAMES, len(wrong) // 100)),
    )
