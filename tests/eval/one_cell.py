"""Run one cell of frames in memory through the tiny network."""

from __future__ import annotations

import json

import pyarrow.parquet as pq

from tests.eval.memory_source import MemoryInput, memory_source
from tests.eval.tiny_model import tiny_model
from vidc.eval.cell import CellSettings, run_cell
from vidc.eval.methods import COLUMNS
from vidc.eval.protocol import load_protocol
from vidc.eval.results import CellKey, RunFolder

KEY = CellKey("tiny-c", "snow", 5, 0)
ALL = tuple(COLUMNS.values())
# Steps large enough for TENT to change something within a few batches.
OVERRIDES = ("stream.batch=4", "unmix_tns.components=5", "tent.lr=0.05")


def settings_of(columns=ALL, overrides=(), **changes):
    values = {
        "columns": tuple(columns),
        "protocol": load_protocol("paper", [*OVERRIDES, *overrides]),
        "device": "cpu",
        "amp": False,
        "compile": False,
        "deterministic": False,
        "threads": 1,
        "network_threads": None,
        "gpu_decode": False,
        "limit_frames": None,
        "checkpoint_every": 200,
    }
    return CellSettings(**values | changes)


def folder_in(path):
    folder = RunFolder(path)
    (path / "cells").mkdir(parents=True)
    return folder


class StoppedError(Exception):
    """Ends a cell in the middle."""


def silent(done, frames, errors):
    """Watch nothing."""


def run(path, settings=None, source=None, key=KEY, watch=silent):
    """Run one cell; its record and its predictions."""
    folder = folder_in(path) if not path.exists() else RunFolder(path)
    run_cell(
        key,
        MemoryInput(source or memory_source()),
        tiny_model(),
        settings or settings_of(),
        folder,
        watch,
    )
    return record_in(path, key), pq.read_table(path / "cells" / f"{key.file}.parquet")


def record_in(path, key=KEY):
    return json.loads((path / "cells" / f"{key.file}.json").read_text())
