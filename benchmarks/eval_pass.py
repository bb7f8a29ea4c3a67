"""Whole passes of the evaluator over a small dataset that is built for the purpose."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import torch

from vidc import build
from vidc.eval.cell import CellSettings, run_cell
from vidc.eval.inputs import built_input
from vidc.eval.methods import Column
from vidc.eval.models import LoadedModel
from vidc.eval.plan import decode_threads
from vidc.eval.protocol import load_protocol
from vidc.eval.results import CellKey, RunFolder

HEIGHT, WIDTH = 360, 480
VIDEO = "ILSVRC2015_val_00000000"
ANNOTATION = f"""<annotation><size><width>{WIDTH}</width><height>{HEIGHT}</height></size><object>
<trackid>0</trackid><name>n01503061</name><occluded>0</occluded><generated>0</generated>
<bndbox><xmin>60</xmin><ymin>40</ymin><xmax>400</xmax><ymax>300</ymax></bndbox>
</object></annotation>"""


class Passes:
    """Passes over one video of snow, stored as PNG at the model's size."""

    def __init__(self, folder: Path, model: LoadedModel, frames: int) -> None:
        self.folder = folder
        self.model = model
        self.input = built_input(str(build_dataset(folder, frames)))

    def seconds(self, columns: Sequence[Column]) -> float:
        """How long one pass that feeds these columns takes, reading and writing included."""
        settings = CellSettings(
            columns=tuple(columns),
            protocol=load_protocol("paper"),
            device="cpu",
            amp=False,
            compile=False,
            deterministic=False,
            threads=decode_threads(torch.device("cpu")),
            network_threads=None,
            gpu_decode=False,
            limit_frames=None,
            checkpoint_every=200,
        )
        key = CellKey(self.input.about.name, "snow", 5, 0)
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            cells = Path(name) / "cells"
            cells.mkdir()
            run_cell(key, self.input, self.model, settings, RunFolder(Path(name)), lambda *_: None)
            record = json.loads((cells / f"{key.file}.json").read_text("utf-8"))
        return float(record["measured"]["seconds"])


def build_dataset(folder: Path, frames: int, *options: str) -> Path:
    """A dataset of one video, by the ordinary way; ``options`` are the build's."""
    root, out = folder / "ILSVRC2015", folder / "dataset"
    data = root / "Data" / "VID" / "val" / VIDEO
    notes = root / "Annotations" / "VID" / "val" / VIDEO
    data.mkdir(parents=True)
    notes.mkdir(parents=True)
    draws = np.random.default_rng(0)
    for index in range(frames):
        coarse = draws.integers(0, 256, (HEIGHT // 20, WIDTH // 20, 3), np.uint8)
        picture = cv2.resize(coarse, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(str(data / f"{index:06d}.JPEG"), picture)
        (notes / f"{index:06d}.xml").write_text(ANNOTATION, "utf-8")
    words = f"imagenet-vid --root {root} --out {out} --corruptions snow --no-clean --allow-missing"
    with contextlib.redirect_stdout(io.StringIO()):
        build.main([*words.split(), "--workers", "1", "--engine", "serial", *options])
    return out
