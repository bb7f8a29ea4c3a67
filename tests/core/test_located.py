"""Frames in no order: each the one it should be, and not a row group read for every one."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.folders import Shape, pixels_of, record, write_folder
from vidc import frames
from vidc.located import located
from vidc.reading import load
from vidc.rowgroups import RowGroup

SHAPE = Shape(videos=12, frames=20, size=40, configs=("snow",), rows_a_group=20)
ROWS = SHAPE.videos * SHAPE.frames


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("dataset"), SHAPE)


def mixed(seed: int = 0) -> list[int]:
    return random.Random(seed).sample(range(ROWS), ROWS)


def assert_right(reader, positions: list[int]) -> None:
    for position, frame in zip(positions, reader.frames(positions), strict=True):
        video, number = divmod(position, SHAPE.frames)
        assert (frame.video, frame.frame) == (f"val_{video:03d}", number)
        assert np.array_equal(frame.image, pixels_of("snow", video, number, SHAPE.size))


def bytes_read() -> int:
    """By this process so far, as the kernel counts them."""
    return int(Path("/proc/self/io").read_text().split("rchar: ")[1].split()[0])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the system does not count reads")
def test_no_row_group_is_read_for_every_frame(folder):
    reader = load(folder, "snow")
    stored = sum(path.stat().st_size for path in (folder / "data/snow").iterdir())
    before = bytes_read()
    assert_right(reader, mixed())
    # Once as groups, once to find the images, once as images; some for pages' headers and footers.
    assert bytes_read() - before < 4 * stored


def test_images_that_are_stored_in_another_way_are_read_all_the_same(folder, tmp_path):
    """As another program may have written the shards again."""
    for path in (folder / "data").rglob("*.parquet"):
        out = tmp_path / path.relative_to(folder)
        out.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pq.read_table(path), out, row_group_size=20, compression="zstd")
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, shard in manifest["shards"].items():
        manifest["shards"][name] = record(tmp_path / name, shard["rows"])
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert_right(load(tmp_path, "snow"), mixed(1))


# Few different bytes, so that images are equal, begin alike, or hold each other.
PICTURES = st.lists(st.binary(max_size=3) | st.just(b"\3\0\0\0abc") | st.just(b"abc"), min_size=1)


@given(PICTURES, st.sampled_from([1, 20, 1 << 20]))
@settings(deadline=None, max_examples=60)
def test_every_image_is_found_where_it_is(tmp_path_factory, pictures, page):
    path = tmp_path_factory.mktemp("shard") / "shard.parquet"
    image = pa.StructArray.from_arrays(
        [pa.array(pictures, pa.binary()), pa.array(["p"] * len(pictures))], names=["bytes", "path"]
    )
    plain = {"compression": "none", "use_dictionary": False, "data_page_size": page}
    pq.write_table(pa.table({"image": image, "n": range(len(pictures))}), path, **plain)
    file = pq.ParquetFile(path)
    table = file.read()
    group = RowGroup(
        shard="shard",
        path=path,
        file=file,
        number=0,
        first=7,
        images=table.column("image").combine_chunks().field("bytes"),
        table=table.drop_columns(["image"]),
        rows=[],
    )
    there = located(group)
    assert there is not None
    assert there.stop == 7 + len(pictures)
    for number, picture in enumerate(pictures):
        assert there.image(7 + number) == picture
        assert there.row(7 + number) == {"n": number}


def test_the_writers_image_column_is_the_one_that_is_looked_in(folder):
    from vidc.rowgroups import IMAGE_BYTES

    stored = pq.ParquetFile(next((folder / "data/snow").iterdir())).schema
    assert IMAGE_BYTES in [stored.column(i).path for i in range(len(stored))]
    assert frames.image_schema().field("image").type.get_field_index("bytes") >= 0
