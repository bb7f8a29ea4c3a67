"""The reader against what was written: every frame, in every order, and every kind of damage."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.folders import Shape, digest, pixels_of, row, write_folder, write_shard
from vidc.errors import InputError
from vidc.frames import Box, Frame
from vidc.hub import is_hub_id
from vidc.reading import load

SHAPE = Shape()
ROWS = SHAPE.videos * SHAPE.frames


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The dataset that is only read."""
    return write_folder(tmp_path_factory.mktemp("dataset"), SHAPE)


@pytest.fixture
def copy(folder, tmp_path):
    """A dataset that a test may damage."""
    return shutil.copytree(folder, tmp_path / "copy")


def expected(config: str, position: int, shape: Shape = SHAPE) -> Frame:
    """The frame at a position, straight from what the folder was written with."""
    video, frame = divmod(position, shape.frames)
    stored = row(config, video, frame, shape)
    boxes = tuple(Box(**box | {"bbox": tuple(box["bbox"])}) for box in stored["objects"])
    return Frame(
        video=stored["video"],
        frame=frame,
        label=stored["label"],
        labels=tuple(stored["labels"]),
        objects=boxes,
        corruption=stored["corruption"],
        severity=stored["severity"],
        image=pixels_of(config, video, frame, shape.size),
    )


def check(found: Frame, wanted: Frame) -> None:
    assert np.array_equal(found.image, wanted.image)
    for name in Frame.__slots__:
        if name != "image":
            assert getattr(found, name) == getattr(wanted, name), name


@pytest.mark.parametrize("config", SHAPE.configs)
@pytest.mark.parametrize("threads", [1, 3])
def test_every_frame_in_order(folder, config, threads):
    reader = load(folder, config, threads=threads)
    assert len(reader) == ROWS
    found = list(reader)
    assert len(found) == ROWS
    for position, frame in enumerate(found):
        check(frame, expected(config, position))


@given(st.lists(st.integers(0, ROWS - 1), max_size=40))
@settings(deadline=None, max_examples=25)
def test_any_positions_in_any_order(folder, positions):
    found = list(load(folder, "snow").frames(positions))
    assert len(found) == len(positions)
    for position, frame in zip(positions, found, strict=True):
        check(frame, expected("snow", position))


@given(st.integers(0, ROWS), st.integers(0, ROWS))
@settings(deadline=None, max_examples=15)
def test_a_range_is_the_slice_of_the_whole(folder, one, other):
    start, stop = sorted((one, other))
    part = load(folder, "snow", start=start, stop=stop)
    assert len(part) == stop - start
    for position, frame in zip(range(start, stop), part, strict=True):
        check(frame, expected("snow", position))
    assert list(part.labels().frames) == [p % SHAPE.frames for p in range(start, stop)]


def test_one_video_and_a_part_of_it(folder):
    whole = load(folder, "clean", video="val_002")
    assert [frame.frame for frame in whole] == list(range(5))
    rest = load(folder, "clean", video="val_002", start=3)
    assert [(frame.video, frame.frame) for frame in rest] == [("val_002", 3), ("val_002", 4)]
    check(next(iter(rest)), expected("clean", 2 * SHAPE.frames + 3))
    assert whole.info.fingerprint != rest.info.fingerprint


def test_labels_need_no_pixel_and_agree_with_the_frames(folder):
    reader = load(folder, "snow")
    labels = reader.labels()
    assert len(labels) == ROWS
    for position, frame in enumerate(reader.frames(range(ROWS), decode=False)):
        assert labels.videos[position] == frame.video
        assert labels.frames[position] == frame.frame
        assert labels.label[position] == frame.label
        assert labels.labels[position] == frame.labels


def test_undecoded_bytes_are_the_stored_ones(folder):
    stored = []
    for file in sorted((folder / "data" / "snow").iterdir()):
        stored += [image["bytes"] for image in pq.read_table(file)["image"].to_pylist()]
    assert [frame.image for frame in load(folder, "snow", decode=False)] == stored


def test_the_same_rows_in_the_same_order_as_datasets(folder, tmp_path):
    from datasets import Image, load_dataset

    files = sorted(map(str, (folder / "data" / "rain_s3").iterdir()))
    rows = load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path))
    rows = rows.cast_column("image", Image())
    for theirs, ours in zip(rows, load(folder, "rain_s3"), strict=True):
        assert (theirs["video"], theirs["frame"]) == (ours.video, ours.frame)
        assert np.array_equal(np.asarray(theirs["image"]), ours.image)


def test_what_the_stream_is(folder):
    info = load(folder, "rain_s3").info
    assert (info.dataset, info.split, info.corruption, info.severity) == (
        "imagenet-vid-c",
        "val",
        "rain",
        3,
    )
    assert info.complete
    assert info.size == (SHAPE.size, SHAPE.size)
    assert len(info.classes) == 30
    assert load(folder).info.corruption == "snow"
    assert not load(folder, stop=3).info.complete
    assert load(folder, "rain_s3").info.fingerprint == info.fingerprint
    assert load(folder, "snow").info.fingerprint != info.fingerprint


def test_a_reader_that_is_left_early_leaves_no_thread(folder):
    before = threading.active_count()
    frames = iter(load(folder, "snow", threads=4))
    next(frames)
    assert threading.active_count() > before
    frames.close()
    gc.collect()
    assert threading.active_count() == before


def test_two_at_once_do_not_disturb_each_other(folder):
    reader = load(folder, "snow")
    one, other = iter(reader), reader.frames(range(ROWS - 1, -1, -1))
    for position in range(ROWS):
        check(next(one), expected("snow", position))
        check(next(other), expected("snow", ROWS - 1 - position))


# Damage: each is found, and named.

SHARD = "data/snow/val-00001-of-00002.parquet"
NOTES = "data/annotations/val-00000-of-00002.parquet"
# The second shard's row groups: videos 2 and 3, cut after three frames.
GROUPS = [[(v, f) for f in cut] for v in (2, 3) for cut in (range(3), range(3, 5))]


def replace(folder, groups, config="snow"):
    """Write another shard in the shard's place, and let the manifest agree with its size."""
    write_shard(folder / SHARD, config, groups, SHAPE)
    say_in_manifest(folder, SHARD, bytes=(folder / SHARD).stat().st_size)


def say_in_manifest(folder, name, **said):
    """Let the manifest say this of a shard."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["shards"][name] |= said
    (folder / "manifest.json").write_text(json.dumps(manifest))


def set_column(path, name, change):
    """Let a shard's column be what ``change`` makes of its values."""
    table = pq.read_table(path)
    at = table.schema.get_field_index(name)
    values = pa.array(change(table.column(name).to_pylist()), table.schema.field(at).type)
    pq.write_table(table.set_column(at, name, values), path, row_group_size=3)


def refused(folder, words):
    """Reading the folder must end in one sentence with these words."""
    with pytest.raises(InputError) as mistake:
        list(load(folder, "snow"))
    for word in words:
        assert word in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_a_flipped_bit_is_found(copy):
    path = copy / SHARD
    data = bytearray(path.read_bytes())
    image = row("snow", 2, 1, SHAPE)["image"]["bytes"]
    at = data.find(image)
    assert at > 0
    data[at + len(image) // 2] ^= 4
    path.write_bytes(data)
    refused(copy, [SHARD, "val_002", "frame 1 "])


def show_next_picture(folder):
    """The rows are right and the picture is whole, but it is the next frame's."""
    right, wrong = (row("snow", 2, frame, SHAPE)["image"]["bytes"] for frame in (1, 2))
    data = (folder / SHARD).read_bytes()
    assert len(right) == len(wrong)
    assert right in data
    (folder / SHARD).write_bytes(data.replace(right, wrong))


def test_another_picture_in_a_frame_s_place_is_found(copy):
    show_next_picture(copy)
    refused(copy, [SHARD, "frame 1 of video val_002", "sha256 differs"])


def test_swapped_rows_are_found(copy):
    swapped = [[GROUPS[0][1], GROUPS[0][0], GROUPS[0][2]], *GROUPS[1:]]
    replace(copy, swapped)
    refused(copy, [SHARD, "frame 0 of video val_002"])


def test_a_shard_of_another_config_is_found(copy):
    replace(copy, GROUPS, config="clean")
    refused(copy, [SHARD, "corruption is clean, not snow"])


def test_a_shard_of_another_place_is_found(copy):
    (copy / SHARD).write_bytes((copy / SHARD.replace("00001-of", "00000-of")).read_bytes())
    with pytest.raises(InputError, match=r"val-00001-of-00002"):
        list(load(copy, "snow"))


def test_changed_labels_are_found(copy):
    set_column(copy / SHARD, "label", lambda labels: [7, *labels[1:]])
    say_in_manifest(copy, SHARD, bytes=(copy / SHARD).stat().st_size)
    refused(copy, [SHARD, "its label is 7"])


@pytest.mark.parametrize(
    "change",
    [{"bbox": [1.0, 2.0, 3.0, 4.0]}, {"track": 1}, {"occluded": True}, {"generated": False}],
    ids=lambda change: next(iter(change)),
)
def test_changed_objects_are_found(copy, change):
    def changed(objects):
        assert objects[1][0] | change != objects[1][0]
        return [objects[0], [objects[1][0] | change], *objects[2:]]

    set_column(copy / SHARD, "objects", changed)
    say_in_manifest(copy, SHARD, bytes=(copy / SHARD).stat().st_size)
    refused(copy, [SHARD, "frame 1 of video val_002", "objects"])


@pytest.mark.parametrize("keep", [0, 4, 100, 1000])
def test_a_truncated_shard_is_found_at_once(copy, keep):
    (copy / SHARD).write_bytes((copy / SHARD).read_bytes()[:keep])
    with pytest.raises(InputError, match=SHARD):
        load(copy, "snow")


def test_garbage_of_the_right_size_is_found_at_once(copy):
    size = (copy / SHARD).stat().st_size
    (copy / SHARD).write_bytes(np.random.default_rng(0).bytes(size))
    with pytest.raises(InputError, match=SHARD):
        load(copy, "snow")


def test_a_missing_shard_is_found_at_once(copy):
    (copy / SHARD).unlink()
    with pytest.raises(InputError, match=SHARD):
        load(copy, "snow")
    # But one video of another shard needs only that one.
    assert len(list(load(copy, "snow", video="val_000"))) == SHAPE.frames


def test_of_a_recipe_alone_it_is_told_how_the_frames_are_made(copy):
    shutil.rmtree(copy / "data" / "snow")
    with pytest.raises(InputError, match=r"data/snow is missing: of a recipe alone .* from-recipe"):
        load(copy, "snow")


def drop_objects(folder):
    table = pq.read_table(folder / SHARD).drop_columns(["objects"])
    pq.write_table(table, folder / SHARD, row_group_size=3)
    say_in_manifest(folder, SHARD, bytes=(folder / SHARD).stat().st_size)


def test_a_shard_with_other_columns_is_found_at_once(copy):
    drop_objects(copy)
    with pytest.raises(InputError, match="column 'objects'"):
        load(copy, "snow")


def test_fewer_frames_than_annotations_are_found_at_once(copy):
    pq.write_table(pq.read_table(copy / SHARD).slice(0, 1), copy / SHARD, row_group_size=1)
    say_in_manifest(copy, SHARD, rows=1, bytes=(copy / SHARD).stat().st_size)
    with pytest.raises(InputError, match=r"frames in snow and \d+ in its annotations"):
        load(copy, "snow")


def change_a_hash(folder):
    data = bytearray((folder / NOTES).read_bytes())
    at = data.find(digest("snow", 0, 0, SHAPE).encode())
    assert at > 0
    data[at] ^= 1
    (folder / NOTES).write_bytes(data)


def test_changed_annotations_are_found_at_once(copy):
    change_a_hash(copy)
    with pytest.raises(InputError, match=NOTES):
        load(copy, "snow")


def test_annotations_are_read_by_no_thread_of_arrow_s(folder):
    code = (
        "import os, sys; from pathlib import Path; import pyarrow.parquet, numpy\n"
        "from vidc import manifest, rowgroups; from vidc.hub import Folder\n"
        "root = Path(sys.argv[1]); known = manifest.read(root)\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        "rowgroups.read_index(Folder(root), known, 'snow', verify=True)\n"
        "print(before, len(os.listdir('/proc/self/task')))"
    )
    line = [sys.executable, "-c", code, str(folder)]
    told = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    before, after = told.split()
    assert before == after


def test_a_video_whose_rows_are_not_together_is_refused_and_no_other(copy):
    parted = [[(0, 0), (0, 1)], [(1, frame) for frame in range(5)], [(0, 2), (0, 3), (0, 4)]]
    say_in_manifest(copy, NOTES, **write_shard(copy / NOTES, "annotations", parted, SHAPE))
    with pytest.raises(InputError, match="rows of video val_000 are not together"):
        load(copy, "snow", video="val_000")
    assert len(load(copy, "snow", video="val_001")) == 5


def test_without_verify_pixels_are_compared_with_no_hash(copy):
    show_next_picture(copy)
    change_a_hash(copy)
    found = list(load(copy, "snow", verify=False))
    assert len(found) == ROWS
    changed = 2 * SHAPE.frames + 1
    assert np.array_equal(found[changed].image, expected("snow", changed + 1).image)
    for position in set(range(ROWS)) - {changed}:
        check(found[position], expected("snow", position))


def test_without_verify_rows_are_given_in_the_order_they_stand_in(copy):
    replace(copy, [[GROUPS[0][1], GROUPS[0][0], GROUPS[0][2]], *GROUPS[1:]])
    found = list(load(copy, "snow", start=10, verify=False))
    for position, frame in zip((11, 10, *range(12, 20)), found, strict=True):
        check(frame, expected("snow", position))


def cut_short(folder):
    (folder / SHARD).write_bytes((folder / SHARD).read_bytes()[:-1])


def spoil_a_picture(folder):
    image = row("snow", 2, 1, SHAPE)["image"]["bytes"]
    data = (folder / SHARD).read_bytes()
    assert image in data
    (folder / SHARD).write_bytes(data.replace(image, bytes(len(image))))


def label_with_no_class(folder):
    set_column(folder / NOTES, "label", lambda labels: [30, *labels[1:]])


def leave_out_a_row(folder):
    replace(folder, [*GROUPS[:-1], GROUPS[-1][:-1]])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / SHARD).unlink(), "is missing"),
        (cut_short, r"has \d+ bytes where its manifest\.json says"),
        (leave_out_a_row, "has 9 rows where its manifest.json says 10"),
        (drop_objects, "column 'objects'"),
        (label_with_no_class, "a label outside its 30 classes"),
        (spoil_a_picture, "frame 1 of video val_002 .* neither a JPEG nor a PNG"),
    ],
)
def test_without_verify_what_cannot_be_read_is_refused_all_the_same(copy, damage, words):
    damage(copy)
    with pytest.raises(InputError, match=words):
        list(load(copy, "snow", verify=False))


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_a_flipped_bit_anywhere_changes_no_frame_unnoticed(folder, tmp_path_factory, data):
    damaged = shutil.copytree(folder, tmp_path_factory.mktemp("flipped") / "copy")
    content = bytearray((damaged / SHARD).read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    (damaged / SHARD).write_bytes(content)
    try:
        found = list(load(damaged, "snow", start=10))
    except InputError:
        return
    for position, frame in enumerate(found, 10):
        check(frame, expected("snow", position))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"config": "snwo"}, "did you mean 'snow'"),
        ({"config": "annotations"}, "unknown config"),
        ({"video": "val_009"}, "unknown video 'val_009'"),
        ({"start": 21}, "not inside the 20 frames"),
        ({"start": -1}, "not inside"),
        ({"stop": 21}, "not inside"),
        ({"start": 5, "stop": 4}, "not inside"),
        ({"threads": 0}, "threads"),
        ({"video": 3}, "video is 3: .* a string"),
        ({"revision": "main"}, "is a folder, and only .* a revision"),
    ],
)
def test_a_wrong_question_is_one_sentence(folder, options, words):
    config = options.pop("config", "snow")
    with pytest.raises(InputError, match=words):
        load(folder, config, **options)


def test_what_is_missing_in_a_folder_is_not_looked_for_on_the_hub(tmp_path, monkeypatch):
    def download(*request, **how):
        raise AssertionError("the Hub was asked")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    with pytest.raises(InputError, match="no dataset lasot-c in datasets: build it first"):
        load("datasets/lasot-c")
    with pytest.raises(AssertionError, match="the Hub was asked"):
        load("my-org/lasot-c")


def test_a_wrong_place_is_one_sentence(tmp_path, folder):
    for place in (tmp_path / "nothing", "no-slash", "../up/and/away", "a b/c"):
        with pytest.raises(InputError, match="no folder"):
            load(place)
    with pytest.raises(InputError, match=r"no manifest\.json"):
        load(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        load(folder / "manifest.json")


@pytest.mark.parametrize(
    "text", ["o/b--c", "o/b..c", "o/b-", "o-/b", "o/b.git", "o/é", "o/b\n", "o/" + "b" * 97]
)
def test_what_the_hub_s_client_refuses_is_no_id(text):
    with pytest.raises(HFValidationError):
        validate_repo_id(text)
    assert not is_hub_id(text)


@given(st.from_regex(r"[A-Za-z0-9_.-]{1,9}/[A-Za-z0-9_.-]{1,9}", fullmatch=True))
def test_every_id_is_one_for_the_hub_s_client(text):
    if is_hub_id(text):
        validate_repo_id(text)
