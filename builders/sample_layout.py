"""A rendered clip written to disk in ImageNet-VID's layout, or in LaSOT's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vidc.builders.sample_paint import Seen, paint
from vidc.builders.sample_scene import Clip
from vidc.classes import class_list
from vidc.frames import Pixels

JPEG_QUALITY = 92
# ImageNet-VID has boxes drawn by hand every few frames and carried over between them.
_DRAWN_EVERY = 5


def write_vid(root: Path, video: str, clip: Clip, times: Sequence[int]) -> None:
    """``ILSVRC2015/{Data,Annotations}/VID/val/<video>``: a JPEG and an XML for each frame."""
    above = root / "ILSVRC2015"
    data = above / "Data" / "VID" / "val" / video
    annotations = above / "Annotations" / "VID" / "val" / video

    if data.exists():
        return
    painted = [paint(clip, time) for time in times]

    def write_annotations(folder: Path) -> None:
        for number, (_, seen) in enumerate(painted):
            text = _xml(video, number, clip, seen)
            (folder / f"{number:06d}.xml").write_text(text, "utf-8")

    def write_frames(folder: Path) -> None:
        for number, (pixels, _) in enumerate(painted):
            (folder / f"{number:06d}.JPEG").write_bytes(_jpeg(pixels))

    _whole(annotations, write_annotations)
    _whole(data, write_frames)


def write_lasot(root: Path, video: str, clip: Clip, times: Sequence[int]) -> None:
    """``LaSOT/<class>/<class>-<n>``: ``img``, the boxes of one object, and two files of flags."""

    def write(folder: Path) -> None:
        (folder / "img").mkdir()
        seen = []
        for number, time in enumerate(times, start=1):
            pixels, found = paint(clip, time)
            (folder / "img" / f"{number:08d}.jpg").write_bytes(_jpeg(pixels))
            seen.append(found[0])
        lines = [",".join(str(round(side)) for side in one.box or (0, 0, 0, 0)) for one in seen]
        (folder / "groundtruth.txt").write_text("\n".join(lines) + "\n", "utf-8")
        hidden = ",".join(str(int(one.hidden)) for one in seen)
        (folder / "full_occlusion.txt").write_text(hidden + "\n", "utf-8")
        away = ",".join(str(int(one.box is None)) for one in seen)
        (folder / "out_of_view.txt").write_text(away + "\n", "utf-8")

    _whole(root / "LaSOT" / video.rpartition("-")[0] / video, write)


def _whole(folder: Path, write: Callable[[Path], None]) -> None:
    """Make a folder that is there only when everything in it is."""
    if folder.exists():
        return
    part = folder.with_name(f".{folder.name}.part")
    part.mkdir(parents=True)
    write(part)
    part.replace(folder)


def _jpeg(pixels: Pixels) -> bytes:
    import cv2

    bgr = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    return cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1].tobytes()


def _xml(video: str, number: int, clip: Clip, seen: Sequence[Seen]) -> str:
    objects = "".join(_xml_object(one, number) for one in seen if one.box)
    return (
        "<annotation>\n"
        f"\t<folder>{video}</folder>\n"
        f"\t<filename>{number:06d}</filename>\n"
        "\t<source>\n\t\t<database>ILSVRC_2015</database>\n\t</source>\n"
        f"\t<size>\n\t\t<width>{clip.look.width}</width>\n"
        f"\t\t<height>{clip.look.height}</height>\n\t</size>\n"
        f"{objects}</annotation>\n"
    )


def _xml_object(seen: Seen, number: int) -> str:
    x, y, width, height = seen.box or (0.0, 0.0, 0.0, 0.0)
    sides = {"xmax": x + width, "xmin": x, "ymax": y + height, "ymin": y}
    bounds = "".join(f"\t\t\t<{side}>{round(at)}</{side}>\n" for side, at in sides.items())
    return (
        f"\t<object>\n\t\t<trackid>{seen.actor}</trackid>\n\t\t<name>{wnid(seen.kind)}</name>\n"
        f"\t\t<bndbox>\n{bounds}\t\t</bndbox>\n"
        f"\t\t<occluded>{int(seen.cut)}</occluded>\n"
        f"\t\t<generated>{int(number % _DRAWN_EVERY != 0)}</generated>\n\t</object>\n"
    )


def wnid(kind: str) -> str:
    """The wnid of a kind of object: the same in both datasets' lists."""
    classes = class_list("imagenet-vid")
    return str(classes.wnids[classes.index(kind)])
