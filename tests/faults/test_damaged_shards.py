"""A dataset that is no longer what was built: verify finds it, and no number is given for it."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.faults.counting import cases
from tests.faults.running import Ended, contents, run
from vidc.builders.shardwriter import _writer_options

pytestmark = pytest.mark.slow

SHARD = "data/snow/val-00002-of-00004.parquet"
ANNOTATIONS = "data/annotations/val-00002-of-00004.parquet"


def truncate(file, other):
    file.write_bytes(file.read_bytes()[:-100])


def flip_a_bit_of_an_image(file, other):
    data = bytearray(file.read_bytes())
    image = pq.read_table(file)["image"][3].as_py()["bytes"]
    data[data.index(image) + len(image) * 2 // 3] ^= 0x04
    file.write_bytes(bytes(data))


def flip_a_bit_of_the_footer(file, other):
    data = bytearray(file.read_bytes())
    data[-60] ^= 0x01
    file.write_bytes(bytes(data))


def store(file, table):
    """Write a table as the builder would have, so that the file may even have the same size."""
    with pq.ParquetWriter(file, table.schema, **_writer_options(table.schema)) as writer:
        writer.write_table(table, row_group_size=table.num_rows)


def swap_rows(file, other):
    store(file, pq.read_table(file).take([0, 1, 4, 3, 2, 5]))


def swap_images(file, other):
    table = pq.read_table(file)
    images = table["image"].to_pylist()
    images[1]["bytes"], images[2]["bytes"] = images[2]["bytes"], images[1]["bytes"]
    store(file, table.set_column(0, "image", pa.array(images, table.schema.field("image").type)))


def copy_from_another_build(file, other):
    shutil.copy(other / SHARD, file)


def copy_from_another_place(file, other):
    shutil.copy(file.with_name("val-00001-of-00004.parquet"), file)


def zero_bytes(file, other):
    file.write_bytes(b"")


def remove(file, other):
    file.unlink()


SHARDS = (truncate, flip_a_bit_of_an_image, flip_a_bit_of_the_footer, swap_rows, swap_images)
SHARDS += (copy_from_another_build, copy_from_another_place, zero_bytes, remove)
LABELS = (truncate, flip_a_bit_of_the_footer, swap_rows)
DAMAGES = {damage.__name__: (SHARD, damage) for damage in SHARDS}
DAMAGES |= {f"{damage.__name__} of the labels": (ANNOTATIONS, damage) for damage in LABELS}
SHORT = ("truncate", "flip_a_bit_of_an_image", "swap_rows", "copy_from_another_build")


@pytest.fixture(scope="module")
def other(step_by_step, tmp_path_factory):
    """The same videos built with another seed."""
    folder = tmp_path_factory.mktemp("other")
    words = [*step_by_step["build"].words, "--seed", "1", "--out", folder / "out"]
    run("build", words, folder).assert_well()
    return folder / "out"


@pytest.mark.parametrize("what", cases(DAMAGES, *SHORT))
def test_damage(what, other, step_by_step, tmp_path):
    shard, damage = what
    left_alone, evaluated = step_by_step["build"], step_by_step["eval"]
    mine = shutil.copytree(left_alone.folder, tmp_path / "mine")
    damage(mine / shard, other)
    assert run("build", ["verify", mine, "--workers", "1"], tmp_path).code == 1
    assert shard in (tmp_path / "said.txt").read_text()
    words = [str(mine), *evaluated.words[1:], "--corruptions", "snow", "--out", tmp_path / "out"]
    ended = run("eval", words, tmp_path)
    if (shard, damage) == (SHARD, flip_a_bit_of_the_footer) and ended.code == 0:
        right_numbers(tmp_path / "out", evaluated)  # the bit is of nothing that is read
        shutil.rmtree(tmp_path / "out")
    else:
        without_words_of_libpng(ended).assert_told(shard)
    assert not list(tmp_path.glob("out/*/results.json"))
    # What is damaged is removed, and the build's own command makes it again.
    (mine / shard).unlink(missing_ok=True)
    run("build", [*left_alone.words, "--out", mine], tmp_path).assert_well()
    assert contents(mine) == left_alone.files
    run("eval", words, tmp_path).assert_well()
    right_numbers(tmp_path / "out", evaluated)


def right_numbers(out, evaluated):
    (path,) = out.glob("*/cells/*.parquet")
    assert path.read_bytes() == next(evaluated.folder.glob(f"*/cells/{path.name}")).read_bytes()


def without_words_of_libpng(ended):
    """OpenCV's libpng speaks for itself, on a line before ours, of a file that it cannot decode."""
    lines = ended.told.splitlines(keepends=True)
    return Ended(ended.code, "".join(line for line in lines if not line.startswith("libpng ")))
