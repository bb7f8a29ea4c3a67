"""The row: one frame of one video, as it is stored and as it is read.

This is the one contract between the builders, which make frames, and eval, which replays them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from vidc.classes import ClassList

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

Pixels = NDArray[np.uint8]

CLEAN = "clean"
ANNOTATIONS = "annotations"
DEFAULT_SEVERITY = 5
UNLABELLED = -1
ROW_GROUP_FRAMES = 256


@dataclass(frozen=True, slots=True)
class Box:
    """One labelled object: its box (x, y, width, height) in the stored image's pixels."""

    bbox: tuple[float, float, float, float]
    category: int
    track: int
    occluded: bool
    generated: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """One row. ``image`` is the encoded file, or the decoded RGB pixels where asked for."""

    video: str
    frame: int
    label: int
    labels: tuple[int, ...]
    objects: tuple[Box, ...]
    corruption: str
    severity: int
    image: bytes | Pixels


@dataclass(frozen=True)
class FrameLabels:
    """Everything about the frames of a stream but their pixels, one entry a frame, in order."""

    videos: NDArray[np.str_]
    frames: NDArray[np.int32]
    label: NDArray[np.int64]
    labels: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.frames)


@dataclass(frozen=True)
class StreamInfo:
    """What a stream of frames is: enough to name it in a result."""

    dataset: str  # "imagenet-vid-c"; the rendered sample is "imagenet-vid-c-sample"
    split: str
    corruption: str
    severity: int
    classes: ClassList
    fingerprint: str  # changes whenever a pixel or a label may have changed
    complete: bool  # every frame of every video of the split
    size: tuple[int, int] | None  # stored height and width; None where it varies


class FrameSource(Protocol):
    """Frames in a fixed order: a built folder, a Hub dataset, or clean videos on the fly."""

    @property
    def info(self) -> StreamInfo:
        """What this stream is."""

    def labels(self) -> FrameLabels:
        """The labels of all frames in order, without reading a pixel."""

    def frames(self, positions: Sequence[int], *, decode: bool = True) -> Iterator[Frame]:
        """The frames at these positions of the order, as they are asked for; decoded ahead."""


def config_name(corruption: str, severity: int) -> str:
    """The dataset config that holds a corruption at a severity.

    >>> config_name("snow", 5), config_name("snow", 3), config_name("clean", 0)
    ('snow', 'snow_s3', 'clean')
    """
    if corruption == CLEAN or severity == DEFAULT_SEVERITY:
        return corruption
    return f"{corruption}_s{severity}"


def parse_config(config: str) -> tuple[str, int]:
    """The corruption and severity that a config holds: the inverse of :func:`config_name`.

    >>> parse_config("gaussian_noise"), parse_config("snow_s3"), parse_config("clean")
    (('gaussian_noise', 5), ('snow', 3), ('clean', 0))
    """
    if config == CLEAN:
        return CLEAN, 0
    corruption, mark, severity = config.rpartition("_s")
    if mark and severity.isdecimal():
        return corruption, int(severity)
    return config, DEFAULT_SEVERITY


def image_path(video: str, frame: int, extension: str) -> str:
    """The relative path stored with a frame's bytes.

    >>> image_path("val_01", 7, "png")
    'val_01/000007.png'
    """
    return f"{video}/{frame:06d}.{extension}"


def image_schema() -> pa.Schema:
    """The Arrow schema of a config with images."""
    import pyarrow as pa

    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    return pa.schema(
        [("image", image), *_label_fields(), ("corruption", pa.string()), ("severity", pa.int8())]
    )


def annotations_schema(configs: Sequence[str]) -> pa.Schema:
    """The Arrow schema of the image-free config: labels, and the pixels' sha256 in each config."""
    import pyarrow as pa

    hashes = pa.struct([(config, pa.string()) for config in configs])
    return pa.schema([*_label_fields(), ("sha256", hashes)])


def _label_fields() -> list[tuple[str, pa.DataType]]:
    import pyarrow as pa

    box = pa.struct(
        [
            ("bbox", pa.list_(pa.float32())),
            ("category", pa.int64()),
            ("track", pa.int32()),
            ("occluded", pa.bool_()),
            ("generated", pa.bool_()),
        ]
    )
    return [
        ("video", pa.string()),
        ("frame", pa.int32()),
        ("label", pa.int64()),
        ("labels", pa.list_(pa.int64())),
        ("objects", pa.list_(box)),
    ]


def image_features(classes: ClassList) -> datasets.Features:
    """The ``datasets`` features of a config with images; their arrow schema is ours."""
    from datasets import Features, Image, Value

    return Features(
        {
            "image": Image(),
            **_label_features(classes),
            "corruption": Value("string"),
            "severity": Value("int8"),
        }
    )


def annotations_features(classes: ClassList, configs: Sequence[str]) -> datasets.Features:
    """The ``datasets`` features of the image-free config."""
    from datasets import Features, Value

    hashes = {config: Value("string") for config in configs}
    return Features({**_label_features(classes), "sha256": hashes})


def _label_features(classes: ClassList) -> dict[str, object]:
    from datasets import ClassLabel, Value

    label = ClassLabel(names=list(classes.names))
    box = {
        "bbox": [Value("float32")],
        "category": label,
        "track": Value("int32"),
        "occluded": Value("bool"),
        "generated": Value("bool"),
    }
    return {
        "video": Value("string"),
        "frame": Value("int32"),
        "label": label,
        "labels": [label],
        "objects": [box],
    }
