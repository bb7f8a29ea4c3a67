"""verify finds whatever may happen to a dataset on a disk, and says where."""

import hashlib
import json
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.builders import builds, trees
from vidc import manifest as manifests
from vidc.build import main
from vidc.builders.building import build
from vidc.builders.verify import verify
from vidc.builders.verify_pixels import remake
from vidc.errors import InputError

VIDEOS = {"a": 4, "b": 5, "c": 3}
SNOW = "data/snow_s3/val-00001-of-00003.parquet"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return trees.write_imagenet_vid(tmp_path_factory.mktemp("clean"), VIDEOS)


@pytest.fixture(scope="module")
def pristine(root, tmp_path_factory):
    out = tmp_path_factory.mktemp("built") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vidc.builders.card.write", lambda folder: None)
        build(builds.request(root, out))
    return out


@pytest.fixture
def dataset(pristine, tmp_path):
    return shutil.copytree(pristine, tmp_path / "dataset")


def findings(dataset):
    return verify(dataset, builds.SERIAL)


def rewrite(dataset, path, change):
    """Store a changed table as the shard, and let the manifest believe in it."""
    file = dataset / path
    table = change(pq.read_table(file))
    pq.write_table(table, file)
    believe(dataset, path, table.num_rows)


def believe(dataset, path, rows):
    """Make the manifest's hash and counts those of the file, to reach the checks behind them."""
    data = (dataset / path).read_bytes()
    text = json.loads((dataset / "manifest.json").read_text())
    text["shards"][path] = {
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
        "rows": rows,
    }
    (dataset / "manifest.json").write_text(json.dumps(text))


def test_a_dataset_as_it_was_built_has_nothing_wrong(pristine, root):
    assert findings(pristine) == []
    assert remake(pristine, root, 100, 0, builds.SERIAL) == (12, [])
    assert remake(pristine, root, 5, 0, builds.SERIAL) == (5, [])


def test_a_truncated_shard(dataset):
    file = dataset / SNOW
    file.write_bytes(file.read_bytes()[:-20])
    found = findings(dataset)
    assert f"{SNOW} is not the file that was built: its sha256 is not the manifest's" in found
    assert any(f"{SNOW} is not a whole Parquet file" in finding for finding in found)


def test_one_flipped_bit_in_an_image_is_located(dataset):
    file = dataset / SNOW
    data = bytearray(file.read_bytes())
    image = pq.read_table(file)["image"][2].as_py()["bytes"]
    data[data.index(image) + len(image) // 2] ^= 0x10
    file.write_bytes(bytes(data))
    found = findings(dataset)
    assert f"{SNOW} is not the file that was built: its sha256 is not the manifest's" in found
    assert any(f"{SNOW}, frame 2 of b" in finding for finding in found)


def test_every_bit_of_a_file_counts(dataset):
    file = dataset / "data/annotations/val-00000-of-00003.parquet"
    original = file.read_bytes()
    for position in range(0, len(original), len(original) // 12):
        data = bytearray(original)
        data[position] ^= 1
        file.write_bytes(bytes(data))
        assert findings(dataset)


def test_swapped_rows(dataset):
    rewrite(dataset, SNOW, lambda table: table.take([0, 2, 1, 3, 4]))
    assert any(
        f"{SNOW}, frame 1 of b: the row is frame 2 of b" in each for each in findings(dataset)
    )


def test_swapped_images_under_the_right_labels(dataset):
    def swap(table):
        images = table["image"].take([0, 2, 1, 3, 4]).to_pylist()
        paths = table["image"].to_pylist()
        mixed = [
            {"bytes": i["bytes"], "path": p["path"]} for i, p in zip(images, paths, strict=True)
        ]
        return table.set_column(0, "image", pa.array(mixed, table.schema.field("image").type))

    rewrite(dataset, SNOW, swap)
    found = findings(dataset)
    assert [each for each in found if "its pixels are not those that were built" in each] == [
        f"{SNOW}, frame 1 of b: its pixels are not those that were built",
        f"{SNOW}, frame 2 of b: its pixels are not those that were built",
    ]


def test_rows_swapped_in_every_config_break_the_order(dataset):
    for config in ("clean", "gaussian_noise", "snow_s3", "annotations"):
        path = f"data/{config}/val-00001-of-00003.parquet"
        rewrite(dataset, path, lambda table: table.take([0, 2, 1, 3, 4]))
    assert findings(dataset) == ["frame 1 of b comes after frame 2 of b: the order is broken"]


def test_a_shard_of_another_build(dataset, root, tmp_path, monkeypatch):
    monkeypatch.setattr("vidc.builders.card.write", lambda folder: None)
    other = tmp_path / "other"
    build(builds.request(root, other, seed=1))
    shutil.copy(other / SNOW, dataset / SNOW)
    assert any("sha256 is not the manifest's" in finding for finding in findings(dataset))
    believe(dataset, SNOW, 5)
    assert sum("its pixels are not those" in finding for finding in findings(dataset)) == 5


def test_of_many_wrong_frames_the_first_few_are_told_and_the_rest_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("vidc.builders.card.write", lambda folder: None)
    monkeypatch.setattr("vidc.builders.plan.ROW_GROUP_FRAMES", 8)
    root = trees.write_imagenet_vid(tmp_path, {"v": 20})
    one, other = tmp_path / "one", tmp_path / "other"
    for out, seed in ((one, 0), (other, 1)):
        build(builds.request(root, out, corruptions=(("snow", 5),), seed=seed))
    path = "data/snow/val-00000-of-00001.parquet"
    shutil.copy(other / path, one / path)
    believe(one, path, 20)
    # All twenty frames are wrong, in row groups of eight, eight and four.
    assert findings(one) == [
        *(f"{path}, frame {k} of v: its pixels are not those that were built" for k in range(5)),
        "    and 15 more like it",
    ]


def test_a_shard_of_another_corruption_or_place(dataset):
    shutil.copy(dataset / SNOW.replace("snow_s3", "clean"), dataset / SNOW)
    believe(dataset, SNOW, 5)
    assert any("it says clean 0" in finding for finding in findings(dataset))
    shutil.copy(dataset / SNOW.replace("00001-", "00000-"), dataset / SNOW)
    believe(dataset, SNOW, 4)
    assert f"{SNOW} has 4 rows, not 5" in findings(dataset)


def test_missing_and_foreign_files(dataset):
    (dataset / SNOW).unlink()
    (dataset / "data/snow_s3/notes.txt").write_text("mine")
    found = findings(dataset)
    assert "data/snow_s3/notes.txt is not in the manifest" in found
    assert [finding for finding in found if SNOW in finding] == [
        f"{SNOW} cannot be read: No such file or directory"
    ]


def test_a_recipe_alone_is_not_called_damaged(dataset):
    for config in manifests.read(dataset).configs:
        shutil.rmtree(dataset / "data" / config)
    with pytest.raises(InputError, match=rf"no image to verify: .*from-recipe {dataset} --root"):
        main(["verify", str(dataset)])


@pytest.mark.parametrize("option", ["--samples", "--seed"])
def test_options_of_the_frames_made_again_need_the_clean_videos(option, pristine):
    with pytest.raises(InputError, match=f"{option} belongs to --root"):
        main(["verify", str(pristine), option, "5"])


def test_row_groups_of_two_videos_and_other_columns(dataset):
    def two_videos(table):
        videos = ["a", "b", "b", "b", "b"]
        return table.set_column(1, "video", pa.array(videos))

    rewrite(dataset, SNOW, two_videos)
    assert f"{SNOW} has a row group with frames of 2 videos" in findings(dataset)
    rewrite(dataset, SNOW, lambda table: table.drop_columns(["severity"]))
    assert f"{SNOW} has other columns or types than a dataset of this recipe" in findings(dataset)


def test_labels_that_no_class_has(dataset):
    path = "data/annotations/val-00001-of-00003.parquet"

    def relabel(table):
        index = table.schema.get_field_index("label")
        return table.set_column(index, "label", pa.array([99, 8, 8, 8, 8], pa.int64()))

    rewrite(dataset, path, relabel)
    assert any(f"{path}: frame 0 of b has label 99" in finding for finding in findings(dataset))


def test_counts_that_the_manifest_has_wrong(dataset):
    text = json.loads((dataset / "manifest.json").read_text())
    text["frames"], text["videos"], text["class_counts"]["dog"] = 13, 4, 11
    (dataset / "manifest.json").write_text(json.dumps(text))
    assert findings(dataset) == [
        "there are 12 frames and the manifest says 13",
        "there are 3 videos and the manifest says 4",
        "there are 12 frames of dog and the manifest says 11",
    ]


def test_frames_made_again_from_other_videos(pristine, root, tmp_path):
    changed = shutil.copytree(root, tmp_path / "changed")
    frame = changed / "Data/VID/val/b/000003.JPEG"
    frame.write_bytes(trees.jpeg(trees.picture(90, 160, "another")))
    (changed / "Annotations/VID/val/a/000001.xml").write_text(
        trees.annotation([trees.Thing(trees.CAR)])
    )
    shutil.rmtree(changed / "Data/VID/val/c")
    count, found = remake(pristine, changed, 100, 0, builds.SERIAL)
    assert count == 9
    assert found == [
        f"--root {changed} has no video c",
        "frame 1 of a has other labels when it is made again",
        "frame 3 of b has other pixels in clean when it is made again",
        "frame 3 of b has other pixels in gaussian_noise when it is made again",
        "frame 3 of b has other pixels in snow_s3 when it is made again",
    ]


def test_frames_that_have_gone_or_are_broken_cannot_be_made_again(pristine, root, tmp_path):
    changed = shutil.copytree(root, tmp_path / "changed") / "Data/VID/val"
    for gone in ("a/000001.JPEG", "c/000002.JPEG"):  # from the middle, and the last
        (changed / gone).unlink()
    broken = changed / "b/000003.JPEG"
    broken.write_bytes(broken.read_bytes()[:-100])
    count, found = remake(pristine, tmp_path / "changed", 100, 0, builds.SERIAL)
    assert count == 12
    assert found == [
        f"frame 1 of a cannot be made again: {changed}/a has no frame of index 1",
        f"frame 3 of b cannot be made again: {broken} is truncated: its last part is missing.",
        f"frame 2 of c cannot be made again: {changed}/c has no frame of index 2",
    ]


def test_frames_are_found_by_index_where_the_numbering_has_gaps(tmp_path, monkeypatch):
    monkeypatch.setattr("vidc.builders.card.write", lambda folder: None)
    root = trees.write_imagenet_vid(tmp_path, {"v": 9})
    for number in (0, 3, 4):
        (root / f"Data/VID/val/v/{number:06d}.JPEG").unlink()
    out = tmp_path / "out"
    manifest = build(builds.request(root, out))
    assert manifest.frames == 6
    assert remake(out, root, 100, 0, builds.SERIAL) == (6, [])


def test_frames_beside_one_that_was_left_out_are_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr("vidc.builders.card.write", lambda folder: None)
    root = trees.write_imagenet_vid(tmp_path, {"v": 9})
    (root / "Annotations/VID/val/v/000004.xml").write_text("<annotation><object>")
    out = tmp_path / "out"
    build(builds.request(root, out, skip_broken=True))
    assert remake(out, root, 100, 0, builds.SERIAL) == (8, [])


def test_the_command_says_it_by_exit_code(dataset, root):
    command = [sys.executable, "-m", "vidc.build", "verify", str(dataset)]
    good = subprocess.run(
        [*command, "--root", str(root), "--samples", "3"], capture_output=True, text=True
    )
    assert good.returncode == 0, good.stderr
    assert "is as it was built" in good.stdout
    assert "3 frames made again" in good.stdout
    (dataset / SNOW).write_bytes(b"")
    bad = subprocess.run(command, capture_output=True, text=True)
    assert bad.returncode == 1
    assert SNOW in bad.stdout
    (dataset / "manifest.json").unlink()
    none = subprocess.run(command, capture_output=True, text=True)
    assert none.returncode == 2
    assert len(none.stderr.splitlines()) == 1


def test_the_recipe_version_must_be_ours_to_make_frames_again(dataset, root):
    text = json.loads((dataset / "manifest.json").read_text())
    text["recipe"]["version"] = "0"
    (dataset / "manifest.json").write_text(json.dumps(text))
    assert manifests.read(dataset).recipe.version == "0"
    with pytest.raises(InputError, match="was built by version 0 of the recipe"):
        remake(dataset, root, 3, 0, builds.SERIAL)


def test_a_mistyped_root_is_told_before_anything_is_read(pristine, tmp_path, monkeypatch):
    monkeypatch.setattr("vidc.builders.verify.verify", lambda *_: pytest.fail("it was read"))
    with pytest.raises(InputError, match=r"--root .*nowhere is not a folder"):
        main(["verify", str(pristine), "--root", str(tmp_path / "nowhere")])
