"""A run as the report sees it: results.json read, checked and typed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from vidc import jsonfields
from vidc.errors import InputError
from vidc.eval.report.predictions import AGAIN, CellKey

RESULTS = "results.json"
PREDICTIONS = "predictions.parquet"
SCHEMA = 1
# Read into memory it takes a few times as much. The paper's corruptions of both datasets whole, at
# every severity and with eight columns, take a fifth of it; all twenty at every severity, more.
_LARGEST_FILE = 64 * 2**20

T = TypeVar("T")


@dataclass(frozen=True)
class Column:
    """A column of the table: a method on a normalization."""

    id: str
    name: str
    pair: str


@dataclass(frozen=True)
class Part:
    """The error of one class or one video."""

    error: float
    frames: int
    label: str = ""


@dataclass(frozen=True)
class Measured:
    """What a column cost in one cell; None where it was not measured."""

    seconds: float | None
    frames_per_second: float | None
    peak_memory_bytes: int | None


@dataclass(frozen=True)
class Scores:
    """One column of one cell."""

    error: float
    frames: int
    classes: Mapping[str, Part]
    videos: Mapping[str, Part]
    measured: Measured


@dataclass(frozen=True)
class Cell:
    """One dataset under one corruption: everything that was scored there."""

    dataset: str
    corruption: str
    severity: int
    seed: int
    frames: int
    left_out: Mapping[str, int]
    columns: Mapping[str, Scores]
    process_memory: float | None  # the most bytes that the whole process had held by its end

    @property
    def key(self) -> CellKey:
        """What tells this cell from the others."""
        return self.dataset, self.corruption, self.severity, self.seed


@dataclass(frozen=True)
class Dataset:
    """Where a dataset was read from, and what it was."""

    name: str
    path: str
    split: str
    fingerprint: str
    complete: bool
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One results.json; ``raw`` keeps all of it for what is shown as it stands."""

    folder: Path
    name: str
    order: str
    columns: tuple[Column, ...]
    datasets: Mapping[str, Dataset]
    cells: tuple[Cell, ...]
    raw: Mapping[str, Any]

    @property
    def predictions(self) -> Path:
        """The file with every frame's answers."""
        return self.folder / PREDICTIONS


def read_run(path: Path) -> Run:
    """The run in a folder, or the one whose results.json is named."""
    try:
        file = path / RESULTS if path.is_dir() else path
        there = file.is_file()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    if not there:
        raise InputError(
            f"{file} is not there: give the folder of a run that 'python -m vidc.eval' has made."
        )
    return _Checked(file).run(_parse(file))


def read_cell(file: Path, columns: Sequence[str], datasets: Sequence[str]) -> dict[str, Any]:
    """The record of one finished cell as it stands, after the checks that a run's cells get."""
    remedy = f"delete {file.name} and its .parquet, and give the command again"
    record: dict[str, Any] = _parse(file, remedy)
    _Checked(file, remedy).cell(record, "", columns, datasets)
    return record


def _parse(file: Path, remedy: str = AGAIN) -> Any:
    return jsonfields.parse(_read(file, remedy), str(file), f"{remedy}.")


def _read(file: Path, remedy: str) -> str:
    try:
        with file.open("rb") as stream:
            data = stream.read(_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise InputError(
                f"{file} is larger than {_LARGEST_FILE >> 20} MiB, the most that is read: evaluate "
                "fewer corruptions in one run."
            )
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as broken:
        raise InputError(f"{file} cannot be read ({broken}): {remedy}.") from None


class _Checked:
    """Takes values out of results.json, or says in one sentence which is missing or wrong."""

    def __init__(self, file: Path, remedy: str = AGAIN) -> None:
        self.file = file
        self.remedy = remedy

    def run(self, raw: Any) -> Run:
        if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
            raise InputError(
                f"{self.file} has not the schema {SCHEMA} that this version of vidc reads: "
                "make the report with the version that wrote it."
            )
        columns = tuple(
            self.column(item, f"columns[{i}]")
            for i, item in enumerate(self.take(raw, "columns", list, ""))
        )
        if len({column.id for column in columns}) < len(columns):
            self.fail("two of its columns have the same id")
        datasets = {
            name: self.dataset(name, item)
            for name, item in self.take(raw, "datasets", dict, "").items()
        }
        cells = tuple(
            self.cell(item, f"cells[{i}]", [column.id for column in columns], list(datasets))
            for i, item in enumerate(self.take(raw, "cells", list, ""))
        )
        if not columns or not cells:
            raise InputError(f"{self.file} holds no finished cell: let the evaluation finish.")
        self.header(raw)
        name = self.take(raw, "run", str, "")
        order = self.take(raw, "order", str, "")
        return Run(self.file.parent, name, order, columns, datasets, cells, raw)

    def header(self, raw: Any) -> None:
        """What the page takes from the file as it stands."""
        model = self.take(raw, "model", dict, "")
        for key in ("name", "weights"):
            self.take(model, key, str, "model")
        protocol = self.take(raw, "protocol", dict, "")
        self.take(protocol, "name", str, "protocol")
        stream = self.take(protocol, "stream", dict, "protocol")
        self.count(stream, "batch", "protocol.stream", least=1)
        if not isinstance(raw.get("command", []), list | str):
            self.fail("'command' is neither a list nor text")

    def column(self, item: Any, where: str) -> Column:
        return Column(*(self.take(item, key, str, where) for key in ("id", "name", "pair")))

    def dataset(self, name: str, item: Any) -> Dataset:
        where = f"datasets.{name}"
        return Dataset(
            name=name,
            path=str(item.get("path") or "") if isinstance(item, dict) else "",
            split=self.take(item, "split", str, where),
            fingerprint=self.take(item, "fingerprint", str, where),
            complete=self.take(item, "complete", bool, where),
            classes=tuple(str(name) for name in self.take(item, "classes", list, where)),
        )

    def cell(
        self,
        item: Any,
        where: str,
        columns: Sequence[str],
        datasets: Sequence[str],
    ) -> Cell:
        dataset = self.take(item, "dataset", str, where)
        if dataset not in datasets:
            self.fail(f"{where or 'it'} is of the dataset '{dataset}', which the run does not hold")
        corruption = self.take(item, "corruption", str, where)
        if not re.fullmatch(jsonfields.NAME, corruption):
            self.fail(
                f"{where or 'it'} is of the corruption '{corruption}', which is no plain name"
            )
        given = self.take(item, "columns", dict, where)
        return Cell(
            dataset=dataset,
            corruption=corruption,
            severity=self.count(item, "severity", where),
            seed=self.count(item, "seed", where),
            frames=self.count(item, "frames", where, least=1),
            left_out={
                why: self.count(item["left_out"], why, f"{where}.left_out")
                for why in self.take(item, "left_out", dict, where)
            },
            columns={
                column: self.scores(
                    self.take(given, column, dict, f"{where}.columns"), f"{where}.columns.{column}"
                )
                for column in columns
            },
            process_memory=self.amount(
                item.get("measured") or {}, "peak_process_memory_bytes", f"{where}.measured"
            ),
        )

    def scores(self, item: Any, where: str) -> Scores:
        return Scores(
            error=self.percent(item, where),
            frames=self.count(item, "frames", where),
            classes=self.parts(item, "classes", where),
            videos=self.parts(item, "videos", where),
            measured=self.measured(item.get("measured") or {}, f"{where}.measured"),
        )

    def parts(self, item: Any, key: str, where: str) -> dict[str, Part]:
        where = f"{where}.{key}"
        return {
            name: Part(
                error=self.percent(part, f"{where}.{name}"),
                frames=self.count(part, "frames", f"{where}.{name}"),
                label=str(part.get("label", "")),
            )
            for name, part in self.take(item, key, dict, where).items()
        }

    def measured(self, item: Any, where: str) -> Measured:
        memory = self.amount(item, "peak_memory_bytes", where)
        return Measured(
            seconds=self.amount(item, "seconds", where),
            frames_per_second=self.amount(item, "frames_per_second", where),
            peak_memory_bytes=None if memory is None else int(memory),
        )

    def amount(self, item: Any, key: str, where: str) -> float | None:
        """A number that need not be there."""
        if not isinstance(item, dict):
            self.fail(f"'{where}' is not an object")
        if item.get(key) is None:
            return None
        value = self.take(item, key, (int, float), where)
        if not 0 <= value < math.inf:
            self.fail(f"'{where}.{key}' is below zero")
        return value

    def count(self, item: Any, key: str, where: str, least: int = 0) -> int:
        value = self.take(item, key, int, where)
        if not least <= value <= jsonfields.LARGEST:
            self.fail(f"'{where}.{key}' is not a number from {least} on")
        return value

    def percent(self, item: Any, where: str) -> float:
        value = float(self.take(item, "error", (int, float), where))
        if not 0 <= value <= 100:
            self.fail(f"{where}.error is {value:g}, which is not a percentage")
        return value

    def take(self, item: Any, key: str, kind: type[T] | tuple[type[T], ...], where: str) -> T:
        at = f"{where}.{key}" if where else key
        if not isinstance(item, dict) or key not in item:
            self.fail(f"it has no '{at}'")
        value = item[key]
        bool_as_number = kind is not bool and isinstance(value, bool)  # Python takes it for one
        if not isinstance(value, kind) or bool_as_number:
            self.fail(f"'{at}' is {json.dumps(value)[:40]}, which is not what belongs there")
        return value

    def fail(self, what: str) -> NoReturn:
        raise InputError(f"{self.file} cannot be read: {what}; {self.remedy}.")
