"""What is in the shards: read back with other libraries and compared frame by frame."""

import hashlib
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import vidc
from tests.builders import builds, trees
from vidc import manifest as manifests
from vidc.builders.building import build
from vidc.builders.pipeline import Recipe
from vidc.builders.plan import frame_bytes
from vidc.builders.shardwriter import _HashedFile
from vidc.classes import class_list
from vidc.frames import annotations_features, image_features
from vidc.images import Encoding

VIDEOS = {"a": 5, "b c": 3, "ü": 4}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    things = [trees.Thing(), trees.Thing(trees.CAR, (0, 0, 10, 10), track=3, occluded=1)]
    folder = tmp_path_factory.mktemp("clean")
    return trees.write_imagenet_vid(folder, VIDEOS, things=things)


@pytest.fixture(scope="module", autouse=True)
def _no_card():
    """The card is looked at elsewhere, and takes longer than these builds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vidc.builders.card.write", lambda folder: None)
        yield


@pytest.fixture(scope="module")
def built(root, tmp_path_factory):
    out = tmp_path_factory.mktemp("built") / "dataset"
    return out, build(builds.request(root, out))


def rows_of(out, config):
    files = sorted((out / "data" / config).iterdir())
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def test_frames_are_all_there_in_order_and_equal_in_every_config(built):
    out, manifest = built
    wanted = [(video, frame) for video, count in VIDEOS.items() for frame in range(count)]
    labels = ("video", "frame", "label", "labels", "objects")
    recorded = [[row[name] for name in labels] for row in rows_of(out, "annotations")]
    assert [(row[0], row[1]) for row in recorded] == wanted
    for config in ("clean", "gaussian_noise", "snow_s3"):
        assert [[row[name] for name in labels] for row in rows_of(out, config)] == recorded
    assert (manifest.videos, manifest.frames) == (3, 12)
    assert manifest.class_counts["dog"] == 12
    assert sum(manifest.class_counts.values()) == 12
    assert not manifest.complete  # three videos are not the release's 555


def test_pixels_are_the_public_functions_and_hashes_are_theirs(built):
    out, _ = built
    recorded = rows_of(out, "annotations")
    clean = [np.asarray(Image.open(io.BytesIO(r["image"]["bytes"]))) for r in rows_of(out, "clean")]
    for config, name, severity in (("gaussian_noise", "gaussian_noise", 5), ("snow_s3", "snow", 3)):
        for row, base, note in zip(rows_of(out, config), clean, recorded, strict=True):
            stored = np.asarray(Image.open(io.BytesIO(row["image"]["bytes"])))
            key = ("imagenet-vid", row["video"], row["frame"])
            assert np.array_equal(stored, vidc.corrupt(base, name, severity, key=key))
            plain = hashlib.sha256(repr(stored.shape).encode() + stored.tobytes()).hexdigest()
            assert note["sha256"][config] == plain
            assert (row["corruption"], row["severity"]) == (name, severity)
            assert row["image"]["path"] == f"{row['video']}/{row['frame']:06d}.png"


def test_row_groups_hold_one_video_and_images_are_plain(built):
    out, manifest = built
    for path in manifest.shards:
        file = pq.ParquetFile(out / path)
        for number in range(file.num_row_groups):
            assert len(set(file.read_row_group(number, ["video"])["video"].to_pylist())) == 1
            if "annotations" in path:
                continue
            image = file.metadata.row_group(number).column(0)
            assert image.path_in_schema == "image.bytes"
            assert image.compression == "UNCOMPRESSED"
            assert set(image.encodings) <= {"PLAIN", "RLE"}
            assert not image.is_stats_set
            assert image.has_offset_index


def test_long_videos_are_cut_into_row_groups_and_shards(tmp_path):
    root = trees.write_imagenet_vid(tmp_path, {"long": 21, "short": 2}, size=(16, 16))
    pairs = (("gaussian_noise", 5),)
    frame = frame_bytes(Recipe(pairs, size=8), "gaussian_noise")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vidc.builders.plan.ROW_GROUP_FRAMES", 4)
        manifest = build(
            builds.request(root, tmp_path / "out", size=8, corruptions=pairs, shard_size=9 * frame)
        )
    groups = [
        [
            pq.ParquetFile(tmp_path / "out" / path).metadata.row_group(number).num_rows
            for number in range(pq.ParquetFile(tmp_path / "out" / path).num_row_groups)
        ]
        for path in manifest.files("gaussian_noise")
    ]
    assert groups == [[4, 4], [4, 4], [4, 1], [2]]
    assert (manifest.videos, manifest.frames) == (2, 23)


def test_the_files_have_the_features_that_datasets_wants(built):
    import datasets

    out, manifest = built
    classes = class_list("imagenet-vid")
    for config, features in (
        ("snow_s3", image_features(classes)),
        ("annotations", annotations_features(classes, manifest.hashed_configs)),
    ):
        files = sorted(str(file) for file in (out / "data" / config).iterdir())
        stream = datasets.load_dataset(
            "parquet", data_files=files, features=features, streaming=True, split="train"
        )
        rows = list(stream)
        assert len(rows) == 12
        assert rows[0]["label"] == classes.index("dog")
    assert rows[0]["sha256"]["clean"] is not None


def test_the_manifest_tells_the_truth_about_every_file(built):
    out, manifest = built
    on_disk = builds.contents(out)
    assert set(on_disk) == {"manifest.json", *manifest.shards}
    for path, shard in manifest.shards.items():
        assert shard.sha256 == on_disk[path]
        assert shard.bytes == (out / path).stat().st_size
        assert shard.rows == pq.ParquetFile(out / path).metadata.num_rows
    assert manifests.read(out) == manifest
    content = json.loads((out / "manifest.json").read_text())
    assert list(content) == sorted(content)


@pytest.mark.parametrize("clean", [True, False])
def test_jpeg_hashes_are_of_what_a_reader_gets(root, tmp_path, clean):
    pairs = (("clean", 0), ("snow", 5)) if clean else (("snow", 5),)
    encoding = Encoding("jpeg", 85, "420")
    out = tmp_path / "out"
    build(builds.request(root, out, corruptions=pairs, encoding=encoding, limit_videos=1))
    notes = rows_of(out, "annotations")
    for config in [name for name, _ in pairs]:
        for row, note in zip(rows_of(out, config), notes, strict=True):
            stored = np.asarray(Image.open(io.BytesIO(row["image"]["bytes"])))
            plain = hashlib.sha256(repr(stored.shape).encode() + stored.tobytes()).hexdigest()
            assert note["sha256"][config] == plain
            assert row["image"]["path"].endswith(".jpg")
    assert [note["sha256"]["clean"] for note in notes] == _clean_jpeg_hashes(root, tmp_path)


def _clean_jpeg_hashes(root, tmp_path):
    """The clean hashes of a build that does store the clean frames."""
    out = tmp_path / "with-clean"
    build(
        builds.request(
            root,
            out,
            corruptions=(("clean", 0),),
            encoding=Encoding("jpeg", 85, "420"),
            limit_videos=1,
        )
    )
    return [row["sha256"]["clean"] for row in rows_of(out, "annotations")]


def test_a_write_that_takes_a_part_is_continued(tmp_path):
    class Slow(io.FileIO):
        def write(self, data):
            return super().write(data[:1000])

    written = _HashedFile(Slow(tmp_path / "x", "w"))
    data = bytes(range(256)) * 20
    assert written.write(pa.py_buffer(data)) == len(data)
    shard = written.finish(rows=1)
    assert (tmp_path / "x").read_bytes() == data
    assert (shard.bytes, shard.sha256) == (len(data), hashlib.sha256(data).hexdigest())


def test_stride_and_native_size(root, tmp_path):
    out = tmp_path / "out"
    manifest = build(builds.request(root, out, stride=2, size=None, corruptions=(("clean", 0),)))
    rows = rows_of(out, "clean")
    assert [(r["video"], r["frame"]) for r in rows] == [
        (video, frame) for video, count in VIDEOS.items() for frame in range(0, count, 2)
    ]
    assert Image.open(io.BytesIO(rows[0]["image"]["bytes"])).size == (160, 90)
    assert not manifest.complete


def test_the_size_estimate_is_near_the_truth(tmp_path):
    root = trees.write_imagenet_vid(tmp_path, {"v": 3}, size=(360, 480))
    for encoding in (Encoding("png"), Encoding("jpeg")):
        out = tmp_path / encoding.format
        request = builds.request(root, out, size=224, encoding=encoding)
        manifest = build(request)
        from vidc.builders.plan import estimated_bytes

        images = sum(
            shard.bytes for path, shard in manifest.shards.items() if "annotations" not in path
        )
        assert 0.5 <= estimated_bytes(request.settings.recipe, 3) / images <= 2
