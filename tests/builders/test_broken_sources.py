"""Broken files in the clean videos: an error that names them, or left out and recorded."""

import json
import shutil

import pytest
import scipy
from PIL import Image

from tests.builders import builds, trees
from vidc.builders.building import build
from vidc.builders.plan import make_plan
from vidc.errors import InputError

VIDEOS = {"a": 4, "b": 4, "c": 4}


@pytest.fixture
def root(tmp_path):
    return trees.write_imagenet_vid(tmp_path / "clean", VIDEOS)


@pytest.fixture(autouse=True)
def _quick_card(monkeypatch):
    monkeypatch.setattr("vidc.builders.card.write", lambda folder: None)


def frame(root, video, number):
    return root / "Data/VID/val" / video / f"{number:06d}.JPEG"


@pytest.mark.parametrize("damage", [b"", b"not a picture", None])
def test_a_broken_frame_stops_the_build_by_name(damage, root, tmp_path):
    file = frame(root, "b", 2)
    file.write_bytes(file.read_bytes()[:300] if damage is None else damage)
    with pytest.raises(InputError, match=r"val/b/000002\.JPEG"):
        build(builds.request(root, tmp_path / "out"))
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_skipped_files_are_recorded_and_left_out(root, tmp_path, capsys):
    frame(root, "b", 2).write_bytes(b"")
    xml = root / "Annotations/VID/val/c/000001.xml"
    xml.write_text("<annotation><object>")
    manifest = build(builds.request(root, tmp_path / "out", skip_broken=True))
    said = capsys.readouterr().out
    assert said.count("Data/VID/val/b/000002.JPEG") == 1
    assert "    Data/VID/val/c/000001.JPEG: Annotations/VID/val/c/000001.xml is not XML" in said
    assert manifest.frames == 10
    assert not manifest.complete
    assert [entry.file for entry in manifest.skipped] == [
        "Data/VID/val/b/000002.JPEG",
        "Data/VID/val/c/000001.JPEG",
    ]
    assert "Annotations/VID/val/c/000001.xml" in manifest.skipped[1].why
    text = (tmp_path / "out" / "manifest.json").read_text()
    assert str(tmp_path) not in text
    assert json.loads(text)["build"]["skip_broken"] is True


def test_a_frame_whose_annotation_is_missing_is_not_built_unlabelled_unasked(root, tmp_path):
    (root / "Annotations/VID/val/b/000002.xml").unlink()
    with pytest.raises(InputError, match=r"b/000002\.xml is missing: .*--allow-missing takes"):
        build(builds.request(root, tmp_path / "out"))
    skipped = build(builds.request(root, tmp_path / "out", skip_broken=True))
    assert [entry.file for entry in skipped.skipped] == ["Data/VID/val/b/000002.JPEG"]
    allowed = build(builds.request(root, tmp_path / "all", allow_missing=True))
    assert (allowed.frames, sum(allowed.class_counts.values())) == (12, 11)


def test_what_stopped_at_a_missing_annotation_continues_where_that_is_allowed(root, tmp_path):
    (root / "Annotations/VID/val/b/000002.xml").unlink()
    wanted = build(builds.request(root, tmp_path / "wanted", allow_missing=True))
    out = tmp_path / "out"
    with pytest.raises(InputError, match="--allow-missing"):
        build(builds.request(root, out))
    finished = {file: file.stat().st_mtime_ns for file in (out / "data").rglob("*.parquet")}
    assert finished
    assert build(builds.request(root, out, allow_missing=True)) == wanted
    assert all(file.stat().st_mtime_ns == before for file, before in finished.items())
    with pytest.raises(InputError, match="allow-missing is True there and False here"):
        build(builds.request(root, out))


def test_frames_left_out_are_not_counted_as_built(root, tmp_path, capsys):
    frame(root, "b", 2).write_bytes(b"")
    frame(root, "c", 0).write_bytes(b"")
    build(builds.request(root, tmp_path / "out", skip_broken=True))
    assert "this run: 10 frames in" in capsys.readouterr().out


def test_a_dataset_of_no_frame_is_refused(root, tmp_path):
    for file in (root / "Data/VID/val").glob("*/*.JPEG"):
        file.write_bytes(b"")
    with pytest.raises(InputError, match=r"out would have no frame.*a/000000\.JPEG.* is empty"):
        build(builds.request(root, tmp_path / "out", skip_broken=True))
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_the_names_of_skipped_files_send_no_commands_to_the_terminal(tmp_path, capsys):
    root = trees.write_imagenet_vid(tmp_path / "clean", {"a\x1b[31m\nred": 2})
    frame(root, "a\x1b[31m\nred", 1).write_bytes(b"")
    build(builds.request(root, tmp_path / "out", skip_broken=True))
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert r"    Data/VID/val/a\x1b[31m\nred/000001.JPEG is empty" in said


def test_skip_broken_may_be_added_later_and_keeps_what_is_finished(root, tmp_path):
    frame(root, "b", 2).write_bytes(b"")
    out, straight = tmp_path / "out", tmp_path / "straight"
    with pytest.raises(InputError):
        build(builds.request(root, out))
    kept = out / "data/clean/val-00000-of-00003.parquet"
    before = kept.stat().st_mtime_ns
    build(builds.request(root, out, skip_broken=True))
    assert kept.stat().st_mtime_ns == before
    build(builds.request(root, straight, skip_broken=True))
    assert builds.contents(out) == builds.contents(straight)


def test_without_skip_broken_what_was_skipped_is_told(root, tmp_path):
    frame(root, "b", 2).write_bytes(b"")
    out = tmp_path / "out"
    assert build(builds.request(root, out, skip_broken=True, share=(1, 2))) is None
    with pytest.raises(InputError, match=r"val/b/000002\.JPEG"):
        build(builds.request(root, out))
    build(builds.request(root, out, skip_broken=True))
    with pytest.raises(InputError, match="was built with --skip-broken"):
        build(builds.request(root, out))


def test_a_broken_annotation_of_a_whole_sequence(tmp_path):
    root = trees.write_lasot(tmp_path / "clean", {"airplane-1": 3, "airplane-9": 3})
    (root / "airplane/airplane-9/groundtruth.txt").write_text("one,two\n")
    choices = {"source": "lasot", "allow_missing": True}
    with pytest.raises(InputError, match=r"airplane-9/groundtruth\.txt"):
        build(builds.request(root, tmp_path / "out", **choices))
    manifest = build(builds.request(root, tmp_path / "out", skip_broken=True, **choices))
    assert (manifest.videos, manifest.frames) == (1, 3)
    assert [entry.file for entry in manifest.skipped] == ["airplane/airplane-9/img"]
    assert len(manifest.missing) == 278


def test_a_sequence_whose_flags_are_cut_short_is_left_out_and_recorded(tmp_path):
    root = trees.write_lasot(tmp_path / "clean", {"airplane-1": 3, "airplane-9": 3})
    (root / "airplane/airplane-9/out_of_view.txt").write_text("0,0")
    choices = {"source": "lasot", "allow_missing": True, "skip_broken": True}
    manifest = build(builds.request(root, tmp_path / "out", **choices))
    assert [entry.file for entry in manifest.skipped] == ["airplane/airplane-9/img"]
    assert "out_of_view.txt has 2 entries" in manifest.skipped[0].why
    assert manifest.frames == 3


def test_a_broken_sequence_that_fills_several_shards_is_recorded_once(tmp_path):
    root = trees.write_lasot(tmp_path / "clean", {"airplane-1": 3, "airplane-9": 12})
    (root / "airplane/airplane-9/groundtruth.txt").write_text("one,two\n")
    choices = {"source": "lasot", "allow_missing": True, "skip_broken": True}
    request = builds.request(root, tmp_path / "out", shard_size=15_000, **choices)
    cut = [
        part for task in make_plan(request.source, request.settings).tasks for part in task.parts
    ]
    assert [part.video.id for part in cut].count("airplane-9") > 1
    manifest = build(request)
    assert [(entry.file, entry.why.count("airplane-9")) for entry in manifest.skipped] == [
        ("airplane/airplane-9/img", 1)
    ]
    assert manifest.frames == 3


def test_frames_that_vanish_after_the_plan(root, tmp_path, monkeypatch):
    request = builds.request(root, tmp_path / "out")
    from vidc.builders import building

    plan = building.make_plan

    def plan_then_lose(source, settings):
        made = plan(source, settings)
        shutil.rmtree(root / "Data/VID/val/b")
        (root / "Data/VID/val/b").mkdir()
        return made

    monkeypatch.setattr("vidc.builders.building.make_plan", plan_then_lose)
    with pytest.raises(InputError, match="has 0 frames and had 4 when the build was planned"):
        build(request)


def test_a_frame_too_small_for_a_corruption_is_named_or_skipped(root, tmp_path):
    small = frame(root, "b", 2)
    Image.new("RGB", (50, 20)).save(small, "JPEG")
    choices = {"corruptions": (("fog", 5),), "size": None}
    with pytest.raises(InputError, match=r"b/000002\.JPEG: frame is 20 x 50, but fog needs"):
        build(builds.request(root, tmp_path / "out", **choices))
    manifest = build(builds.request(root, tmp_path / "out", skip_broken=True, **choices))
    assert [entry.file for entry in manifest.skipped] == ["Data/VID/val/b/000002.JPEG"]
    assert manifest.frames == 11


def test_a_size_too_small_for_a_corruption_is_told_before_any_work(root, tmp_path):
    with pytest.raises(InputError, match="--size is 16, but fog needs frames of at least 32"):
        build(builds.request(root, tmp_path / "out", corruptions=(("fog", 5),), size=16))
    assert not (tmp_path / "out").exists()


def test_the_package_s_versions_are_recorded_with_its_corruptions(root, tmp_path):
    fog = build(builds.request(root, tmp_path / "fog", corruptions=(("fog", 5),)))
    snow = build(builds.request(root, tmp_path / "snow", corruptions=(("snow", 5),)))
    theirs = {"scipy", "scikit-image", "imagecorruptions-imaug"}
    assert theirs <= set(fog.versions)
    assert not theirs & set(snow.versions)
    assert fog.versions["scipy"] == scipy.__version__
