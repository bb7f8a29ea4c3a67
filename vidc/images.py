"""Image files to RGB pixels and back, and the hash that stands for a frame's pixels.

OpenCV decodes and encodes (one thread: the processes around it are the parallelism); Pillow takes
the few files OpenCV reads differently. On the libraries tried (opencv 5.0 with libjpeg-turbo 3.1,
Pillow 13 with 3.2) the two decode every RGB and greyscale JPEG to the same pixels.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vidc.errors import InputError, unknown
from vidc.frames import Pixels

if TYPE_CHECKING:
    from PIL.Image import Image

# A frame of 8192 × 8192; a small file that unpacks to more is taken for a decompression bomb.
PIXEL_LIMIT = 1 << 26

FORMATS = ("jpeg", "png")
SUBSAMPLINGS = ("420", "444")


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a frame is stored. ``quality`` and ``subsampling`` matter to JPEG alone."""

    format: str = "png"
    quality: int = 85
    subsampling: str = "420"

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise unknown("image format", self.format, FORMATS)
        if self.subsampling not in SUBSAMPLINGS:
            raise unknown("chroma subsampling", self.subsampling, SUBSAMPLINGS)
        if not 1 <= self.quality <= 100:
            raise InputError(f"JPEG quality is {self.quality}: it must be from 1 to 100.")

    @property
    def extension(self) -> str:
        """The stored file's extension, without the dot."""
        return "png" if self.format == "png" else "jpg"


def decode(data: bytes, what: str) -> Pixels:
    """The RGB pixels of an encoded image; ``what`` names the file where it is broken.

    The orientation in EXIF is ignored, as torchvision's transforms ignore it.
    """
    import cv2

    size(data, what)
    cv2.setNumThreads(1)
    flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    if pixels is None:
        raise InputError(f"{what} is broken: its pixels cannot be decoded.")
    return np.asarray(pixels, np.uint8)


def size(data: bytes, what: str) -> tuple[int, int]:
    """The height and width in an image file's header; no pixel is decoded."""
    image = _header(data, what)
    width, height = image.size
    if width * height > PIXEL_LIMIT:
        raise InputError(
            f"{what} is {width} × {height} pixels: more than the limit of {PIXEL_LIMIT} is refused."
        )
    return height, width


def _header(data: bytes, what: str) -> Image:
    from PIL import Image

    try:
        return Image.open(io.BytesIO(data), formats=("JPEG", "PNG"))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"{what} is not a JPEG or PNG image: {error}.") from error


def encode(pixels: Pixels, encoding: Encoding) -> bytes:
    """The image file of these pixels; the same pixels always give the same bytes."""
    import cv2

    cv2.setNumThreads(1)
    if encoding.format == "png":
        # Level 1 without match search: on noisy frames matches save little and cost most.
        parameters = [
            cv2.IMWRITE_PNG_COMPRESSION,
            1,
            cv2.IMWRITE_PNG_STRATEGY,
            cv2.IMWRITE_PNG_STRATEGY_HUFFMAN_ONLY,
        ]
    else:
        factor = (
            cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420
            if encoding.subsampling == "420"
            else cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444
        )
        parameters = [
            cv2.IMWRITE_JPEG_QUALITY,
            encoding.quality,
            cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
            factor,
        ]
    bgr = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    done, data = cv2.imencode(f".{encoding.extension}", bgr, parameters)
    if not done:
        raise InputError(f"these pixels of shape {pixels.shape} cannot be stored as an image.")
    return bytes(data)


def pixel_hash(pixels: Pixels) -> str:
    """The sha256 over a frame's shape and bytes: what a dataset promises of its pixels."""
    digest = hashlib.sha256(repr(pixels.shape).encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()
