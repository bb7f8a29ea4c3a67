"""The sample: real readers read it, boxes are where the pixels are, and a kill loses nothing."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.builders.builds import contents
from vidc.builders import sample
from vidc.builders.sample_build import build_sample
from vidc.builders.sample_layout import wnid, write_lasot, write_vid
from vidc.builders.sample_paint import paint
from vidc.builders.sample_shapes import SHAPES
from vidc.builders.source import open_source
from vidc.classes import class_list, lasot_test_sequences
from vidc.errors import InputError
from vidc.images import decode

VID = {video.id: video for video in sample.vid_videos()}
LASOT = {video.id: video for video in sample.lasot_videos()}
ENTERING, PAIRED = "ILSVRC2015_val_00000005", "ILSVRC2015_val_00000013"


def painted(video):
    """Each frame of a video: its pixels, what is seen, and where its first object changes it."""
    clip = video.clip()
    without = dataclasses.replace(clip, actors=clip.actors[1:])
    for moment in video.times:
        pixels, seen = paint(clip, moment)
        change = np.abs(pixels.astype(int) - paint(without, moment)[0]).max(axis=2)
        yield pixels, seen, change


def bounds(mask):
    rows, columns = np.nonzero(mask.any(axis=1))[0], np.nonzero(mask.any(axis=0))[0]
    return columns[0], rows[0], columns[-1] + 1, rows[-1] + 1


@pytest.mark.parametrize("videos", [VID, LASOT], ids=["vid", "lasot"])
def test_each_dataset_is_as_large_and_as_varied_as_promised(videos):
    assert len(videos) >= 40
    assert all(len(video.times) >= 32 for video in videos.values())
    assert len({video.kind for video in videos.values()}) >= 10


def test_kinds_are_classes_of_both_datasets_under_one_wnid():
    for kind in SHAPES:
        for name in ("imagenet-vid", "lasot"):
            classes = class_list(name)
            assert classes.wnids[classes.index(kind)] == wnid(kind)


def test_sequences_are_of_lasots_testing_list():
    assert set(LASOT) <= set(lasot_test_sequences())


def test_training_clips_are_other_clips():
    seeds = [video.seed for video in (*VID.values(), *LASOT.values())]
    training = [video.seed for video in sample.training_videos(3)]
    assert len(set(seeds + training)) == len(seeds) + len(training)
    one, other = sample.training_videos(1)[0].clip(), VID["ILSVRC2015_val_00000000"].clip()
    assert one.actors[0].kind == other.actors[0].kind
    assert (paint(one, 0)[0] != paint(other, 0)[0]).mean() > 0.5


@pytest.mark.parametrize(
    "video", [VID["ILSVRC2015_val_00000002"], LASOT["zebra-10"], LASOT["lizard-1"]]
)
def test_boxes_are_where_the_object_has_changed_the_pixels(video):
    for _, seen, change in painted(video):
        x, y, width, height = seen[0].box
        # Edges are smoothed, and scraps may lie over them: a pixel or two.
        assert bounds(change > 2) == pytest.approx((x, y, x + width, y + height), abs=2.5)


def test_an_object_that_enters_is_away_at_first_and_annotated_once_it_shows():
    for _, seen, change in painted(VID[ENTERING]):
        if not change.any():
            assert seen[0].box is None
    boxes = [seen[0].box for _, seen, _ in painted(VID[ENTERING])]
    assert boxes[0] is None
    assert boxes[-1] is not None
    assert boxes.count(None) <= 8


def test_behind_the_wall_nothing_of_the_object_shows():
    frames = list(painted(LASOT["car-6"]))
    hidden = [seen[0].hidden for _, seen, _ in frames]
    assert 1 <= sum(hidden) <= 4
    assert [not change.any() for _, _, change in frames] == hidden


@pytest.mark.parametrize("video", [VID["ILSVRC2015_val_00000000"], LASOT["bus-2"]])
def test_everything_moves(video):
    clip = video.clip()
    backdrop = dataclasses.replace(clip, actors=(), scraps=())
    for one, other in [(0, 1), (10, 11)]:
        assert (paint(backdrop, one)[0] != paint(backdrop, other)[0]).mean() > 0.1
    sizes = [paint(clip, moment)[1][0].box[2:] for moment in video.times]
    assert np.ptp(sizes, axis=0).min() > 3


def test_a_name_gives_the_same_pixels_in_another_process():
    code = (
        "import hashlib; from vidc.builders import sample; from vidc.builders.sample_paint import "
        "paint; v = sample.lasot_videos()[7]; "
        "print(hashlib.sha256(paint(v.clip(), 9)[0].tobytes()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    here = paint(sample.lasot_videos()[7].clip(), 9)[0]
    assert done.stdout.strip() == hashlib.sha256(here.tobytes()).hexdigest()


def test_the_vid_reader_reads_it(tmp_path):
    for name in (ENTERING, PAIRED):
        write_vid(tmp_path, name, VID[name].clip(), VID[name].times)
    source = open_source("imagenet-vid", tmp_path)
    entering, paired = source.videos()
    assert (entering.id, paired.id) == (ENTERING, PAIRED)
    names = class_list("imagenet-vid").names
    for video in (entering, paired):
        frames = source.frames(video)
        assert [frame.index for frame in frames] == list(VID[video.id].times)
        for frame, (pixels, seen, _) in zip(frames, painted(VID[video.id]), strict=True):
            assert [names[box.category] for box in frame.objects] == [
                each.kind for each in seen if each.box
            ]
            stored = decode(frame.file.read_bytes(), "a frame").astype(int)
            assert stored.shape == pixels.shape
            assert abs(stored - pixels).mean() < 6  # JPEG
    assert len({box.category for box in source.frames(paired)[0].objects}) == 2


def test_the_lasot_reader_reads_it(tmp_path):
    for name in ("bird-15", "car-6"):
        write_lasot(tmp_path, name, LASOT[name].clip(), LASOT[name].times)
    source = open_source("lasot", tmp_path, allow_missing=True)
    bird, car = source.videos()
    assert source.missing
    away = [not frame.objects for frame in source.frames(bird)]
    assert away == [seen[0].box is None for _, seen, _ in painted(LASOT["bird-15"])]
    hidden = [frame.objects[0].occluded for frame in source.frames(car)]
    assert hidden == [seen[0].hidden for _, seen, _ in painted(LASOT["car-6"])]
    box = source.frames(car)[0].objects[0].bbox
    assert box == pytest.approx(next(painted(LASOT["car-6"]))[1][0].box, abs=0.51)


@pytest.mark.slow
def test_few_frames_have_no_object_or_several(tmp_path):
    sample.render(tmp_path / "clean")
    for name in ("imagenet-vid", "lasot"):  # never to be taken for the release
        assert open_source(name, tmp_path / "clean", allow_missing=True).dataset.endswith("-sample")
    for name in ("imagenet-vid", "lasot"):
        source = open_source(name, tmp_path / "clean", allow_missing=True)
        objects = [
            len(frame.objects) for video in source.videos() for frame in source.frames(video)
        ]
        assert len(source.videos()) == 48
        assert 0 < objects.count(0) < 0.02 * len(objects)
        assert sum(count > 1 for count in objects) < 0.1 * len(objects)


def test_killed_and_started_again_it_is_the_same(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    sample.render_training(whole, 1)
    code = (
        "import sys, pathlib; from vidc.builders.sample import render_training; "
        "render_training(pathlib.Path(sys.argv[1]), 1)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(broken)], start_new_session=True)
    while child.poll() is None and not list(tmp_path.glob(".broken.*/*/Data/VID/val/ILSVRC*")):
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert not broken.exists()
    sample.render_training(broken, 1)
    assert contents(broken) == contents(whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "whole"]


def test_a_second_call_touches_nothing(tmp_path):
    sample.render_training(tmp_path / "clips", 1)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    sample.render_training(tmp_path / "clips", 1)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_folder_of_someone_elses_is_left_alone(tmp_path):
    (tmp_path / "ILSVRC2015").mkdir()
    with pytest.raises(InputError, match="something else than the rendered sample"):
        sample.render(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["ILSVRC2015"]


@pytest.mark.parametrize("in_the_way", ["file", "link"])
def test_where_its_folder_cannot_be_made_that_is_one_sentence(tmp_path, monkeypatch, in_the_way):
    monkeypatch.chdir(tmp_path)
    blocked = tmp_path / "datasets"
    blocked.touch() if in_the_way == "file" else blocked.symlink_to("nowhere")
    told = "datasets/sample is not a folder: give the command in another folder"
    with pytest.raises(InputError, match=told):
        build_sample()


def test_what_another_version_rendered_is_not_taken_for_ours(tmp_path):
    sample.render_training(tmp_path / "clips", 1)
    with pytest.raises(InputError, match="another version"):
        sample.render(tmp_path / "clips")
