"""What a run was made with, spelled for the page; and what two runs do not have in common."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vidc.eval.report.runs import Run

COMPARED = ("model", "protocol", "limit_frames", "vidc", "environment")
IDENTITY = ("fingerprint", "split")  # of a dataset: two of one name need not hold the same frames


@dataclass(frozen=True)
class Sheet:
    """A titled list of names and values."""

    title: str
    values: tuple[tuple[str, str], ...]


def sheets(run: Run) -> list[Sheet]:
    """Model, protocol, each dataset and the environment: enough to reproduce the run."""
    raw = run.raw
    protocol = _flatten(raw.get("protocol") or {})
    datasets = [_dataset_sheet(run, name) for name in run.datasets]
    return [
        Sheet("Model", tuple(_flatten(raw.get("model") or {}).items())),
        Sheet("Protocol", tuple(protocol.items())),
        *datasets,
        Sheet("Environment", tuple(_flatten(raw.get("environment") or {}).items())),
    ]


def command_line(run: Run) -> str:
    """The command that made the run, as it is typed in a shell."""
    words = run.raw.get("command") or []
    return words if isinstance(words, str) else shlex.join(str(word) for word in words)


def differences(runs: Sequence[Run]) -> list[tuple[str, tuple[str, ...]]]:
    """The settings that are not the same in all runs, each with its value in every run."""
    flat = [_flatten(_compared(run)) for run in runs]
    keys = dict.fromkeys(key for settings in flat for key in settings)
    rows = [(key, tuple(settings.get(key, "–") for settings in flat)) for key in keys]
    return [(key, values) for key, values in rows if len(set(values)) > 1]


def _compared(run: Run) -> dict[str, Any]:
    datasets = {
        name: {key: dataset[key] for key in IDENTITY}
        for name, dataset in run.raw["datasets"].items()
    }
    return {key: run.raw.get(key) for key in COMPARED} | {"datasets": datasets}


def spelled(value: Any) -> str:
    """A setting as it is shown.

    >>> spelled(True), spelled(2.5e-06), spelled(["a", 1]), spelled(None)
    ('yes', '2.5e-06', 'a, 1', '–')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "–"
    if isinstance(value, list | tuple):
        return ", ".join(spelled(item) for item in value)
    return str(value)


def _dataset_sheet(run: Run, name: str) -> Sheet:
    # The class list is long and is in results.json; how many there are says enough here.
    known = {key: value for key, value in run.raw["datasets"][name].items() if key != "classes"}
    left_out: dict[str, int] = {}
    for cell in (cell for cell in run.cells if cell.dataset == name):
        for why, frames in cell.left_out.items():
            left_out[why] = max(left_out.get(why, 0), frames)
    values = _flatten(known) | {"classes": str(len(run.datasets[name].classes))}
    values |= {f"left out, {why.replace('_', ' ')}": f"{n:,}" for why, n in left_out.items()}
    return Sheet(f"Dataset {name}", tuple(values.items()))


def _flatten(value: Any, prefix: str = "") -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {prefix: spelled(value)}
    flat: dict[str, str] = {}
    for key, inner in value.items():
        flat |= _flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    return flat
