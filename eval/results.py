"""The files of a run: one record a finished cell, and results.json, predictions and tables of all.

A cell is finished when its record is there. Everything is written whole or not at all, and only
what is under ``measured``, ``environment`` and ``command`` may differ when a run is repeated.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vidc import lock
from vidc.errors import InputError
from vidc.eval import table_formats
from vidc.eval.report.predictions import ANSWERS, FRAME_COLUMNS, KEY_COLUMNS, Predictions
from vidc.eval.report.runs import PREDICTIONS, RESULTS, SCHEMA, read_cell
from vidc.eval.stream import Scored
from vidc.eval.table import build_table, row_order
from vidc.files import move_into_place, write_whole
from vidc.frames import config_name
from vidc.rowgroups import readable

ROW_GROUP_FRAMES = 1 << 14


@dataclass(frozen=True)
class CellKey:
    """What tells one cell from the others."""

    dataset: str
    corruption: str
    severity: int
    seed: int

    def __str__(self) -> str:
        return f"{self.dataset} {config_name(self.corruption, self.severity)} seed {self.seed}"

    @property
    def file(self) -> str:
        """The beginning of its files' names."""
        return f"{self.dataset}.{config_name(self.corruption, self.severity)}.seed{self.seed}"

    def values(self) -> dict[str, Any]:
        """As they stand in a result file."""
        return {
            "dataset": self.dataset,
            "corruption": self.corruption,
            "severity": self.severity,
            "seed": self.seed,
        }


class RunFolder:
    """``results/<run>``: where a run's cells accumulate."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cells = path / "cells"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other evaluations out of the folder; an empty one is not left behind."""
        with ExitStack() as stack:
            self._hold(stack)
            self._tidy()
            try:
                yield
            finally:
                self._leave()

    @property
    def _lock(self) -> Path:
        return self.path / ".lock"

    def _hold(self, stack: ExitStack) -> None:
        while True:
            self._cells.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(lock.hold(self._lock))
                return
            except FileNotFoundError:
                continue  # one that came to nothing has just removed its empty folder
            except lock.BusyError as busy:
                raise InputError(
                    f"another evaluation is writing to {self.path} ({busy.holder}): wait for it, "
                    "or give another folder with --out."
                ) from None

    def _tidy(self) -> None:
        """Take away what a killed evaluation left behind and no other will ever use."""
        self._cells.mkdir(exist_ok=True)  # one that came to nothing may have removed it till now
        for unfinished in (*self.path.glob(".*.tmp"), *self._cells.glob(".*.tmp")):
            unfinished.unlink()
        for record in self._cells.glob("*.json"):
            record.with_suffix(".safetensors").unlink(missing_ok=True)

    def _leave(self) -> None:
        """Take away the lock, and with it the folder of a run that came to nothing."""
        if not any(self._cells.iterdir()):
            self._cells.rmdir()
        self._lock.unlink()
        with suppress(OSError):  # there is something in it, as there should be
            self.path.rmdir()

    def checkpoint(self, key: CellKey) -> Path:
        """The file with the state of an unfinished cell."""
        return self._cells / f"{key.file}.safetensors"

    def finished(self, key: CellKey) -> bool:
        """Whether the cell has been run to its end."""
        return self._record(key).exists()

    def write_cell(
        self, key: CellKey, record: Mapping[str, Any], predictions: Iterable[pa.Table]
    ) -> None:
        """Keep a finished cell; its record is written last, because it says that all is there."""
        _write_parquet(self._predictions(key), predictions)
        write_whole(self._record(key), _json(record))
        self.checkpoint(key).unlink(missing_ok=True)

    def records(self, header: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Every finished cell of the folder, checked, in the table's order."""
        datasets = list(header["datasets"])
        columns = [column["id"] for column in header["columns"]]
        records = [read_cell(file, columns, datasets) for file in self._cells.glob("*.json")]
        return sorted(
            records,
            key=lambda record: (
                datasets.index(record["dataset"]),
                row_order((record["corruption"], record["severity"])),
                record["seed"],
            ),
        )

    def write_results(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """Write results.json and the tables from all finished cells."""
        cells = self.records(header)
        results = {"schema": SCHEMA, "run": self.path.name, **header, "cells": cells}
        table = build_table(results, cells)
        for name, text in (
            ("table.md", table_formats.markdown(table)),
            ("table.csv", table_formats.comma_separated(table)),
            ("table.tex", table_formats.latex(table)),
        ):
            write_whole(self.path / name, text.encode())
        write_whole(self.path / RESULTS, _json(results))
        return results

    def write_predictions(self, cells: Sequence[Mapping[str, Any]]) -> None:
        """Write predictions.parquet from all cells', a row group in memory at a time."""
        columns = [column for cell in cells[:1] for column in cell["columns"]]
        parts = (self._read_predictions(cell, columns) for cell in cells)
        _write_parquet(self.path / PREDICTIONS, itertools.chain.from_iterable(parts))

    def _read_predictions(
        self, cell: Mapping[str, Any], columns: Sequence[str]
    ) -> Iterator[pa.Table]:
        """What a finished cell answered, if its file is still the one that was written."""
        file = self._predictions(CellKey(*(cell[name] for name in KEY_COLUMNS)))
        remedy = f"delete it and {file.stem}.json, and give the command again"
        try:
            Predictions(file, columns)
        except InputError:
            raise InputError(f"{file} does not hold what its cell answered: {remedy}.") from None
        answers = (f"{column}_{what}" for column in columns for what in ANSWERS)
        names = [*KEY_COLUMNS, *FRAME_COLUMNS, *answers]
        with readable(str(file), remedy):
            stored = pq.ParquetFile(file)
            for group in range(stored.num_row_groups):
                table = stored.read_row_group(group, columns=names).select(names)
                # Only names and types: a file of the same may say other things beside them.
                yield pa.table(table.columns, names)

    def _record(self, key: CellKey) -> Path:
        return self._cells / f"{key.file}.json"

    def _predictions(self, key: CellKey) -> Path:
        return self._cells / f"{key.file}.parquet"


def predictions_tables(
    key: CellKey,
    scored: Scored,
    columns: Sequence[str],
    prediction: NDArray[np.int32],
    confidence: NDArray[np.float32],
) -> Iterator[pa.Table]:
    """One row a scored frame, in the order of the stream, so many at a time.

    Arrays are columns x frames. A long cell made and written as one would take many times the
    memory of its answers.
    """
    for start in range(0, len(scored), ROW_GROUP_FRAMES):
        part = slice(start, start + ROW_GROUP_FRAMES)
        yield _predictions_table(
            key, scored.part(part), columns, prediction[:, part], confidence[:, part]
        )


def _predictions_table(
    key: CellKey,
    scored: Scored,
    columns: Sequence[str],
    prediction: NDArray[np.int32],
    confidence: NDArray[np.float32],
) -> pa.Table:
    frames = len(scored)
    labels = scored.labels
    values = {
        "dataset": pa.repeat(key.dataset, frames),
        "corruption": pa.repeat(key.corruption, frames),
        "severity": pa.array(np.full(frames, key.severity, np.int8)),
        "seed": pa.array(np.full(frames, key.seed, np.int64)),
        "position": pa.array(scored.positions, pa.int64()),
        "video": pa.array(labels.videos, pa.string()),
        "frame": pa.array(labels.frames, pa.int32()),
        "label": pa.array(labels.label, pa.int64()),
        "labels": pa.array(labels.labels, pa.list_(pa.int64())),
    }
    for row, column in enumerate(columns):
        values[f"{column}_prediction"] = pa.array(prediction[row], pa.int32())
        values[f"{column}_confidence"] = pa.array(confidence[row], pa.float32())
    return pa.table(values)


def _write_parquet(path: Path, tables: Iterable[pa.Table]) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    writer = None
    with temporary.open("wb") as file:
        with ExitStack() as stack:
            for table in tables:
                writer = writer or stack.enter_context(pq.ParquetWriter(file, table.schema))
                writer.write_table(table, row_group_size=max(1, len(table)))
        file.flush()
        os.fsync(file.fileno())
    move_into_place(temporary, path)


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
