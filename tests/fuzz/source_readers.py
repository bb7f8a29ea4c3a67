"""The readers of clean videos: annotations of each release, and image files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from PIL import Image

from tests.builders import trees
from tests.fuzz import damage
from tests.fuzz.reader import Reader
from vidc import images
from vidc.builders import imagenet_vid, lasot, tao
from vidc.builders.crop import Crop
from vidc.builders.pipeline import labels_in
from vidc.builders.source import SourceFrame, open_source
from vidc.frames import Box


@dataclass(frozen=True)
class _Kind:
    """Of a source, what decides which boxes are stored."""

    occluded_is_hidden: bool


def _placed(boxes: Sequence[Box], source: str) -> None:
    """Boxes go on into a crop and are stored as float32: they must stay finite there."""
    frame = SourceFrame(0, Path("frame.jpg"), tuple(boxes))
    for size in (224, None):
        for box in labels_in(Crop.of((90, 160), size), frame, _Kind(source == "lasot")).objects:
            assert np.isfinite(box.bbox).all(), box


def vid_xml(folder: Path) -> Reader:
    """An annotation of ImageNet-VID."""
    things = [trees.Thing(), trees.Thing(trees.BIRD, (1, 2, 30, 40), track=1)]
    valid = [trees.annotation(things).encode(), trees.annotation([]).encode("utf-16")]
    tokens = (
        *(b"<object>", b"</object>", b"<name>", b"nan", b"-inf", b"1e999", b"9" * 400, b"&a;"),
        *(b'<!DOCTYPE a [<!ENTITY b "c">]>', b"<?xml version='1.0' encoding='x'?>", b"&#0;", b"\0"),
        *(b"<a>" * 20_000, b"\xed\xa0\x80", b"<!--", b"<![CDATA[", b"1_0", "\u0661".encode()),
    )
    return Reader(
        valid,
        damage.damaged(valid, tokens) | _annotations(),
        lambda data: _placed(imagenet_vid.parse(data, "notes.xml"), "imagenet-vid"),
    )


def _annotations() -> st.SearchStrategy[bytes]:
    """Well-formed annotations whose numbers may be anything."""
    numbers = st.one_of(
        st.integers(-10, 200),
        st.floats(),
        st.sampled_from(("", "1e308", "-1e308", "1e999", "nan", "0x1", "1_0", "9" * 400, " 7 ")),
    )
    things = st.builds(
        trees.Thing,
        wnid=st.sampled_from((trees.DOG, trees.BIRD, "n00000000", "dog", "")),
        box=st.tuples(*[numbers] * 4),
        track=numbers,
        occluded=numbers,
        generated=numbers,
    )
    return st.lists(things, max_size=3).map(lambda drawn: trees.annotation(drawn).encode())


def lasot_text(folder: Path) -> Reader:
    """A sequence's text files, through the whole source."""
    tree = trees.write_lasot(folder, {"dog-1": 2})
    sequence = tree / "dog" / "dog-1"
    source = open_source("lasot", tree, "full", allow_missing=True)
    valid = [b"40,20,80,60\n40,20,80,60\n", b"1.5\t2\t3\t4\r\n0,0,0,0\r\n"]
    tokens = (b"nan", b"1e308", b"-1e308", b"1e-320", b"9" * 5000, b"\n\n", b",", "\u0663".encode())

    def read(data: bytes) -> None:
        (sequence / "groundtruth.txt").write_bytes(data)
        for frame in source.frames(source.videos()[0]):
            _placed(frame.objects, "lasot")

    return Reader(valid, damage.damaged(valid, tokens), read)


def lasot_flags(folder: Path) -> Reader:
    """A sequence's file of 0 and 1."""
    valid = [b"0,1,0,1", b"0\n1\n"]
    return Reader(
        valid,
        damage.damaged(valid, (b"2", b"01", b"true", "\uff11".encode())),
        lambda data: lasot.parse_flags(data, "out_of_view.txt"),
    )


def tao_json(folder: Path) -> Reader:
    """An annotation file of TAO."""
    tree = trees.write_tao(folder, {"train/LaSOT/dog-1": 2, "train/YFCC100M/x": 1})
    valid = [(tree / "annotations" / "train.json").read_bytes()]

    def read(data: bytes) -> None:
        for name, rows in tao.parse(data, "train.json").items():
            name.encode()
            for frame in rows:
                resolved = (tree / "frames" / frame.file).resolve()
                assert resolved.is_relative_to(tree.resolve()), frame.file
                _placed(frame.objects, "tao-lasot")

    return Reader(valid, damage.damaged_json(valid), read)


def image(folder: Path) -> Reader:
    """An image file of every kind that is read."""
    colour = Image.fromarray(trees.picture(20, 24))
    kinds = {
        "RGB": ("JPEG", "PNG"),
        "L": ("JPEG", "PNG"),
        "CMYK": ("JPEG",),
        "RGBA": ("PNG",),
        "P": ("PNG",),
        "1": ("PNG",),
        "I;16": ("PNG",),
    }
    valid = []
    for mode, formats in kinds.items():
        picture = colour.convert("I").convert(mode) if mode == "I;16" else colour.convert(mode)
        for kind in formats:
            for progressive in (False, True) if kind == "JPEG" else (False,):
                file = io.BytesIO()
                picture.save(file, kind, **({"progressive": True} if progressive else {}))
                valid.append(file.getvalue())

    def read(data: bytes) -> None:
        pixels = images.decode(data, "frame.jpg")
        assert pixels.shape[:2] == images.size(data, "frame.jpg")
        Crop.of(pixels.shape[:2], 16).pixels(pixels)

    return Reader(valid, damage.damaged_png_or_jpeg(valid), read)
