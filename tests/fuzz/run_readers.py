"""The readers of an evaluation: protocols, weights, checkpoints, and the files of a run."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import torch

from tests.eval.memory_source import memory_source
from tests.eval.one_cell import KEY, folder_in, settings_of
from tests.eval.tiny_model import tiny_model
from tests.fuzz import damage
from tests.fuzz.reader import Reader
from tests.report import generated
from vidc.eval import cell, report, weights
from vidc.eval.protocol import NAMES, load_protocol

RUN = generated.Shape(
    videos=2,
    frames=12,
    classes=("dog", "cat"),
    columns=("source", "unmix_tns"),
    corruptions=("rain", "snow"),
)


def report_of(name: str) -> Callable[[Path], Reader]:
    """A run's folder, of which the page is made."""

    def make(folder: Path) -> Reader:
        run = generated.write_run(folder / "run", RUN)
        file = run / name
        valid = [file.read_bytes()]

        def read(data: bytes) -> None:
            file.write_bytes(data)
            report.write([run], folder / "out", figures=False)

        tables = name.endswith("parquet")
        inputs = (
            damage.damaged(valid) | damage.damaged_parquet(pq.read_table(file))
            if tables
            else damage.damaged_json(valid)
        )
        return Reader(valid, inputs, read)

    return make


def protocol(folder: Path) -> Reader:
    """A protocol in TOML; what it holds goes into results.json, which knows no NaN."""
    shipped = [Path(report.__file__).parents[1] / "protocols" / f"{name}.toml" for name in NAMES]
    valid = [file.read_bytes() for file in shipped] + [b"[custom]\nmine = [1, {a = 2.5}]\n"]
    tokens = (
        *(b"nan", b"-inf", b"1e999", b"9" * 400, b"9" * 5000, b"[custom]\n", b"[stream]\n"),
        *(b"[" * 50_000, b"a.b.c = 1\n", b"1979-05-27", b"07:32:00", b"0x7f", b'"\\ud800"'),
        *(b"base = ", b"batch = ", b"lr = ", b"x = " + b"{a=" * 3000, b"'''", b"\x1b[31m"),
    )

    def read(data: bytes) -> None:
        file = folder / "mine.toml"
        file.write_bytes(data)
        json.dumps(load_protocol(file).as_dict(), allow_nan=False).encode()

    return Reader(valid, damage.damaged(valid, tokens), read)


def checkpoint(folder: Path) -> Reader:
    """The state of an unfinished cell, taken over by the cell."""
    run = folder_in(folder / "run")
    source, model, settings = memory_source(), tiny_model(), settings_of()
    device = torch.device("cpu")

    def fresh() -> cell._Cell:
        return cell._Cell(KEY, source, model, settings, run, device)

    begun = fresh()
    with contextlib.closing(begun.stream.batches()) as batches:
        batch = next(batches)
        begun._step(batch, begun.to_device(batch.images))
        begun._collect()
        begun._save(batch.number + 1)
    file = run.checkpoint(KEY)
    valid = [file.read_bytes()]

    def read(data: bytes) -> None:
        file.write_bytes(data)
        restored = fresh()
        restored.restore()
        json.dumps(restored.networks.meter.state(), allow_nan=False)

    return Reader(valid, damage.damaged_safetensors(valid), read)


def cell_record(folder: Path) -> Reader:
    """The record of a finished cell, which a later run puts into its table."""
    run = folder_in(folder / "run")
    cells = generated.results(RUN, [])
    made = json.loads((generated.write_run(folder / "made", RUN) / "results.json").read_text())
    valid = [json.dumps(made["cells"][0]).encode()]
    key = made["cells"][0]
    file = folder / "run" / "cells" / f"{key['dataset']}.rain.seed0.json"
    header = {name: cells[name] for name in ("columns", "datasets", "order", "model", "protocol")}

    def read(data: bytes) -> None:
        file.write_bytes(data)
        run.write_results(header)

    return Reader(valid, damage.damaged_json(valid), read)


def _network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3), torch.nn.BatchNorm2d(2))


def weights_in(name: str) -> Callable[[Path], Reader]:
    """A file of weights, safetensors or torch's own."""

    def make(folder: Path) -> Reader:
        from safetensors.torch import save

        network = _network()
        state = network.state_dict()
        buffer = io.BytesIO()
        torch.save({"state_dict": state}, buffer)
        safe = name.endswith(".safetensors")
        valid = [save(state) if safe else buffer.getvalue()]
        file = folder / name

        def read(data: bytes) -> None:
            file.write_bytes(data)
            weights.load_weights(network, file, "mine")

        inputs = damage.damaged_safetensors(valid) if safe else damage.damaged(valid)
        return Reader(valid, inputs, read)

    return make
