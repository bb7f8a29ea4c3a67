"""An evaluation from a built folder and straight from clean videos: equal to the last digit."""

from __future__ import annotations

import shutil

import pyarrow.parquet as pq
import pytest
import torch

from tests.eval.repeated import without_measured
from tests.eval.tiny_dataset import MODEL, write_dataset, write_model, write_tree
from vidc.errors import InputError
from vidc.eval.evaluate import evaluate
from vidc.eval.inputs import built_input
from vidc.images import Encoding

torch.set_num_threads(1)
SETTINGS = ["stream.batch=4", "unmix_tns.components=4"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Clean videos, the dataset built from them with the default size, and a model of that size."""
    root = tmp_path_factory.mktemp("dataset")
    clean = write_tree(root)
    dataset = write_dataset(root, size=224)
    (root / "tiny.py").write_text(MODEL.replace("crop=32", "crop=224"))
    return dataset, clean, f"{root / 'tiny.py'}:network"


def scores(evaluation):
    return without_measured(evaluation.results["cells"])


@pytest.mark.parametrize("order", ["in-order", "shuffled"])
def test_built_and_virtual_agree_to_the_last_digit(made, tmp_path, order):
    dataset, clean, model = made
    columns = ["source", "unmix_tns", "tent", "lame_unmix"]
    asked = {"columns": columns, "model": model, "settings": SETTINGS, "order": order}
    corruptions = ["clean", "gaussian_noise", "snow"]
    built = evaluate(dataset, corruptions=corruptions, out=tmp_path / "built", **asked)
    virtual = evaluate(
        source="imagenet-vid",
        root=str(clean),
        corruptions=corruptions,
        out=tmp_path / "virtual",
        **asked,
    )
    assert scores(built) == scores(virtual)
    assert len(scores(built)) == 3
    tables = [pq.read_table(each.folder / "predictions.parquet") for each in (built, virtual)]
    assert tables[0].equals(tables[1])


def test_threads_change_nothing(made, tmp_path):
    dataset, _, model = made
    asked = {"columns": ["source", "tent_unmix"], "model": model, "settings": SETTINGS}
    one, four = (
        evaluate(dataset, corruptions="snow", threads=n, out=tmp_path / str(n), **asked)
        for n in (1, 4)
    )
    assert scores(one) == scores(four)


def test_bad_sources_are_told(made, tmp_path):
    _, clean, model = made
    asked = {"model": model, "out": tmp_path / "results"}
    with pytest.raises(InputError, match="did you mean 'imagenet-vid'"):
        evaluate(source="imagenet-vdi", root=str(clean), **asked)
    with pytest.raises(InputError, match="nowhere"):
        evaluate(source="imagenet-vid", root=str(tmp_path / "nowhere"), **asked)
    with pytest.raises(InputError, match="did you mean 'snow'"):
        evaluate(source="imagenet-vid", root=str(clean), corruptions="snwo", **asked)
    with pytest.raises(InputError, match="severity"):
        evaluate(source="imagenet-vid", root=str(clean), severity=9, **asked)
    assert not (tmp_path / "results").exists()


def test_a_dataset_that_is_built_anew_in_the_meantime_is_refused(tmp_path):
    dataset = write_dataset(tmp_path)
    found = built_input(str(dataset))
    assert found.open(("snow", 5), None).info.corruption == "snow"
    shutil.rmtree(dataset)
    write_dataset(tmp_path, seed=1)
    with pytest.raises(InputError, match="built has changed since this evaluation began"):
        found.open(("snow", 5), None)


def test_a_recipe_makes_the_same_frames_again(tmp_path):
    clean = write_tree(tmp_path)
    choices = {"name": "small-c", "seed": 3, "stride": 2, "encoding": Encoding("jpeg", 60, "444")}
    dataset = write_dataset(tmp_path, **choices)
    asked = {"columns": ["source", "tent_unmix"], "settings": SETTINGS}
    asked["model"] = write_model(tmp_path)
    source = {"source": "imagenet-vid", "root": clean}
    built = evaluate(dataset, out=tmp_path / "built", **asked)
    virtual = evaluate(recipe=dataset, out=tmp_path / "virtual", **source, **asked)
    assert scores(built) == scores(virtual)
    tables = [pq.read_table(each.folder / "predictions.parquet") for each in (built, virtual)]
    assert tables[0].equals(tables[1])


def test_a_recipe_of_other_videos_is_refused(made, tmp_path):
    dataset, clean, model = made
    shorter = tmp_path / "ILSVRC2015"
    shutil.copytree(clean, shorter)
    shutil.rmtree(min((shorter / "Data" / "VID" / "val").iterdir()))
    asked = {"recipe": dataset, "model": model, "out": tmp_path / "results"}
    with pytest.raises(InputError, match="that it was built from"):
        evaluate(source="imagenet-vid", root=shorter, allow_missing=True, **asked)
    with pytest.raises(InputError, match="source imagenet-vid, not lasot"):
        evaluate(source="lasot", root=clean, **asked)
    with pytest.raises(InputError, match="split val, not train"):
        evaluate(source="imagenet-vid", root=clean, split="train", **asked)
    with pytest.raises(InputError, match="--recipe belongs to --source"):
        evaluate(dataset, **asked)
    with pytest.raises(InputError, match="has only 5"):
        evaluate(source="imagenet-vid", root=clean, severity=2, **asked)
    assert not (tmp_path / "results").exists()
