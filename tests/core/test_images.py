"""Decoding against Pillow, encoding against Pillow, and files that are broken or hostile."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import vidc
from tests.builders.trees import jpeg, picture, png
from vidc import images
from vidc.errors import InputError
from vidc.images import Encoding


def with_pillow(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def with_segments(data: bytes, size: int) -> bytes:
    """A JPEG with comment segments of this many bytes before everything else."""
    comment = b"\xff\xfe" + struct.pack(">H", 60_002) + b"\xff" * 60_000
    return data[:2] + comment * -(-size // len(comment)) + data[2:]


def png_chunk(kind: bytes, body: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + checksum


def huge_png(width: int, height: int) -> bytes:
    """A valid file of a few bytes whose header claims this size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IEND", b"")


@pytest.mark.parametrize("shape", [(1, 1), (17, 33), (90, 160), (223, 97)])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("progressive", [False, True])
def test_jpeg_pixels_are_pillows(shape, subsampling, progressive):
    pixels = picture(*shape)
    data = jpeg(pixels, subsampling=subsampling, progressive=progressive, quality=77)
    assert np.array_equal(images.decode(data, "x"), with_pillow(data))


@pytest.mark.parametrize("mode", ["L", "CMYK"])
def test_jpeg_that_is_not_rgb_decodes_as_pillow_does(mode):
    buffer = io.BytesIO()
    Image.fromarray(picture(48, 64)).convert(mode).save(buffer, "JPEG", quality=95)
    decoded = images.decode(buffer.getvalue(), "x")
    assert decoded.shape == (48, 64, 3)
    assert np.array_equal(decoded, with_pillow(buffer.getvalue()))


def test_jpeg_stored_as_rgb():
    data = jpeg(picture(48, 64), keep_rgb=True)
    assert np.array_equal(images.decode(data, "x"), with_pillow(data))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
def test_png_pixels_are_pillows(mode):
    data = png(Image.fromarray(picture(48, 64)).convert(mode))
    assert np.array_equal(images.decode(data, "x"), with_pillow(data))


def test_a_png_may_be_called_jpeg():
    pixels = picture(48, 64)
    assert np.array_equal(images.decode(png(pixels), "000000.JPEG"), pixels)


@pytest.mark.parametrize("channels", [1, 3])
def test_of_sixteen_bits_the_high_byte_is_kept(channels):
    values = np.random.default_rng(0).integers(0, 1 << 16, (8, 9, channels), np.uint16)
    header = struct.pack(">IIBBBBB", 9, 8, 16, 0 if channels == 1 else 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    chunks = png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(rows))
    data = b"\x89PNG\r\n\x1a\n" + chunks + png_chunk(b"IEND", b"")
    assert np.array_equal(images.decode(data, "x"), np.broadcast_to(values >> 8, (8, 9, 3)))


BESIDE = {
    "profile": png_chunk(b"iCCP", b"\x1b[2Jevil\0\0" + zlib.compress(bytes(200), 0)),
    "gamma": png_chunk(b"gAMA", struct.pack(">I", 20_000)),
    "background": png_chunk(b"bKGD", b"\0\1\0\2\0\3"),
    "text": png_chunk(b"tEXt", b"Comment\0words"),
    "animation": png_chunk(b"acTL", struct.pack(">II", 2, 0))
    + png_chunk(b"fcTL", struct.pack(">5I2H2B", 0, 64, 48, 0, 0, 1, 9, 0, 0)),
    "empty animation": png_chunk(b"acTL", b"") + png_chunk(b"fcTL", b""),
}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("before", [b"IDAT", b"IEND"])
def test_what_a_png_holds_beside_its_pixels_changes_and_prints_nothing(beside, before, capfd):
    pixels = picture(48, 64)
    data = png(pixels)
    at = data.index(before) - 4
    assert np.array_equal(images.decode(data[:at] + BESIDE[beside] + data[at:], "x"), pixels)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("mode", ["L", "P", "RGB"])
def test_a_transparent_colour_is_left_as_it_is(mode):
    image = Image.fromarray(picture(48, 64)).convert(mode)
    colour = image.getpixel((3, 5))
    data = png(image, transparency=colour)
    assert b"tRNS" in data
    assert np.array_equal(images.decode(data, "x"), np.asarray(image.convert("RGB")))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("write", [jpeg, png])
def test_the_orientation_in_exif_is_ignored(orientation, write):
    exif = Image.Exif()
    exif[0x0112] = orientation
    pixels = picture(20, 31)
    assert np.array_equal(
        images.decode(write(pixels, exif=exif), "x"), images.decode(write(pixels), "x")
    )


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 0.9999), st.sampled_from(["jpeg", "progressive", "cmyk", "png"]))
def test_a_truncated_file_is_an_error_that_names_it(part, kind):
    data = WHOLE[kind]
    with pytest.raises(InputError, match=r"video/000007\.JPEG"):
        images.decode(data[: int(len(data) * part)], "video/000007.JPEG")


def test_the_end_of_a_thumbnail_is_not_the_end_of_the_file():
    thumbnail = jpeg(picture(16, 16))
    segment = b"\xff\xe1" + struct.pack(">H", len(thumbnail) + 2) + thumbnail
    whole = jpeg(picture(48, 64))
    data = whole[:2] + segment + whole[2:]
    assert np.array_equal(images.decode(data, "x"), with_pillow(whole))
    with pytest.raises(InputError, match="truncated"):
        images.decode(data[:-40], "x")


@pytest.mark.parametrize("data", [b"", b"no image", b"GIF89a" + bytes(50), b"\xff\xd8", b"\x89PNG"])
def test_what_is_no_image_is_an_error_that_names_it(data):
    with pytest.raises(InputError, match=r"000003\.JPEG"):
        images.decode(data, "000003.JPEG")


@pytest.mark.parametrize("kind", ["BMP", "GIF", "PPM", "TIFF", "WEBP"])
def test_no_other_kind_of_image_is_read(kind):
    buffer = io.BytesIO()
    Image.fromarray(picture(16, 16)).save(buffer, kind)
    with pytest.raises(InputError, match="neither a JPEG nor a PNG"):
        images.decode(buffer.getvalue(), "frame")


def test_a_png_without_pixels_is_told_in_the_error_alone(capfd):
    with pytest.raises(InputError, match="cannot be decoded"):
        images.decode(huge_png(4, 4), "x")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("size", [(20_000, 20_000), (8193, 8192), (1 << 31, 1 << 31)])
def test_a_png_bomb_is_refused_by_its_header(size):
    with pytest.raises(InputError, match="pixels large"):
        images.decode(huge_png(*size), "bomb.png")


def test_a_jpeg_bomb_is_refused_by_its_header():
    data = bytearray(jpeg(picture(16, 16)))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", 65_500, 65_500)
    with pytest.raises(InputError, match="pixels large"):
        images.decode(bytes(data), "bomb.jpg")


def test_a_bomb_of_scans_is_refused():
    data = jpeg(picture(16, 16), progressive=True)
    at = data.index(b"\xff\xda")
    with pytest.raises(InputError, match="scans"):
        images.decode(data[:at] + data[at:-2] * 600 + b"\xff\xd9", "bomb.jpg")


@pytest.mark.parametrize(("side", "most"), [(8192, 32), (4096, 128), (2048, 500), (16, 500)])
def test_the_larger_a_frame_the_fewer_scans_it_may_have(side, most):
    """32 times over the largest frame, of 8192 × 8192, or as often over as many pixels."""
    header = b"\xff\xd8\xff\xc2" + struct.pack(">HBHHB", 17, 8, side, side, 3) + bytes(9)
    assert images.size(header + b"\xff\xda\0\0" * most, "x") == (side, side)
    with pytest.raises(InputError, match=f"more than {most} scans"):
        images.size(header + b"\xff\xda\0\0" * (most + 1), "x")


def test_a_frame_twenty_thousand_pixels_wide_is_fine():
    pixels = np.zeros((64, 20_000, 3), np.uint8)
    pixels[:, ::7] = 255
    assert np.array_equal(images.decode(png(pixels), "x"), pixels)
    assert images.decode(jpeg(pixels), "x").shape == pixels.shape


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["jpeg", "progressive", "cmyk", "png"]),
    st.lists(st.tuples(st.floats(0, 0.999), st.binary(min_size=1, max_size=4)), max_size=6),
)
def test_damaged_files_decode_or_are_refused(kind, damage):
    data = bytearray(WHOLE[kind])
    for place, junk in damage:
        at = int(place * len(data))
        data[at : at + len(junk)] = junk
    decoded_or_refused(bytes(data))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([b"", b"\xff\xd8", b"\xff\xd8\xff\xc0", b"\x89PNG\r\n\x1a\n"]), st.binary())
def test_random_bytes_decode_or_are_refused(start, rest):
    decoded_or_refused(start + rest)


def decoded_or_refused(data: bytes) -> None:
    try:
        pixels = images.decode(data, "x")
    except InputError as error:
        outcome = str(error)
    else:
        outcome = f"x is {pixels.dtype} {pixels.ndim}"
    assert outcome.startswith("x ")
    assert outcome.endswith((".", "uint8 3"))


@pytest.mark.parametrize("extra", [0, 50_000, 200_000])
def test_the_size_is_read_from_the_beginning_of_the_file(tmp_path, extra):
    file = tmp_path / "a.jpg"
    file.write_bytes(with_segments(jpeg(picture(37, 91)), extra))
    assert images.file_size(file) == (37, 91)
    # Nothing after the header is needed: what could not be decoded still has a size.
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.index(b"\xff\xda")])
    assert images.file_size(file) == (37, 91)


def test_the_size_of_a_png_and_of_no_image(tmp_path):
    file = tmp_path / "a.png"
    file.write_bytes(png(picture(37, 91)))
    assert images.file_size(file) == (37, 91)
    file.write_bytes(b"text")
    with pytest.raises(InputError, match=r"a\.png"):
        images.file_size(file)
    with pytest.raises(InputError, match="gone"):
        images.file_size(tmp_path / "gone")


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 3), st.randoms())
def test_png_keeps_every_pixel(height, width, flatness, random):
    rng = np.random.default_rng(random.randrange(1 << 32))
    pixels = rng.integers(0, 256 >> (2 * flatness), (height, width, 3), np.uint8)
    data = images.encode(pixels, Encoding("png"))
    assert np.array_equal(with_pillow(data), pixels)
    assert data == images.encode(np.asfortranarray(pixels), Encoding("png"))


@pytest.mark.parametrize("name", ["clean", "gaussian_noise", "snow", "rain"])
def test_png_is_about_as_small_as_with_a_filter_chosen_for_each_row(name):
    import cv2

    pixels = picture(224, 224)
    if name != "clean":
        pixels = vidc.corrupt(pixels, name, key=("imagenet-vid", "video", 0))
    parameters = [
        *(cv2.IMWRITE_PNG_COMPRESSION, 1),
        *(cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_HUFFMAN_ONLY),
        *(cv2.IMWRITE_PNG_FILTER, cv2.IMWRITE_PNG_ALL_FILTERS),
    ]
    _, smallest = cv2.imencode(".png", pixels, parameters)
    assert len(images.encode(pixels, Encoding("png"))) < 1.25 * len(smallest)


@pytest.mark.parametrize(("subsampling", "pillows"), [("420", 2), ("444", 0)])
@pytest.mark.parametrize("quality", [1, 50, 85, 100])
def test_jpeg_stores_the_pixels_that_pillow_would(subsampling, pillows, quality):
    pixels = picture(224, 224)
    ours = images.encode(pixels, Encoding("jpeg", quality, subsampling))
    theirs = jpeg(pixels, quality=quality, subsampling=pillows)
    assert np.array_equal(with_pillow(ours), with_pillow(theirs))
    assert np.array_equal(images.decode(ours, "x"), with_pillow(ours))


def test_the_hash_is_over_shape_and_bytes():
    pixels = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    by_hand = hashlib.sha256(b"(1, 2, 3)\x00\x01\x02\x03\x04\x05").hexdigest()
    assert images.pixel_hash(pixels) == by_hand
    assert images.pixel_hash(np.asfortranarray(pixels)) == by_hand
    assert images.pixel_hash(pixels.reshape(2, 1, 3)) != by_hand


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"format": "pgn"}, "png"),
        ({"subsampling": "422"}, "420"),
        ({"quality": 0}, "from 1 to 100"),
        ({"quality": 101}, "from 1 to 100"),
    ],
)
def test_an_encoding_that_is_not_offered(options, word):
    with pytest.raises(InputError, match=word):
        Encoding(**options)


def test_extensions():
    assert (Encoding("png").extension, Encoding("jpeg").extension) == ("png", "jpg")


def _whole() -> dict[str, bytes]:
    pixels = picture(48, 64)
    buffer = io.BytesIO()
    Image.fromarray(pixels).convert("CMYK").save(buffer, "JPEG")
    return {
        "jpeg": jpeg(pixels),
        "progressive": jpeg(pixels, progressive=True),
        "cmyk": buffer.getvalue(),
        "png": png(pixels),
    }


WHOLE = _whole()
