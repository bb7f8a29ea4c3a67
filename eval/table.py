"""The table in the paper's layout: a row a corruption, a column a method, and a mean row."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from vidc.eval.inputs import SAMPLE_SUFFIX
from vidc.eval.protocol import NAMES, load_protocol
from vidc.frames import CLEAN, DEFAULT_SEVERITY

IN_ORDER = "in-order"
MEAN = "mean"
PAPER_MODEL = ("resnet50", "IMAGENET1K_V1")
PAPER_ROWS = ("gaussian_noise", "rain", "snow")
# The paper cites TAO where it names LaSOT, so TAO's LaSOT videos are held against the same rows.
PAPER_NAMES = {"imagenet-vid-c": "imagenet-vid-c", "lasot-c": "lasot-c", "tao-lasot-c": "lasot-c"}

Kind = Literal["ours", "paper", "difference"]


@dataclass(frozen=True)
class Value:
    """An error in percent: the mean over seeds, and the sample standard deviation if several."""

    mean: float
    std: float | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table; a value is None where it is not known (yet)."""

    corruption: str
    severity: int | None
    kind: Kind
    values: tuple[Value | None, ...]


@dataclass(frozen=True)
class Section:
    """The rows of one dataset, with what must be known to read them."""

    dataset: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """All sections under one title; ``ids`` and ``names`` are the columns'."""

    title: str
    ids: tuple[str, ...]
    names: tuple[str, ...]
    sections: tuple[Section, ...]


def build_table(results: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]) -> Table:
    """The table of ``cells``, which are the run's own; one without columns is still to come."""
    ids = tuple(column["id"] for column in results["columns"])
    sections = (
        _section(name, dataset, [cell for cell in cells if cell["dataset"] == name], ids, results)
        for name, dataset in results["datasets"].items()
    )
    return Table(
        title=_title(results),
        ids=ids,
        names=tuple(column["name"] for column in results["columns"]),
        sections=tuple(section for section in sections if section.rows),
    )


def _title(results: Mapping[str, Any]) -> str:
    batch = results["protocol"]["stream"]["batch"]
    order = "in order" if results["order"] == IN_ORDER else "shuffled"
    limit = results.get("limit_frames")
    which = "frames" if limit is None else f"the first {limit} frames"
    model = f"{results['model']['name']}, weights {results['model']['weights']}"
    protocol = f"protocol {results['protocol']['name']}{changed(results['protocol'])}"
    return f"Online error, % ({model}; {protocol}; {which} {order}, batches of {batch})"


def changed(protocol: Mapping[str, Any]) -> str:
    """What differs from the shipped protocol of this name, as ``--set`` has it.

    Else a table with other hyperparameters would claim to be the paper's; batch and order are in
    the title anyway.
    """
    if protocol["name"] not in NAMES:
        return ""
    shipped = load_protocol(protocol["name"]).as_dict()
    changes = [
        f"{section}.{key}={value if isinstance(value, str) else json.dumps(value)}"
        for section, values in protocol.items()
        if section != "stream" and isinstance(values, dict)
        for key, value in values.items()
        if shipped.get(section, {}).get(key) != value
    ]
    return f" with {', '.join(changes)}" if changes else ""


def _section(
    name: str,
    dataset: Mapping[str, Any],
    cells: Sequence[Mapping[str, Any]],
    ids: Sequence[str],
    results: Mapping[str, Any],
) -> Section:
    comparable = results["order"] == IN_ORDER and dataset["complete"]
    paper = _paper_rows(name, ids) if comparable else {}
    keys = sorted({(cell["corruption"], cell["severity"]) for cell in cells}, key=row_order)
    by_key = {key: [c for c in cells if (c["corruption"], c["severity"]) == key] for key in keys}
    rows: list[Row] = []
    for (corruption, severity), of_row in by_key.items():
        ours = Row(corruption, severity, "ours", tuple(_value(of_row, column) for column in ids))
        rows += [ours, *_beside(ours, paper)]
    corrupted = [of_row for (corruption, _), of_row in by_key.items() if corruption != CLEAN]
    if len(corrupted) > 1:
        mean = Row(MEAN, None, "ours", tuple(_mean_value(corrupted, column) for column in ids))
        same_rows = sorted(c for c, _ in keys if c != CLEAN) == sorted(PAPER_ROWS)
        rows += [mean, *_beside(mean, paper if same_rows else {})]
    has_paper = any(row.kind == "paper" for row in rows)
    return Section(name, tuple(rows), _notes(name, dataset, results["model"], has_paper))


def row_order(key: tuple[str, int]) -> tuple[int, str, int]:
    """Clean first, then the paper's three in its order, then the others by name."""
    corruption, severity = key
    first = (CLEAN, *PAPER_ROWS)
    return (first.index(corruption) if corruption in first else len(first), corruption, severity)


def row_label(corruption: str, severity: int | None) -> str:
    """A row's name as a person reads it.

    >>> row_label("gaussian_noise", 5), row_label("snow", 3), row_label("mean", None)
    ('Gaussian noise', 'Snow, severity 3', 'Mean')
    """
    name = corruption.replace("_", " ").capitalize()
    plain = corruption in (CLEAN, MEAN) or severity == DEFAULT_SEVERITY
    return name if plain else f"{name}, severity {severity}"


def _value(cells: Sequence[Mapping[str, Any]], column: str) -> Value | None:
    if not all("columns" in cell for cell in cells):
        return None
    return _over_seeds([cell["columns"][column]["error"] for cell in cells])


def _mean_value(rows: Sequence[Sequence[Mapping[str, Any]]], column: str) -> Value | None:
    """The mean over the rows; its deviation is that of the seeds' own means."""
    if any(_value(cells, column) is None for cells in rows):
        return None
    by_seed: dict[int, list[float]] = {}
    for cell in (cell for cells in rows for cell in cells):
        by_seed.setdefault(cell["seed"], []).append(cell["columns"][column]["error"])
    if all(len(errors) == len(rows) for errors in by_seed.values()):
        return _over_seeds([statistics.fmean(errors) for errors in by_seed.values()])
    # Rows with different seeds have no mean of one seed to deviate.
    means = [value.mean for cells in rows if (value := _value(cells, column))]
    return Value(statistics.fmean(means))


def _over_seeds(errors: Sequence[float]) -> Value:
    deviation = statistics.stdev(errors) if len(errors) > 1 else None
    return Value(statistics.fmean(errors), deviation)


def _paper_rows(dataset: str, ids: Sequence[str]) -> dict[str, list[float | None]]:
    """The paper's numbers for a dataset in our columns' order; none for any other dataset."""
    if dataset not in PAPER_NAMES:
        return {}
    paper = json.loads(resources.files(__package__).joinpath("paper.json").read_text("utf-8"))
    return {
        corruption: [dict(zip(paper["columns"], errors, strict=True)).get(column) for column in ids]
        for corruption, errors in paper[PAPER_NAMES[dataset]].items()
    }


def _beside(ours: Row, paper: Mapping[str, list[float | None]]) -> list[Row]:
    """The paper's row and the difference, to stand under ours."""
    numbers = paper.get(ours.corruption)
    if numbers is None or all(number is None for number in numbers):
        return []
    theirs = tuple(None if number is None else Value(number) for number in numbers)
    differences = tuple(
        None if own is None or their is None else Value(own.mean - their.mean)
        for own, their in zip(ours.values, theirs, strict=True)
    )
    return [
        Row(ours.corruption, ours.severity, "paper", theirs),
        Row(ours.corruption, ours.severity, "difference", differences),
    ]


def _notes(
    name: str, dataset: Mapping[str, Any], model: Mapping[str, Any], has_paper: bool
) -> tuple[str, ...]:
    if name.endswith(SAMPLE_SUFFIX):
        return ("Rendered clips: not comparable with the paper or with any real video.",)
    notes = []
    if has_paper:
        notes.append("The paper does not say its severity, its rain or its frame size.")
        if (model["name"], model["weights"]) != PAPER_MODEL:
            notes.append(f"The paper's numbers are of {' '.join(PAPER_MODEL)}, not of this model.")
    if not dataset["complete"]:
        notes.append("Not every frame of the split: not comparable with complete runs.")
    return tuple(notes)
