"""LaSOT's tree as it is released, with its splits, its flags and copies that are not whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.trees import write_lasot
from vidc.builders import lasot
from vidc.builders.lasot import parse_flags, parse_groundtruth, split_sequences
from vidc.builders.source import open_source
from vidc.classes import class_list, lasot_test_sequences
from vidc.errors import InputError


def open_part(root, split=None):
    return open_source("lasot", root, split, allow_missing=True)


def objects_of(source, position=0):
    return [frame.objects for frame in source.frames(source.videos()[position])]


@pytest.mark.parametrize("class_level", [True, False])
def test_with_and_without_the_level_of_classes(tmp_path, class_level):
    tree = write_lasot(tmp_path, {"airplane-1": 3, "zebra-10": 2}, class_level=class_level)
    source = open_part(tree)
    assert (source.name, source.dataset, source.split) == ("lasot", "lasot-c", "test")
    assert [(v.id, v.frames) for v in source.videos()] == [("airplane-1", 3), ("zebra-10", 2)]
    frames = source.frames(source.videos()[0])
    assert [frame.index for frame in frames] == [0, 1, 2]
    assert frames[0].file.name == "00000001.jpg"
    (box,) = frames[0].objects
    assert class_list("lasot").names[box.category] == "airplane"
    assert box.bbox == (40, 20, 80, 60)
    assert (box.track, box.occluded, box.generated) == (0, False, False)


def test_the_folder_above_will_do(tmp_path):
    tree = write_lasot(tmp_path, {"airplane-1": 1})
    assert open_part(tmp_path).videos() == open_part(tree).videos()


def test_the_splits():
    test, train, everything = (split_sequences(split) for split in ("test", "train", "full"))
    assert (len(test), len(train), len(everything)) == (280, 1120, 1400)
    assert test == lasot_test_sequences()
    assert sorted(test + train) == list(everything)
    assert not set(test) & set(train)


def test_no_split_is_called_as_load_dataset_calls_all_of_them():
    from datasets.splits import NamedSplit, Split

    for name in lasot.SPLITS:
        assert NamedSplit(name) != Split.ALL


def test_what_is_missing_is_listed(tmp_path):
    tree = write_lasot(tmp_path, {"airplane-1": 1, "airplane-2": 1, "unicorn-1": 1})
    with pytest.raises(
        InputError, match=r"has 1 of the 280 .*\(airplane-13 is missing\).*--allow-missing"
    ):
        open_source("lasot", tree)
    test, train = open_part(tree), open_part(tree, "train")
    assert [video.id for video in test.videos()] == ["airplane-1"]
    assert [video.id for video in train.videos()] == ["airplane-2"]
    assert (len(test.missing), len(train.missing)) == (279, 1119)
    assert "airplane-1" not in test.missing
    assert (test.videos_in_release, train.videos_in_release) == (280, 1120)
    assert [v.id for v in open_part(tree, "full").videos()] == ["airplane-1", "airplane-2"]


def test_all_that_is_wanted_is_there(tmp_path):
    for name in lasot_test_sequences():
        (tmp_path / name / "img").mkdir(parents=True)
    source = open_source("lasot", tmp_path)
    assert source.missing == ()
    assert len(source.videos()) == 280


def test_a_wrong_root_is_told_what_was_looked_for(tmp_path):
    with pytest.raises(InputError, match=r"airplane/airplane-1/img, airplane-1/img"):
        open_part(tmp_path)
    with pytest.raises(InputError, match="did you mean 'train'"):
        open_part(tmp_path, "trian")


def test_occlusion_and_out_of_view(tmp_path):
    folder = write_lasot(tmp_path, {"dog-1": 4}) / "dog" / "dog-1"
    (folder / "full_occlusion.txt").write_text("0,1,0,1")
    (folder / "out_of_view.txt").write_text("0,0,1,1\n")
    source = open_part(tmp_path, "full")
    assert [[box.occluded for box in boxes] for boxes in objects_of(source)] == [
        [False],
        [True],
        [],
        [],
    ]
    assert source.occluded_is_hidden


def test_flags_a_line_each(tmp_path):
    folder = write_lasot(tmp_path, {"dog-1": 3}) / "dog" / "dog-1"
    (folder / "full_occlusion.txt").write_text("0\n1\n0\n")
    boxes = objects_of(open_part(tmp_path, "full"))
    assert [[box.occluded for box in frame] for frame in boxes] == [[False], [True], [False]]


@pytest.mark.parametrize("name", ["full_occlusion.txt", "out_of_view.txt"])
def test_a_missing_flags_file_is_an_error_unless_it_is_allowed(tmp_path, name):
    folder = write_lasot(tmp_path, {"dog-1": 3}) / "dog" / "dog-1"
    (folder / name).unlink()
    source = open_part(tmp_path, "full")
    assert [[box.occluded for box in boxes] for boxes in objects_of(source)] == [[False]] * 3
    strict = replace(source, allow_missing=False)
    with pytest.raises(InputError, match=rf"dog-1/{name} is missing: .*--allow-missing"):
        objects_of(strict)


def test_flags_that_cannot_be_read_are_not_taken_for_missing(tmp_path):
    folder = write_lasot(tmp_path, {"dog-1": 1}) / "dog" / "dog-1"
    file = folder / "out_of_view.txt"
    file.unlink()
    file.symlink_to(file)
    with pytest.raises(InputError, match=r"out_of_view\.txt cannot be read: Too many levels"):
        objects_of(open_part(tmp_path, "full"))


@pytest.mark.parametrize("count", [2, 7])
@pytest.mark.parametrize(
    ("name", "entry"), [("full_occlusion.txt", "0\n"), ("out_of_view.txt", "0,")]
)
def test_fewer_or_more_flags_than_lines_are_told(tmp_path, name, entry, count):
    folder = write_lasot(tmp_path, {"dog-1": 4}) / "dog" / "dog-1"
    (folder / name).write_text(entry * count)
    told = rf"dog-1/{name} has {count} entries and groundtruth\.txt 4 lines: unpack"
    with pytest.raises(InputError, match=told):
        objects_of(open_part(tmp_path, "full"))


@pytest.mark.parametrize("count", [3, 7])
def test_fewer_or_more_lines_than_frames_are_told_unless_they_are_allowed(tmp_path, count):
    """All three files: one that is shorter than the others was cut."""
    folder = write_lasot(tmp_path, {"dog-1": 4}) / "dog" / "dog-1"
    (folder / "groundtruth.txt").write_text("1,2,3,4\r\n" * count)
    (folder / "full_occlusion.txt").write_text("1" + ",0" * (count - 1))
    (folder / "out_of_view.txt").write_text("0,1" + ",0" * (count - 2))
    source = open_part(tmp_path, "full")
    found = [[box.occluded for box in boxes] for boxes in objects_of(source)]
    assert found == [[True], [], [False], [] if count == 3 else [False]]
    told = rf"dog-1/groundtruth\.txt has {count} lines and the last frame is number 4: .*--allow-m"
    with pytest.raises(InputError, match=told):
        objects_of(replace(source, allow_missing=False))


def test_a_sequence_has_the_frames_that_its_numbers_and_lines_say(tmp_path):
    folder = write_lasot(tmp_path, {"dog-1": 5, "dog-2": 4}) / "dog" / "dog-1"
    source = open_part(tmp_path, "full")
    assert source.frames_in_release == 9
    (folder / "img" / "00000003.jpg").unlink()
    assert source.frames_in_release == 9
    (folder / "img" / "00000005.jpg").unlink()
    assert source.frames_in_release == 9
    assert sum(video.frames for video in source.videos()) == 7
    (folder / "groundtruth.txt").write_text("1,2,3,4\n" * 3)  # one frame more than lines
    assert source.frames_in_release == 8
    (folder / "groundtruth.txt").unlink()
    assert source.frames_in_release == 8


@pytest.mark.parametrize("parse", [parse_groundtruth, parse_flags])
def test_a_text_of_many_megabytes_is_none_of_lasot_s(parse):
    with pytest.raises(InputError, match="x is longer than any of LaSOT's"):
        parse(b"0\n" * 2**21 + b"0", "x")


def test_a_box_without_area_is_no_object(tmp_path):
    folder = write_lasot(tmp_path, {"dog-1": 4}) / "dog" / "dog-1"
    (folder / "groundtruth.txt").write_text("0,0,0,0\n1,2,0,4\n1,2,3,-4\n1,2,3,4\n")
    assert [len(boxes) for boxes in objects_of(open_part(tmp_path, "full"))] == [0, 0, 0, 1]


def test_lines_belong_to_file_numbers(tmp_path):
    folder = write_lasot(tmp_path, {"dog-1": 4}) / "dog" / "dog-1"
    (folder / "groundtruth.txt").write_text("".join(f"{k},0,5,5\n" for k in range(4)))
    (folder / "img/00000002.jpg").unlink()
    source = open_part(tmp_path, "full")
    frames = source.frames(source.videos()[0])
    assert [frame.index for frame in frames] == [0, 2, 3]
    assert [frame.objects[0].bbox[0] for frame in frames] == [0, 2, 3]


def test_there_is_no_frame_zero(tmp_path):
    folder = write_lasot(tmp_path, {"dog-1": 2}) / "dog" / "dog-1"
    (folder / "img/00000001.jpg").rename(folder / "img/00000000.jpg")
    with pytest.raises(InputError, match=r"00000000\.jpg is not named by a frame number"):
        open_part(tmp_path, "full").videos()


def test_no_ground_truth(tmp_path):
    folder = write_lasot(tmp_path, {"dog-1": 2}) / "dog" / "dog-1"
    (folder / "groundtruth.txt").unlink()
    with pytest.raises(InputError, match=r"groundtruth\.txt cannot be read"):
        objects_of(open_part(tmp_path, "full"))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"1,2,3\n", "'1,2,3' in line 1"),
        (b"1,2,3,4\n1,2,3,4,5\n", "in line 2"),
        (b"1,2,3,4\n\n1,2,3,4\n", "in line 2"),
        (b"1,2,3,nan\n", "in line 1"),
        (b"1,2,3,inf\n", "in line 1"),
        (b"", "in line 1"),
        (b"\xff\xfe1,2", "not plain text"),
    ],
)
def test_ground_truth_that_is_wrong_is_told(data, told):
    with pytest.raises(InputError, match=told) as error:
        parse_groundtruth(data, "gt.txt")
    assert str(error.value).startswith("gt.txt ")


def test_ground_truth_as_other_copies_write_it():
    expected = [(1.0, 2.0, 3.0, 4.5), (5.0, 6.0, 7.0, 8.0)]
    for text in (
        "1,2,3,4.5\n5,6,7,8",
        "\ufeff1, 2, 3, 4.5\r\n5, 6, 7, 8\r\n",
        "1\t2\t3\t4.5\n5 6 7 8\n\n",
    ):
        assert parse_groundtruth(text.encode(), "x") == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 4), min_size=1, max_size=20))
def test_ground_truth_is_read_back_as_written(boxes):
    data = "\n".join(",".join(map(repr, box)) for box in boxes).encode()
    assert parse_groundtruth(data, "x") == boxes


@settings(max_examples=200, deadline=None)
@given(st.lists(st.booleans(), max_size=50), st.sampled_from([",", "\n", ", ", ",\n"]))
def test_flags_are_read_back_as_written(flags, between):
    data = between.join(str(int(flag)) for flag in flags).encode()
    assert parse_flags(data, "x") == flags


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=100), st.text("0123456789,.-+e\n\r nainf_", max_size=60)))
def test_anything_is_read_or_refused(data):
    data = data if isinstance(data, bytes) else data.encode()
    for parse in (parse_groundtruth, parse_flags):
        try:
            said = f"x {parse(data, 'x')}"
        except InputError as error:
            said = str(error)
        assert said.startswith("x ")
