"""The largest images that are accepted fit in a gigabyte, and larger ones are refused unseen."""

import io
import resource
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from PIL import Image

from vidc import images
from vidc.errors import InputError

GIGABYTE = 2**30
SIDE = 8192
ROOT = Path(__file__).parents[2]


def test_the_bomb_is_one():
    assert zlib.decompress(zeros(3 * 2**20 + 5)) == bytes(3 * 2**20 + 5)


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, rows: bytes, depth: int = 8, colour: int = 2, extra: bytes = b""):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    end = chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + end


def zeros(count: int) -> bytes:
    """So many bytes of nothing as a zlib stream: one packed piece, repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    last = zlib.compressobj(9, zlib.DEFLATED, -15)
    rest = last.compress(bytes(count % 2**20)) + last.flush()
    checksum = struct.pack(">HH", count % 65521, 1)  # Adler's sums of zeros
    return b"\x78\x01" + piece * (count // 2**20) + rest + checksum


def jpeg(mode: str) -> bytes:
    file = io.BytesIO()
    Image.new(mode, (SIDE, SIDE)).save(file, "JPEG", progressive=True, subsampling=0)
    return file.getvalue()


def decode_in_a_gigabyte(file: str) -> None:
    """What the child does: import everything, then allow itself a gigabyte more."""
    data = Path(file).read_bytes()
    images.decode(png(1, 1, zlib.compress(bytes(4))), "small")
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + GIGABYTE, now + GIGABYTE))
    try:
        sys.stdout.write(f"{images.decode(data, 'large').shape}")
    except InputError as mistake:
        sys.stdout.write(f"refused: {mistake}")


def in_a_gigabyte(tmp_path: Path, data: bytes) -> str:
    (tmp_path / "file").write_bytes(data)
    code = (
        f"from tests.security.test_bombs import *; decode_in_a_gigabyte({str(tmp_path / 'file')!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_largest_progressive_jpeg(tmp_path):
    """With four channels, which take the most memory of all."""
    assert in_a_gigabyte(tmp_path, jpeg("CMYK")) == f"({SIDE}, {SIDE}, 3)"


@pytest.mark.slow
def test_the_largest_png_of_sixteen_bits_and_four_channels(tmp_path):
    data = png(SIDE, SIDE, zeros(SIDE * (1 + 8 * SIDE)), depth=16, colour=6)
    assert len(data) < 2**23
    assert in_a_gigabyte(tmp_path, data) == f"({SIDE}, {SIDE}, 3)"


@pytest.mark.parametrize("kind", [b"zTXt", b"iCCP"])
def test_a_bomb_beside_the_pixels(tmp_path, kind):
    bomb = chunk(kind, b"name\0\0" + zeros(2 * GIGABYTE))
    assert len(bomb) < 2**24
    told = in_a_gigabyte(tmp_path, png(1, 1, zlib.compress(bytes(4)), extra=bomb))
    assert told == "(1, 1, 3)" or told.startswith("refused")


def test_more_pixels_than_the_header_gives(tmp_path):
    told = in_a_gigabyte(tmp_path, png(4, 4, zeros(GIGABYTE + 2**28)))
    assert told == "(4, 4, 3)" or told.startswith("refused")


def test_the_larger_the_frame_the_fewer_scans():
    """Twenty scans of a small frame are common; 33 of the largest would take minutes."""
    header = b"\xff\xd8\xff\xc2" + struct.pack(">HBHHB", 17, 8, SIDE, SIDE, 3)
    data = header + bytes(9) + b"\xff\xda\0\0" * 33 + b"\xff\xd9"
    with pytest.raises(InputError, match="more than 32 scans"):
        images.decode(data, "large.jpg")
