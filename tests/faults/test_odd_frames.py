"""Frames that are broken or merely odd, and names that few expect, through the whole command."""

from __future__ import annotations

import io
import shutil

import numpy as np
import pytest
from PIL import Image

import vidc
from tests.builders import trees
from tests.faults.counting import cases
from tests.faults.running import contents, run

pytestmark = pytest.mark.slow

FRAME = "Data/VID/val/car/000002.JPEG"
PICTURE = trees.picture(90, 160, "odd")
WHOLE = trees.jpeg(PICTURE)


def saved(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def rotated():
    exif = Image.Exif()
    exif[0x0112] = 6
    return saved(Image.fromarray(PICTURE), "JPEG", exif=exif.tobytes())


BROKEN = {
    "truncated": WHOLE[: len(WHOLE) // 2],
    "zero bytes": b"",
    "no picture": b"<html>404</html>",
    "truncated in its header": WHOLE[:100],
    "a truncated PNG": trees.png(PICTURE)[:-40],
}
DEEP = (np.arange(90 * 160, dtype=np.uint16) * 4).reshape(90, 160)
ODD = {
    "a PNG named JPEG": trees.png(PICTURE),
    "CMYK": saved(Image.fromarray(PICTURE).convert("CMYK"), "JPEG"),
    "greyscale": saved(Image.fromarray(PICTURE).convert("L"), "JPEG"),
    "a PNG of 16 bits": saved(Image.fromarray(DEEP), "PNG"),
    "with transparency": trees.png(Image.fromarray(PICTURE).convert("RGBA")),
    "20000 pixels wide": trees.jpeg(trees.picture(48, 20000, "wide")),
    "rotated by EXIF": rotated(),
    "one pixel": trees.jpeg(PICTURE[:1, :1]),
}


def with_frame(videos, folder, data):
    mine = shutil.copytree(videos, folder / "mine")
    (mine / FRAME).write_bytes(data)
    return mine


def words_for(left_alone, videos, mine, out, *more):
    words = [str(mine) if word == str(videos) else word for word in left_alone.words]
    return [*words, *more, "--out", out]


@pytest.mark.parametrize("data", cases(BROKEN, "truncated"))
def test_a_broken_frame_is_named_and_once_mended_the_build_goes_on(
    data, step_by_step, videos, tmp_path
):
    left_alone, out = step_by_step["build"], tmp_path / "out"
    mine = with_frame(videos, tmp_path, data)
    words = words_for(left_alone, videos, mine, out)
    run("build", words, tmp_path).assert_told(FRAME)
    assert not (out / "manifest.json").exists()
    shutil.copy(videos / FRAME, mine / FRAME)
    run("build", words, tmp_path).assert_well()
    assert contents(out) == left_alone.files


@pytest.mark.parametrize("data", cases(ODD, "a PNG named JPEG", "CMYK", "20000 pixels wide"))
def test_an_odd_frame_is_stored_as_pillow_sees_it(data, step_by_step, videos, tmp_path):
    left_alone, out = step_by_step["build"], tmp_path / "out"
    mine = with_frame(videos, tmp_path, data)
    words = words_for(left_alone, videos, mine, out, "--size", "native", "--limit-videos", "2")
    run("build", words, tmp_path).assert_well()
    frames = list(vidc.load(out, "clean", video="car"))
    image = Image.open(io.BytesIO(data))
    # Pillow would clip 16 bits at 255; the high byte is what is seen.
    wanted = (
        np.repeat((DEEP >> 8).astype(np.uint8)[..., None], 3, axis=2)
        if image.mode.startswith("I")
        else np.asarray(image.convert("RGB"))
    )
    np.testing.assert_array_equal(frames[2].image, wanted)
    assert [frame.frame for frame in frames] == list(range(6))
    assert len(list(vidc.load(out, "snow", video="car"))) == 6  # its sizes change in one video
    verify(out, tmp_path)


def verify(out, folder):
    run("build", ["verify", out, "--workers", "1"], folder).assert_well()


NAMES = ["with spaces ", "Ünïcode 猫 🐕", "two\nlines", "-o", "a'b\"c$(d)", "%s {0}"]


def test_names_that_few_expect(step_by_step, evaluating, tmp_path):
    left_alone = step_by_step["build"]
    folder = tmp_path / "földer with\na line"
    folder.mkdir()
    for name in NAMES:
        trees.write_imagenet_vid(folder, {name: 3})
    root, out, results = folder / "ILSVRC2015", folder / "öut 1", folder / "results\n"
    words = [str(root) if w.endswith("ILSVRC2015") else w for w in left_alone.words]
    run("build", [*words, "--out", out], tmp_path).assert_well()
    verify(out, tmp_path)
    assert list(dict.fromkeys(frame.video for frame in vidc.load(out))) == sorted(NAMES)
    run("eval", [str(out), *evaluating.words[1:], "--out", results], tmp_path).assert_well()
    assert len(list(results.glob("*/results.json"))) == 1
    (root / "Data/VID/val/two\nlines/000001.JPEG").write_bytes(b"")
    ended = run("build", [*words, "--out", folder / "again"], tmp_path)
    ended.assert_told(r"two\nlines/000001.JPEG is empty")


def test_files_of_somebodys_own_beside_the_frames(step_by_step, videos, tmp_path):
    left_alone, out = step_by_step["build"], tmp_path / "out"
    mine = shutil.copytree(videos, tmp_path / "mine")
    video = mine / "Data/VID/val/car"
    for name in ("my notes.txt", "ünï\ncode.xml", "000001.JPEG~", ".000001.JPEG"):
        (video / name).write_text("mine")
    stray = video / "best\nframe 1.JPEG"
    stray.write_bytes(WHOLE)
    words = words_for(left_alone, videos, mine, out)
    run("build", words, tmp_path).assert_told(r"best\nframe 1.JPEG is not named by a frame number")
    stray.unlink()
    run("build", words, tmp_path).assert_well()
    assert contents(out) == left_alone.files
