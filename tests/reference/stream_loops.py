"""What the report draws, one frame after another in plain loops."""

from __future__ import annotations

from collections.abc import Sequence


def error_so_far(wrong: Sequence[bool], position: int) -> float:
    """Percent of the frames up to and with ``position`` that are wrong."""
    seen = [bool(one) for one in wrong[: position + 1]]
    return 100.0 * sum(seen) / len(seen)


def recent_error(wrong: Sequence[bool], position: int, window: int) -> float:
    """Percent of the last ``window`` frames up to and with ``position``."""
    seen = [bool(one) for one in wrong[: position + 1]][-window:]
    return 100.0 * sum(seen) / len(seen)


def reliability(
    confidence: Sequence[float], wrong: Sequence[bool], bins: int
) -> list[tuple[int, float, float]]:
    """For each bin (lower edge, upper edge] its frames, mean confidence and accuracy in percent."""
    found = []
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [
            (sure, not bad)
            for sure, bad in zip(confidence, wrong, strict=True)
            if low < sure <= high
            or (number == 0 and sure == 0)
            or (number == bins - 1 and sure > 1)
        ]
        if inside:
            mean = 100.0 * sum(sure for sure, _ in inside) / len(inside)
            right = 100.0 * sum(good for _, good in inside) / len(inside)
            found.append((len(inside), mean, right))
        else:
            found.append((0, float("nan"), float("nan")))
    return found


def expected_calibration_error(
    confidence: Sequence[float], wrong: Sequence[bool], bins: int
) -> float:
    """The gap between confidence and accuracy, weighted by how many frames a bin holds."""
    total = 0.0
    for frames, mean, right in reliability(confidence, wrong, bins):
        if frames:
            total += frames / len(wrong) * abs(mean - right)
    return total


def frames_since_change(labels: Sequence[int]) -> list[int]:
    """How many frames ago the class of each frame began."""
    since: list[int] = []
    for at, label in enumerate(labels):
        since.append(since[-1] + 1 if at and label == labels[at - 1] else 0)
    return since


def error_between(since: Sequence[int], wrong: Sequence[bool], start: int, stop: int) -> float:
    """Percent of the frames that are at least ``start`` and less than ``stop`` after a change."""
    inside = [bad for ago, bad in zip(since, wrong, strict=True) if start <= ago < stop]
    return 100.0 * sum(inside) / len(inside)
