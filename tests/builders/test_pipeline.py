"""The stored frame against torchvision's transform, Pillow's files, and boxes moved by hand."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.builders.trees import BIRD, DOG, Thing, jpeg, picture, write_imagenet_vid, write_lasot
from vidc.builders.crop import Crop
from vidc.builders.pipeline import Recipe, corrupted, prepare, selected, store
from vidc.builders.source import SourceVideo, open_source
from vidc.classes import class_list
from vidc.corruptions import Key, corrupt
from vidc.errors import InputError
from vidc.frames import Box
from vidc.images import Encoding

CLEAN = (("clean", 0),)


def torchvisions(pixels: np.ndarray, size: int) -> np.ndarray:
    from torchvision.transforms import CenterCrop, Compose, Resize

    transform = Compose([Resize(round(size * 256 / 224)), CenterCrop(size)])
    return np.asarray(transform(Image.fromarray(pixels)))


def whole(pixels: np.ndarray, size: int) -> np.ndarray:
    """The same in plain steps: all of the frame resized across, then down, then the crop."""
    height, width = pixels.shape[:2]
    shorter = round(size * 256 / 224)
    across = shorter if width <= height else int(shorter * width / height)
    down = shorter if height <= width else int(shorter * height / width)
    image = Image.fromarray(pixels).resize((across, height), Image.Resampling.BILINEAR)
    image = image.resize((across, down), Image.Resampling.BILINEAR)
    top, left = round((down - size) / 2), round((across - size) / 2)
    return np.asarray(image)[top : top + size, left : left + size]


def label(name: str) -> int:
    return class_list("imagenet-vid").names.index(name)


def first(source, recipe):
    video = source.videos()[0]
    return prepare(source, video, source.frames(video)[0], recipe)


SIZES = [(720, 1280), (1280, 720), (361, 641), (256, 256), (224, 224), (100, 101), (37, 350)]


@pytest.mark.parametrize("shape", [*SIZES, (350, 37), (255, 257), (1, 1), (3, 2), (480, 854)])
def test_pixels_are_torchvisions(shape):
    frame = picture(*shape)
    assert np.array_equal(Crop.of(shape, 224).pixels(frame), torchvisions(frame, 224))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 300), st.integers(0, 99))
def test_pixels_are_torchvisions_at_any_size(height, width, size, seed):
    if max(height, width) > 12 * min(height, width):
        width = height  # longer ones have a test of their own
    frame = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    ours = Crop.of((height, width), size).pixels(frame)
    assert np.array_equal(ours, whole(frame, size))
    # Today's Pillow begins with the other axis where that saves it more than a little.
    assert np.abs(ours.astype(int) - torchvisions(frame, size)).max() <= 1


@pytest.mark.parametrize("shape", [(7, 501), (501, 7)])
def test_a_very_long_frame_is_within_one_grey_level(shape):
    frame = picture(*shape)
    difference = np.abs(Crop.of(shape, 224).pixels(frame).astype(int) - torchvisions(frame, 224))
    assert difference.max() <= 1


@pytest.mark.parametrize("shape", [(2, 20_000), (20_000, 2), (3, 10_007), (10_007, 3)])
def test_a_frame_of_any_length_costs_about_its_crop(shape, monkeypatch):
    frame, made, resize = picture(*shape), [], Image.Image.resize

    def spy(image, size, *rest, **options):
        made.append(size)
        return resize(image, size, *rest, **options)

    monkeypatch.setattr(Image.Image, "resize", spy)
    assert Crop.of(shape, 224).pixels(frame).shape == (224, 224, 3)
    assert made
    # Resized as a whole, the longest of them would have 256 × 2,560,000 pixels.
    assert sum(width * height for width, height in made) <= 2 * 224**2


def test_native_frames_are_left_alone():
    frame = picture(37, 91)
    assert Crop.of((37, 91), None).pixels(frame) is frame


def torchvisions_box(bbox, shape, size):
    """The box in the crop, by torchvision's own transforms of boxes."""
    import torch
    from torchvision.transforms import v2
    from torchvision.tv_tensors import BoundingBoxes

    x, y, w, h = bbox
    box = BoundingBoxes(
        torch.tensor([[x, y, x + w, y + h]], dtype=torch.float64),
        format="XYXY",
        canvas_size=shape,
        clamping_mode=None,
    )
    moved = v2.CenterCrop(size)(v2.Resize(round(size * 256 / 224))(box))
    left, top, right, bottom = moved[0].tolist()
    left, right = (min(max(value, 0), size) for value in (left, right))
    top, bottom = (min(max(value, 0), size) for value in (top, bottom))
    return left, top, right - left, bottom - top


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(SIZES),
    st.tuples(*[st.floats(-0.5, 1.2)] * 2, *[st.floats(0.01, 1.5)] * 2),
    st.sampled_from([224, 64, 97]),
)
def test_boxes_move_as_torchvision_moves_them(shape, relative, size):
    scale = (shape[1], shape[0], shape[1], shape[0])
    x, y, w, h = (part * whole for part, whole in zip(relative, scale, strict=True))
    expected = torchvisions_box((x, y, w, h), shape, size)
    moved = Crop.of(shape, size).boxes([Box((x, y, w, h), 3, 5, True, False)])
    if moved:
        assert moved[0].bbox == pytest.approx(expected, abs=1e-3)
        assert (moved[0].category, moved[0].track, moved[0].occluded) == (3, 5, True)
    else:
        assert min(expected[2:]) == pytest.approx(0, abs=1e-3)


def test_a_box_moved_by_hand():
    # 720 × 1280 becomes 256 × 455, of which row 16 and column 116 are the crop's corner.
    crop = Crop.of((720, 1280), 224)
    (box,) = crop.boxes([Box((640, 360, 64, 36), 0, 0, False, False)])
    across, down = 455 / 1280, 256 / 720
    by_hand = (640 * across - 116, 360 * down - 16, 64 * across, 36 * down)
    assert box.bbox == pytest.approx(by_hand, abs=1e-4)
    assert all(np.float32(value) == value for value in box.bbox)


def test_boxes_are_clipped_and_those_outside_are_dropped():
    crop = Crop.of((100, 200), 224)  # resized to 256 × 512: columns 144 to 368 are kept
    left = Box((0, 0, 50, 100), 1, 0, False, False)
    middle = Box((50, 0, 50, 100), 2, 0, False, False)
    (kept,) = crop.boxes([left, middle])
    assert kept.category == 2
    assert kept.bbox == pytest.approx((0, 0, 256 - 144, 224))
    native = Crop.of((100, 200), None)
    (clipped,) = native.boxes([Box((150, 90, 100, 100), 1, 0, False, False)])
    assert clipped.bbox == (150, 90, 50, 10)
    assert native.boxes([Box((10, 10, 0, 5), 1, 0, False, False)]) == ()
    assert native.boxes([Box((10, 10, -3, 5), 1, 0, False, False)]) == ()


def test_the_label_is_the_largest_object_in_the_crop(tmp_path):
    things = (
        Thing(DOG, (60, 20, 100, 80)),
        Thing(BIRD, (0, 0, 50, 90)),  # larger, but little of it is in the crop
        Thing(DOG, (70, 30, 72, 32)),
    )
    source = open_source("imagenet-vid", write_imagenet_vid(tmp_path, {"a": 1}, things=things))
    cropped = first(source, Recipe(CLEAN))
    assert (cropped.label, cropped.labels) == (label("dog"), (label("bird"), label("dog")))
    native = first(source, Recipe(CLEAN, size=None))
    assert (native.label, native.labels) == (label("bird"), (label("bird"), label("dog")))
    assert [box.category for box in native.objects] == [label("dog"), label("bird"), label("dog")]


def test_of_equal_objects_the_first_counts(tmp_path):
    things = (Thing(DOG, (60, 20, 80, 40)), Thing(BIRD, (80, 40, 100, 60)))
    source = open_source("imagenet-vid", write_imagenet_vid(tmp_path, {"a": 1}, things=things))
    assert first(source, Recipe(CLEAN, size=None)).label == label("dog")


def test_an_object_outside_the_crop_leaves_no_label(tmp_path):
    things = (Thing(DOG, (0, 0, 5, 5)),)
    source = open_source("imagenet-vid", write_imagenet_vid(tmp_path, {"a": 1}, things=things))
    prepared = first(source, Recipe(CLEAN))
    assert (prepared.label, prepared.labels, prepared.objects) == (-1, (), ())
    assert first(source, Recipe(CLEAN, size=None)).label == label("dog")


def test_a_hidden_object_keeps_its_box_and_gives_no_label(tmp_path):
    tree = write_lasot(tmp_path, {"dog-1": 1})
    (tree / "dog/dog-1/full_occlusion.txt").write_text("1")
    prepared = first(open_source("lasot", tree, "full", True), Recipe(CLEAN))
    assert (prepared.label, prepared.labels) == (-1, ())
    assert [box.occluded for box in prepared.objects] == [True]
    partly = write_imagenet_vid(tmp_path, {"a": 1}, things=(Thing(DOG, occluded=1),))
    assert first(open_source("imagenet-vid", partly), Recipe(CLEAN)).label == label("dog")


def test_from_file_to_stored_frame(tmp_path):
    tree = write_imagenet_vid(tmp_path, {"a": 1}, size=(180, 320))
    source = open_source("imagenet-vid", tree)
    recipe = Recipe((*CLEAN, ("snow", 3)), seed=7)
    prepared = first(source, recipe)
    file = Image.open(tree / "Data/VID/val/a/000000.JPEG")
    assert np.array_equal(prepared.pixels, torchvisions(np.asarray(file), 224))
    assert np.array_equal(corrupted(prepared, "clean", 0, recipe), prepared.pixels)
    before = prepared.pixels.copy()
    snow = corrupted(prepared, "snow", 3, recipe)
    assert np.array_equal(snow, corrupt(before, "snow", 3, Key(7, "imagenet-vid", "a", 0)))
    assert np.array_equal(prepared.pixels, before)


@pytest.mark.parametrize(
    "encoding", [Encoding("png"), Encoding("jpeg"), Encoding("jpeg", 60, "444")]
)
def test_the_hash_is_of_the_pixels_in_the_file(encoding):
    stored = store(picture(64, 64), encoding)
    seen = np.asarray(Image.open(io.BytesIO(stored.data)))
    assert stored.sha256 == hashlib.sha256(b"(64, 64, 3)" + seen.tobytes()).hexdigest()


def test_frames_of_changing_size_and_kind(tmp_path):
    tree = write_imagenet_vid(tmp_path, {"a": 4})
    folder = tree / "Data/VID/val/a"
    (folder / "000001.JPEG").write_bytes(jpeg(picture(300, 40)))
    Image.fromarray(picture(50, 60)).convert("L").save(folder / "000002.JPEG", "PNG")
    Image.fromarray(picture(50, 60)).convert("CMYK").save(folder / "000003.JPEG", "JPEG")
    source = open_source("imagenet-vid", tree)
    video = source.videos()[0]
    for frame in source.frames(video):
        prepared = prepare(source, video, frame, Recipe(CLEAN))
        theirs = torchvisions(np.asarray(Image.open(frame.file).convert("RGB")), 224)
        assert np.array_equal(prepared.pixels, theirs)


def test_a_broken_frame_is_named(tmp_path):
    tree = write_imagenet_vid(tmp_path, {"a": 1})
    file = tree / "Data/VID/val/a/000000.JPEG"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"a/000000\.JPEG is truncated"):
        first(open_source("imagenet-vid", tree), Recipe(CLEAN))


@pytest.mark.parametrize(("frames", "stride"), [(0, 1), (7, 1), (7, 3), (7, 7), (7, 100)])
def test_the_stride_takes_every_so_many_from_the_first(tmp_path, frames, stride):
    taken = selected(SourceVideo("a", frames, tmp_path), Recipe(CLEAN, stride=stride))
    assert list(taken) == [k for k in range(frames) if k % stride == 0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"corruptions": ()}, "at least one"),
        ({"corruptions": (("snwo", 5),)}, "did you mean 'snow'"),
        ({"corruptions": (("snow", 6),)}, "from 1 to 5"),
        ({"corruptions": (("snow", 0),)}, "from 1 to 5"),
        ({"corruptions": (("snow", 1), ("snow", 1))}, "twice"),
        ({"size": 0}, "--size"),
        ({"size": 8193}, "--size"),
        ({"stride": 0}, "--stride"),
        ({"temporal": "iid "}, "did you mean 'iid'"),
    ],
)
def test_a_recipe_that_cannot_be_made(options, told):
    with pytest.raises(InputError, match=told):
        Recipe(**{"corruptions": CLEAN, **options})
