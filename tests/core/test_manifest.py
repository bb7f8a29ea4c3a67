"""manifest.json: what is written is read back, and nothing else gets through."""

import contextlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidc import manifest as manifests
from vidc.errors import InputError
from vidc.manifest import BuildEntry, Manifest, RecipeEntry, Shard, Skipped, parse

CONFIGS = ("clean", "snow_s3", "annotations")
PATHS = [f"data/{config}/val-{i:05d}-of-00002.parquet" for config in CONFIGS for i in range(2)]
MANIFEST = Manifest(
    name="imagenet-vid-c",
    source="imagenet-vid",
    split="val",
    classes="imagenet-vid",
    complete=False,
    recipe=RecipeEntry("1", (("clean", 0), ("snow", 3)), None, "jpeg", 85, "420", "iid", 7, 2),
    build=BuildEntry(5, 1000, True, True, "0" * 64),
    versions={"vidc": "0.1.0", "numpy": "2.0"},
    videos=2,
    frames=9,
    class_counts={"dog": 9},
    skipped=(Skipped("Data/VID/val/a/000001.JPEG", "is empty: “leer”"),),
    missing=("airplane-1",),
    shards={path: Shard("a" * 64, 4, 12345) for path in PATHS},
)
TEXT = MANIFEST.to_json()


def test_written_and_read_back(tmp_path):
    manifests.write(tmp_path, MANIFEST)
    assert manifests.read(tmp_path) == MANIFEST
    assert manifests.exists(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_the_text_is_one_for_equal_manifests():
    assert parse(TEXT, "here").to_json() == TEXT
    assert json.dumps(json.loads(TEXT), indent=1, sort_keys=True, ensure_ascii=False) + "\n" == TEXT


def test_configs_and_files():
    assert MANIFEST.configs == ("clean", "snow_s3")
    assert MANIFEST.files("snow_s3") == tuple(PATHS[2:4])


@pytest.mark.parametrize(
    ("corruptions", "hashed"),
    [
        ((("clean", 0), ("snow", 3)), ("clean", "snow_s3")),
        ((("snow", 3), ("rain", 5), ("clean", 0)), ("clean", "snow_s3", "rain")),
        ((("snow", 3), ("rain", 5)), ("clean", "snow_s3", "rain")),
    ],
    ids=["clean first", "clean last", "no clean"],
)
def test_the_clean_pixels_are_hashed_first_whether_built_or_not(corruptions, hashed):
    recipe = replace(MANIFEST.recipe, corruptions=corruptions)
    assert replace(MANIFEST, recipe=recipe).hashed_configs == hashed


def changed(*path, to):
    content = json.loads(TEXT)
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return json.dumps(content)


def test_clean_at_two_severities_would_be_one_config_twice(tmp_path):
    twice = [["clean", 0], ["clean", 3]]
    (tmp_path / "manifest.json").write_text(changed("recipe", "corruptions", to=twice))
    with pytest.raises(InputError, match="a list of different corruptions"):
        manifests.read(tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "is not a JSON object"),
        ("1" * 10_000, "is not valid JSON"),
        (changed("schema", to=2), "has schema 2 and this vidc reads 1"),
        (changed("name", to="../x"), "'name' is missing or is not a plain name"),
        (changed("split", to="a/b"), "'split' is missing or is not a plain name"),
        (changed("frames", to=-1), "'frames' is missing or is not a whole number from 0"),
        (changed("frames", to=True), "'frames' is missing or is not a whole number from 0"),
        (changed("frames", to=1.5), "'frames' is missing or is not a whole number from 0"),
        (changed("complete", to=1), "'complete' is missing or is not true or false"),
        (changed("recipe", to=None), "'recipe' is missing or is not an object"),
        (changed("recipe", "corruptions", to=[["snow"]]), "a list of \\[corruption, severity\\]"),
        (changed("recipe", "corruptions", to=[]), "a list of different corruptions"),
        (changed("recipe", "stride", to=0), "'stride' is missing or is not a whole number from 1"),
        (changed("build", "plan", to="x"), "'plan' is missing or is not a sha256"),
        (changed("missing", to=[1]), "'missing' is missing or is not a list of texts"),
        (changed("skipped", to=["x"]), "is not a JSON object"),
        (changed("shards", PATHS[0], "sha256", to="A" * 64), "is not a sha256"),
        (changed("shards", to={}), "does not list the same shards"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(text, told):
    with pytest.raises(InputError, match=told) as caught:
        parse(text, "somewhere/manifest.json")
    assert str(caught.value).startswith("somewhere/manifest.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../data/clean/val-00000-of-00002.parquet",
        "data/../../val-00000-of-00002.parquet",
        "data/clean/../val-00000-of-00002.parquet",
        "data/clean/val-00000-of-00002.parquet/x",
        "data/.hidden/val-00000-of-00002.parquet",
        "data/clean/val-00000-of-00002.parquet\n",
        "data//val-00000-of-00002.parquet",
        "data/rain/val-00000-of-00002.parquet",
        "data/clean/val-00007-of-00002.parquet",
        "data/clean/test-00000-of-00002.parquet",
    ],
)
def test_no_path_leads_out_of_the_folder_or_to_another_file(path):
    content = json.loads(TEXT)
    content["shards"][path] = content["shards"].pop(PATHS[0])
    with pytest.raises(InputError):
        parse(json.dumps(content), "here")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
places = st.sampled_from(
    [
        (),
        *((key,) for key in json.loads(TEXT)),
        *(("recipe", key) for key in json.loads(TEXT)["recipe"]),
        *(("build", key) for key in json.loads(TEXT)["build"]),
        ("shards", PATHS[0]),
        ("shards", PATHS[0], "rows"),
        ("class_counts", "dog"),
        ("versions", "vidc"),
        ("skipped", 0),
    ]
)


@given(places, values)
def test_any_value_in_any_place_is_a_manifest_or_one_sentence(place, value):
    text = changed(*place, to=value) if place else json.dumps(value)
    with contextlib.suppress(InputError):
        found = parse(text, "here")
        assert parse(found.to_json(), "here") == found


@given(st.binary(max_size=200), st.integers(0, len(TEXT.encode()) - 1))
def test_any_bytes_in_the_file_are_a_manifest_or_one_sentence(tmp_path_factory, data, position):
    folder = tmp_path_factory.mktemp("fuzz")
    whole = TEXT.encode()
    (folder / "manifest.json").write_bytes(whole[:position] + data + whole[position + len(data) :])
    with contextlib.suppress(InputError):
        assert isinstance(manifests.read(folder), Manifest)


def test_a_file_of_more_than_32_mb_is_no_manifest(tmp_path):
    with (tmp_path / "manifest.json").open("wb") as file:
        file.truncate(32 * 2**20 + 1)  # a hole: it takes no room
    with pytest.raises(InputError, match=r"manifest\.json is too large to be a manifest"):
        manifests.read(tmp_path)


def test_no_manifest_and_no_folder(tmp_path):
    with pytest.raises(InputError, match=r"holds no manifest\.json: give the folder of a dataset"):
        manifests.read(tmp_path)
    with pytest.raises(InputError, match=r"holds no manifest\.json"):
        manifests.read(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be read: Not a directory"):
        manifests.read(tmp_path / "file")
    (tmp_path / "manifest.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        manifests.read(tmp_path)
