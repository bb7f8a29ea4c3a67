"""What holds for every source of clean video."""

from __future__ import annotations

import pickle

import pytest

from tests.builders.trees import write_imagenet_vid, write_lasot, write_tao
from vidc.builders.source import RENDERED, SOURCES, Source, check_name, open_source
from vidc.errors import InputError


def small(name: str, root) -> Source:
    if name == "imagenet-vid":
        return open_source(name, write_imagenet_vid(root, {"a": 3, "b": 2}))
    if name == "lasot":
        return open_source(name, write_lasot(root, {"dog-7": 3, "dog-1": 2}), "full", True)
    return open_source(name, write_tao(root, {"train/LaSOT/dog-7": 3}), "train")


def everything(source: Source) -> list:
    return [(video, list(source.frames(video))) for video in source.videos()]


@pytest.mark.parametrize("name", SOURCES)
def test_videos_and_frames_are_in_order_and_counted(tmp_path, name):
    source = small(name, tmp_path)
    ids = [video.id for video in source.videos()]
    assert ids == sorted(ids)
    assert len(ids) < source.videos_in_release or not source.missing
    for video, frames in everything(source):
        indices = [frame.index for frame in frames]
        assert indices == sorted(set(indices))
        assert len(frames) == len(source.frames(video)) == video.frames
        assert all(frame.file.is_file() for frame in frames)


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_can_be_sent_to_another_process(tmp_path, name):
    source = small(name, tmp_path)
    copy = pickle.loads(pickle.dumps(source))  # noqa: S301 (our own bytes)
    assert everything(copy) == everything(source)


@pytest.mark.parametrize("name", SOURCES)
def test_frames_are_read_when_asked_for(tmp_path, name):
    source = small(name, tmp_path)
    video = source.videos()[0]
    frames = source.frames(video)
    last = frames[-1]
    assert last == frames[video.frames - 1] == frames[1:][video.frames - 2]
    with pytest.raises(IndexError):
        frames[video.frames]


def test_a_folder_that_is_gone(tmp_path):
    source = small("imagenet-vid", tmp_path)
    video = source.videos()[0]
    video.folder.rename(tmp_path / "gone")
    with pytest.raises(InputError, match="cannot be listed: No such file or directory"):
        source.frames(video)


@pytest.mark.parametrize("name", ["imagenet-vid", "lasot"])
def test_what_vidc_rendered_has_another_name_from_wherever_it_is_opened(tmp_path, name):
    real = small(name, tmp_path)
    assert real.dataset == f"{name}-c"
    (tree,) = tmp_path.iterdir()
    (tree / RENDERED).touch()
    for root in (tree, tmp_path):
        split = "full" if name == "lasot" else None
        rendered = open_source(name, root, split, allow_missing=True)
        assert rendered.dataset == f"{name}-c-sample"
        assert rendered.name == name  # the key of its randomness
    moved = tree.rename(tmp_path / "moved")
    assert open_source(name, moved, split, allow_missing=True).dataset == f"{name}-c-sample"


def test_frames_are_not_called_what_others_are(tmp_path):
    source = small("imagenet-vid", tmp_path)
    for name in ("imagenet-vid-c", "mine", "mine-sample", "imagenet-vid-c-mine"):
        check_name(name, source)
    for name in ("imagenet-vid-c-sample", "lasot-c", "tao-lasot-c", "lasot-c-sample"):
        with pytest.raises(InputError, match=f"--name {name} stands for other frames"):
            check_name(name, source)
