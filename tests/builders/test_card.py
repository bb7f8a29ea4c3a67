"""The card: one text for all datasets, filled in from the manifest, valid by the Hub's rules."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest
from PIL import Image

from tests.builders import builds, trees
from tests.core.folders import Shape, write_folder
from vidc import frames
from vidc import manifest as manifests
from vidc.builders import assets, card
from vidc.builders.building import build
from vidc.builders.card_metadata import metadata
from vidc.classes import class_list

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A dataset with its card."""
    folder = write_folder(tmp_path_factory.mktemp("dataset"), Shape())
    card.write(folder)
    return folder


@pytest.fixture(scope="module")
def manifest(folder):
    return manifests.read(folder)


VARIANTS = {
    "imagenet-vid-c": {},
    "lasot-c": {"name": "lasot-c", "source": "lasot", "classes": "lasot", "split": "test"},
    "tao-lasot-c": {"name": "tao-lasot-c", "source": "tao-lasot", "classes": "lasot"},
    "clips-c": {"name": "clips-c", "source": "clips", "classes": "lasot"},
    "imagenet-vid-c-sample": {"name": "imagenet-vid-c-sample"},
    "lasot-c-sample": {"name": "lasot-c-sample", "source": "lasot", "classes": "lasot"},
}


@pytest.fixture(params=VARIANTS)
def variant(request, manifest):
    """The manifest of each kind of dataset."""
    changes = VARIANTS[request.param]
    names = class_list(changes.get("classes", "imagenet-vid")).names
    counts = {name: 2 * label for label, name in enumerate(names)}
    total = sum(counts.values()) + 5
    return dataclasses.replace(manifest, class_counts=counts, frames=total, **changes)


def test_a_clip_of_a_video_whose_frames_differ_in_size(tmp_path):
    root = trees.write_imagenet_vid(tmp_path, {"a": 3})
    (root / "Data/VID/val/a/000001.JPEG").write_bytes(trees.jpeg(trees.picture(90, 120)))
    build(builds.request(root, tmp_path / "out", size=None))
    with Image.open(tmp_path / "out" / "assets" / "clip.webp") as clip:
        assert clip.n_frames == 3


@pytest.mark.parametrize("recipe_only", [False, True])
def test_the_hub_s_own_classes_read_it(variant, recipe_only):
    from huggingface_hub import DatasetCard

    text = card.render(variant, "org/name", recipe_only=recipe_only)
    read = DatasetCard(text)
    # Written again by the Hub's class it says the same.
    assert DatasetCard(str(read)).data.to_dict() == read.data.to_dict()
    data = read.data.to_dict()
    assert data["pretty_name"] in read.text
    size = {"imagenet-vid": "n<1K", "lasot": "1K<n<10K"}[variant.classes]  # of 875 and of 4835
    assert data["size_categories"] == [size]
    configs = [entry["config_name"] for entry in data["configs"]]
    built = [] if recipe_only else list(variant.configs)
    assert configs == [*built, "annotations"]
    assert [entry["config_name"] for entry in data["dataset_info"]] == configs
    assert sum(entry.get("default", False) for entry in data["configs"]) == 1
    if data["license"] == "other":
        assert data["license_link"].startswith("http")
        assert data["license_name"] == re.sub(r"[^a-z0-9.-]", "", data["license_name"])


def test_the_features_are_those_of_datasets(variant):
    from datasets import Features

    classes = class_list(variant.classes)
    for info in metadata(variant)["dataset_info"]:
        found = Features._from_yaml_list(info["features"])
        if info["config_name"] == "annotations":
            assert found == frames.annotations_features(classes, variant.hashed_configs)
        else:
            assert found == frames.image_features(classes)


def test_the_headings_are_the_hub_s(variant):
    place = resources.files("huggingface_hub") / "templates" / "datasetcard_template.md"
    wanted = re.findall(r"^(##+) (.+?)(?: \[optional\])?$", place.read_text("utf-8"), re.M)
    found = re.findall(r"^(##+) (.+)$", card.render(variant), re.M)
    assert [heading for heading in found if heading in wanted] == wanted


def test_nothing_of_the_template_is_left(variant):
    for recipe_only in (False, True):
        text = card.render(variant, recipe_only=recipe_only)
        for mark in ("{{", "}}", "<!--", "-->", "@@", "None", "Undefined"):
            assert mark not in text, mark
        assert "\n\n\n" not in text
        assert not re.search(r"[.!]- ", text)  # a list whose lines ran together


def test_the_counts_are_the_manifest_s(variant):
    text = card.render(variant)
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| ([\d,]+) \| ([^|]+) \|$", text, re.M)
    classes = class_list(variant.classes)
    assert [name for _, name, _, _ in rows] == list(classes.names)
    assert [int(count.replace(",", "")) for _, _, count, _ in rows] == [
        2 * label for label in range(len(classes))
    ]
    for (_, _, _, spans), indices in zip(rows, classes.imagenet, strict=True):
        assert numbers(spans) == list(indices)
    assert f"5 of {variant.frames:,} frames have no labelled object" in text


def numbers(text: str) -> list[int]:
    """The numbers that a list of spans means."""
    if text == "none":
        return []
    parts = [part.split("–") for part in text.split(", ")]
    return [n for part in parts for n in range(int(part[0]), int(part[-1]) + 1)]


def test_classes_without_a_counterpart_are_named(variant):
    text = card.render(variant)
    if variant.classes == "imagenet-vid":
        assert "Every class has an ImageNet-1k counterpart." in text
    else:
        assert "19 classes have no ImageNet-1k counterpart: book, coin, cup, deer" in text


def test_the_terms_are_the_source_s(variant):
    text = card.render(variant)
    section = card.licence_section(text)
    assert section
    if variant.name.endswith("-sample"):
        assert "rendered clips" in text
        assert "Apache-2.0" in section
        assert "terms of access" not in section
    else:
        assert "rendered clips" not in text
        assert "no right to the frames" in section
        assert ("terms of access" in section) == (variant.source == "imagenet-vid")
        assert ("TAO" in section) == (variant.source == "tao-lasot")
        assert ("LaSOT" in section) == variant.source.endswith("lasot")


def test_of_a_source_that_somebody_added_nothing_is_said_that_is_another_s(manifest):
    text = card.render(dataclasses.replace(manifest, name="clips-c", source="clips"))
    assert "- **Source:** clips\n" in text
    assert "- **License:** the source's terms; see" in text
    assert "**clips**: vidc does not know its terms" in card.licence_section(text)
    for others in ("were not asked", "YouTube", "fan2019", "dave2020", "russakovsky2015", "TAO"):
        assert others not in text


def test_only_the_project_s_own_sample_is_called_rendered(manifest):
    text = card.render(dataclasses.replace(manifest, name="imagenet-vid-c-my-sample"))
    assert "rendered clips" not in text
    assert "no right to the frames" in card.licence_section(text)


def test_the_recipe_is_told(manifest):
    recipe = dataclasses.replace(
        manifest.recipe, format="jpeg", quality=85, subsampling="420", size=None, seed=7, stride=4
    )
    changed = dataclasses.replace(manifest, recipe=recipe, complete=False)
    text = card.render(changed)
    assert "JPEG, quality 85, chroma 4:2:0" in text
    assert "seed 7" in text
    assert "every 4th frame" in text
    assert "a part of the split" in text
    assert "a part of the split" not in card.render(manifest)
    assert "No frame was left out." in card.render(manifest)
    build = dataclasses.replace(manifest.build, limit_videos=1000)
    assert "only the first 1,000 were taken" in card.render(
        dataclasses.replace(manifest, build=build, complete=False)
    )
    assert manifest.versions["pyarrow"] in text


def test_a_part_of_a_split_is_told_to_be_one_and_the_sample_to_be_no_split(manifest):
    part = card.render(dataclasses.replace(manifest, complete=False))
    assert "did not hold exactly the videos of the split" in part
    assert "(a part of it)" in part
    changes = {"name": "lasot-c-sample", "complete": False, "missing": ("zebra-17",)}
    sample = card.render(dataclasses.replace(manifest, **changes))
    for words in ("a part of", "did not hold", "were not in the source"):
        assert words not in sample


def test_the_rain_is_told_where_there_is_rain(manifest):
    from vidc.corruptions.rain import SEVERITIES

    text = card.render(manifest)
    section = text.partition("#### Rain\n")[2].partition("\n#")[0]
    rows = re.findall(
        r"^\| (\d) \| ([\d.]+) \| (\d+) \| (\d+) \| (\d+) % \| (\d+) % \|$", section, re.M
    )
    assert [row[0] for row in rows] == list("12345")
    assert [float(row[1]) for row in rows] == [c.threshold for c in SEVERITIES]
    assert [int(row[5]) for row in rows] == [c.veil for c in SEVERITIES]
    for said in ("cells of 2.0 × 1.25 pixels", "up to 15° from", "1.0 to 1.6 lengths a frame"):
        assert said in " ".join(section.split())
    for other in ("Automold", "albumentations", "nuScenes-C", "kornia"):
        assert other in section
    recipe = dataclasses.replace(manifest.recipe, corruptions=(("snow", 5),))
    without = dataclasses.replace(manifest, recipe=recipe)
    assert "#### Rain" not in card.render(without)
    assert "see below" not in card.render(without)
    assert assets.RAIN not in assets.names(without)


def test_the_picture_of_the_rain_is_the_project_s(folder, manifest):
    assert (folder / assets.RAIN).read_bytes() == (ROOT / "docs" / "rain.png").read_bytes()
    assert f"]({assets.RAIN})" in card.render(manifest, "org/name", recipe_only=True)
    assert assets.RAIN in assets.names(manifest, recipe_only=True)
    assert "](docs/rain.png)" in card.template()


def test_a_manifest_cannot_smuggle_markup_into_the_card(manifest):
    versions = {**manifest.versions, "numpy": "2](http://x) <script>\n# Heading"}
    text = card.render(dataclasses.replace(manifest, versions=versions))
    assert "<script>" not in text
    assert "# Heading" not in text


def test_written_twice_it_is_the_same_bytes(folder):
    names = ["README.md", *assets.names(manifests.read(folder))]
    first = {name: (folder / name).read_bytes() for name in names}
    card.write(folder)
    assert {name: (folder / name).read_bytes() for name in names} == first
    assert not list(folder.rglob(".*.tmp"))


def test_the_user_s_style_and_screen_do_not_matter(folder, tmp_path):
    style = tmp_path / "matplotlibrc"
    style.write_text("axes.facecolor: red\nsavefig.dpi: 30\n")
    names = assets.names(manifests.read(folder))
    before = {name: (folder / name).read_bytes() for name in names}
    code = (
        "import sys; from pathlib import Path; from vidc.builders import card\n"
        "card.write(Path(sys.argv[1])); print('matplotlib.pyplot' in sys.modules)"
    )
    environment = os.environ | {"MATPLOTLIBRC": str(style)}
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"  # pyplot looks for a screen
    assert {name: (folder / name).read_bytes() for name in names} == before


def test_the_pictures_show_every_config(folder):
    from PIL import Image

    clip = Image.open(folder / assets.CLIP)
    assert clip.n_frames == 5
    assert clip.width == 3 * clip.height
    for name in (assets.CONTACT_SHEET, assets.CLASSES):
        picture = Image.open(folder / name)
        assert picture.width > 300
        assert "Software" not in picture.info


def test_the_card_names_only_pictures_that_are_there(folder):
    text = (folder / "README.md").read_text()
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert set(pictures) == set(assets.names(manifests.read(folder)))
    assert all((folder / picture).is_file() for picture in pictures)


def test_a_dataset_of_no_frame_from_elsewhere_has_a_card(tmp_path):
    folder = write_folder(tmp_path, Shape(frames=0, rows_a_group=1))
    card.write(folder)
    text = (folder / "README.md").read_text()
    assert re.findall(r"!\[[^]]*\]\(([^)]+)\)", text) == [assets.CLASSES, assets.RAIN]


def test_the_check_in_the_card_runs(folder, tmp_path, monkeypatch):
    text = (folder / "README.md").read_text()
    (code,) = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "hashlib" in b]
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    exec(code.replace("ORG/imagenet-vid-c", str(folder)), {})  # noqa: S102


def test_the_template_is_the_project_s_page():
    assert card.template() == (ROOT / "DATASET_CARD.md").read_text("utf-8")


def test_json_of_the_metadata_has_no_shared_parts(manifest):
    """YAML would write a part that appears twice as an alias, which not every reader follows."""
    text = card.render(manifest)
    header = text.split("---\n")[1]
    assert not re.search(r"[&*]id\d", header)
    assert json.loads(json.dumps(metadata(manifest))) == metadata(manifest)


def recipe_of(manifest, **changes):
    return dataclasses.replace(manifest, recipe=dataclasses.replace(manifest.recipe, **changes))


def test_it_says_of_another_split_that_it_is_another(manifest):
    lasot = {"name": "lasot-c", "source": "lasot", "classes": "lasot", "class_counts": {}}
    tested = card.render(dataclasses.replace(manifest, **lasot, split="test"))
    trained = card.render(dataclasses.replace(manifest, **lasot, split="train"))
    assert "the 280 testing sequences of its" in tested
    assert "networks are not trained on it" in tested
    assert "280 testing" not in trained
    assert "| split | `train` | asked for |" in trained


def test_what_was_asked_for_is_not_given_the_default_s_reason(manifest):
    usual = card.render(recipe_of(manifest, corruptions=(("snow", 5),)))
    assert "| severity | 5 | not stated; ImageNet-C's results are mostly reported at 5 |" in usual
    assert "| file format | PNG | JPEG's 4:2:0 takes away" in usual
    jpeg = {"format": "jpeg", "quality": 85, "subsampling": "420", "stride": 2}
    other = card.render(recipe_of(manifest, corruptions=(("snow", 3),), **jpeg))
    assert "| severity | 3 | asked for; ImageNet-C's results are mostly reported at 5 |" in other
    assert "4:2:0 | asked for; PNG is the default, as JPEG's 4:2:0 takes away" in other
    assert "every 2nd frame is kept" in other


def test_it_says_what_moving_snow_is(manifest):
    coherent = {"corruptions": (("snow", 5),), "temporal": "coherent"}
    assert "Snow that moves" in card.render(recipe_of(manifest, **coherent))
    still = card.render(recipe_of(manifest, **coherent | {"temporal": "iid"}))
    assert "Snow that moves" not in still


@pytest.mark.parametrize(
    ("built", "temporal", "said"),
    [
        ("snow fog", "iid", "All corruptions are ImageNet-C's definitions. Every"),
        ("snow rain", "iid", "All corruptions but rain (see below) are ImageNet-C's"),
        ("fog snow", "coherent", "All corruptions but moving snow (see below) are ImageNet-C's"),
        ("snow dust", "iid", "All corruptions but dust (the builder's own) are ImageNet-C's"),
        ("rain", "iid", "No corruption here is ImageNet-C's. Every"),
        ("", "iid", "encoded.\nEvery random number"),
    ],
)
def test_it_says_whose_definitions_the_built_corruptions_are(manifest, built, temporal, said):
    corruptions = (("clean", 0), *((name, 5) for name in built.split()))
    text = card.render(recipe_of(manifest, corruptions=corruptions, temporal=temporal))
    assert said in text
    assert text.count("ImageNet-C's definitions. ") == ("All corruptions" in said)


@pytest.mark.parametrize(
    ("built", "said"),
    [
        (
            "snow rain gaussian_noise",
            "snow and rain move from frame to frame, Gaussian noise drawn",
        ),
        ("rain", "rain moves from frame to frame |"),
        ("fog", "seed 0, fog drawn anew in each |"),
        ("dust", "seed 0, coherent asked for |"),
    ],
)
def test_it_calls_coherent_only_what_moves(manifest, built, said):
    corruptions = tuple((name, 5) for name in built.split())
    text = card.render(recipe_of(manifest, corruptions=corruptions, temporal="coherent"))
    assert said in text
    moving = [name for name in ("snow", "rain") if name in built]
    assert ("Each frame's is drawn anew" in text) == (not moving)
    assert (f"Here {' and '.join(moving)} move" in text) == bool(moving)


def test_it_says_what_the_package_makes(manifest):
    packaged = recipe_of(manifest, corruptions=(("fog", 5), ("snow", 5), ("jpeg_compression", 5)))
    assert "package makes fog and jpeg compression:" in card.render(packaged)
    assert "package makes" not in card.render(recipe_of(manifest, corruptions=(("snow", 5),)))


def test_it_does_not_call_native_frames_cropped(manifest):
    text = card.render(recipe_of(manifest, size=None))
    assert "decoded once, corrupted and encoded" in text
    assert "crop first, then corrupt" not in text
    cropped = card.render(recipe_of(manifest, size=224))
    assert "decoded once, resized, cropped, corrupted and encoded" in cropped
