"""Names inside other people's files lead to no file outside the folders that were given."""

import json

import pytest

from tests.builders import trees
from tests.core import folders
from tests.security.watching import OUTSIDE, outside, watched
from vidc.files import write_whole

QUICK = ("--engine", "serial", "--size", "16", "--corruptions", "snow", "--allow-missing")


@pytest.mark.parametrize(
    ("table", "column", "name"),
    [
        ("images", "file_name", f"../../{OUTSIDE}/secret.jpg"),
        ("images", "file_name", f"train/LaSOT/dog-1/../../../../../{OUTSIDE}/secret.jpg"),
        ("images", "file_name", "{outside}/secret.jpg"),
        ("videos", "name", f"train/LaSOT/../../../../{OUTSIDE}"),
        ("videos", "name", "{outside}/LaSOT/dog-1"),
        ("videos", "name", "train/LaSOT/a\x1b[2J\nb"),
        ("images", "file_name", "train/LaSOT/dog-1/\x9b2J.jpg"),
    ],
)
def test_file_names_in_tao(tmp_path, table, column, name):
    secret = outside(tmp_path)
    tree = trees.write_tao(tmp_path, {"train/LaSOT/dog-1": 2})
    file = tree / "annotations" / "train.json"
    tables = json.loads(file.read_text())
    tables[table][0][column] = name.format(outside=secret)
    file.write_text(json.dumps(tables))
    out = tmp_path / "out"
    seen = watched(
        tmp_path,
        "vidc.build",
        "tao-lasot",
        "--root",
        tree,
        "--split",
        "train",
        "--out",
        out,
        *QUICK,
    )
    assert seen.is_one_sentence(), seen.stderr
    assert "refused" in seen.stderr
    assert not seen.touched(secret)
    assert not out.exists()


def building(folder, tree):
    words = ["imagenet-vid", "--root", tree, "--out", folder / "out", *QUICK[:-1]]
    return watched(folder, "vidc.build", *words)


@pytest.mark.parametrize(
    "body",
    [
        "<folder>{outside}</folder><filename>{outside}/secret</filename>",
        "<folder>../../../../..</folder><filename>../../{name}/secret</filename>",
    ],
)
def test_file_names_in_an_annotation_are_not_used(tmp_path, body):
    secret = outside(tmp_path)
    tree = trees.write_imagenet_vid(tmp_path, {"v0": 1})
    note = tree / "Annotations" / "VID" / "val" / "v0" / "000000.xml"
    text = body.format(outside=secret, name=OUTSIDE)
    note.write_text(
        note.read_text().replace("<folder>video</folder><filename>000000</filename>", text)
    )
    seen = building(tmp_path, tree)
    assert seen.code == 0, seen.stderr
    assert not seen.touched(secret)


def test_an_external_entity_reads_no_file(tmp_path):
    secret = outside(tmp_path)
    tree = trees.write_imagenet_vid(tmp_path, {"v0": 1})
    note = tree / "Annotations" / "VID" / "val" / "v0" / "000000.xml"
    entity = f'<!DOCTYPE annotation [<!ENTITY x SYSTEM "file://{secret}/secret.jpg">]>'
    note.write_text(entity + note.read_text().replace(trees.DOG, "&x;"))
    seen = building(tmp_path, tree)
    assert seen.is_one_sentence(), seen.stderr
    assert "refused" in seen.stderr
    assert "private" not in seen.stderr
    assert not seen.touched(secret)
    assert not seen.calls()


SHARD = "data/snow/val-00000-of-00001.parquet"


def _move(content, to):
    content["shards"][to] = content["shards"].pop(SHARD)


@pytest.mark.parametrize(
    "change",
    [
        lambda content, to: _move(content, f"../{to.name}/secret.jpg"),
        lambda content, to: _move(content, f"{to}/secret.jpg"),
        lambda content, to: _move(content, f"data/../../{to.name}/val-00000-of-00001.parquet"),
        lambda content, to: content.update(name=f"../{to.name}/x"),
        lambda content, to: content.update(split=f"../../{to.name}/x"),
        lambda content, to: content.update(source=f"{to}/x"),
        lambda content, to: content.update(classes=f"../../{to.name}/secret"),
        lambda content, to: content["recipe"].update(corruptions=[[f"../../{to.name}/x", 5]]),
        lambda content, to: content["recipe"].update(format=f"../{to.name}"),
    ],
)
@pytest.mark.parametrize("command", ["verify", "from-recipe"])
def test_a_manifest_and_a_recipe(tmp_path, change, command):
    secret = outside(tmp_path)
    tree = trees.write_imagenet_vid(tmp_path, {"v0": 1})
    shape = folders.Shape(videos=1, frames=1, size=8, configs=("clean", "snow"))
    recipe = folders.write_folder(tmp_path / "recipe", shape)
    file = recipe / "manifest.json"
    content = json.loads(file.read_text())
    change(content, secret)
    file.write_text(json.dumps(content))
    more = () if command == "verify" else ("--root", tree, "--out", tmp_path / "out")
    seen = watched(tmp_path, "vidc.build", command, recipe, *more)
    assert seen.is_one_sentence(), seen.stderr
    assert not seen.touched(secret)
    assert sorted(path.name for path in secret.iterdir()) == ["secret.jpg"]
    assert not (tmp_path / "out").exists()


def test_a_link_in_the_place_of_a_temporary_file_is_not_written_through(tmp_path):
    secret = outside(tmp_path) / "secret.jpg"
    (tmp_path / ".manifest.json.tmp").symlink_to(secret)
    write_whole(tmp_path / "manifest.json", b"{}")
    assert secret.read_bytes() == b"private"
    assert (tmp_path / "manifest.json").read_bytes() == b"{}"
