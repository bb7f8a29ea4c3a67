"""Files as a careless or hostile hand leaves them: hypothesis strategies around valid ones."""

from __future__ import annotations

import copy
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

NUMBERS = (
    *(0, -1, 1, 2, 255, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**40),
    *(10**400, -(10**400), 0.5, -0.0, 1e-320, 1e308, -1e308, float("nan"), float("inf")),
)
TEXTS = (
    *("", " ", "\0", "\n", "a\nb", "\x1b[31m", "\ud800", "é", "☃" * 40, "x" * 5000, "nan", "1e999"),
    *("..", "../../etc/passwd", "/etc/passwd", "a/../../b", "data/../../x", "C:\\x", "%s{0}${x}"),
    *("<script>", "'\"><img src=x>", "n02084071", "clean", "snow", "rain_s3", "__class__"),
)


def deep(levels: int, inside: object = None) -> object:
    """Lists in lists."""
    value = inside
    for _ in range(levels):
        value = [value]
    return value


def odd_values() -> st.SearchStrategy[object]:
    """What a reader does not expect, and some of what it does."""
    return st.one_of(
        st.sampled_from(NUMBERS),
        st.sampled_from(TEXTS),
        st.sampled_from((None, True, False, [], {}, [[]], [None], {"": {}}, deep(90), {"a": [1]})),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
    )


@st.composite
def damaged(draw: st.DrawFn, valid: Sequence[bytes], tokens: Sequence[bytes] = ()) -> bytes:
    """One of the valid files after a few accidents, or a handful of arbitrary bytes."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    data = bytearray(draw(st.sampled_from(valid)))
    for _ in range(draw(st.sampled_from((1, 1, 2, 4)))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        length = draw(st.integers(1, 16))
        accident = draw(st.sampled_from(("flip", "cut", "drop", "put", "repeat", "token", "fill")))
        if accident == "flip" and data:
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif accident == "cut":
            del data[at:]
        elif accident == "drop":
            del data[at : at + length]
        elif accident == "put":
            data[at:at] = draw(st.binary(min_size=1, max_size=8))
        elif accident == "repeat":
            data[at:at] = bytes(data[at : at + length]) * draw(st.sampled_from((1, 2, 500)))
        elif accident == "token" and tokens:
            data[at : at + draw(st.sampled_from((0, length)))] = draw(st.sampled_from(tokens))
        elif accident == "fill":
            data[at : at + length] = draw(st.sampled_from((b"\0", b"\xff", b"\x7f"))) * length
    return bytes(data)


@st.composite
def damaged_json(draw: st.DrawFn, valid: Sequence[bytes]) -> bytes:
    """A JSON file in which values were replaced, removed, or put where none belongs."""
    if draw(st.integers(0, 4)) == 0:
        tokens = (b"[" * 100_000, b'{"a":' * 5000, b"NaN", b"1e999", b'"\\ud800"', b"9" * 5000)
        return draw(damaged(valid, tokens))
    content = changed(draw, json.loads(draw(st.sampled_from(valid))))
    return json.dumps(content).encode()


def changed(draw: st.DrawFn, content: Any) -> Any:
    """The content with a few of its values changed, each at a random place."""
    content = copy.deepcopy(content)
    for _ in range(draw(st.integers(1, 3))):
        content = _change_one(draw, content)
    return content


def _change_one(draw: st.DrawFn, content: Any) -> Any:
    if not isinstance(content, dict | list) or not content or draw(st.integers(0, 5)) == 0:
        return _in_place_of(draw, content)
    keys = sorted(content) if isinstance(content, dict) else range(len(content))
    key = draw(st.sampled_from(keys))
    what = draw(st.sampled_from(("inside", "inside", "inside", "remove", "rename", "twice")))
    if what == "inside":
        content[key] = _change_one(draw, content[key])
    elif what == "remove":
        del content[key]
    elif isinstance(content, list):
        content.append(content[key])
    else:
        other = draw(st.sampled_from(TEXTS) | st.sampled_from(keys))
        content[other] = copy.deepcopy(content[key]) if what == "twice" else content.pop(key)
    return content


def _in_place_of(draw: st.DrawFn, value: Any) -> Any:
    """Often a neighbour of the value, which reaches further into a reader than nonsense does."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (isinstance(value, str) or (number and abs(value) < 2**64)):
        return draw(odd_values())
    near: Any = (
        st.sampled_from((value + "x", value[:-1], value.upper(), f"{value}\0"))
        if isinstance(value, str)
        else st.sampled_from((value + 1, value - 1, -value, value * 2, float(value)))
    )
    return draw(near | odd_values())


@st.composite
def damaged_png_or_jpeg(draw: st.DrawFn, valid: Sequence[bytes]) -> bytes:
    """An image file; half of the PNG files get new checksums, so that the damage is looked at."""
    data = draw(damaged(valid, (b"\xff\xd8", b"\xff\xda", b"\xff\xc2", b"\xff\xd9", b"IDAT")))
    return with_checksums(data) if data[:4] == b"\x89PNG" and draw(st.booleans()) else data


def with_checksums(png: bytes) -> bytes:
    """The PNG file with the right checksum after each chunk that is whole."""
    data = bytearray(png)
    at = 8
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        end = at + 8 + length
        if end + 4 > len(data):
            break
        struct.pack_into(">I", data, end, zlib.crc32(data[at + 4 : end]))
        at = end + 4
    return bytes(data)


@st.composite
def damaged_safetensors(draw: st.DrawFn, valid: Sequence[bytes]) -> bytes:
    """A safetensors file; mostly its header is changed as JSON, its length being right."""
    if draw(st.integers(0, 3)) == 0:
        return draw(damaged(valid))
    data = draw(st.sampled_from(valid))
    (length,) = struct.unpack_from("<Q", data)
    header = changed(draw, json.loads(data[8 : 8 + length]))
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


# What a pickle of tensors is made of: the makers that torch lets in, sizes, and what joins them.
_MAKERS = (
    *("tensor_v2", "parameter", "sparse_tensor", "qtensor", "meta_tensor_no_storage"),
    *("wrapper_subclass", "nested_tensor", "device_tensor_from_numpy"),
)
_SIZES = (
    b"K\xff",
    b"M\xff\xff",
    b"J\xff\xff\xff\x7f",
    b"J\xff\xff\xff\xff",
    b"\x8a\x08" + b"\x7f" * 8,
)
_PICKLED = (
    *(f"ctorch._utils\n_rebuild_{maker}\n".encode() for maker in _MAKERS),
    *(b"ctorch\nFloatStorage\n", b"ctorch\nSize\n", b"ccollections\nOrderedDict\n"),
    *(b"cbuiltins\neval\n", b"X\x00\x00\x00\xe8", *_SIZES),
    *(bytes([code]) for code in b"()tRQN}us0\x85\x86\x87\x88"),
)


@st.composite
def damaged_archive(draw: st.DrawFn, valid: Sequence[bytes]) -> bytes:
    """A zip archive of torch's; mostly its pickle is changed, and all around it is right."""
    whole = draw(st.sampled_from(valid))
    how = draw(st.sampled_from(("not", "not", "pickle", "pickle", "any part", "bytes")))
    if how == "not":
        return whole
    if how == "bytes":
        return draw(damaged([whole]))
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    pickles = [name for name in parts if name.endswith("data.pkl")]
    name = draw(st.sampled_from(pickles if how == "pickle" else sorted(parts)))
    parts[name] = draw(damaged([parts[name]], _PICKLED))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return file.getvalue()


@st.composite
def damaged_table(draw: st.DrawFn, table: pa.Table) -> pa.Table:
    """A table some of whose rows, columns or types are not what they were."""
    for _ in range(draw(st.integers(1, 2))):
        if not table.num_columns:
            break
        at = draw(st.integers(0, table.num_columns - 1))
        name = table.column_names[at]
        what = draw(
            st.sampled_from(("value", "value", "null", "type", "remove", "rename", "rows", "bytes"))
        )
        if what == "value":
            table = _with_odd_value(draw, table, at)
        elif what == "null":
            table = table.set_column(at, name, pa.nulls(len(table), table.column(at).type))
        elif what == "type":
            other = draw(st.sampled_from((pa.int8(), pa.float64(), pa.string(), pa.null())))
            table = table.set_column(at, name, pa.nulls(len(table), other))
        elif what == "remove":
            table = table.remove_column(at)
        elif what == "rename":
            other = draw(st.sampled_from(("", "image", "video", "frame", "label", "é")))
            table = table.rename_columns(
                [other if i == at else each for i, each in enumerate(table.column_names)]
            )
        elif what == "rows":
            rows = (
                st.lists(st.integers(0, len(table) - 1), max_size=6) if len(table) else st.just([])
            )
            table = table.take(pa.array(draw(rows), pa.int64()))
        elif pa.types.is_string(table.column(at).type):
            broken = pa.array([b"\xff\xfe"] * len(table), pa.binary()).view(pa.string())
            table = table.set_column(at, name, broken)
    return table


def damaged_parquet(table: pa.Table) -> st.SearchStrategy[bytes]:
    """The file of such a table, in row groups of some size."""
    # Deferred, because hypothesis prints what it was given: the whole table.
    tables = st.deferred(lambda: damaged_table(table))
    return st.builds(_parquet, tables, st.sampled_from((1, 2, 100)))


def _parquet(table: pa.Table, group: int) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=group)
    return file.getvalue()


def _with_odd_value(draw: st.DrawFn, table: pa.Table, at: int) -> pa.Table:
    """One row's value changed, where the column's type can hold what was drawn."""
    column = table.column(at)
    try:
        values = column.to_pylist()
    except UnicodeDecodeError:  # its texts have been broken before
        return table
    if not values:
        return table
    row = draw(st.integers(0, len(values) - 1))
    values[row] = _change_one(draw, copy.deepcopy(values[row]))
    try:
        return table.set_column(at, table.column_names[at], pa.array(values, column.type))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return table
