"""``python -m vidc.build preview``: look at corruptions before building anything."""

from __future__ import annotations

import argparse
import io
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vidc.builders import arguments
from vidc.commandline import from_the_start, say
from vidc.corruptions import TEMPORAL, Key, corrupt, names
from vidc.errors import InputError, unknown
from vidc.frames import Pixels

EXAMPLES = """\
examples:
  COMMAND                 a clip of the sample, no download
  COMMAND --frame photo.jpg --corruptions all
  COMMAND lasot --root LaSOT --video --temporal coherent"""

SEVERITIES = (1, 2, 3, 4, 5)
SEVERITY, FRAMES = 5, 75
FRAMES_A_SECOND = 25
TILES_IN_A_ROW = 4
LARGEST_VIDEO = 8191  # MPEG-4 has 13 bits for a picture's height and width


@dataclass(frozen=True)
class Shot:
    """One clean frame at its stored size, and the key of its randomness."""

    pixels: Pixels
    key: Key


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of preview."""
    parser.usage = f"{parser.prog} [--frame FILE | SOURCE --root DIR] [options]"
    add = parser.add_argument
    add("source", nargs="?", metavar="SOURCE", help="imagenet-vid, lasot or tao-lasot")
    add("--root", type=arguments.path, metavar="DIR", help="its clean videos")
    add("--split", help="of the source, if not its own default")
    add("--clip", metavar="ID", help="a video of the source, if not its first")
    add("--frame", type=Path, metavar="FILE", help="a JPEG or PNG instead of a source")
    add(
        "--out",
        type=arguments.path,
        metavar="FILE",
        help="preview.png, or preview.mp4, if not given",
    )
    add(
        "--corruptions",
        nargs="+",
        metavar="NAME",
        default=["gaussian_noise", "snow", "rain"],
        help="any of vidc.corruptions(), or all",
    )
    add("--size", type=int, default=224, help="of a frame: resized, centre crop")
    add("--temporal", default="iid", help="iid or coherent: whether weather moves")
    add("--seed", type=int, default=0, help="of all randomness")
    video = parser.add_argument_group("moving pictures")
    video.add_argument("--video", action="store_true", help="an MP4 of the clip, side by side")
    # No defaults here: without --video they would be misplaced, and are refused.
    of_video = f"in the video (default: {SEVERITY})"
    video.add_argument("--severity", type=int, metavar="N", help=of_video)
    most = f"of the video, at most (default: {FRAMES})"
    video.add_argument("--frames", type=int, metavar="N", help=most)


@from_the_start()
def main(args: argparse.Namespace) -> int:
    """Draw what is asked for and say where it is."""
    chosen = _chosen(args.corruptions)
    out = _output(args.out, ".mp4" if args.video else ".png")
    _check(args)
    shots = _shots(args)
    try:
        if args.video:
            severity = args.severity or SEVERITY
            clip = itertools.islice(shots, args.frames or FRAMES)
            count = write_video(out, clip, chosen, severity, args.temporal)
            say(f"{out}: {count} frames of {', '.join(chosen)} at severity {severity}")
        else:
            write_sheet(out, next(shots), chosen, args.temporal)
            say(f"{out}: {', '.join(chosen)} at severities 1 to 5")
    except OSError as error:  # what is read tells its own mistakes
        raise InputError(f"--out {out} cannot be written: {error.strerror}.") from error
    return 0


def write_sheet(out: Path, shot: Shot, corruptions: Sequence[str], temporal: str) -> None:
    """A PNG with a row for each corruption: the clean frame, then the five severities."""
    from PIL import Image

    from vidc.builders.sheet import Cell, lay_out
    from vidc.files import write_whole

    header = [Cell(), Cell("clean"), *(Cell(f"severity {severity}") for severity in SEVERITIES)]
    rows = [
        [
            Cell(name),
            Cell(picture=shot.pixels),
            *(
                Cell(picture=corrupt(shot.pixels, name, severity, shot.key, temporal))
                for severity in SEVERITIES
            ),
        ]
        for name in corruptions
    ]
    file = io.BytesIO()
    Image.fromarray(lay_out([header, *rows])).save(file, "PNG", optimize=True)
    write_whole(out, file.getvalue())


def write_video(
    out: Path, shots: Iterator[Shot], corruptions: Sequence[str], severity: int, temporal: str
) -> int:
    """An MP4 of the clean clip and each corruption side by side; the number of its frames."""
    from vidc.files import move_into_place

    pictures = (_tiles(shot, corruptions, severity, temporal) for shot in shots)
    temporary = out.with_name(f".{out.name}.tmp.mp4")
    try:
        temporary.touch()  # what prevents it is told here, which OpenCV does not
        count = _encode(temporary, pictures)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        move_into_place(temporary, out)
    finally:
        temporary.unlink(missing_ok=True)
    return count


def _encode(file: Path, pictures: Iterator[Pixels]) -> int:
    import cv2
    from tqdm import tqdm

    first = next(pictures)
    height, width = first.shape[:2]
    if max(height, width) > LARGEST_VIDEO:
        raise InputError(
            f"the video would be of {height} x {width} pixels and an MP4 has at most "
            f"{LARGEST_VIDEO} each way: give a smaller --size or fewer --corruptions."
        )
    code = cv2.VideoWriter.fourcc(*"mp4v")
    # FFmpeg takes what stands before a colon for a protocol, unless the path starts at the root.
    writer = cv2.VideoWriter(str(file.absolute()), code, FRAMES_A_SECOND, (width, height))
    if not writer.isOpened():
        raise InputError(f"--out {file.parent}: OpenCV cannot write an MP4 file there.")
    count = 0
    for picture in tqdm(itertools.chain([first], pictures), unit="frame", disable=None):
        writer.write(cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))
        count += 1
    writer.release()
    _check_whole(file, count)
    return count


def _check_whole(file: Path, count: int) -> None:
    """OpenCV does not tell that a disk is full: the end of the file, where its index is, tells."""
    import cv2

    video = cv2.VideoCapture(str(file.absolute()))
    found = int(video.get(cv2.CAP_PROP_FRAME_COUNT)) if video.isOpened() else 0
    video.release()
    if found != count:
        raise InputError(
            f"--out {file.parent}: only a part of the video could be written there: make room."
        )


def _tiles(shot: Shot, corruptions: Sequence[str], severity: int, temporal: str) -> Pixels:
    from vidc.builders.sheet import Cell, lay_out

    cells = [Cell("clean", shot.pixels)]
    for name in corruptions:
        cells.append(Cell(name, corrupt(shot.pixels, name, severity, shot.key, temporal)))
    starts = range(0, len(cells), TILES_IN_A_ROW)
    return lay_out([cells[start : start + TILES_IN_A_ROW] for start in starts])


def _chosen(asked: Sequence[str]) -> tuple[str, ...]:
    chosen = arguments.listed("--corruptions", asked)
    for name in chosen:
        if name not in (*names(), "all"):
            raise unknown("corruption", name, (*names(), "all"))
    return names() if "all" in chosen else chosen


def _output(asked: Path | None, suffix: str) -> Path:
    out = asked or Path(f"preview{suffix}")
    if out.suffix.lower() != suffix:
        raise InputError(f"--out {out} must end in {suffix}.")
    try:
        if out.is_dir():
            raise InputError(f"--out {out} is a folder: name a file.")
        if not out.parent.is_dir():
            raise InputError(f"--out {out}: there is no folder {out.parent}.")
    except OSError as error:  # a name that is too long, for one
        raise InputError(f"--out {out} cannot be written: {error.strerror}.") from error
    return out


def _check(args: argparse.Namespace) -> None:
    if args.frame and args.source:
        raise InputError("--frame and a source exclude each other: give one of them.")
    if args.source and not args.root:
        raise InputError(f"{args.source} needs --root, the folder of its clean videos.")
    if (args.root or args.clip or args.split) and not args.source:
        raise InputError("--root, --split and --clip go with a source: name it first.")
    if args.temporal not in TEMPORAL:
        raise unknown("temporal", args.temporal, TEMPORAL)
    for name in ("severity", "frames"):
        if getattr(args, name) is not None and not args.video:
            raise InputError(f"--{name} belongs to --video: give both or neither.")
    if args.severity not in (None, *SEVERITIES):
        raise InputError(f"--severity is {args.severity}: it must be from 1 to 5.")
    if not 8 <= args.size <= 2048:
        raise InputError(f"--size is {args.size}: it must be from 8 to 2048.")
    if args.frames is not None and args.frames < 1:
        raise InputError(f"--frames is {args.frames}: it must be 1 or more.")


def _shots(args: argparse.Namespace) -> Iterator[Shot]:
    """The clip asked for; a single picture stands still for ever."""
    if args.source:
        return _of_source(args)
    if args.frame:
        return _of_file(args)
    return _of_sample(args)


def _of_source(args: argparse.Namespace) -> Iterator[Shot]:
    from vidc.builders.pipeline import Recipe, prepare
    from vidc.builders.source import open_source

    source = open_source(args.source, args.root, args.split, allow_missing=True)
    videos = {video.id: video for video in source.videos() if video.frames}
    if not videos:
        raise InputError(f"--root {args.root} holds no video with frames.")
    if args.clip and args.clip not in videos:
        raise unknown("video", args.clip, videos)
    video = videos[args.clip] if args.clip else next(iter(videos.values()))
    recipe = Recipe(corruptions=(("clean", 0),), size=args.size)
    for frame in source.frames(video):
        prepared = prepare(source, video, frame, recipe)
        yield Shot(prepared.pixels, Key(args.seed, source.name, video.id, prepared.frame))


def _of_file(args: argparse.Namespace) -> Iterator[Shot]:
    from vidc.builders.crop import Crop
    from vidc.builders.source import read_bytes
    from vidc.images import decode

    pixels = decode(read_bytes(args.frame), str(args.frame))
    stored = Crop.of(pixels.shape[:2], args.size).pixels(pixels)
    for time in itertools.count():
        yield Shot(stored, Key(args.seed, "preview", args.frame.name, time))


def _of_sample(args: argparse.Namespace) -> Iterator[Shot]:
    from vidc.builders.crop import Crop
    from vidc.builders.sample import vid_videos
    from vidc.builders.sample_paint import paint

    video = vid_videos()[0]
    clip = video.clip()
    for time in itertools.count():
        pixels, _ = paint(clip, time)
        stored = Crop.of(pixels.shape[:2], args.size).pixels(pixels)
        yield Shot(stored, Key(args.seed, "sample", video.id, time))
