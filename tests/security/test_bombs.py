"""Small files that would fill the memory: the largest that is accepted fits in a gigabyte."""

import io
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest
from PIL import Image

from tests.fuzz import bounds
from vidc import images
from vidc.builders import imagenet_vid
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


def protocol(file: Path) -> str:
    from vidc.eval.protocol import load_protocol

    return load_protocol(file.rename(file.with_suffix(".toml"))).name


def results(file: Path) -> str:
    from vidc.eval.report.runs import read_run

    return read_run(file).name


def manifest(file: Path) -> str:
    from vidc.manifest import read

    return read(file.rename(file.with_name("manifest.json")).parent).name


def weights() -> bytes:
    import torch

    file = io.BytesIO()
    torch.save(network().state_dict(), file)
    return file.getvalue()


def packed_weights(megabytes: int) -> bytes:
    """Weights whose pickle is followed by so much of nothing, in a packed archive."""
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(weights())) as plain,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bomb,
    ):
        for name in plain.namelist():
            with bomb.open(name, "w") as part:
                part.write(plain.read(name))
                for _ in range(megabytes if name.endswith("data.pkl") else 0):
                    part.write(bytes(2**20))  # after the pickle's end
    return packed.getvalue()


READERS = {read.__name__: read for read in (decoded, loaded, protocol, results, manifest)}


def outcome(read: str, file: str) -> str:
    """What a reader says of a file; before, the child has imported all that reading needs."""
    try:
        return READERS[read](Path(file))
    except InputError as mistake:
        return f"refused: {mistake}"


def read_in_a_gigabyte(read: str, small: str, file: str) -> None:
    """What the child does: import everything, then read the file in a gigabyte more."""
    outcome(read, small)
    bounds.keep_the_machine_alive()
    with bounds.in_a_gigabyte():
        sys.stdout.write(outcome(read, file))


def read_measured(read: str, small: str, file: str) -> None:
    """Without a limit, which would turn what is asked for in vain into an error like any other."""
    outcome(read, small)
    before = peak()
    told = outcome(read, file)
    sys.stdout.write(f"{peak() - before} {told}")


def peak() -> int:
    """The most megabytes that this process has held."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 2**10


def in_a_child(how: str, tmp_path: Path, data: bytes, read: str) -> str:
    small = {"decoded": png(1, 1, zlib.compress(bytes(4))), "loaded": weights()}.get(read, b"")
    files = {tmp_path / "small" / "file": small, tmp_path / "large" / "file": data}
    for file, content in files.items():
        file.parent.mkdir()
        file.write_bytes(content)
    arguments = (read, *map(str, files))
    code = f"from tests.security.test_bombs import *; {how}(*{arguments!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_a_gigabyte(tmp_path: Path, data: bytes, read: str = "decoded") -> str:
    return in_a_child("read_in_a_gigabyte", tmp_path, data, read)


def measured(tmp_path: Path, data: bytes, read: str) -> tuple[int, str]:
    """By how many megabytes reading a file made the child grow, and what came of it."""
    megabytes, _, told = in_a_child("read_measured", tmp_path, data, read).partition(" ")
    return int(megabytes), told


@pytest.mark.slow
def test_the_largest_progressive_jpeg(tmp_path):
    """With four channels, which take the most memory of all."""
    assert in_a_gigabyte(tmp_path, jpeg("CMYK")) == f"({SIDE}, {SIDE}, 3)"


@pytest.mark.slow
def test_the_largest_png_of_sixteen_bits_and_four_channels(tmp_path):
    data = png(SIDE, SIDE, zeros(SIDE * (1 + 8 * SIDE)), depth=16, colour=6)
    assert len(data) < 2**23
    assert in_a_gigabyte(tmp_path, data) == f"({SIDE}, {SIDE}, 3)"


@pytest.mark.slow
def test_the_largest_png_that_says_it_is_animated(tmp_path):
    """OpenCV would keep four frames of an animation at once."""
    animated = chunk(b"acTL", struct.pack(">II", 2, 0))
    animated += chunk(b"fcTL", struct.pack(">5I2H2B", 0, SIDE, SIDE, 0, 0, 1, 9, 0, 0))
    rows = zeros(SIDE * (1 + 8 * SIDE))
    data = png(SIDE, SIDE, rows, depth=16, colour=6, extra=animated)
    assert in_a_gigabyte(tmp_path, data) == f"({SIDE}, {SIDE}, 3)"


@pytest.mark.parametrize("kind", [b"IDAT", b"PLTE", b"tEXt", b"acTL"])
def test_a_png_chunk_of_the_length_it_says(tmp_path, kind):
    """Forty-five bytes, for which OpenCV would make room for two gigabytes."""
    start = png(4, 4, b"").partition(chunk(b"IDAT", b""))[0]
    data = start + struct.pack(">I", 2**31 - 1) + kind + b"IEND"
    grown, told = measured(tmp_path, data, "decoded")
    assert told.startswith("refused")
    assert grown < 100


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
    packed = packed_weights(64)
    assert len(packed) < 2**18
    told = in_a_gigabyte(tmp_path, packed, "loaded")
    assert "is not a weights file that is safe to load" in told


@pytest.mark.parametrize("large", [False, True])
def test_weights_with_a_directory_for_each_reader(tmp_path, large):
    """Python's reader would take the second directory, and torch's the first."""
    packed = packed_weights(200)
    parts = packed[: packed.index(b"PK\1\2")]
    directory, end = packed[len(parts) : -22], packed[-22:]
    harmless = b"".join(map(of_one_byte, entries(directory)))
    if large:
        first, at = record(directory, len(parts)), len(parts + directory)
        second = record(harmless, at + len(first))
        locator = struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
        end = first + harmless + second + locator + end
    else:
        end = harmless + end
    grown, told = measured(tmp_path, parts + directory + end, "loaded")
    assert "is not a weights file that is safe to load" in told
    assert grown < 100


def entries(directory: bytes) -> list[bytes]:
    return [b"PK\1\2" + entry for entry in directory.split(b"PK\1\2")[1:]]


def of_one_byte(entry: bytes) -> bytes:
    return entry[:24] + struct.pack("<I", 1) + entry[28:]


def record(directory: bytes, offset: int) -> bytes:
    """The end record of a large archive."""
    count, size = len(entries(directory)), len(directory)
    versions = (44, 45, 45, 0, 0)
    return struct.pack("<4sQHHIIQQQQ", b"PK\6\6", *versions, count, count, size, offset)


def test_a_protocol_with_a_key_of_many_dots(tmp_path):
    """Thirty thousand letters, for which Python's reader would take more than a gigabyte."""
    data = b"[custom]\n" + b"a." * 15_000 + b"a = 1"
    grown, told = measured(tmp_path, data, "protocol")
    assert "give only what differs" in told
    assert grown < 100


def test_the_longest_protocol_with_a_key_of_many_dots(tmp_path):
    data = b"[custom]\n" + b"a." * ((8192 - 15) // 2) + b"a = 1"
    grown, told = measured(tmp_path, data, "protocol")
    assert "custom.a must be text" in told
    assert grown < 200


def test_an_annotation_of_many_elements():
    """Forty times its size in memory."""
    data = b"<annotation>" + b"<a/>" * 2**18 + b"</annotation>"
    with pytest.raises(InputError, match=r"000000\.xml is longer than any annotation"):
        imagenet_vid.parse(data, "000000.xml")


@pytest.mark.parametrize("read", ["results", "manifest"])
def test_json_of_many_small_values(tmp_path, read):
    """Twenty-four times its size in memory."""
    data = b"[" + b"[]," * 2**22 + b"0]"
    grown, told = measured(tmp_path, data, read)
    assert "holds more than 2621440 values" in told
    assert grown < 100


@pytest.mark.slow
def test_the_most_json_that_is_read(tmp_path):
    """As many objects as there may be, and as much text, four bytes a letter."""
    objects = (b'{"a":' * 31 + b"1" + b"}" * 31 + b",") * (5 * 2**19 // 32 - 1)
    text = b'"\xf0\x9f\x98\x80' + b"a" * (2**26 - len(objects) - 8) + b'"'
    grown, told = measured(tmp_path, b"[" + objects + text + b"]", "results")
    assert "has not the schema" in told
    assert grown < 1000


@pytest.mark.parametrize(
    ("read", "megabytes", "words"),
    [
        ("results", 64, "is larger than 64 MiB, the most that is read: evaluate fewer"),
        ("manifest", 32, "is too large to be a manifest"),
    ],
)
def test_json_that_is_larger_than_any_of_ours(tmp_path, read, megabytes, words):
    grown, told = measured(tmp_path, bytes(megabytes * 2**20 + 1), read)
    assert words in told
    assert grown < 1.5 * megabytes
