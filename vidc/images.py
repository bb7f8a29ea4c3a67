"""Image files to RGB pixels and back, and the hash that stands for a frame's pixels.

OpenCV does the work in one thread (the processes around it are the parallelism). Its pixels are
Pillow's for every RGB and greyscale JPEG and 8-bit PNG, which a test measures, and so are those
of the JPEG files it writes. Two kinds of file differ: CMYK JPEG, by one grey level, is left to
Pillow; of 16-bit greyscale PNG the high byte is kept, where Pillow would clip.
"""

from __future__ import annotations

import functools
import hashlib
import io
import struct
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from vidc.errors import InputError, unknown
from vidc.frames import Pixels

# 8192 × 8192: a small file that unpacks to more is taken for a decompression bomb.
PIXEL_LIMIT = 1 << 26
# Each scan of a progressive JPEG goes over the whole frame: many are a bomb too. A file has ten or
# so; of the largest frame 32 are allowed, which take seconds.
SCAN_LIMIT = 500
SCANNED_PIXEL_LIMIT = 32 * PIXEL_LIMIT

FORMATS = ("jpeg", "png")
SUBSAMPLINGS = ("420", "444")

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8"
_HEADER_BYTES = 1 << 16


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


@dataclass(frozen=True, slots=True)
class _Header:
    height: int
    width: int
    cmyk: bool = False
    end: int = 0  # where in the file the header ends and the pixels begin


def decode(data: bytes, what: str) -> Pixels:
    """The RGB pixels of a JPEG or PNG file; ``what`` names the file where it is broken.

    The orientation in EXIF is ignored, as torchvision's transforms ignore it. A file that ends
    too early is an error; one damaged in its middle may decode, in OpenCV as in Pillow.
    """
    header = _header(data, what)
    _refuse_bomb(data, header, what)
    # Some versions of OpenCV fill what is missing with grey and say nothing.
    if data.startswith(_JPEG):
        whole = data.rfind(b"\xff\xd9", header.end) >= 0
    else:
        data, whole = _pixel_chunks(data)
    if not whole:
        raise InputError(f"{what} is truncated: its last part is missing.")
    pixels = _with_pillow(data, what) if header.cmyk else _with_opencv(data, what)
    if pixels.shape != (header.height, header.width, 3):
        raise InputError(f"{what} is broken: its pixels do not have the size its header gives.")
    return pixels


def size(data: bytes, what: str) -> tuple[int, int]:
    """The height and width in an image file's header; no pixel is decoded."""
    header = _header(data, what)
    _refuse_bomb(data, header, what)
    return header.height, header.width


def file_size(file: Path) -> tuple[int, int]:
    """The height and width of an image file, of which only the beginning is read."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_HEADER_BYTES)
            try:
                return size(data, str(file))
            except InputError:
                # A colour profile or a thumbnail before the header can be longer than the start.
                return size(data + stream.read(), str(file))
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from error


def encode(pixels: Pixels, encoding: Encoding) -> bytes:
    """The image file of these pixels; the same pixels always give the same bytes."""
    cv2 = _opencv()
    if encoding.format == "png":
        # On noisy frames a search for repeats saves little and costs most. One filter for a whole
        # frame comes within 1 % of a choice for each row in size (clean frames: 5 %), and saves a
        # sixth of the time.
        above = cv2.IMWRITE_PNG_FILTER_UP if _like_above(pixels) else cv2.IMWRITE_PNG_FILTER_NONE
        parameters = [
            *(cv2.IMWRITE_PNG_COMPRESSION, 1),
            *(cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_HUFFMAN_ONLY),
            *(cv2.IMWRITE_PNG_FILTER, above),
        ]
    else:
        sampling = getattr(cv2, f"IMWRITE_JPEG_SAMPLING_FACTOR_{encoding.subsampling}")
        parameters = [
            *(cv2.IMWRITE_JPEG_QUALITY, encoding.quality),
            *(cv2.IMWRITE_JPEG_SAMPLING_FACTOR, sampling),
        ]
    bgr = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode(f".{encoding.extension}", bgr, parameters)
    return bytes(data)


def _like_above(pixels: Pixels) -> bool:
    """Whether rows differ less from the rows above them than from nothing, by every eighth row.

    The measure is libpng's own: the sum of bytes read as signed numbers, without their signs.
    """
    rows, above = pixels[1::8], pixels[:-1:8]
    alone = np.abs(rows.view(np.int8).astype(np.int16)).sum()
    beside = np.abs((rows - above).view(np.int8).astype(np.int16)).sum()
    return bool(beside < alone)


def pixel_hash(pixels: Pixels) -> str:
    """The sha256 over a frame's shape and bytes: what a dataset promises of its pixels."""
    digest = hashlib.sha256(repr(pixels.shape).encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()


@functools.cache
def _opencv() -> ModuleType:
    import cv2

    cv2.setNumThreads(1)
    # It would print a line about each broken file; the error says so in a sentence.
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    return cv2


def _with_opencv(data: bytes, what: str) -> Pixels:
    cv2 = _opencv()
    flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    except cv2.error:
        pixels = None
    if pixels is None:
        raise InputError(f"{what} is broken: its pixels cannot be decoded.")
    return np.asarray(pixels, np.uint8)


def _with_pillow(data: bytes, what: str) -> Pixels:
    from PIL import Image

    try:
        return np.array(Image.open(io.BytesIO(data), formats=("JPEG",)).convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{what} is broken: its pixels cannot be decoded.") from error


def _header(data: bytes, what: str) -> _Header:
    if not data:
        raise InputError(f"{what} is empty.")
    if data.startswith(_JPEG):
        header = _jpeg_header(data)
    elif data.startswith(_PNG) and data[12:16] == b"IHDR" and len(data) >= 24:
        header = _Header(int.from_bytes(data[20:24], "big"), int.from_bytes(data[16:20], "big"))
    else:
        raise InputError(f"{what} is neither a JPEG nor a PNG image.")
    if header is None or header.height == 0 or header.width == 0:
        raise InputError(f"{what} is broken: its header gives no size.")
    return header


def _jpeg_header(data: bytes) -> _Header | None:
    """Walk the segments before the pixels to the one that holds the frame's size."""
    at = data.find(b"\xff", 2)
    while 0 <= at <= len(data) - 4:
        marker = data[at + 1]
        if marker == 0xFF:  # fill bytes may stand before a marker
            at += 1
            continue
        if marker in (0x00, 0x01) or 0xD0 <= marker <= 0xD8:  # nothing follows these
            at = data.find(b"\xff", at + 2)
            continue
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            frame = data[at + 4 : at + 10]
            if len(frame) < 6:
                return None
            height, width = int.from_bytes(frame[1:3], "big"), int.from_bytes(frame[3:5], "big")
            return _Header(height, width, cmyk=frame[5] == 4, end=at)
        if marker in (0xD9, 0xDA) or length < 2:
            return None
        at = data.find(b"\xff", at + 2 + length)
    return None


def _pixel_chunks(data: bytes) -> tuple[bytes, bool]:
    """A PNG file with no chunk but those that make its pixels, and whether it has its last one.

    OpenCV makes room for whatever length a chunk claims and for each frame of an animation, and
    libpng prints the name of a colour profile as it stands.
    """
    kept, since = bytearray(), 0  # what is left out breaks the file into runs
    at, kind = len(_PNG), b""
    while kind != b"IEND" and at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind[:1].islower() and kind != b"tRNS":  # small: a decoder can do without it
            kept += data[since:at]
            since = at + 12 + length
        at += 12 + length
    whole = kind == b"IEND" and at <= len(data)
    return bytes(kept + data[since:at]) if kept else data, whole


def _refuse_bomb(data: bytes, header: _Header, what: str) -> None:
    if header.height * header.width > PIXEL_LIMIT:
        raise InputError(
            f"{what} is {header.width} × {header.height} pixels large: "
            f"more than {PIXEL_LIMIT} pixels are refused."
        )
    scans = min(SCAN_LIMIT, SCANNED_PIXEL_LIMIT // (header.height * header.width))
    if data.startswith(_JPEG) and data.count(b"\xff\xda", header.end) > scans:
        raise InputError(f"{what} has more than {scans} scans: it is refused.")
