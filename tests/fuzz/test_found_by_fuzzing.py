"""What fuzzing has found, each kept as the smallest file that shows it."""

import dataclasses
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from torch import nn

from tests.core import folders
from tests.eval.one_cell import folder_in
from tests.fuzz.damage import deep
from tests.fuzz.dataset_readers import SHAPE, SHARDS, use_dataset
from tests.fuzz.reader import outcome
from tests.fuzz.readers import READERS
from tests.fuzz.run_readers import RUN
from tests.report import generated
from vidc import hub
from vidc.builders import tao
from vidc.builders.workfolder import WorkFolder
from vidc.engines import Engine
from vidc.errors import InputError, told
from vidc.eval.report import runs
from vidc.eval.report.predictions import KEY_COLUMNS
from vidc.eval.report.runs import PREDICTIONS
from vidc.eval.results import CellKey
from vidc.eval.weights import load_weights

SOURCE = ("cells", 0, "columns", "source")


def put(data: bytes, path: tuple, value: object) -> bytes:
    content = json.loads(data)
    *way, last = path
    inner = content
    for step in way:
        inner = inner[step]
    inner[last] = value
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        # A number that no float holds, half of a letter, and levels without end.
        ("manifest.json", ("recipe", "size"), 10**400),
        ("manifest.json", ("missing",), ["\ud800"]),
        ("manifest.json", ("versions",), {"numpy": "2"}),
        ("manifest.json", ("source",), "image net\n# A heading"),
        ("results.json", ("environment",), deep(900)),
        ("results.json", ("run",), "\udfff"),
        # What the page takes over as it stands.
        ("results.json", ("model",), None),
        ("results.json", ("protocol",), {"name": "paper"}),
        ("results.json", ("protocol", "stream", "batch"), "16"),
        ("results.json", ("command",), 3),
        ("results.json", ("cells", 0, "left_out"), {"unlabelled": "none"}),
        ("results.json", (*SOURCE, "measured"), [1]),
        ("results.json", (*SOURCE, "measured", "seconds"), "long"),
        ("results.json", ("cells", 0, "frames"), 10**30),
        ("cell record", ("columns", "source"), {}),
        ("cell record", ("dataset",), "another"),
        ("cell record", ("severity",), None),
        # Names that are part of a path, and one that would be scored over and over.
        ("cell record", ("corruption",), "../../snow"),
        ("results.json", ("cells", 0, "corruption"), "/snow"),
        ("results.json", ("columns",), [{"id": "source", "name": "", "pair": ""}] * 2),
        ("TAO JSON", ("annotations", 0, "bbox"), [1, 2, float("nan"), 4]),
    ],
)
def test_a_value_of_the_wrong_kind(tmp_path, name, path, value):
    reader = READERS[name](tmp_path)
    assert outcome(reader, put(reader.valid[0], path, value)) == "refused"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("results.json", b"[" * 100_000),
        ("TOML protocol", b"[tent]\nlr = " + b"9" * 400),
        ("TOML protocol", b"[stream]\nbatch = " + b"9" * 400),
        ("TOML protocol", b"[custom]\nwhen = 1979-05-27"),
        ("TOML protocol", b"[custom]\nrate = [1.0, nan]"),
        ("TOML protocol", b"x = " + b"[" * 50_000),
        ("weights.pth", b"r"),
        ("weights.pth", b"\x80\x02."),
        ("checkpoint", b"\x02\0\0\0\0\0\0\0{}"),
    ],
)
def test_a_small_file(tmp_path, name, data):
    assert outcome(READERS[name](tmp_path), data) == "refused"


@pytest.mark.parametrize(
    "read",
    [
        hub.find,
        lambda name: runs.read_run(Path(name)),
        lambda name: tao.open_split(Path(name), "train", allow_missing=False),
        lambda name: load_weights(nn.Linear(2, 2), Path(name), "mine"),
    ],
    ids=("dataset", "run", "TAO", "weights"),
)
def test_a_name_that_no_file_system_takes(read):
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        read("x" * 5000)


@pytest.mark.parametrize(
    "damaged",
    [
        lambda data: data[:-1],
        lambda data: data[:4] + bytes(20) + data[24:],
        lambda data: rewritten(data, "labels", pa.nulls(RUN.frames, pa.string())),
        None,
    ],
    ids=("cut", "inside a page", "of other types", "gone"),
)
def test_predictions_of_a_finished_cell_that_are_not_what_was_written(tmp_path, damaged):
    made = generated.write_run(tmp_path / "made", RUN)
    cells = json.loads((made / "results.json").read_text())["cells"]
    run = folder_in(tmp_path / "run")
    for number, cell in enumerate(cells):
        key = CellKey(*(cell[name] for name in KEY_COLUMNS))
        stored = pq.ParquetFile(made / PREDICTIONS)
        run.write_cell(key, cell, [stored.read_row_group(number)])
    run.write_predictions(cells)
    file = tmp_path / "run" / "cells" / f"{key.file}.parquet"
    if damaged is None:
        file.unlink()
    else:
        file.write_bytes(damaged(file.read_bytes()))
    with pytest.raises(InputError, match=rf"{key.file}\.parquet .* delete it and {key.file}\.json"):
        run.write_predictions(cells)


def test_one_bit_of_a_checkpoint(tmp_path):
    """Near the end, in a tensor: it would have been read, and given another number."""
    reader = READERS["checkpoint"](tmp_path)
    data = bytearray(reader.valid[0])
    data[-100] ^= 1
    assert outcome(reader, bytes(data)) == "refused"


def rewritten(data: bytes, name: str, values: pa.Array) -> bytes:
    table = pq.read_table(io.BytesIO(data))
    table = table.set_column(table.schema.get_field_index(name), name, values)
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=2)
    return file.getvalue()


ROWS = SHAPE.videos * SHAPE.frames
NOT_UNICODE = pa.array([b"\xff"] * ROWS, pa.binary()).view(pa.string())


@pytest.mark.parametrize(
    ("name", "column", "values"),
    [
        ("Parquet annotations, read", "label", pa.array([99] * ROWS, pa.int64())),
        ("Parquet annotations, read", "label", pa.array([-2] * ROWS, pa.int64())),
        ("Parquet annotations, read", "labels", pa.nulls(ROWS, pa.list_(pa.int64()))),
        ("Parquet annotations, read", "frame", pa.nulls(ROWS, pa.int32())),
        ("Parquet annotations, read", "video", NOT_UNICODE),
        ("Parquet shard, read", "video", NOT_UNICODE),
    ],
)
def test_a_column_of_a_shard(tmp_path, name, column, values):
    reader = READERS[name](tmp_path)
    assert outcome(reader, rewritten(reader.valid[0], column, values)) == "refused"


@pytest.mark.parametrize("name", ["Parquet shard, verified", "Parquet annotations, verified"])
@pytest.mark.parametrize(
    ("column", "values"), [("video", NOT_UNICODE), ("labels", pa.nulls(ROWS, pa.list_(pa.int64())))]
)
def test_verify_says_what_is_wrong_with_a_column(tmp_path, name, column, values):
    from vidc.builders.verify import verify

    reader = READERS[name](tmp_path)
    reader.read(rewritten(reader.valid[0], column, values))
    assert any("cannot be read" in finding for finding in verify(tmp_path, Engine("serial")))


def test_a_row_group_that_is_no_small_part(tmp_path):
    reader = READERS["Parquet annotations, read"](tmp_path)
    table = pq.read_table(io.BytesIO(reader.valid[0]))
    file = io.BytesIO()
    pq.write_table(pa.concat_tables([table] * 100), file, row_group_size=10_000)
    with pytest.raises(InputError, match="more than 256 frames"):
        reader.read(file.getvalue())


def test_a_frame_of_another_size_than_the_manifest_says(tmp_path):
    """A frame of one pixel would have been spread over all of its place in the batch."""
    folder = folders.write_folder(tmp_path, dataclasses.replace(SHAPE, size=1))
    file = folder / "manifest.json"
    file.write_bytes(put(file.read_bytes(), ("recipe", "size"), SHAPE.size))
    with pytest.raises(InputError, match="where 8 x 8 was promised"):
        use_dataset(folder)


FRAMES = RUN.frames * len(RUN.corruptions)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("severity", pa.nulls(FRAMES, pa.int8())),
        ("dataset", pa.array([1] * FRAMES, pa.int64())),
        ("video", pa.array([b"\xff"] * FRAMES, pa.binary()).view(pa.string())),
        ("labels", pa.array(["dog"] * FRAMES)),
    ],
)
def test_a_column_of_the_predictions(tmp_path, column, values):
    reader = READERS["predictions.parquet"](tmp_path)
    assert outcome(reader, rewritten(reader.valid[0], column, values)) == "refused"


def test_predictions_damaged_inside_a_page(tmp_path):
    reader = READERS["predictions.parquet"](tmp_path)
    data = bytearray(reader.valid[0])
    data[4:24] = bytes(20)
    assert outcome(reader, bytes(data)) == "refused"


@pytest.mark.parametrize(
    "path", [("frames",), ("shards", SHARDS[0]), ("shards", "\0"), ("videos",), ("skipped",)]
)
def test_a_damaged_marker_is_no_marker(tmp_path, path):
    reader = READERS["build marker"](tmp_path)
    work = WorkFolder(tmp_path)
    reader.read(reader.valid[0])
    assert work.finished("key", skip_broken=True) is not None
    reader.read(put(reader.valid[0], path, "?"))
    assert work.finished("key", skip_broken=True) is None


def test_a_sentence_is_one_line_and_has_an_end():
    """A name with line breaks, commands to a terminal, or a megabyte of letters."""
    sentence = told(InputError(f"no video 'a\nb\x1b[2J{'x' * 10**6}': give another."))
    assert sentence.isprintable()
    assert len(sentence) < 1100
    assert sentence.startswith("no video 'a\\nb\\x1b[2Jx")
    assert sentence.endswith("x': give another.")
