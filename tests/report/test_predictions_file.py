"""predictions.parquet: what is read is what was written, and what is broken is told."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.report.generated import Shape, write_run
from vidc.errors import InputError
from vidc.eval.report.predictions import Predictions

KEY = ("imagenet-vid-c-sample", "snow", 5, 0)
SMALL = Shape(videos=5, frames=90, columns=("source", "unmix_tns"))


@pytest.fixture
def file(tmp_path):
    return write_run(tmp_path, SMALL) / "predictions.parquet"


def rewrite(file, change, **options):
    table = change(pq.read_table(file))
    pq.write_table(table, file, **({"row_group_size": 90} | options))


def test_a_cell_is_read_frame_by_frame_as_a_loop_reads_it(file):
    cell = Predictions(file, SMALL.columns).read(KEY)
    rows = [row for row in pq.read_table(file).to_pylist() if row["corruption"] == "snow"]
    assert len(cell) == len(rows) == 90
    for i, row in enumerate(rows):
        assert cell.videos[cell.video[i]] == row["video"]
        assert (cell.position[i], cell.frame[i]) == (row["position"], row["frame"])
        for column in SMALL.columns:
            answer = row[f"{column}_prediction"]
            assert cell.prediction[column][i] == answer
            assert cell.wrong[column][i] == (answer not in row["labels"])
            assert cell.confidence[column][i] == np.float32(row[f"{column}_confidence"])


def test_frames_with_several_classes_are_in_the_test(file):
    lengths = {len(labels) for labels in pq.read_table(file)["labels"].to_pylist()}
    assert lengths == {1, 2}


def test_a_cell_may_be_cut_into_row_groups(file):
    whole = Predictions(file, SMALL.columns).read(KEY)
    rewrite(file, lambda table: table, row_group_size=30)
    cut = Predictions(file, SMALL.columns).read(KEY)
    assert [cut.videos[i] for i in cut.video] == [whole.videos[i] for i in whole.video]
    for column in SMALL.columns:
        np.testing.assert_array_equal(cut.wrong[column], whole.wrong[column])
    assert [key[1] for key in Predictions(file, SMALL.columns).cells] == list(SMALL.corruptions)


def read_all(file):
    predictions = Predictions(file, SMALL.columns)
    return [predictions.read(key) for key in predictions.cells]


def set_confidence(table, value):
    place = table.schema.names.index("source_confidence")
    values = table["source_confidence"].to_numpy().copy()
    values[100] = value
    return table.set_column(place, "source_confidence", pa.array(values, pa.float32()))


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        (lambda table: table.drop_columns(["unmix_tns_confidence"]), {}, "unmix_tns_confidence"),
        (lambda table: table.drop_columns(["labels"]), {}, "'labels'"),
        (lambda table: table, {"row_group_size": 100}, "one cell"),
        (lambda table: pa.concat_tables([table, table]), {}, "two places"),
        (lambda table: set_confidence(table, np.nan), {}, "confidence nan"),
        (lambda table: set_confidence(table, 1.5), {}, "confidence 1.5"),
    ],
)
def test_a_broken_file_is_told_in_one_sentence(file, change, options, told):
    rewrite(file, change, **options)
    with pytest.raises(InputError, match=told) as raised:
        read_all(file)
    assert str(file) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"PAR1 not really", None])
def test_a_file_that_is_no_parquet_is_told(file, content):
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    with pytest.raises(InputError, match=r"predictions\.parquet"):
        Predictions(file, SMALL.columns)


def test_a_cell_that_is_not_there_is_told(file):
    with pytest.raises(InputError, match="fog"):
        Predictions(file, SMALL.columns).read(("imagenet-vid-c-sample", "fog", 5, 0))


def test_only_the_columns_asked_for_are_needed(file):
    both = Predictions(file, SMALL.columns).read(KEY)
    rewrite(file, lambda table: table.drop_columns(["source_prediction", "source_confidence"]))
    cell = Predictions(file, ["unmix_tns"]).read(KEY)
    assert set(cell.wrong) == {"unmix_tns"}
    np.testing.assert_array_equal(cell.wrong["unmix_tns"], both.wrong["unmix_tns"])
