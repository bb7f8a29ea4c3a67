"""Every reader of files from outside, each with valid files, damaged ones, and one way in."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from hypothesis import strategies as st
from PIL import Image

from tests.builders import trees
from tests.core import folders
from tests.eval.memory_source import memory_source
from tests.eval.one_cell import KEY, folder_in, settings_of
from tests.eval.tiny_model import tiny_model
from tests.fuzz import damage
from tests.report import generated
from vidc import images
from vidc import manifest as manifests
from vidc.builders import card, imagenet_vid, lasot, tao
from vidc.builders.crop import Crop
from vidc.builders.pipeline import labels_in
from vidc.builders.settings import from_manifest
from vidc.builders.source import SourceFrame, open_source
from vidc.builders.verify import verify
from vidc.builders.workfolder import WorkFolder
from vidc.engines import Engine
from vidc.errors import InputError, told
from vidc.eval import cell, report, weights
from vidc.eval.head import groups
from vidc.eval.models import Preprocessing
from vidc.eval.protocol import NAMES, load_protocol
from vidc.eval.stream import Stream, scored_frames
from vidc.frames import Box
from vidc.reading import load


@dataclass(frozen=True)
class Reader:
    """Valid files, damaged ones, and what reads a file's bytes."""

    valid: Sequence[bytes]
    inputs: st.SearchStrategy[bytes]
    read: Callable[[bytes], object]


def outcome(reader: Reader, data: bytes) -> str:
    """``value`` or ``refused``; whatever else is raised is a bug."""
    try:
        reader.read(data)
    except InputError as mistake:
        sentence = told(mistake)
        assert sentence.strip(), "an error without a word"
        assert sentence.isprintable(), f"not one line of text: {sentence!r}"
        return "refused"
    return "value"


def _placed(boxes: Sequence[Box], source: str) -> None:
    """Boxes go on into a crop and are stored as float32: they must stay finite there."""
    frame = SourceFrame(0, Path("frame.jpg"), tuple(boxes))
    hidden = type("Of", (), {"occluded_is_hidden": source == "lasot"})
    for size in (224, None):
        for box in labels_in(Crop.of((90, 160), size), frame, hidden()).objects:
            assert np.isfinite(box.bbox).all(), box


def vid_xml(folder: Path) -> Reader:
    """An annotation of ImageNet-VID."""
    things = [trees.Thing(), trees.Thing(trees.BIRD, (1, 2, 30, 40), track=1)]
    valid = [trees.annotation(things).encode(), trees.annotation([]).encode("utf-16")]
    tokens = (
        *(b"<object>", b"</object>", b"<name>", b"nan", b"-inf", b"1e999", b"9" * 400, b"&a;"),
        *(b'<!DOCTYPE a [<!ENTITY b "c">]>', b"<?xml version='1.0' encoding='x'?>", b"&#0;", b"\0"),
        *(b"<a>" * 20_000, b"\xed\xa0\x80", b"<!--", b"<![CDATA[", b"1_0", "\u0661".encode()),
    )
    return Reader(
        valid,
        damage.damaged(valid, tokens) | _annotations(),
        lambda data: _placed(imagenet_vid.parse(data, "notes.xml"), "imagenet-vid"),
    )


def _annotations() -> st.SearchStrategy[bytes]:
    """Well-formed annotations whose numbers may be anything."""
    numbers = st.one_of(
        st.integers(-10, 200),
        st.floats(),
        st.sampled_from(("", "1e308", "-1e308", "1e999", "nan", "0x1", "1_0", "9" * 400, " 7 ")),
    )
    things = st.builds(
        trees.Thing,
        wnid=st.sampled_from((trees.DOG, trees.BIRD, "n00000000", "dog", "")),
        box=st.tuples(*[numbers] * 4),
        track=numbers,
        occluded=numbers,
        generated=numbers,
    )
    return st.lists(things, max_size=3).map(lambda drawn: trees.annotation(drawn).encode())


def lasot_text(folder: Path) -> Reader:
    """A sequence's text files, through the whole source."""
    tree = trees.write_lasot(folder, {"dog-1": 2})
    sequence = tree / "dog" / "dog-1"
    source = open_source("lasot", tree, "all", allow_missing=True)
    valid = [b"40,20,80,60\n40,20,80,60\n", b"1.5\t2\t3\t4\r\n0,0,0,0\r\n"]
    tokens = (b"nan", b"1e308", b"-1e308", b"1e-320", b"9" * 5000, b"\n\n", b",", "\u0663".encode())

    def read(data: bytes) -> None:
        (sequence / "groundtruth.txt").write_bytes(data)
        for frame in source.frames(source.videos()[0]):
            _placed(frame.objects, "lasot")

    return Reader(valid, damage.damaged(valid, tokens), read)


def lasot_flags(folder: Path) -> Reader:
    """A sequence's file of 0 and 1."""
    valid = [b"0,1,0,1", b"0\n1\n"]
    return Reader(
        valid,
        damage.damaged(valid, (b"2", b"01", b"true", "\uff11".encode())),
        lambda data: lasot.parse_flags(data, "out_of_view.txt"),
    )


def tao_json(folder: Path) -> Reader:
    """An annotation file of TAO."""
    tree = trees.write_tao(folder, {"train/LaSOT/dog-1": 2, "train/YFCC100M/x": 1})
    valid = [(tree / "annotations" / "train.json").read_bytes()]

    def read(data: bytes) -> None:
        for name, rows in tao.parse(data, "train.json").items():
            name.encode()
            for frame in rows:
                resolved = (tree / "frames" / frame.file).resolve()
                assert resolved.is_relative_to(tree.resolve()), frame.file
                _placed(frame.objects, "tao-lasot")

    return Reader(valid, damage.damaged_json(valid), read)


SHAPE = folders.Shape(videos=2, frames=3, size=8, configs=("clean", "snow"), rows_a_group=2)
SHARDS = ("data/snow/val-00000-of-00001.parquet", "data/annotations/val-00000-of-00001.parquet")


def use_dataset(folder: Path) -> None:
    """All that the reader and the evaluation do with a dataset before a network sees it."""
    for config in SHAPE.configs:
        reader = load(folder, config, threads=1)
        info = reader.info
        scored = scored_frames(reader.labels(), groups(info.classes, None), "any")
        fitted = Preprocessing(crop=8, resize=None)
        for batch in Stream(reader, scored, 2, fitted).batches():
            assert batch.images.shape[1:] == (8, 8, 3)
        for frame in reader:
            assert frame.label < len(info.classes)


def manifest(folder: Path) -> Reader:
    """manifest.json: the dataset's reader, its card, and the recipe to build it again."""
    folders.write_folder(folder, SHAPE)
    valid = [(folder / "manifest.json").read_bytes()]

    def read(data: bytes) -> None:
        (folder / "manifest.json").write_bytes(data)
        found = manifests.read(folder)
        for path in found.shards:
            assert (folder / path).resolve().is_relative_to(folder.resolve()), path
        found.to_json().encode()
        use_dataset(folder)
        card.render(found).encode()
        from_manifest(found)

    return Reader(valid, damage.damaged_json(valid), read)


def _parquet(table: pa.Table, group: int) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=group)
    return file.getvalue()


def _tables(table: pa.Table) -> st.SearchStrategy[bytes]:
    # Deferred, because hypothesis prints what it was given: the whole table.
    tables = st.deferred(lambda: damage.damaged_table(table))
    return st.builds(_parquet, tables, st.sampled_from((1, 2, 100)))


def _shard(use: Callable[[Path], object], which: int) -> Callable[[Path], Reader]:
    """A shard whose damage the manifest does not betray: its size and hash are put right."""

    def make(folder: Path) -> Reader:
        folders.write_folder(folder, SHAPE)
        path = folder / SHARDS[which]
        recorded = json.loads((folder / "manifest.json").read_text())
        valid = [path.read_bytes()]

        def read(data: bytes) -> None:
            path.write_bytes(data)
            try:
                rows = pq.ParquetFile(path).metadata.num_rows
            except (pa.ArrowException, OSError):
                rows = SHAPE.videos * SHAPE.frames
            recorded["shards"][SHARDS[which]] = folders.record(path, rows)
            (folder / "manifest.json").write_text(json.dumps(recorded))
            use(folder)

        return Reader(valid, damage.damaged(valid) | _tables(pq.read_table(path)), read)

    return make


def _verify(folder: Path) -> None:
    for finding in verify(folder, Engine("serial")):
        assert finding.strip()


RUN = generated.Shape(
    videos=2,
    frames=12,
    classes=("dog", "cat"),
    columns=("source", "unmix_tns"),
    corruptions=("rain", "snow"),
)


def _report(name: str) -> Callable[[Path], Reader]:
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
            damage.damaged(valid) | _tables(pq.read_table(file))
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


def _weights(name: str) -> Callable[[Path], Reader]:
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


def marker(folder: Path) -> Reader:
    """The marker of a finished shard in a build that was interrupted."""
    work = WorkFolder(folder)
    work.create()
    shard = {"sha256": "0" * 64, "rows": 1, "bytes": 3}
    (folder / SHARDS[0]).parent.mkdir(parents=True)
    (folder / SHARDS[0]).write_bytes(b"abc")
    content = {
        "shards": {SHARDS[0]: shard},
        "videos": ["v"],
        "frames": 1,
        "class_counts": {"dog": 1},
    }
    content |= {"skipped": [{"file": "f", "why": "w"}], "seconds": 1.5}
    valid = [json.dumps(content).encode()]

    def read(data: bytes) -> object:
        (work.path / "done" / "key.json").write_bytes(data)
        (work.path / "plan.json").write_bytes(data)
        work.begun()
        return work.finished("key", skip_broken=True)

    return Reader(valid, damage.damaged_json(valid), read)


def image(folder: Path) -> Reader:
    """An image file of every kind that is read."""
    colour = Image.fromarray(trees.picture(20, 24))
    kinds = {
        "RGB": ("JPEG", "PNG"),
        "L": ("JPEG", "PNG"),
        "CMYK": ("JPEG",),
        "RGBA": ("PNG",),
        "P": ("PNG",),
        "1": ("PNG",),
        "I;16": ("PNG",),
    }
    valid = []
    for mode, formats in kinds.items():
        picture = colour.convert("I").convert(mode) if mode == "I;16" else colour.convert(mode)
        for kind in formats:
            for progressive in (False, True) if kind == "JPEG" else (False,):
                file = io.BytesIO()
                picture.save(file, kind, **({"progressive": True} if progressive else {}))
                valid.append(file.getvalue())

    def read(data: bytes) -> None:
        pixels = images.decode(data, "frame.jpg")
        assert pixels.shape[:2] == images.size(data, "frame.jpg")
        Crop.of(pixels.shape[:2], 16).pixels(pixels)

    return Reader(valid, damage.damaged_png_or_jpeg(valid), read)


READERS: dict[str, Callable[[Path], Reader]] = {
    "ImageNet-VID XML": vid_xml,
    "LaSOT ground truth": lasot_text,
    "LaSOT flags": lasot_flags,
    "TAO JSON": tao_json,
    "image bytes": image,
    "manifest.json": manifest,
    "Parquet shard, read": _shard(use_dataset, 0),
    "Parquet annotations, read": _shard(use_dataset, 1),
    "Parquet shard, verified": _shard(_verify, 0),
    "Parquet annotations, verified": _shard(_verify, 1),
    "build marker": marker,
    "TOML protocol": protocol,
    "checkpoint": checkpoint,
    "cell record": cell_record,
    "results.json": _report("results.json"),
    "predictions.parquet": _report("predictions.parquet"),
    "weights.safetensors": _weights("weights.safetensors"),
    "weights.pth": _weights("weights.pth"),
}
