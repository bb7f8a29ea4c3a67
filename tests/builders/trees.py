"""Small trees of the real layouts: ImageNet-VID, LaSOT and TAO as their releases unpack.

Every writer takes ``{video: number of frames}`` and gives plain trees; a test that wants an oddity
changes the files afterwards. Frame k of a video is always the same picture.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

DOG, BIRD, CAR = "n02084071", "n01503061", "n02958343"


@dataclass(frozen=True)
class Thing:
    """One object of an ImageNet-VID frame: box as xmin, ymin, xmax, ymax."""

    wnid: str = DOG
    box: tuple[float, float, float, float] = (40, 20, 120, 80)
    track: int = 0
    occluded: int = 0
    generated: int = 0


def picture(height: int, width: int, seed: int | str = 0) -> np.ndarray:
    """A smooth, coloured picture with a little grain, so that every resize and codec matters."""
    rng = np.random.default_rng(zlib.crc32(str(seed).encode()))
    coarse = rng.integers(0, 256, (height // 16 + 2, width // 16 + 2, 3), np.uint8)
    smooth = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))
    return np.clip(smooth + rng.normal(0, 4, smooth.shape), 0, 255).astype(np.uint8)


def jpeg(pixels: np.ndarray, **options: object) -> bytes:
    """The JPEG file of some pixels, written by Pillow."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", **{"quality": 90, **options})
    return buffer.getvalue()


def png(image: Image.Image | np.ndarray, **options: object) -> bytes:
    """The PNG file of a picture, written by Pillow."""
    buffer = io.BytesIO()
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image)
    image.save(buffer, "PNG", **options)
    return buffer.getvalue()


def annotation(things: Sequence[Thing], height: int = 90, width: int = 160) -> str:
    """An ImageNet-VID annotation file."""
    objects = "".join(
        f"<object><trackid>{t.track}</trackid><name>{t.wnid}</name><bndbox>"
        f"<xmax>{t.box[2]}</xmax><xmin>{t.box[0]}</xmin>"
        f"<ymax>{t.box[3]}</ymax><ymin>{t.box[1]}</ymin></bndbox>"
        f"<occluded>{t.occluded}</occluded><generated>{t.generated}</generated></object>\n"
        for t in things
    )
    return (
        "<annotation><folder>video</folder><filename>000000</filename>"
        "<source><database>ILSVRC_2015</database></source>"
        f"<size><width>{width}</width><height>{height}</height></size>\n{objects}</annotation>\n"
    )


def write_imagenet_vid(
    root: Path,
    videos: Mapping[str, int],
    *,
    split: str = "val",
    size: tuple[int, int] = (90, 160),
    things: Sequence[Thing] = (Thing(),),
) -> Path:
    """``root/ILSVRC2015`` with these videos (of train: ``part/video``), and that folder."""
    tree = root / "ILSVRC2015"
    for video, count in videos.items():
        data = tree / "Data" / "VID" / split / video
        notes = tree / "Annotations" / "VID" / split / video
        data.mkdir(parents=True)
        notes.mkdir(parents=True)
        for k in range(count):
            (data / f"{k:06d}.JPEG").write_bytes(jpeg(picture(*size, f"{video}/{k}")))
            (notes / f"{k:06d}.xml").write_text(annotation(things, *size))
    return tree


def write_lasot(
    root: Path,
    sequences: Mapping[str, int],
    *,
    class_level: bool = True,
    size: tuple[int, int] = (90, 160),
    box: tuple[float, float, float, float] = (40, 20, 80, 60),
) -> Path:
    """``root/LaSOT`` with these sequences, and that folder."""
    tree = root / "LaSOT"
    for name, count in sequences.items():
        folder = tree / name.rpartition("-")[0] / name if class_level else tree / name
        (folder / "img").mkdir(parents=True)
        for k in range(count):
            file = folder / "img" / f"{k + 1:08d}.jpg"
            file.write_bytes(jpeg(picture(*size, f"{name}/{k}")))
        line = ",".join(f"{value:g}" for value in box)
        (folder / "groundtruth.txt").write_text(f"{line}\n" * count)
        (folder / "full_occlusion.txt").write_text(",".join("0" * count))
        (folder / "out_of_view.txt").write_text(",".join("0" * count))
    return tree


TAO_CATEGORIES = (
    {"id": 1, "name": "dog", "synset": "dog.n.01"},
    {"id": 2, "name": "car_(automobile)", "synset": "car.n.01"},
    {"id": 3, "name": "apron", "synset": "apron.n.01"},
    {"id": 4, "name": "robot", "synset": "unknown"},
    {"id": 5, "name": "beagle", "synset": "beagle.n.01", "merged": [{"id": 50}]},
    {"id": 6, "name": "cat", "synset": "cat.n.01"},
)


def write_tao(
    root: Path,
    videos: Mapping[str, int],
    *,
    file: str = "train",
    size: tuple[int, int] = (90, 160),
    category: int = 1,
    step: int = 30,
) -> Path:
    """``root/TAO`` with these videos (``train/LaSOT/dog-1``) annotated every ``step`` frames."""
    tree = root / "TAO"
    tables: dict[str, list[dict[str, object]]] = {
        "videos": [],
        "images": [],
        "annotations": [],
        "categories": [dict(row) for row in TAO_CATEGORIES],
    }
    for number, (video, count) in enumerate(videos.items()):
        tables["videos"].append({"id": number, "name": video})
        (tree / "frames" / video).mkdir(parents=True)
        for k in range(count):
            image = len(tables["images"])
            name = f"{video}/{k * step + 1:08d}.jpg"
            (tree / "frames" / name).write_bytes(jpeg(picture(*size, name)))
            tables["images"].append(
                {"id": image, "video_id": number, "frame_index": k * step, "file_name": name}
            )
            tables["annotations"].append(
                {"image_id": image, "category_id": category, "track_id": number}
                | {"bbox": [40, 20, 80, 60]}
            )
    (tree / "annotations").mkdir(parents=True, exist_ok=True)
    (tree / "annotations" / f"{file}.json").write_text(json.dumps(tables))
    return tree
