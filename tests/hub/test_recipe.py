"""A recipe holds no source pixel, and from it and clean videos comes the same dataset."""

from __future__ import annotations

import io
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.hub.conftest import build
from tests.hub.state import Repo, Stored
from tests.hub.test_publish import NAME, published, run_all
from vidc import manifest as manifests
from vidc.builders.recipe import compare

VIDEO = "ILSVRC2015_val_00000001"


def test_a_recipe_holds_labels_and_hashes_but_no_pixel(hub, environment, dataset):
    done = build(["publish", dataset, NAME, "--recipe-only"], environment())
    assert done.returncode == 0, done.stderr
    assert f"from-recipe {NAME}" in done.stdout
    files = published(hub).files
    shards = [name for name in files if name.endswith(".parquet")]
    assert shards
    assert all(name.startswith("data/annotations/") for name in shards)
    # The rain is shown on a photograph of nobody's video.
    shown = {"assets/classes.png", "assets/rain.png"}
    assert {name for name in files if name.startswith("assets/")} == shown
    for name in shards:
        table = pq.read_table(io.BytesIO(files[name].data))
        assert "image" not in table.column_names
        assert not any(pa.types.is_binary(field.type) for field in table.schema)
    card = files["README.md"].data.decode()
    assert "contact-sheet" not in card
    assert "config_name: snow" not in card
    assert f"from-recipe {NAME}" in card


def test_a_recipe_may_follow_one_that_had_other_shards(hub, environment, dataset):
    hub.repos[NAME] = Repo(private=True)
    earlier = "data/annotations/val-00000-of-00009.parquet"
    manifest = Stored((dataset / "manifest.json").read_bytes(), False)
    hub.repos[NAME].commit({"manifest.json": manifest, earlier: Stored(b"earlier", True)})
    done = build(["publish", dataset, NAME, "--recipe-only"], environment())
    assert done.returncode == 0, done.stderr
    shards = {name for name in published(hub).files if name.startswith("data/")}
    assert shards == {name for name in manifests.read(dataset).shards if "/annotations/" in name}


@pytest.mark.slow
def test_the_same_frames_come_back_from_the_recipe(hub, environment, dataset, clean, tmp_path):
    recipe, rebuilt = run_all(
        [
            ("hf_owner", ["publish", dataset, NAME, "--recipe-only"]),
            ("hf_owner", ["from-recipe", NAME, "--root", clean, "--workers", "1"]),
        ],
        environment(),
        cwd=tmp_path,
    )
    out = tmp_path / "imagenet-vid-c"  # its name, where no --out is given
    assert recipe["code"] == 0, recipe["err"]
    assert rebuilt["code"] == 0, rebuilt["err"]
    assert "every one of 15 frames is as recorded" in rebuilt["out"]
    for file in sorted((dataset / "data").rglob("*.parquet")):
        assert (out / file.relative_to(dataset)).read_bytes() == file.read_bytes()


@pytest.mark.slow
def test_frames_that_differ_are_named(environment, dataset, clean, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(clean, other)
    notes = other / "Annotations" / "VID" / "val" / VIDEO / "000001.xml"
    notes.write_text("<annotation></annotation>")
    file = other / "Data" / "VID" / "val" / VIDEO / "000002.JPEG"
    pixels = np.array(Image.open(file))
    pixels[40:50, 60:70] ^= 128
    Image.fromarray(pixels).save(file, quality=95)
    options = ["--root", other, "--out", tmp_path / "out", "--workers", "1"]
    done, same = run_all(
        [
            (None, ["from-recipe", dataset, *options]),
            (None, ["from-recipe", dataset, "--root", other, "--out", dataset]),
        ],
        environment(),
    )
    assert done["code"] == 1
    assert f"{VIDEO} frame 2: other pixels in clean, gaussian_noise, snow, rain" in done["out"]
    assert f"{VIDEO} frame 1: other labels or boxes\n" in done["out"]
    assert "dataset of 15 frames: 0 missing, 0 that it has not, 2 different" in done["out"]
    # Given again it would find the folder finished, and say the same of mended videos.
    assert f"delete {tmp_path / 'out'} and give the command again" in done["out"]
    assert same["code"] == 2
    assert "the recipe's own folder" in same["err"]


def table(rows: dict[tuple[str, int], tuple[str, str, int]]) -> pa.Table:
    """Of each frame the hash of its clean pixels, that of its snow, and its label."""
    box = {"bbox": [1.0, 2.0, 3.0, 4.0], "category": 0}
    return pa.table(
        {
            "video": [video for video, _ in rows],
            "frame": [frame for _, frame in rows],
            "sha256": [{"clean": clean, "snow": snow} for clean, snow, _ in rows.values()],
            "label": [label for *_, label in rows.values()],
            "labels": [[label] for *_, label in rows.values()],
            "objects": [[box | {"category": label}] for *_, label in rows.values()],
        }
    )


def test_compare_tells_missing_added_and_different_frames_apart():
    recorded = {("a", 0): ("1", "2", 0), ("a", 1): ("3", "4", 0), ("b", 0): ("5", "6", 0)}
    rebuilt = {("a", 0): ("1", "2", 7), ("a", 1): ("3", "x", 0), ("c", 0): ("5", "6", 0)}
    found = compare(table(recorded), table(rebuilt))
    assert not found.equal
    assert found.missing == (("b", 0),)
    assert found.added == (("c", 0),)
    assert found.repainted == {("a", 1): ("snow",)}
    assert found.relabelled == (("a", 0),)
    assert compare(table(recorded), table(recorded)).equal


def test_other_labels_alone_are_no_equal_dataset():
    found = compare(table({("a", 0): ("1", "2", 0)}), table({("a", 0): ("1", "2", 7)}))
    assert not found.equal
