"""A built folder is a Hub dataset already: ``load_dataset`` on it, in all the ways people use."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.core.folders import Shape, pixels_of, write_folder
from vidc import frames
from vidc.builders import card
from vidc.classes import class_list

SHAPE = Shape()
ROWS = SHAPE.videos * SHAPE.frames


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A dataset with its card."""
    folder = write_folder(tmp_path_factory.mktemp("dataset"), SHAPE)
    card.write(folder)
    return folder


@pytest.fixture(scope="module")
def load(folder, tmp_path_factory):
    """``load_dataset`` on it, with a cache of our own and every warning an error."""
    import datasets

    cache = tmp_path_factory.mktemp("cache")

    def load(config=None, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return datasets.load_dataset(
                str(folder), config, split="val", **{"cache_dir": str(cache)} | options
            )

    return load


@pytest.fixture(autouse=True)
def no_warning(caplog):
    """``datasets`` says what it is not happy with through its logger, too."""
    yield
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def places(rows) -> list[tuple[str, int]]:
    return [(row["video"], row["frame"]) for row in rows]


ORDER = [(f"val_{video:03d}", frame) for video in range(4) for frame in range(5)]


def check_row(row, config):
    video, frame = int(row["video"][-3:]), row["frame"]
    pixels = np.asarray(row["image"])
    assert np.array_equal(pixels, pixels_of(config, video, frame, SHAPE.size))
    assert (row["corruption"], row["severity"]) == frames.parse_config(config)


@pytest.mark.parametrize("streaming", [False, True])
def test_every_config_has_its_rows_in_order(load, streaming):
    for config in SHAPE.configs:
        rows = load(config, streaming=streaming)
        assert places(rows) == ORDER
        for row in rows:
            check_row(row, config)


def test_no_cast_is_needed(load):
    classes = class_list(SHAPE.classes)
    assert load("snow").features == frames.image_features(classes)
    hashed = ["clean", "snow", "rain_s3"]
    assert load("annotations").features == frames.annotations_features(classes, hashed)
    assert load("snow").features["label"].names == list(classes.names)
    # The stored columns are the features' own Arrow types already.
    assert frames.image_features(classes).arrow_schema.remove_metadata() == frames.image_schema()


def test_snow_is_meant_where_no_config_is_named(load):
    assert set(load()["corruption"]) == {"snow"}


def test_annotations_have_no_image(load):
    rows = load("annotations")
    assert "image" not in rows.column_names
    assert places(rows) == ORDER
    assert set(rows[0]["sha256"]) == {"clean", "snow", "rain_s3"}


@pytest.mark.parametrize("streaming", [False, True])
def test_columns_and_filters(load, streaming):
    rows = list(load("snow", columns=["video", "label"], streaming=streaming))
    assert len(rows) == ROWS
    assert set(rows[0]) == {"video", "label"}
    one = load("snow", filters=[("video", "==", "val_002")], streaming=streaming)
    assert places(one) == [("val_002", frame) for frame in range(5)]


def test_several_processes(load, tmp_path):
    # A cache of its own: what is in the other one would not be prepared again.
    loaded = load("clean", num_proc=2, cache_dir=str(tmp_path))
    assert len(list(tmp_path.rglob("*.arrow"))) == 2
    assert places(loaded) == ORDER


def test_torch_format_and_batches_by_video(load):
    row = load("clean").with_format("torch")[3]
    expected = pixels_of("clean", 0, 3, SHAPE.size).transpose(2, 0, 1)
    assert np.array_equal(row["image"].numpy(), expected)
    assert int(row["label"]) == -1
    batches = list(load("snow", streaming=True).batch(by_column="video"))
    assert [set(batch["video"]) for batch in batches] == [{f"val_{v:03d}"} for v in range(4)]
    assert [batch["frame"] for batch in batches] == [list(range(5))] * 4


OLD = os.environ.get("VIDC_OLD_DATASETS_PYTHON")


@pytest.mark.skipif(not OLD, reason="VIDC_OLD_DATASETS_PYTHON names no python with old datasets")
def test_the_oldest_datasets_loads_the_same_rows(folder, tmp_path):
    command = [str(OLD), "-m", "tests.hub.oldest_datasets", str(folder), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    allowed = Path(__file__).parents[2].joinpath("pyproject.toml").read_text("utf-8")
    assert f'"datasets>={found["version"].removesuffix(".0")}"' in allowed
    assert found["warnings"] == []
    for config in SHAPE.configs:
        for way in ("full", "streaming"):
            assert [tuple(place) for place in found[f"{config} {way}"]] == ORDER
    assert found["filtered"] == 5
    assert found["label names"] == list(class_list(SHAPE.classes).names)
