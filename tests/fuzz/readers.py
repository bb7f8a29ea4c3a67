"""Every reader of files from outside, by the name that the fuzzer calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.fuzz import dataset_readers, run_readers, source_readers
from tests.fuzz.reader import Reader

READERS: dict[str, Callable[[Path], Reader]] = {
    "ImageNet-VID XML": source_readers.vid_xml,
    "LaSOT ground truth": source_readers.lasot_text,
    "LaSOT flags": source_readers.lasot_flags,
    "TAO JSON": source_readers.tao_json,
    "image bytes": source_readers.image,
    "manifest.json": dataset_readers.manifest,
    "Parquet shard, read": dataset_readers.shard(dataset_readers.use_dataset, 0),
    "Parquet annotations, read": dataset_readers.shard(dataset_readers.use_dataset, 1),
    "Parquet shard, verified": dataset_readers.shard(dataset_readers.verify_dataset, 0),
    "Parquet annotations, verified": dataset_readers.shard(dataset_readers.verify_dataset, 1),
    "build marker": dataset_readers.marker,
    "TOML protocol": run_readers.protocol,
    "checkpoint": run_readers.checkpoint,
    "cell record": run_readers.finished_cell(".json"),
    "cell predictions": run_readers.finished_cell(".parquet"),
    "results.json": run_readers.report_of("results.json"),
    "predictions.parquet": run_readers.report_of("predictions.parquet"),
    "weights.safetensors": run_readers.weights_safetensors,
    "weights.pth": run_readers.weights_pth,
}
