"""Generated runs of any size, as the evaluator writes them: results.json and predictions.parquet.

The errors follow the paper's numbers, with easy and hard videos and with methods that get better
or worse the longer a class lasts, so that a page made of them looks like a page of a real run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = {
    # id: (name, pair, base error in percent, change of logit as a class lasts, overconfidence)
    "source": ("Source", "source@bn", 70.0, 0.0, 0.8),
    "tbn": ("TBN", "source@tbn", 88.0, 0.9, 0.3),
    "alpha_bn": ("α-BN", "source@alpha_bn", 72.0, 0.1, 0.6),
    "unmix_tns": ("UnMix-TNS", "source@unmix_tns", 66.0, -0.8, 0.5),
    "tent": ("TENT", "tent@tbn", 88.0, 0.8, 1.2),
    "tent_unmix": ("TENT†", "tent@unmix_tns", 67.0, -0.6, 0.9),
    "lame": ("LAME", "lame@bn", 64.0, -0.5, 1.6),
    "lame_unmix": ("LAME†", "lame@unmix_tns", 60.0, -1.1, 1.5),
}
CLASSES = (
    *("airplane", "antelope", "bear", "bicycle", "bird", "bus", "car", "cattle", "dog", "cat"),
    *("elephant", "fox", "panda", "hamster", "horse", "lion", "lizard", "monkey", "motorcycle"),
    *("rabbit", "sheep", "snake", "squirrel", "tiger", "train", "turtle", "watercraft", "whale"),
)
SEED = 0
HARDER = {"clean": -2.5, "gaussian_noise": 0.4, "rain": 0.7, "snow": -0.7}


@dataclass(frozen=True)
class Stream:
    """The frames of a dataset in order: video, frame in the video, label, labels."""

    video: np.ndarray
    names: list[str]
    frame: np.ndarray
    label: np.ndarray
    second: np.ndarray  # a second class in the frame, or -1


@dataclass(frozen=True)
class Shape:
    """What a generated run holds. ``frames`` is the number of frames of each cell."""

    name: str = "generated"
    datasets: tuple[str, ...] = ("imagenet-vid-c-sample",)
    corruptions: tuple[str, ...] = ("gaussian_noise", "rain", "snow")
    severity: int = 5
    seeds: tuple[int, ...] = (0,)
    videos: int = 24
    frames: int = 2400
    order: str = "in-order"
    columns: tuple[str, ...] = tuple(COLUMNS)
    classes: tuple[str, ...] = CLASSES
    video_name: str = "val_{:05d}"
    paths: dict[str, str] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)
    streams: dict[str, Stream] = field(default_factory=dict)  # instead of generated ones
    complete: bool = True
    protocol: str = "paper"
    components: int = 256


def write_run(folder: Path, shape: Shape | None = None) -> Path:
    """Write a generated run into ``folder`` and return it."""
    shape = shape or Shape()
    folder.mkdir(parents=True, exist_ok=True)
    cells = []
    with pq.ParquetWriter(folder / "predictions.parquet", schema(shape.columns)) as writer:
        for number, dataset in enumerate(shape.datasets):
            rng = np.random.default_rng([SEED, number])
            stream = shape.streams.get(dataset) or make_stream(shape, rng)
            for corruption in shape.corruptions:
                for seed in shape.seeds:
                    key = (
                        dataset,
                        corruption,
                        0 if corruption == "clean" else shape.severity,
                        seed,
                    )
                    table = make_cell(shape, stream, key)
                    writer.write_table(table, row_group_size=len(table))
                    cells.append(score_cell(shape, table, key))
    (folder / "results.json").write_text(json.dumps(results(shape, cells)), encoding="utf-8")
    return folder


def schema(columns: tuple[str, ...]) -> pa.Schema:
    """The schema of predictions.parquet."""
    answers = [
        entry
        for column in columns
        for entry in ((f"{column}_prediction", pa.int32()), (f"{column}_confidence", pa.float32()))
    ]
    return pa.schema(
        [
            ("dataset", pa.string()),
            ("corruption", pa.string()),
            ("severity", pa.int8()),
            ("seed", pa.int64()),
            ("position", pa.int64()),
            ("video", pa.string()),
            ("frame", pa.int32()),
            ("label", pa.int64()),
            ("labels", pa.list_(pa.int64())),
            *answers,
        ]
    )


def make_stream(shape: Shape, rng: np.random.Generator) -> Stream:
    """Videos of different lengths, one class each, now and then with a second class beside it."""
    share = rng.lognormal(0, 0.5, shape.videos)
    ends = np.round(np.cumsum(share) / share.sum() * shape.frames).astype(int)
    lengths = np.diff(ends, prepend=0)
    names = [shape.video_name.format(i) for i in range(shape.videos)]
    video = np.repeat(np.arange(shape.videos), lengths)
    frame = np.concatenate([np.arange(length) for length in lengths])
    label = rng.integers(0, len(shape.classes), shape.videos)[video]
    beside = np.where(rng.random(shape.videos) < 0.15, rng.integers(0, len(shape.classes)), -1)
    second = np.where(beside[video] == label, -1, beside[video])
    return Stream(video, names, frame, label, second)


def make_cell(shape: Shape, stream: Stream, key: tuple[str, str, int, int]) -> pa.Table:
    """Every column's answers to one cell's frames, in stream order."""
    dataset, corruption, severity, seed = key
    rng = np.random.default_rng([SEED, seed, *dataset.encode(), *corruption.encode()])
    position = np.arange(len(stream.video))
    if shape.order != "in-order":
        position = rng.permutation(position)
    position = position[stream.label[position] >= 0]
    label, video = stream.label[position], stream.video[position]
    since = np.zeros(len(label))
    for at in range(1, len(label)):
        since[at] = since[at - 1] + 1 if label[at] == label[at - 1] else 0
    labels = [[a] if b < 0 else [a, b] for a, b in zip(label, stream.second[position], strict=True)]
    arrays: dict[str, object] = {
        "dataset": [dataset] * len(label),
        "corruption": [corruption] * len(label),
        "severity": np.full(len(label), severity, np.int8),
        "seed": np.full(len(label), seed),
        "position": position,
        "video": pa.array(stream.names).take(pa.array(video)),
        "frame": stream.frame[position],
        "label": label,
        "labels": labels,
    }
    hardness = rng.normal(0, 1.3, len(stream.names))
    mood = np.repeat(rng.normal(0, 1, len(label) // 12 + 1), 12)[: len(label)]
    for column in shape.columns:
        difficulty = hardness + rng.normal(0, 0.6, len(stream.names))
        prediction, confidence = answers(
            shape, column, corruption, label, difficulty[video] + 0.8 * mood, since, rng
        )
        arrays[f"{column}_prediction"] = prediction
        arrays[f"{column}_confidence"] = confidence
    return pa.table(arrays, schema=schema(shape.columns))


def answers(shape, column, corruption, label, difficulty, since, rng):
    """One column's predictions and confidences."""
    _, _, base, lasting, overconfidence = COLUMNS.get(column, ("", "", 70.0, 0.0, 0.5))
    settled = np.minimum(np.log2(1 + since / 8) / 4, 1.0)
    logit = np.log(base / (100 - base)) + HARDER.get(corruption, 0.0) + difficulty
    wrong = rng.random(len(label)) < 1 / (1 + np.exp(-(logit + lasting * settled)))
    # A method mistakes a class for the same few others, and says so with about its usual surety.
    other = (label + 1 + rng.integers(0, 3, len(label))) % len(shape.classes)
    sure = rng.normal(np.where(wrong, -0.6, 0.9) + overconfidence, 1.1)
    lowest = 1 / len(shape.classes)
    confidence = lowest + (1 - lowest) / (1 + np.exp(-sure))
    return np.where(wrong, other, label).astype(np.int32), confidence.astype(np.float32)


def score_cell(shape: Shape, table: pa.Table, key: tuple[str, str, int, int]) -> dict[str, object]:
    """What results.json says of a cell."""
    dataset, corruption, severity, seed = key
    label = table["label"].to_numpy()
    video = table["video"].dictionary_encode().combine_chunks()
    lists = table["labels"].combine_chunks()
    counts = np.diff(lists.offsets.to_numpy())
    second = np.full(len(label), -1)
    second[counts > 1] = lists.values.to_numpy()[lists.offsets.to_numpy()[1:][counts > 1] - 1]
    columns = {}
    for number, column in enumerate(shape.columns):
        prediction = table[f"{column}_prediction"].to_numpy()
        wrong = (prediction != label) & (prediction != second)
        names = np.array(shape.classes, dtype=object)
        seconds = len(label) / (40.0 - 4 * number)
        ends = np.linspace(0, len(label), min(50, len(label)) + 1).round().astype(int)
        columns[column] = {
            "error": 100.0 * wrong.mean(),
            "frames": len(label),
            "classes": by_part(wrong, names[label]),
            "videos": by_part(
                wrong,
                np.array(video.dictionary.to_pylist(), dtype=object)[video.indices.to_numpy()],
                names[label],
            ),
            "over_time": {
                "frames": ends[1:].tolist(),
                "error": [100.0 * wrong[a:b].mean() for a, b in pairwise(ends)],
            },
            "measured": {
                "seconds": seconds,
                "frames_per_second": len(label) / seconds,
                "peak_memory_bytes": 900_000_000 + 130_000_000 * number,
            },
        }
    left_out = {"unlabelled": 31, "no_counterpart": 0, "several_classes": 0}
    return {
        "dataset": dataset,
        "corruption": corruption,
        "severity": severity,
        "seed": seed,
        "frames": len(label),
        "left_out": left_out,
        "columns": columns,
    }


def by_part(wrong, names, labels=None):
    """Error and frames of each class or video."""
    parts, first, where = np.unique(names.astype(str), return_index=True, return_inverse=True)
    frames = np.bincount(where)
    errors = np.bincount(where, weights=wrong) * 100.0 / frames
    label = {} if labels is None else {"label": labels}
    return {
        str(part): {
            "error": float(errors[i]),
            "frames": int(frames[i]),
            **{key: str(values[first[i]]) for key, values in label.items()},
        }
        for i, part in enumerate(parts)
    }


def results(shape: Shape, cells: list[dict[str, object]]) -> dict[str, object]:
    """All of results.json."""
    names = {column: COLUMNS.get(column, (column, column)) for column in shape.columns}
    return {
        "schema": 1,
        "run": shape.name,
        "vidc": "0.1.0",
        "command": ["python", "-m", "vidc.eval", *shape.datasets],
        "protocol": {
            "name": shape.protocol,
            "stream": {"batch": 16, "order": shape.order},
            "head": {"map": "sum", "multi_label": "any"},
            "unmix_tns": {"components": shape.components, "tau": 0.07, "alpha": 0.5},
            "tent": {"lr": 2.5e-6, "momentum": 0.9, "nesterov": False, "steps": 1},
        },
        "environment": {"python": "3.11", "torch": "2.15", "device": "cpu", "threads": 2},
        "model": {
            "name": "resnet50",
            "weights": "IMAGENET1K_V1",
            "sha256": "0" * 64,
            "preprocessing": "resize to 256, crop to 224",
        },
        "order": shape.order,
        "columns": [
            {"id": column, "name": names[column][0], "pair": names[column][1]}
            for column in shape.columns
        ],
        "datasets": {
            dataset: {
                "path": shape.paths.get(dataset, f"datasets/{dataset}"),
                "fingerprint": shape.fingerprints.get(dataset, "ab" * 32),
                "split": "val",
                "classes": list(shape.classes),
                "complete": shape.complete,
            }
            for dataset in shape.datasets
        },
        "cells": cells,
    }
