"""Frames on the fly: the same as those of a build, in any order, made ahead within bounds."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace

import numpy as np
import pytest

from tests.builders.trees import (
    BIRD,
    Thing,
    annotation,
    jpeg,
    picture,
    write_imagenet_vid,
    write_lasot,
)
from vidc.build import main as build
from vidc.build import virtual
from vidc.builders import imagenet_vid
from vidc.builders.pipeline import Recipe, corrupted, prepare, selected, store
from vidc.builders.source import open_source
from vidc.builders.virtual import VirtualFrames
from vidc.errors import InputError
from vidc.frames import FrameSource
from vidc.images import Encoding, decode
from vidc.reading import load

SNOW = Recipe((("snow", 5),), size=64)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Three videos: several classes, an unlabelled frame, an object outside the crop, two sizes."""
    root = tmp_path_factory.mktemp("clean")
    tree = write_imagenet_vid(root, {"a": 5, "b": 1, "c d": 4})
    notes = tree / "Annotations/VID/val/a"
    (notes / "000001.xml").write_text(annotation([Thing(), Thing(BIRD, (60, 30, 90, 50))]))
    (notes / "000002.xml").write_text(annotation([Thing(box=(0, 0, 4, 4))]))
    (notes / "000003.xml").write_text(annotation(()))
    (tree / "Data/VID/val/c d/000001.JPEG").write_bytes(jpeg(picture(200, 120)))
    return tree


def stream(tree, recipe=SNOW, **options):
    return VirtualFrames(open_source("imagenet-vid", tree), recipe, **options)


def plainly(tree, recipe):
    """Every frame, by the pipeline's functions in a loop, decoded from its stored file."""
    source = open_source("imagenet-vid", tree)
    (corruption,) = recipe.corruptions
    for video in source.videos():
        for position in selected(video, recipe):
            prepared = prepare(source, video, source.frames(video)[position], recipe)
            stored = store(corrupted(prepared, *corruption, recipe), recipe.encoding)
            yield prepared, stored.data


RECIPES = {
    "png": SNOW,
    "jpeg": replace(SNOW, encoding=Encoding("jpeg")),
    "444": replace(SNOW, encoding=Encoding("jpeg", 40, "444")),
    "clean": replace(SNOW, corruptions=(("clean", 0),)),
    "native": replace(SNOW, size=None, corruptions=(("rain", 2),)),
    "coherent": replace(SNOW, temporal="coherent", seed=3),
    "stride": replace(SNOW, stride=2),
}


@pytest.mark.parametrize("name", RECIPES)
def test_frames_are_what_the_pipeline_stores(tree, name):
    recipe = RECIPES[name]
    expected = list(plainly(tree, recipe))
    frames = stream(tree, recipe)
    assert len(frames) == len(expected)
    decoded = list(frames.frames(range(len(frames))))
    encoded = list(frames.frames(range(len(frames)), decode=False))
    for pixels, file, (prepared, data) in zip(decoded, encoded, expected, strict=True):
        assert file.image == data
        assert np.array_equal(pixels.image, decode(data, "x"))
        for frame in (pixels, file):
            assert (frame.video, frame.frame) == (prepared.video, prepared.frame)
            assert (frame.label, frame.labels) == (prepared.label, prepared.labels)
            assert frame.objects == prepared.objects
            assert (frame.corruption, frame.severity) == recipe.corruptions[0]


@pytest.mark.parametrize("name", RECIPES)
def test_labels_are_those_of_the_frames(tree, name):
    frames = stream(tree, RECIPES[name])
    labels = frames.labels()
    rows = list(frames.frames(range(len(frames))))
    assert len(labels) == len(rows)
    assert labels.videos.tolist() == [row.video for row in rows]
    assert labels.frames.tolist() == [row.frame for row in rows]
    assert labels.label.tolist() == [row.label for row in rows]
    assert labels.labels == tuple(row.labels for row in rows)


def test_labels_need_no_pixel(tree, tmp_path):
    copy = shutil.copytree(tree, tmp_path / "copy")
    for file in copy.glob("Data/VID/val/*/*.JPEG"):
        data = file.read_bytes()
        file.write_bytes(data[: data.index(b"\xff\xda")])
    assert stream(copy).labels().label.tolist() == stream(tree).labels().label.tolist()


@pytest.mark.parametrize("options", [[], ["--format", "jpeg"], ["--stride", "2"]])
def test_a_build_and_its_frames_on_the_fly_are_the_same(tree, tmp_path, options):
    out = tmp_path / "out"
    command = ["imagenet-vid", "--root", str(tree), "--out", str(out), "--workers", "1"]
    assert build([*command, "--corruptions", "snow", "--severity", "3", *options]) == 0
    built = load(out, "snow_s3")
    given = dict(zip(options[::2], options[1::2], strict=True))
    on_the_fly = virtual(
        "imagenet-vid",
        tree,
        "snow",
        3,
        format=given.get("--format", "png"),
        stride=int(given.get("--stride", 1)),
    )
    positions = range(len(built))
    pairs = zip(built.frames(positions), on_the_fly.frames(positions), strict=True)
    for stored, made in pairs:
        assert np.array_equal(stored.image, made.image)
        assert replace(stored, image=b"") == replace(made, image=b"")
    for column in ("videos", "frames", "label"):
        assert np.array_equal(getattr(built.labels(), column), getattr(on_the_fly.labels(), column))
    assert built.labels().labels == on_the_fly.labels().labels
    about, virtually = built.info, on_the_fly.info
    assert replace(about, fingerprint="") == replace(virtually, fingerprint="")


def test_any_order_and_any_number_of_times(tree):
    frames = stream(tree, threads=2)
    straight = list(frames.frames(range(len(frames))))
    positions = [9, 0, 5, 5, 6, 0, 4, 9, 1]
    for position, frame in zip(positions, frames.frames(positions), strict=True):
        assert np.array_equal(frame.image, straight[position].image)
        assert (frame.video, frame.frame) == (straight[position].video, straight[position].frame)
    assert list(frames.frames([])) == []
    for outside in (-1, len(frames)):
        with pytest.raises(IndexError):
            next(frames.frames([outside]))


def test_only_a_few_frames_are_made_ahead(tree, monkeypatch):
    from vidc.builders import virtual as module

    made = []
    real = module.prepare

    def counting(source, video, frame, recipe):
        made.append(frame.index)
        return real(source, video, frame, recipe)

    monkeypatch.setattr(module, "prepare", counting)
    frames = stream(tree, threads=1).frames([0] * 500)
    next(frames)
    assert len(made) <= 4
    for _ in range(20):
        next(frames)
    assert len(made) <= 24
    frames.close()
    assert len(made) <= 25
    assert not [t for t in threading.enumerate() if t.name.startswith("vidc-ahead")]


def test_the_fingerprint_changes_with_what_matters_and_nothing_else(tree, tmp_path):
    first = stream(tree).info.fingerprint
    assert stream(tree, threads=1).info.fingerprint == first
    moved = shutil.copytree(tree, tmp_path / "moved")
    assert stream(moved).info.fingerprint == first
    seen = {first}
    for name in set(RECIPES) - {"png"}:
        seen.add(stream(tree, RECIPES[name]).info.fingerprint)
    seen.add(stream(tree, replace(SNOW, seed=1)).info.fingerprint)
    seen.add(stream(tree, limit_videos=2).info.fingerprint)
    (moved / "Annotations/VID/val/b/000000.xml").write_text(annotation([Thing(BIRD)]))
    seen.add(stream(moved).info.fingerprint)
    (moved / "Data/VID/val/a/000004.JPEG").write_bytes(jpeg(picture(90, 160, "other"), quality=50))
    seen.add(stream(moved).info.fingerprint)
    (moved / "Data/VID/val/a/000004.JPEG").unlink()
    seen.add(stream(moved).info.fingerprint)
    assert len(seen) == 1 + 6 + 5


def test_what_the_stream_says_of_itself(tree, tmp_path):
    info = stream(tree).info
    assert (info.dataset, info.split) == ("imagenet-vid-c", "val")
    assert (info.corruption, info.severity, info.size) == ("snow", 5, (64, 64))
    assert not info.complete
    assert stream(tree, replace(SNOW, size=None)).info.size is None
    lasot = write_lasot(tmp_path, {"airplane-1": 2})
    assert not virtual("lasot", lasot, "rain", 1, allow_missing=True).info.complete
    everything: FrameSource = VirtualFrames(AllThere(open_source("imagenet-vid", tree)), SNOW)
    assert everything.info.complete
    fewer = AllThere(open_source("imagenet-vid", tree))
    fewer.frames_in_release = 11
    assert not VirtualFrames(fewer, SNOW).info.complete
    some = VirtualFrames(AllThere(open_source("imagenet-vid", tree)), SNOW, limit_videos=2)
    assert len(some) == 6
    assert not some.info.complete


class AllThere:
    """A source whose release has no more than is on disk."""

    videos_in_release = 3
    frames_in_release = 10

    def __init__(self, source):
        self._source = source

    def __getattr__(self, name):
        return getattr(self._source, name)


def test_a_broken_frame_is_named_when_it_is_reached(tree, tmp_path):
    copy = shutil.copytree(tree, tmp_path / "copy")
    file = copy / "Data/VID/val/a/000002.JPEG"
    file.write_bytes(file.read_bytes()[:-50])
    frames = stream(copy, threads=2).frames(range(10))
    assert [next(frames).frame, next(frames).frame] == [0, 1]
    with pytest.raises(InputError, match=r"a/000002\.JPEG is truncated.*; mend it, or build with"):
        next(frames)
    file.write_bytes(b"")
    with pytest.raises(
        InputError, match=r"a/000002\.JPEG.*--skip-broken and evaluate what that makes\.$"
    ):
        stream(copy).labels()
    shutil.copy(tree / "Data/VID/val/a/000002.JPEG", file)
    (copy / "Annotations/VID/val/b/000000.xml").write_bytes(b"<")
    with pytest.raises(InputError, match=r"b/000000\.xml is not XML: .*; mend it, or build with"):
        stream(copy).labels()


def test_a_frame_that_no_corruption_takes_is_named(tree, tmp_path):
    copy = shutil.copytree(tree, tmp_path / "copy")
    (copy / "Data/VID/val/b/000000.JPEG").write_bytes(jpeg(picture(4, 4)))
    frames = stream(copy, Recipe((("fog", 5),), size=None), threads=1)
    with pytest.raises(InputError, match=r"b/000000\.JPEG: .*; mend it, or build with"):
        list(frames.frames(range(10)))


def test_an_annotation_is_read_once_for_its_frame(tree, monkeypatch):
    read = []
    parse = imagenet_vid.parse
    monkeypatch.setattr(imagenet_vid, "parse", lambda *what: read.append(what[1]) or parse(*what))
    frames = stream(tree)
    frames.labels()
    assert len(read) == len(set(read)) == 10
    list(frames.frames(range(10)))
    assert len(read) == 20


def test_a_missing_annotation_is_told_unless_it_is_allowed(tree, tmp_path):
    copy = shutil.copytree(tree, tmp_path / "copy")
    shutil.rmtree(copy / "Annotations/VID/val/b")
    with pytest.raises(InputError, match=r"b/000000\.xml is missing: .*--allow-missing"):
        virtual("imagenet-vid", copy, "snow", 5).labels()
    found = virtual("imagenet-vid", copy, "snow", 5, allow_missing=True).labels()
    assert found.label[list(found.videos).index("b")] == -1


def test_one_corruption_only(tree):
    with pytest.raises(InputError, match="name one"):
        stream(tree, Recipe((("snow", 1), ("snow", 2))))
