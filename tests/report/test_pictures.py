"""The frames on the page: those where the answers differ, read from the dataset that was built."""

import base64
import dataclasses
import io
import re
import shutil

import numpy as np
import pytest
from PIL import Image

from tests.core.folders import Shape as FolderShape
from tests.core.folders import pixels_of, write_folder
from tests.report.generated import Shape, Stream, write_run
from vidc.classes import class_list
from vidc.eval.inputs import built_input
from vidc.eval.report import write
from vidc.eval.report.disagreement import find_disagreement
from vidc.eval.report.predictions import Predictions
from vidc.eval.report.runs import read_run
from vidc.eval.report.thumbnails import Album
from vidc.reading import load

COLUMNS = ("source", "unmix_tns")
NAME = "imagenet-vid-c"
FOLDER = FolderShape(videos=12, frames=6, size=64, configs=("clean", "snow"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("built") / "dataset", FOLDER)


@pytest.fixture
def dataset(built, tmp_path):
    """A copy that a test may break."""
    return shutil.copytree(built, tmp_path / "dataset")


@pytest.fixture
def run(dataset, tmp_path):
    """A run whose frames are the dataset's own."""
    labels = load(dataset, "snow").labels()
    names, video = np.unique(labels.videos, return_inverse=True)
    none = np.full(len(labels), -1)
    stream = Stream(video, names.tolist(), labels.frames, labels.label, none)
    shape = Shape(
        datasets=(NAME,),
        corruptions=("snow",),
        columns=COLUMNS,
        classes=class_list("imagenet-vid").names,
        streams={NAME: stream},
        paths={NAME: str(dataset)},
        fingerprints={NAME: built_input(str(dataset)).about.fingerprint},
    )
    return write_run(tmp_path / "run", shape)


def found_in(run, most=12):
    read = read_run(run)
    frames = Predictions(read.predictions, COLUMNS).read(read.cells[0].key)
    return read, frames, find_disagreement(frames, most)


def page(run, tmp_path):
    return write([run], tmp_path / "out", figures=False).read_text("utf-8")


def test_counts_are_those_of_a_loop(run):
    _, frames, found = found_in(run)
    expected = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    differ = 0
    for at in range(len(frames)):
        expected[not frames.wrong["unmix_tns"][at], not frames.wrong["source"][at]] += 1
        differ += frames.prediction["unmix_tns"][at] != frames.prediction["source"][at]
    counts = (found.both_right, found.only_ours, found.only_base, found.both_wrong)
    assert counts == tuple(expected.values())
    assert found.differ == differ


def test_picks_differ_and_each_kind_takes_a_video_once(run):
    _, frames, found = found_in(run)
    kinds = {}
    assert found.picks
    for pick in found.picks:
        assert pick.ours.prediction != pick.base.prediction
        kind = (pick.ours.right, pick.base.right)
        assert kind != (True, True)
        assert pick.video not in kinds.setdefault(kind, set())
        kinds[kind].add(pick.video)
        at = np.flatnonzero(frames.position == pick.position)[0]
        assert frames.videos[frames.video[at]] == pick.video
        assert frames.frame[at] == pick.frame
    assert len(kinds) == 3


@pytest.mark.parametrize("most", [0, 1, 5])
def test_no_more_are_picked_than_asked_for(run, most):
    assert len(found_in(run, most)[2].picks) == most


def test_the_page_shows_the_datasets_own_frames(run, tmp_path):
    _, _, found = found_in(run)
    shown = re.findall(r'src="data:image/jpeg;base64,([^"]+)" alt="([^"]+)"', page(run, tmp_path))
    assert len(shown) == len(found.picks)
    for (data, text), pick in zip(shown, found.picks, strict=True):
        assert text.startswith(f"Frame {pick.frame} of video {pick.video}:")
        picture = Image.open(io.BytesIO(base64.b64decode(data)))
        video, frame = divmod(pick.position, 6)
        original = Image.fromarray(pixels_of("snow", video, frame, FOLDER.size))
        # JPEG changes noise a good deal, but another frame's noise is nowhere near.
        correlation = np.corrcoef(np.ravel(picture), np.ravel(original))[0, 1]
        assert correlation > 0.5


def test_a_dataset_that_is_gone_is_said(run, dataset, tmp_path):
    shutil.rmtree(dataset)
    html = page(run, tmp_path)
    assert "No pictures: the dataset is not at" in html
    assert "data:image/jpeg" not in html


@pytest.mark.parametrize("change", [{"frames": 7}, {"size": 48}], ids=["frames", "pixels"])
def test_a_dataset_that_was_built_anew_is_said(run, dataset, tmp_path, change):
    shutil.rmtree(dataset)
    write_folder(dataset, dataclasses.replace(FOLDER, **change))
    html = page(run, tmp_path)
    assert "is not the one that was evaluated" in html
    assert "data:image/jpeg" not in html


def test_broken_shards_are_said(run, dataset, tmp_path):
    for shard in (dataset / "data" / "snow").iterdir():
        shard.write_bytes(shard.read_bytes()[:-200])
    html = page(run, tmp_path)
    assert "No pictures: " in html
    assert "data:image/jpeg" not in html


def test_pictures_stop_where_the_room_ends(run):
    read, _, found = found_in(run)
    everything = Album(10**7).pictures(read.cells[0], read.datasets[NAME], found.picks)
    assert everything.why_not == ""
    room = sum(map(len, everything.images)) // 2
    pictures = Album(room).pictures(read.cells[0], read.datasets[NAME], found.picks)
    kept = [image for image in pictures.images if image]
    assert 0 < len(kept) < len(found.picks)
    assert sum(map(len, kept)) <= room
    assert pictures.why_not == "Some pictures are left out to keep the page small."


def test_a_hub_id_is_not_downloaded_for_a_report(run, monkeypatch):
    def no_network(*_):
        raise AssertionError("the report opened a dataset that is not on this machine")

    monkeypatch.setattr("vidc.eval.report.thumbnails.built_input", no_network)
    read, _, found = found_in(run)
    elsewhere = dataclasses.replace(read.datasets[NAME], path="org/name")
    pictures = Album(10**6).pictures(read.cells[0], elsewhere, found.picks)
    assert set(pictures.images) == {None}
    assert "org/name" in pictures.why_not


def test_an_error_of_ours_is_not_swallowed(run, monkeypatch):
    def broken(*_):
        raise KeyError("ours")

    monkeypatch.setattr("vidc.eval.report.thumbnails.built_input", broken)
    read, _, found = found_in(run)
    with pytest.raises(KeyError):
        Album(10**6).pictures(read.cells[0], read.datasets[NAME], found.picks)
