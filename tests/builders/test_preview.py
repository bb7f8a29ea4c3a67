"""Preview: the sheet and the clip hold the pixels that corrupt() gives, and mistakes are told."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from tests.builders import trees
from tests.reference import pictures
from vidc.build import main, virtual
from vidc.builders import sheet
from vidc.builders.crop import Crop
from vidc.corruptions import Key, corrupt, names
from vidc.errors import InputError


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "photo.png"
    Image.fromarray(pictures.made(1, 64, 64)).save(path)
    return path


def holds(pixels, picture):
    """Whether a picture is somewhere in the pixels, whole."""
    match = cv2.matchTemplate(pixels, picture, cv2.TM_SQDIFF)
    at = np.unravel_index(match.argmin(), match.shape)
    part = pixels[at[0] : at[0] + len(picture), at[1] : at[1] + picture.shape[1]]
    return np.array_equal(part, picture)


def read(file):
    return np.array(Image.open(file).convert("RGB"))


def test_a_sheet_holds_the_clean_frame_and_all_severities(photo, tmp_path, capsys):
    out = tmp_path / "sheet.png"
    arguments = ["--frame", str(photo), "--size", "56", "--corruptions", "snow", "rain"]
    assert main(["preview", *arguments, "--out", str(out), "--seed", "3"]) == 0
    made = read(out)
    clean = read(photo)[4:60, 4:60]  # 64 is 56 · 256/224: nothing to resize, the middle is kept
    assert holds(made, clean)
    for name in ("snow", "rain"):
        for severity in range(1, 6):
            assert holds(made, corrupt(clean, name, severity, Key(3, "preview", "photo.png", 0)))
    assert str(out) in capsys.readouterr().out


@pytest.mark.parametrize("asked", [["all"], ["snow,all"]], ids=" ".join)
def test_all_twenty_fit_on_a_sheet(asked, photo, tmp_path):
    out = tmp_path / "sheet.png"
    main(
        [
            "preview",
            "--frame",
            str(photo),
            "--size",
            "56",
            "--corruptions",
            *asked,
            "--out",
            str(out),
        ]
    )
    assert read(out).shape[0] > len(names()) * 56


def test_without_arguments_the_sample_is_drawn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["preview"]) == 0
    made = read(tmp_path / "preview.png")
    assert made.shape[1] > 6 * 224
    assert [file.name for file in tmp_path.iterdir()] == ["preview.png"]


def frames_of(file):
    video, found = cv2.VideoCapture(str(file)), []
    while True:
        there, frame = video.read()
        if not there:
            return found
        found.append(frame[..., ::-1])


def test_a_video_shows_the_clip_under_each_corruption(photo, tmp_path):
    out = tmp_path / "clip.mp4"
    arguments = ["--frame", str(photo), "--video", "--frames", "6", "--temporal", "coherent"]
    assert main(["preview", *arguments, "--corruptions", "snow", "--out", str(out)]) == 0
    found = frames_of(out)
    assert len(found) == 6
    assert {file.name for file in tmp_path.iterdir()} == {"clip.mp4", "photo.png"}
    # The last tile is the snow, which MP4 keeps but for its own small losses.
    clean = read_resized(photo)
    for number, frame in enumerate(found):
        snow = corrupt(clean, "snow", 5, Key(0, "preview", "photo.png", number), "coherent")
        tile = frame[-224 - sheet.GAP : -sheet.GAP, -224 - sheet.GAP : -sheet.GAP]
        off = [np.abs(tile.astype(float) - other).mean() for other in (snow, clean)]
        assert off[0] < 0.5 * off[1]


def test_a_video_may_have_a_colon_in_its_name(photo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["--frame", str(photo), "--video", "--frames", "2", "--out", "rain-12:30.mp4"]
    assert main(["preview", *arguments]) == 0
    assert len(frames_of(tmp_path / "rain-12:30.mp4")) == 2


def test_a_video_larger_than_its_format_is_told(photo, tmp_path):
    """Four tiles of 2048 pixels and the gaps between them are more than 13 bits hold."""
    out = ["--out", str(tmp_path / "clip.mp4")]
    many = ["--size", "2048", "--frames", "1", "--corruptions", "rain", "rain", "rain"]
    with pytest.raises(InputError, match=r"x 8222 pixels .* 8191 .* fewer --corruptions"):
        main(["preview", "--frame", str(photo), "--video", *many, *out])
    assert [file.name for file in tmp_path.iterdir()] == ["photo.png"]


def test_a_video_that_was_cut_off_is_told(photo, tmp_path):
    """The command runs where files may not grow beyond 16 KiB, as on a disk that is full."""
    arguments = ["--frame", str(photo), "--video", "--frames", "12"]
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14)); "
        "from vidc.build import main; main(sys.argv[1:])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, "preview", *arguments, "--out", str(tmp_path / "clip.mp4")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert "only a part of the video could be written" in run.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["photo.png"]


def read_resized(photo):
    pixels = read(photo)
    return Crop.of(pixels.shape[:2], 224).pixels(pixels)


def test_a_source_gives_the_frames_that_a_build_stores(tmp_path):
    root = trees.write_imagenet_vid(tmp_path / "clean", {"ILSVRC2015_val_00000000": 3})
    out = tmp_path / "sheet.png"
    arguments = ["imagenet-vid", "--root", str(root), "--size", "32", "--out", str(out)]
    assert main(["preview", *arguments, "--corruptions", "rain"]) == 0
    stored = virtual("imagenet-vid", root, "rain", 4, size=32, allow_missing=True)
    first = next(iter(stored.frames([0])))
    assert holds(read(out), first.image)


def test_a_clip_is_drawn_by_its_id(tmp_path):
    root = trees.write_imagenet_vid(tmp_path / "clean", {"first": 1, "second": 2})
    out = tmp_path / "sheet.png"
    asked = ["imagenet-vid", "--root", str(root), "--size", "32", "--corruptions", "snow"]
    assert main(["preview", *asked, "--out", str(out), "--clip", "second"]) == 0
    stored = virtual("imagenet-vid", root, "snow", 4, size=32, allow_missing=True)
    of_the_first, of_the_second = (frame.image for frame in stored.frames([0, 1]))
    assert holds(read(out), of_the_second)
    assert not holds(read(out), of_the_first)
    with pytest.raises(InputError, match="unknown video 'secnod': did you mean 'second'"):
        main(["preview", *asked, "--out", str(out), "--clip", "secnod"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--frame", "missing.png"], ["missing.png"]),
        (["--corruptions", "snwo"], ["snwo", "did you mean 'snow'"]),
        (["--corruptions", "all", "snwo"], ["snwo", "did you mean 'snow'"]),
        (["--out", "sheet.jpg"], ["--out", "sheet.jpg", ".png"]),
        (["--video", "--out", "clip.png"], ["--out", "clip.png", ".mp4"]),
        (["--out", "nowhere/sheet.png"], ["--out", "nowhere"]),
        (["lasot"], ["lasot", "--root"]),
        (["--root", "x"], ["--root", "source"]),
        (["--clip", "x"], ["--clip", "source"]),
        (["lasot", "--root", "x", "--frame", "y.png"], ["--frame", "source"]),
        (["lasto", "--root", "."], ["lasto", "did you mean 'lasot'"]),
        (["lasot", "--root", "nowhere"], ["--root", "nowhere"]),
        (["--severity", "6", "--video"], ["--severity", "6"]),
        (["--size", "1"], ["--size", "1"]),
        (["--frames", "0", "--video"], ["--frames", "0"]),
        (["--frames", "3"], ["--frames belongs to --video"]),
        (["--severity", "3"], ["--severity belongs to --video"]),
        (["--temporal", "still"], ["temporal", "still"]),
        (["--corruptions", "fog", "--size", "20"], ["20 x 20", "fog", "32"]),
        (["--corruptions", "fog", "--size", "20", "--video"], ["20 x 20", "fog", "32"]),
    ],
    ids=" ".join,
)
def test_mistakes_are_told_and_nothing_is_left(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as told:
        main(["preview", *arguments])
    assert all(word in str(told.value) for word in words), str(told.value)
    assert "\n" not in str(told.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "name"), [([], "sheet.png"), (["--video", "--frames", "2"], "clip.mp4")]
)
def test_a_place_that_cannot_be_written(option, name, tmp_path, monkeypatch):
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=f"--out .*{name} is a folder: name a file"):
        main(["preview", *option, "--out", str(tmp_path / name)])
    # Whatever else the disk says is told too, and nothing half-written stays.
    monkeypatch.setattr("vidc.files.flush_folder", refuse)
    with pytest.raises(InputError, match=f"--out .*other-{name} cannot be written: No space left"):
        main(["preview", *option, "--out", str(tmp_path / f"other-{name}")])
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_what_keeps_a_video_from_being_written_is_told(tmp_path, monkeypatch):
    def touch(self):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "touch", touch)
    with pytest.raises(InputError, match=r"--out .*clip\.mp4 cannot be written: Permission denied"):
        main(["preview", "--video", "--out", str(tmp_path / "clip.mp4")])


def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(InputError, match="cannot be written: File name too long"):
        main(["preview", "--out", str(tmp_path / f"{'a' * 300}.png")])


def refuse(folder):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
