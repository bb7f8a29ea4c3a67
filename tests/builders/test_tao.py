"""TAO's LaSOT videos: labels by synset, annotated frames only, and hostile annotation files."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.trees import write_tao
from vidc.builders.source import open_source
from vidc.builders.tao import parse
from vidc.classes import class_list
from vidc.errors import InputError


def edit(tree, change, file="train"):
    path = tree / "annotations" / f"{file}.json"
    tables = json.loads(path.read_text())
    change(tables)
    path.write_text(json.dumps(tables))


def categories(source, position=0):
    names = class_list("lasot").names
    frames = source.frames(source.videos()[position])
    return [[names[box.category] for box in frame.objects] for frame in frames]


def test_the_annotated_frames_of_the_lasot_videos(tmp_path):
    videos = {"train/LaSOT/zebra-2": 2, "train/LaSOT/dog-1": 3, "train/YFCC100M/v_1": 2}
    tree = write_tao(tmp_path, videos)
    source = open_source("tao-lasot", tree, "train")
    assert (source.name, source.dataset) == ("tao-lasot", "tao-lasot-c")
    assert source.classes is class_list("lasot")
    listed = source.videos()
    assert [(v.id, v.frames) for v in listed] == [
        ("train/LaSOT/dog-1", 3),
        ("train/LaSOT/zebra-2", 2),
    ]
    frames = source.frames(listed[0])
    assert [frame.index for frame in frames] == [0, 30, 60]
    assert frames[1].file == tree / "frames/train/LaSOT/dog-1/00000031.jpg"
    (box,) = frames[1].objects
    assert (box.bbox, box.track, box.occluded) == ((40, 20, 80, 60), 1, False)
    assert categories(source) == [["dog"]] * 3


def test_both_files_are_the_default(tmp_path):
    write_tao(tmp_path, {"train/LaSOT/dog-1": 1})
    tree = write_tao(tmp_path, {"val/LaSOT/dog-2": 1}, file="validation")
    source = open_source("tao-lasot", tree)
    assert source.split == "trainval"
    assert [video.id for video in source.videos()] == ["train/LaSOT/dog-1", "val/LaSOT/dog-2"]
    assert len(open_source("tao-lasot", tree, "validation").videos()) == 1


@pytest.mark.parametrize(
    ("category", "name"),
    [(1, "dog"), (2, "car"), (4, "robot"), (5, "dog"), (50, "dog"), (6, "cat")],
)
def test_labels_by_synset_by_name_and_by_merging(tmp_path, category, name):
    tree = write_tao(tmp_path, {"train/LaSOT/dog-1": 1}, category=category)
    assert categories(open_source("tao-lasot", tree, "train")) == [[name]]


@pytest.mark.parametrize("category", [3, 99])
def test_objects_of_other_classes_are_left_out(tmp_path, category):
    tree = write_tao(tmp_path, {"train/LaSOT/dog-1": 1}, category=category)
    assert categories(open_source("tao-lasot", tree, "train")) == [[]]


def test_several_objects_and_frames_in_any_order(tmp_path):
    tree = write_tao(tmp_path, {"train/LaSOT/dog-1": 3})

    def change(tables):
        car = {"image_id": 1, "category_id": 2, "track_id": 9, "bbox": [0.5, 0, 7, 7]}
        tables["annotations"] += [car]
        tables["images"].reverse()

    edit(tree, change)
    source = open_source("tao-lasot", tree, "train")
    assert [frame.index for frame in source.frames(source.videos()[0])] == [0, 30, 60]
    assert categories(source) == [["dog"], ["dog", "car"], ["dog"]]


def test_missing_files_and_videos(tmp_path):
    tree = write_tao(tmp_path, {"train/LaSOT/dog-1": 1, "train/LaSOT/dog-2": 1})
    with pytest.raises(InputError, match=r"no annotations/validation\.json"):
        open_source("tao-lasot", tree)
    (tree / "frames/train/LaSOT/dog-2").rename(tree / "elsewhere")
    with pytest.raises(InputError, match=r"has 1 of the 2 .*dog-2 is missing.*--allow-missing"):
        open_source("tao-lasot", tree, "train")
    source = open_source("tao-lasot", tree, "train", allow_missing=True)
    assert [video.id for video in source.videos()] == ["train/LaSOT/dog-1"]
    assert source.missing == ("train/LaSOT/dog-2",)
    assert source.videos_in_release == 2
    (tree / "frames").rename(tree / "nowhere")
    told = r"unpack its frames, of which the first is frames/train/LaSOT/dog-1\."
    with pytest.raises(InputError, match=told):
        open_source("tao-lasot", tree, "train", allow_missing=True)
    with pytest.raises(InputError, match="did you mean 'train'"):
        open_source("tao-lasot", tree, "tran")
    empty = {"videos": [], "images": [], "annotations": [], "categories": []}
    (tree / "annotations" / "train.json").write_text(json.dumps(empty))
    with pytest.raises(InputError, match=r"annotations lists no LaSOT video in train\.json"):
        open_source("tao-lasot", tree, "train")


HOSTILE = [
    "/etc/passwd",
    "../../etc/LaSOT/passwd",
    "train/LaSOT/../../../x.jpg",
    "train\\LaSOT\\..\\x.jpg",
    "train/LaSOT/nul\0.jpg",
    "train/LaSOT/\ud800.jpg",
]


@pytest.mark.parametrize("path", HOSTILE)
def test_paths_that_leave_the_folder_are_refused(tmp_path, path):
    tree = write_tao(tmp_path, {"train/LaSOT/dog-1": 1})
    edit(tree, lambda tables: tables["images"][0].update(file_name=path))
    with pytest.raises(InputError, match=r"train\.json names the file .*refused"):
        open_source("tao-lasot", tree, "train")


def test_a_video_name_that_leaves_the_folder_is_refused(tmp_path):
    tree = write_tao(tmp_path, {"train/LaSOT/dog-1": 1})
    edit(tree, lambda tables: tables["videos"][0].update(name="../../LaSOT/dog-1"))
    with pytest.raises(InputError, match="refused"):
        open_source("tao-lasot", tree, "train")


def test_a_name_no_file_system_takes_is_missing(tmp_path):
    tree = write_tao(tmp_path, {"train/LaSOT/dog-1": 1})
    extra = {"id": 77, "name": "train/LaSOT/" + "dog" * 1000}
    edit(tree, lambda tables: tables["videos"].append(extra))
    source = open_source("tao-lasot", tree, "train", allow_missing=True)
    assert source.missing == (extra["name"],)


@pytest.mark.parametrize(
    ("table", "change", "told"),
    [
        ("videos", {"name": 3}, "among its videos one without a valid 'name'"),
        ("images", {"frame_index": "1"}, "images one without a valid 'frame_index'"),
        ("images", {"frame_index": -1}, "out of range"),
        ("images", {"frame_index": 2**31}, "out of range"),
        ("images", {"id": [1]}, "images one without a valid 'id'"),
        ("images", {"video_id": None}, "images one without a valid 'video_id'"),
        ("annotations", {"bbox": [1, 2, 3]}, "not x, y, width and height"),
        ("annotations", {"bbox": [1, 2, 3, float("nan")]}, "not x, y, width and height"),
        ("annotations", {"bbox": [1, 2, 3, 10**400]}, "not x, y, width and height"),
        ("annotations", {"bbox": [1, 2, 3, "4"]}, "not x, y, width and height"),
        ("annotations", {"track_id": 2**40}, "out of range"),
        ("categories", {"synset": None}, "categories one without a valid 'synset'"),
    ],
)
def test_what_is_wrong_in_an_annotation_file_is_told(tmp_path, table, change, told):
    tree = write_tao(tmp_path, {"train/LaSOT/dog-1": 1})
    edit(tree, lambda tables: tables[table][0].update(change))
    with pytest.raises(InputError, match=told) as error:
        open_source("tao-lasot", tree, "train")
    assert str(tree / "annotations/train.json") in str(error.value)


def test_a_frame_listed_twice(tmp_path):
    tree = write_tao(tmp_path, {"train/LaSOT/dog-1": 2})
    edit(tree, lambda tables: tables["images"][1].update(frame_index=0))
    with pytest.raises(InputError, match="lists a frame of train/LaSOT/dog-1 twice"):
        open_source("tao-lasot", tree, "train")


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b"1" * 10_000, b"null"]
)
def test_what_is_no_annotation_file(data):
    with pytest.raises(InputError, match=r"x\.json"):
        parse(data, "x.json")


def _tables():
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(COLUMNS, inner, max_size=3),
        max_leaves=8,
    )
    row = st.dictionaries(COLUMNS, anything | st.just("train/LaSOT/a") | st.just(1), max_size=9)
    tables = ["videos", "images", "annotations", "categories"]
    return st.fixed_dictionaries({name: st.lists(row, max_size=2) | anything for name in tables})


COLUMNS = st.sampled_from(
    [
        *("id", "name", "video_id", "frame_index", "file_name", "image_id"),
        *("category_id", "track_id", "bbox", "synset", "merged"),
    ]
)


@settings(max_examples=200, deadline=None)
@given(_tables())
def test_any_tables_are_read_or_refused(tables):
    try:
        said = f"x {parse(json.dumps(tables).encode(), 'x')}"
    except InputError as error:
        said = str(error)
    assert said.startswith("x ")


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["videos", "images", "annotations", "categories"]), COLUMNS, st.data())
def test_one_wrong_value_is_read_or_refused(table, column, data):
    value = data.draw(
        st.none() | st.integers() | st.floats() | st.text(max_size=8) | st.lists(st.integers())
    )
    tables = {
        "videos": [{"id": 0, "name": "train/LaSOT/dog-1"}],
        "images": [{"id": 0, "video_id": 0, "frame_index": 0, "file_name": "a/LaSOT/b.jpg"}],
        "annotations": [{"image_id": 0, "category_id": 1, "track_id": 0, "bbox": [1, 2, 3, 4]}],
        "categories": [{"id": 1, "name": "dog", "synset": "dog.n.01"}],
    }
    tables[table][0][column] = value
    try:
        said = f"x {parse(json.dumps(tables).encode(), 'x')}"
    except InputError as error:
        said = str(error)
    assert said.startswith("x ")
