"""The frames of one cell as arrays, read from predictions.parquet a cell and a column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vidc.errors import InputError
from vidc.eval.report.measures import Flags, Ints
from vidc.rowgroups import readable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

CellKey = tuple[str, str, int, int]  # dataset, corruption, severity, seed
KEY_COLUMNS = ("dataset", "corruption", "severity", "seed")
FRAME_COLUMNS = ("position", "video", "frame", "label", "labels")
ANSWERS = ("prediction", "confidence")
AGAIN = "run the evaluation again to write it anew"


@dataclass(frozen=True)
class CellFrames:
    """Every scored frame of a cell, in the order of the stream, and each column's answers."""

    video: NDArray[np.int32]  # index in ``videos``
    videos: tuple[str, ...]
    position: Ints
    frame: Ints
    label: Ints  # of the largest object
    labels: pa.ListArray  # all that count as right
    prediction: dict[str, NDArray[np.int32]] = field(default_factory=dict)
    confidence: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    wrong: dict[str, Flags] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.label)

    def error(self, column: str) -> float:
        """The error of a column over the cell, in percent."""
        return float(np.count_nonzero(self.wrong[column])) * 100.0 / len(self)


class Predictions:
    """An open predictions.parquet: which cells it holds, and the frames of each."""

    def __init__(self, file: Path, columns: Sequence[str]) -> None:
        self.file = file
        self.columns = tuple(columns)
        with readable(str(file), AGAIN):
            self._parquet = _open(file, self.columns)
            self._groups = self._groups_of_cells()

    @property
    def cells(self) -> tuple[CellKey, ...]:
        """The cells in the file, in its order."""
        return tuple(self._groups)

    def read(self, key: CellKey) -> CellFrames:
        """The frames of one cell; only this cell's row groups are read."""
        if key not in self._groups:
            raise InputError(
                f"{self.file} has no frames of {_name(key)}, which is in results.json: {AGAIN}."
            )
        with readable(str(self.file), AGAIN):
            return self._read(key)

    def _read(self, key: CellKey) -> CellFrames:
        groups = self._groups[key]
        video = self._column(groups, "video").combine_chunks()
        labels = self._column(groups, "labels").combine_chunks()
        cell = CellFrames(
            video=video.indices.to_numpy(zero_copy_only=False).astype(np.int32),
            videos=tuple(video.dictionary.to_pylist()),
            position=self._numbers(groups, "position", np.int64),
            frame=self._numbers(groups, "frame", np.int64),
            label=self._numbers(groups, "label", np.int64),
            labels=labels,
        )
        for column in self.columns:
            prediction = self._numbers(groups, f"{column}_prediction", np.int32)
            confidence = self._numbers(groups, f"{column}_confidence", np.float32)
            self._check_confidence(column, confidence, key)
            cell.prediction[column] = prediction
            cell.confidence[column] = confidence
            cell.wrong[column] = ~_is_one_of(prediction, labels)
        return cell

    def _column(self, groups: Sequence[int], name: str) -> pa.ChunkedArray:
        column = self._parquet.read_row_groups(list(groups), columns=[name]).column(name)
        column.validate(full=True)
        if column.null_count:
            raise InputError(f"{self.file} has empty values in its column '{name}': {AGAIN}.")
        return column.unify_dictionaries()

    def _numbers(self, groups: Sequence[int], name: str, kind: type[np.generic]) -> NDArray:  # type: ignore[type-arg]
        return np.asarray(self._column(groups, name).to_numpy(), dtype=kind)

    def _check_confidence(self, column: str, confidence: NDArray[np.float32], key: CellKey) -> None:
        # Rounding in float32 may carry a sum of probabilities a little over one.
        good = (confidence >= 0) & (confidence <= 1 + 1e-4)
        if not good.all():
            value = confidence[np.argmin(good)]
            raise InputError(
                f"{self.file}: '{column}' has the confidence {value:g} in {_name(key)}, "
                f"which is not between 0 and 1: {AGAIN}."
            )

    def _groups_of_cells(self) -> dict[CellKey, list[int]]:
        cells: dict[CellKey, list[int]] = {}
        keys = ((self._key(group), group) for group in range(self._parquet.num_row_groups))
        for key, groups in groupby(keys, key=lambda pair: pair[0]):
            if key in cells:
                raise InputError(f"{self.file} holds {_name(key)} in two places: {AGAIN}.")
            cells[key] = [group for _, group in groups]
        return cells

    def _key(self, group: int) -> CellKey:
        table = self._parquet.read_row_group(group, columns=list(KEY_COLUMNS))
        if any(column.null_count for column in table.columns):
            raise InputError(
                f"{self.file} has frames of no cell in its row group {group}: {AGAIN}."
            )
        found = table.group_by(list(KEY_COLUMNS)).aggregate([])
        if found.num_rows != 1:
            raise InputError(
                f"{self.file}: a row group must hold one cell, group {group} holds "
                f"{found.num_rows}: {AGAIN}."
            )
        row = found.to_pylist()[0]
        return str(row["dataset"]), str(row["corruption"]), int(row["severity"]), int(row["seed"])


def _open(file: Path, columns: Sequence[str]) -> pq.ParquetFile:
    import pyarrow.parquet as pq

    if not file.is_file():
        raise InputError(f"{file} is not there: the report needs it beside results.json.")
    found = pq.ParquetFile(file).schema_arrow
    for name, kind in _types(columns).items():
        if found.names.count(name) != 1 or found.field(name).type != kind:
            raise InputError(f"{file} has no column '{name}' of {kind}: {AGAIN}.")
    return pq.ParquetFile(file, read_dictionary=["dataset", "corruption", "video"])


def _types(columns: Sequence[str]) -> dict[str, pa.DataType]:
    """The columns that are read, as the evaluation writes them."""
    import pyarrow as pa

    text, whole = pa.string(), pa.int64()
    key = dict(zip(KEY_COLUMNS, (text, text, pa.int8(), whole), strict=True))
    frame = dict(zip(FRAME_COLUMNS, (whole, text, pa.int32(), whole, pa.list_(whole)), strict=True))
    answers = dict(zip(ANSWERS, (pa.int32(), pa.float32()), strict=True))
    return key | frame | {f"{id}_{what}": answers[what] for id in columns for what in answers}


def _is_one_of(prediction: NDArray[np.int32], labels: pa.ListArray) -> Flags:
    """Whether each prediction is one of that frame's classes."""
    offsets = labels.offsets.to_numpy().astype(np.int64)
    lengths = np.diff(offsets)
    flat = labels.values.to_numpy()[offsets[0] : offsets[-1]]
    row = np.repeat(np.arange(len(lengths)), lengths)
    hits = row[flat == prediction[row]]
    found = np.zeros(len(lengths), dtype=bool)
    found[hits] = True
    return found


def _name(key: CellKey) -> str:
    dataset, corruption, severity, seed = key
    return f"{dataset} {corruption} severity {severity} seed {seed}"
