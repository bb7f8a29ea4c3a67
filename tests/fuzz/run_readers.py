"""The readers of an evaluation: protocols, weights, checkpoints, and the files of a run."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import safetensors.torch
import torch
from hypothesis import strategies as st

from tests.eval.memory_source import memory_source
from tests.eval.one_cell import KEY, folder_in, settings_of, silent
from tests.eval.tiny_model import tiny_model
from tests.fuzz import damage
from tests.fuzz.reader import Reader
from tests.report import generated
from vidc.eval import cell, report, weights
from vidc.eval import checkpoint as checkpoints
from vidc.eval.protocol import NAMES, load_protocol
from vidc.eval.results import CellKey

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
        # What a key of many dots takes to read grows as its square.
        *(b"a." * 2_500 + b"a = 1\n", b"[custom." + b"a." * 50_000 + b"a]\n", b"custom.a.b = 1\n"),
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
    valid, kept = [file.read_bytes()], checkpoints.load(file)

    def read(data: bytes) -> None:
        file.unlink(missing_ok=True)  # tensors of the one before may still be mapped to it
        file.write_bytes(data)
        restored = fresh()
        restored.restore()
        json.dumps(restored.networks.meter.state(), allow_nan=False)
        restored.run(silent)
        restored.finish()

    # Deferred, because hypothesis prints what it was given: all the tensors.
    return Reader(valid, st.deferred(lambda: _damaged_checkpoint(valid, kept)), read)


@st.composite
def _damaged_checkpoint(
    draw: st.DrawFn, valid: Sequence[bytes], kept: checkpoints.Checkpoint
) -> bytes:
    """A damaged file; mostly it is whole, with a sum that is right, and not what a cell left."""
    if draw(st.integers(0, 4)) == 0:
        return draw(damage.damaged_safetensors(valid))
    batch, tensors, values = str(kept.batch), dict(kept.tensors), kept.values
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(sorted(tensors)))
        what = draw(st.sampled_from(("remove", "rename", "tensor", "tensor", "values", "batch")))
        if what == "remove":
            del tensors[name]
        elif what == "rename":
            other = draw(st.sampled_from(["", "networks/", "\0", *sorted(tensors)]))
            tensors[other] = tensors.pop(name)
        elif what == "tensor":
            tensors[name] = draw(_near(tensors[name]))
        elif what == "values":
            values = damage.changed(draw, values)
        else:
            batch = draw(st.sampled_from(("0", "2", "-1", "1000000", "1.0", "", "9" * 5000)))
    notes = {"batch": batch, "values": json.dumps(values)}
    return safetensors.torch.save(tensors, notes | {"sum": checkpoints._sum(tensors, notes)})


def _near(tensor: torch.Tensor) -> st.SearchStrategy[torch.Tensor]:
    """Tensors of another shape or type, or with other numbers in it."""
    flat = tensor.reshape(-1)
    filled = [torch.full_like(tensor, number) for number in (0, 1, 100)]
    if tensor.is_floating_point():
        lowest = torch.finfo(tensor.dtype).min
        filled += [torch.full_like(tensor, number) for number in (torch.nan, torch.inf, lowest)]
    others = [flat, flat[:-1], flat[:0], tensor[None], torch.cat([flat, flat]), *filled]
    kinds = (torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool)
    others += [tensor.to(kind) for kind in kinds]
    return st.sampled_from([other.clone() for other in others])


def finished_cell(ending: str) -> Callable[[Path], Reader]:
    """A file of a finished cell, which a later run puts into its tables beside another's."""

    def make(folder: Path) -> Reader:
        made = generated.write_run(folder / "made", RUN)
        cells = json.loads((made / "results.json").read_text())["cells"]
        predictions = pq.ParquetFile(made / "predictions.parquet")
        run = folder_in(folder / "run")
        keys = [CellKey(*(record[name] for name in KEY.values())) for record in cells]
        for number, key in enumerate(keys):
            run.write_cell(key, cells[number], [predictions.read_row_group(number)])
        header = generated.results(RUN, [])
        for name in ("schema", "run", "cells"):
            del header[name]
        file = run.path / "cells" / f"{keys[0].file}{ending}"
        valid = [file.read_bytes()]

        def read(data: bytes) -> None:
            file.write_bytes(data)
            run.write_predictions(run.write_results(header)["cells"])
            report.write([run.path], folder / "out", figures=False)

        inputs = (
            damage.damaged_json(valid)
            if ending == ".json"
            else damage.damaged(valid) | damage.damaged_parquet(pq.read_table(file))
        )
        return Reader(valid, inputs, read)

    return make


def _network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3), torch.nn.BatchNorm2d(2))


def _load(file: Path, data: bytes) -> None:
    """The weights go into a network, which is used as the evaluation does."""
    file.write_bytes(data)
    network = _network()
    weights.load_weights(network, file, "mine")
    weights.wrap(network, "mine", str(file)).backbone(torch.zeros(1, 3, 4, 4))


def weights_safetensors(folder: Path) -> Reader:
    """A safetensors file of weights."""
    valid = [safetensors.torch.save(_network().state_dict())]
    file = folder / "weights.safetensors"
    return Reader(valid, damage.damaged_safetensors(valid), lambda data: _load(file, data))


def weights_pth(folder: Path) -> Reader:
    """A file of weights in torch's own format."""
    state = _network().state_dict()
    valid = [_saved({"state_dict": state})]
    odd = [
        _saved({**state, name: other})
        for name, tensor in state.items()
        for other in _odd_tensors(tensor)
    ]
    file = folder / "weights.pth"
    inputs = damage.damaged_archive(valid * len(odd) + odd)
    return Reader(valid, inputs, lambda data: _load(file, data))


def _saved(content: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def _odd_tensors(tensor: torch.Tensor) -> Iterator[object]:
    """The tensor in the other layouts and types that a file can hold, and what is no tensor."""
    rows = tensor.double().reshape(len(tensor) if tensor.dim() else 1, -1)
    ones = torch.ones(len(rows))
    yield from (tensor.to_sparse(), rows.to_sparse_csr(), rows.to_sparse_bsr((1, 1)))
    yield from (tensor.to("meta"), tensor.expand(2, *tensor.shape), tensor[..., None][..., :0])
    yield torch.quantize_per_tensor(tensor.float(), 0.1, 0, torch.qint8)
    yield torch.quantize_per_channel(rows.float(), ones, ones.long(), 0, torch.quint8)
    for kind in (torch.float64, torch.float16, torch.float8_e4m3fn, torch.complex64, torch.bool):
        yield tensor.to(kind)
    yield from (tensor.to(torch.complex64).conj(), torch.full_like(tensor.float(), torch.nan))
    yield from (None, 1.5, "text", [tensor], {"inside": tensor})
