"""ImageNet-VID's tree as it is released, its oddities, and annotation files from strangers."""

from __future__ import annotations

import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.trees import BIRD, CAR, DOG, Thing, annotation, write_imagenet_vid
from vidc.builders.imagenet_vid import parse
from vidc.builders.source import open_source
from vidc.classes import class_list
from vidc.errors import InputError
from vidc.frames import Box


def label(name: str) -> int:
    return class_list("imagenet-vid").names.index(name)


def open_val(root):
    return open_source("imagenet-vid", root)


def test_videos_by_id_and_frames_by_number(tmp_path):
    tree = write_imagenet_vid(tmp_path, {"b": 2, "a": 3, "B 10": 1})
    source = open_val(tree)
    assert (source.name, source.dataset, source.split) == ("imagenet-vid", "imagenet-vid-c", "val")
    assert [(video.id, video.frames) for video in source.videos()] == [
        ("B 10", 1),
        ("a", 3),
        ("b", 2),
    ]
    frames = source.frames(source.videos()[1])
    assert [frame.index for frame in frames] == [0, 1, 2]
    assert frames[2].file == tree / "Data/VID/val/a/000002.JPEG"
    assert [frame.index for frame in frames[1:]] == [1, 2]


def test_the_folder_above_will_do(tmp_path):
    tree = write_imagenet_vid(tmp_path, {"a": 1})
    assert open_val(tmp_path).videos() == open_val(tree).videos()
    assert open_val(str(tree)).videos() == open_val(tree).videos()


def test_train_has_a_level_more(tmp_path):
    videos = {"ILSVRC2015_VID_train_0001/c": 1, "ILSVRC2015_VID_train_0000/d": 2}
    source = open_source(
        "imagenet-vid", write_imagenet_vid(tmp_path, videos, split="train"), "train"
    )
    listed = source.videos()
    assert [video.id for video in listed] == sorted(videos)
    assert source.frames(listed[0])[1].objects[0].category == label("dog")


def test_frames_without_any_annotations_are_not_built_unlabelled(tmp_path):
    tree = write_imagenet_vid(tmp_path, {"a": 1})
    shutil.rmtree(tree / "Annotations")
    with pytest.raises(InputError, match="no Annotations/VID/val: unpack the annotations"):
        open_val(tree)


def test_a_wrong_root_is_told_what_was_looked_for(tmp_path):
    with pytest.raises(InputError, match=r"neither Data/VID/val nor ILSVRC2015/Data/VID/val"):
        open_val(tmp_path)
    with pytest.raises(InputError, match="not a folder"):
        open_val(tmp_path / "gone")
    with pytest.raises(InputError, match="not a folder"):
        open_val(tmp_path / ("long" * 100))
    with pytest.raises(InputError, match="did you mean 'val'"):
        open_source("imagenet-vid", tmp_path, "vall")
    with pytest.raises(InputError, match="did you mean 'imagenet-vid'"):
        open_source("imagenet_vid", tmp_path)


def test_objects_of_several_classes(tmp_path):
    things = (
        Thing(DOG, (1, 2, 11, 22), track=0, occluded=1),
        Thing(BIRD, (0, 0, 5, 5), track=7, generated=1),
    )
    source = open_val(write_imagenet_vid(tmp_path, {"a": 1}, things=things))
    assert source.frames(source.videos()[0])[0].objects == (
        Box((1, 2, 10, 20), label("dog"), 0, occluded=True, generated=False),
        Box((0, 0, 5, 5), label("bird"), 7, occluded=False, generated=True),
    )
    assert not source.occluded_is_hidden


def test_a_frame_without_object_is_unlabelled(tmp_path):
    tree = write_imagenet_vid(tmp_path, {"a": 2})
    (tree / "Annotations/VID/val/a/000000.xml").write_text(annotation(()))
    source = open_val(tree)
    assert [len(f.objects) for f in source.frames(source.videos()[0])] == [0, 1]


def test_a_missing_annotation_is_an_error_unless_it_is_allowed(tmp_path):
    tree = write_imagenet_vid(tmp_path, {"a": 3})
    notes = tree / "Annotations/VID/val/a"
    (notes / "000001.xml").unlink()
    strict, lax = open_val(tree), open_source("imagenet-vid", tree, allow_missing=True)
    (video,) = strict.videos()
    assert len(strict.frames(video)[0].objects) == 1
    with pytest.raises(InputError, match=r"a/000001\.xml is missing: .*--allow-missing takes"):
        strict.frames(video)[1]
    assert [len(f.objects) for f in lax.frames(video)] == [1, 0, 1]
    shutil.rmtree(notes)
    with pytest.raises(InputError, match=r"a/000000\.xml is missing"):
        strict.frames(video)[0]
    assert [len(f.objects) for f in lax.frames(video)] == [0, 0, 0]


def test_gaps_in_the_numbering_are_kept(tmp_path):
    tree = write_imagenet_vid(tmp_path, {"a": 5})
    for number in (0, 3):
        (tree / f"Data/VID/val/a/{number:06d}.JPEG").unlink()
    (tree / "Annotations/VID/val/a/000004.xml").write_text(annotation([Thing(CAR)]))
    source = open_val(tree)
    frames = source.frames(source.videos()[0])
    assert [frame.index for frame in frames] == [1, 2, 4]
    assert [frame.objects[0].category for frame in frames] == [
        *[label("dog")] * 2,
        label("car"),
    ]


def test_files_that_are_no_frames(tmp_path):
    tree = write_imagenet_vid(tmp_path, {"a": 2})
    folder = tree / "Data/VID/val/a"
    for name in ("Thumbs.db", "._000000.JPEG", "notes.txt"):
        (folder / name).write_bytes(b"")
    (tree / "Data/VID/val/.cache").mkdir()
    (tree / "Data/VID/val/list.txt").write_text("a")
    assert [(v.id, v.frames) for v in open_val(tree).videos()] == [("a", 2)]
    (folder / "copy of 1.JPEG").write_bytes(b"")
    with pytest.raises(InputError, match=r"copy of 1\.JPEG is not named by a frame number"):
        open_val(tree).videos()
    (folder / "copy of 1.JPEG").rename(folder / "1.jpg")
    with pytest.raises(InputError, match="are the same frame"):
        open_val(tree).videos()


@pytest.mark.parametrize(
    "name", ["with spaces", "ünïcödé – 動画", "new\nline", "quo'te\"s", "-rf *"]
)
def test_any_name_of_a_video(tmp_path, name):
    source = open_val(write_imagenet_vid(tmp_path, {name: 2}))
    (video,) = source.videos()
    assert video.id == name
    assert [len(frame.objects) for frame in source.frames(video)] == [1, 1]
    assert all(frame.file.is_file() for frame in source.frames(video))


def test_a_name_that_is_not_unicode(tmp_path):
    tree = write_imagenet_vid(tmp_path, {"a": 1})
    (tree / "Data/VID/val/a").rename(
        tree / "Data/VID/val" / b"\xff".decode("utf-8", "surrogateescape")
    )
    with pytest.raises(InputError, match="not valid UTF-8"):
        open_val(tree).videos()


def test_links_inside_the_tree_are_followed(tmp_path):
    tree = write_imagenet_vid(tmp_path / "disk", {"a": 2})
    (tmp_path / "here/Data/VID").mkdir(parents=True)
    (tmp_path / "here/Data/VID/val").symlink_to(tree / "Data/VID/val")
    (tmp_path / "here/Annotations").symlink_to(tree / "Annotations")
    source = open_val(tmp_path / "here")
    assert [len(f.objects) for f in source.frames(source.videos()[0])] == [1, 1]


def test_a_broken_annotation_is_one_frames_trouble(tmp_path):
    tree = write_imagenet_vid(tmp_path, {"a": 3})
    file = tree / "Annotations/VID/val/a/000001.xml"
    file.write_bytes(file.read_bytes()[:100])
    source = open_val(tree)
    frames = source.frames(source.videos()[0])
    assert len(frames[0].objects) == 1
    with pytest.raises(InputError, match=r"a/000001\.xml"):
        frames[1]
    assert len(frames[2].objects) == 1


BOMB = """<?xml version="1.0"?>
<!DOCTYPE annotation [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;">]>
<annotation><object><name>&d;</name></object></annotation>"""
EXTERNAL = """<!DOCTYPE annotation [<!ENTITY file SYSTEM "file:///etc/hostname">]>
<annotation><object><name>&file;</name></object></annotation>"""
REMOTE = '<!DOCTYPE annotation SYSTEM "http://127.0.0.1:9/a.dtd"><annotation></annotation>'


@pytest.mark.parametrize("text", [BOMB, EXTERNAL, REMOTE])
def test_entities_are_refused(text):
    with pytest.raises(InputError, match=r"a\.xml declares a document type or an entity: refused"):
        parse(text.encode(), "a.xml")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (DOG, "n00000000", "'n00000000', which is none of ImageNet-VID's thirty classes"),
        (f"<name>{DOG}</name>", "", "without name"),
        ("<xmin>40</xmin>", "<xmin/>", "without bndbox/xmin"),
        ("<xmin>40</xmin>", "<xmin>left</xmin>", "'left' for bndbox/xmin"),
        ("<xmin>40</xmin>", "<xmin>nan</xmin>", "'nan' for bndbox/xmin"),
        ("<ymax>80</ymax>", f"<ymax>{'9' * 400}</ymax>", "for bndbox/ymax"),
        ("<trackid>0<", "<trackid>-1<", "trackid"),
        ("<trackid>0<", "<trackid>2147483648<", "trackid"),
        ("annotation>", "html>", "its root is <html>"),
    ],
)
def test_what_is_wrong_in_an_annotation_is_told(before, after, told):
    text = annotation([Thing()])
    assert before in text
    with pytest.raises(InputError, match=told) as error:
        parse(text.replace(before, after).encode(), "a.xml")
    assert str(error.value).startswith("a.xml ")


def outcome(data: bytes) -> str:
    try:
        return f"x has {len(parse(data, 'x'))} objects."
    except InputError as error:
        return str(error)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data):
    with pytest.raises(InputError, match=r"^x "):
        parse(data, "x")


words = st.sampled_from(
    [
        "annotation",
        "object",
        "name",
        "bndbox",
        "xmin",
        DOG,
        "1e999",
        "-1",
        "",
        "0",
        "\ud7ff",
        "&#0;",
    ]
    + ["<!DOCTYPE a>", "<![CDATA[", "]]>", "<?xml version='1.0' encoding='utf-7'?>", "&amp;", "&x;"]
    + [f"<{tag}>" for tag in ("annotation", "object", "name", "trackid", "/object", "/annotation")]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(words, max_size=30), st.integers(0, 800), st.integers(0, 60))
def test_files_with_junk_inside_are_read_or_refused(junk, at, cut):
    text = annotation([Thing(), Thing(BIRD)])
    data = (text[:at] + "".join(junk) + text[at + cut :]).encode("utf-8")
    assert outcome(data).startswith("x ")
