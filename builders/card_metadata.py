"""The YAML header of a dataset's README.md: what the Hub and ``load_dataset`` read of it.

Written out here rather than asked of ``datasets``, so that the same manifest gives the same bytes
under every version of that library; a test holds the two against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vidc.builders.source import RENDERED_NAMES, SAMPLE
from vidc.classes import ClassList, class_list
from vidc.frames import ANNOTATIONS
from vidc.manifest import Manifest
from vidc.reading import default_config

_PRETTY = {
    "imagenet-vid-c": "ImageNet-VID-C",
    "lasot-c": "LaSOT-C",
    "tao-lasot-c": "TAO-LaSOT-C",
}
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")
_TAGS = (
    "video",
    "robustness",
    "corruptions",
    "distribution-shift",
    "test-time-adaptation",
    "imagenet-c",
)


@dataclass(frozen=True)
class Terms:
    """Under which terms the source's frames stand, and so their corrupted copies."""

    license: dict[str, str]
    source_dataset: str


# None of the three has a licence with an identifier of its own on the Hub.
_TERMS = {
    "imagenet-vid": Terms(
        {
            "license": "other",
            "license_name": "imagenet-terms-of-access",
            "license_link": "https://www.image-net.org/download.php",
        },
        "extended|other-imagenet-vid",
    ),
    "lasot": Terms(
        {
            "license": "other",
            "license_name": "lasot-no-licence-stated",
            "license_link": "http://vision.cs.stonybrook.edu/~lasot/",
        },
        "extended|other-lasot",
    ),
    "tao-lasot": Terms(
        {
            "license": "other",
            "license_name": "tao-and-lasot-no-licence-stated",
            "license_link": "https://taodataset.org/",
        },
        "extended|other-tao",
    ),
}
_RENDERED = Terms({"license": "apache-2.0"}, "original")
_OF_ANOTHER_SOURCE = Terms({"license": "unknown"}, "extended")


def is_sample(manifest: Manifest) -> bool:
    """Whether the frames are rendered clips and not anyone's video."""
    # By these very names: anyone may call a dataset of real videos something-sample.
    return manifest.name in RENDERED_NAMES


def pretty_name(manifest: Manifest) -> str:
    """The dataset's name for people."""
    base = manifest.name.removesuffix(SAMPLE) if is_sample(manifest) else manifest.name
    return _PRETTY.get(base, base) + (" (rendered sample)" if is_sample(manifest) else "")


def terms(manifest: Manifest) -> Terms:
    """The terms of the dataset's source."""
    return _RENDERED if is_sample(manifest) else _TERMS.get(manifest.source, _OF_ANOTHER_SOURCE)


def configs(manifest: Manifest, recipe_only: bool = False) -> tuple[str, ...]:
    """The configs that are published: with images, unless only the recipe is, and annotations."""
    return (ANNOTATIONS,) if recipe_only else (*manifest.configs, ANNOTATIONS)


def metadata(manifest: Manifest, recipe_only: bool = False) -> dict[str, Any]:
    """The whole header."""
    names = configs(manifest, recipe_only)
    default = ANNOTATIONS if recipe_only else default_config(manifest.configs)
    return {
        "pretty_name": pretty_name(manifest),
        **terms(manifest).license,
        "source_datasets": [terms(manifest).source_dataset],
        "task_categories": ["image-classification", "video-classification"],
        "size_categories": [_size_category(manifest.frames)],
        "tags": list(_TAGS),
        "configs": [_config(manifest, name, name == default) for name in names],
        "dataset_info": [_info(manifest, name) for name in names],
    }


def _size_category(frames: int) -> str:
    return next((name for power, name in enumerate(_SIZES, 3) if frames < 10**power), "100M<n<1B")


def _config(manifest: Manifest, name: str, default: bool) -> dict[str, Any]:
    files = [{"split": manifest.split, "path": f"data/{name}/{manifest.split}-*.parquet"}]
    return {"config_name": name, "data_files": files} | ({"default": True} if default else {})


def _info(manifest: Manifest, name: str) -> dict[str, Any]:
    size = sum(manifest.shards[file].bytes for file in manifest.files(name))
    # No "splits": with declared row counts load_dataset(filters=...) ends in an error after the
    # download, because fewer rows come out than were declared.
    return {
        "config_name": name,
        "features": _features(manifest, name),
        "download_size": size,
        "dataset_size": size,
    }


def _features(manifest: Manifest, name: str) -> list[dict[str, Any]]:
    labels = _label_features(class_list(manifest.classes))
    if name == ANNOTATIONS:
        hashes = [_value(config, "string") for config in manifest.hashed_configs]
        return [*labels, {"name": "sha256", "struct": hashes}]
    return [
        _value("image", "image"),
        *labels,
        _value("corruption", "string"),
        _value("severity", "int8"),
    ]


def _label_features(classes: ClassList) -> list[dict[str, Any]]:
    def class_label() -> dict[str, Any]:
        # A new one each time: YAML would write a repeated object as an alias.
        return {"class_label": {"names": {str(i): name for i, name in enumerate(classes.names)}}}

    box = [
        {"name": "bbox", "list": "float32"},
        _value("category", class_label()),
        _value("track", "int32"),
        _value("occluded", "bool"),
        _value("generated", "bool"),
    ]
    return [
        _value("video", "string"),
        _value("frame", "int32"),
        _value("label", class_label()),
        {"name": "labels", "list": class_label()},
        {"name": "objects", "list": box},
    ]


def _value(name: str, dtype: str | dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "dtype": dtype}
