"""Small files that would fill the memory: the largest that is accepted fits in a gigabyte."""

import io
import resource
import struct
import subprocess
import sys
import zipfile
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


def decoded(file: Path) -> str:
    return f"{images.decode(file.read_bytes(), 'large').shape}"


def network():
    from torch import nn

    return nn.Linear(2, 2)


def loaded(file: Path) -> str:
    from vidc.eval.weights import load_weights

    load_weights(network(), file, "mine")
    return "loaded"


def weights() -> bytes:
    import torch

    file = io.BytesIO()
    torch.save(network().state_dict(), file)
    return file.getvalue()


def read_in_a_gigabyte(read: str, small: str, file: str) -> None:
    """What the child does: import everything, then allow itself a gigabyte more."""
    function = {"decoded": decoded, "loaded": loaded}[read]
    function(Path(small))
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + GIGABYTE, now + GIGABYTE))
    try:
        sys.stdout.write(function(Path(file)))
    except InputError as mistake:
        sys.stdout.write(f"refused: {mistake}")


def in_a_gigabyte(tmp_path: Path, data: bytes, read: str = "decoded") -> str:
    small = weights() if read == "loaded" else png(1, 1, zlib.compress(bytes(4)))
    files = {tmp_path / "small": small, tmp_path / "file": data}
    for file, content in files.items():
        file.write_bytes(content)
    arguments = (read, *map(str, files))
    code = f"from tests.security.test_bombs import *; read_in_a_gigabyte(*{arguments!r})"
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


def test_weights_with_a_name_as_long_as_it_says(tmp_path):
    """A pickle's letter X: a text follows, of 3.9 billion letters."""
    told = in_a_gigabyte(tmp_path, b"X\x00\x00\x00\xe8", "loaded")
    assert "is not a weights file that is safe to load" in told


def test_weights_that_are_packed(tmp_path):
    """Torch's reader unpacks what its writer never packs; these would still fit in the memory."""
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(weights())) as plain,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bomb,
    ):
        for name in plain.namelist():
            with bomb.open(name, "w") as part:
                part.write(plain.read(name))
                for _ in range(64 if name.endswith("data.pkl") else 0):
                    part.write(bytes(2**20))  # after the pickle's end
    assert len(packed.getvalue()) < 2**18
    told = in_a_gigabyte(tmp_path, packed.getvalue(), "loaded")
    assert "is not a weights file that is safe to load" in told
