"""What a dataset is to be: every choice that decides its bytes, and how two sets of them differ."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from vidc.builders.pipeline import Recipe
from vidc.corruptions import RECIPE_VERSION, names
from vidc.corruptions.imagenet_c import NAMES
from vidc.errors import InputError, unknown
from vidc.frames import CLEAN, config_name
from vidc.images import Encoding
from vidc.manifest import Manifest, RecipeEntry

DEFAULT_CORRUPTIONS = ("gaussian_noise", "snow", "rain")
DEFAULT_SHARD_SIZE = 500_000_000
ALLOW_MISSING = "allow-missing"
# Whoever names the wrong folder is told that it holds another dataset, not some lesser difference.
_TELLING = ("source", "name", "split")


@dataclass(frozen=True)
class Settings:
    """The choices of one build; where the clean videos are and who builds are not among them."""

    name: str
    source: str
    split: str
    recipe: Recipe
    limit_videos: int | None = None
    shard_size: int = DEFAULT_SHARD_SIZE
    allow_missing: bool = False
    skip_broken: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", self.name):
            raise InputError(f"--name '{self.name}' must be letters, digits, '-', '_' and '.'")
        if self.split == "all":
            raise InputError(
                f"the split of {self.source} is called 'all', which means every split to "
                "load_dataset: give it another name"
            )
        if self.limit_videos is not None and not 1 <= self.limit_videos < 2**63:
            raise InputError(
                f"--limit-videos is {self.limit_videos}: give a number from 1 to 2^63 - 1"
            )
        if not 1 <= self.shard_size < 2**63:
            raise InputError(f"--shard-size is {self.shard_size}: give from 1 to 2^63 - 1 bytes")
        if not 0 <= self.recipe.seed < 2**63:
            raise InputError(f"--seed is {self.recipe.seed}: give a number from 0 to 2^63 - 1")

    @property
    def configs(self) -> tuple[str, ...]:
        """The configs with images, in the recipe's order."""
        return tuple(config_name(name, severity) for name, severity in self.recipe.corruptions)

    def recipe_entry(self) -> RecipeEntry:
        """The recipe as the manifest has it."""
        recipe, encoding = self.recipe, self.recipe.encoding
        jpeg = encoding.format == "jpeg"
        return RecipeEntry(
            version=RECIPE_VERSION,
            corruptions=recipe.corruptions,
            size=recipe.size,
            format=encoding.format,
            quality=encoding.quality if jpeg else None,
            subsampling=encoding.subsampling if jpeg else None,
            temporal=recipe.temporal,
            seed=recipe.seed,
            stride=recipe.stride,
        )

    def options(self) -> dict[str, Any]:
        """Every choice by the name of its option, as JSON has it.

        --skip-broken is not among them: whoever meets a broken file after a night of building may
        add it and go on, because the shards that are finished are the same with it.
        """
        place = (self.name, self.source, self.split)
        cut = (self.limit_videos, self.shard_size, self.allow_missing)
        return _options(place, self.recipe_entry(), cut)

    def identity(self) -> dict[str, Any]:
        """The options that change what a shard holds.

        --allow-missing is not among them: what was finished without it is the same with it.
        """
        return {key: value for key, value in self.options().items() if key != ALLOW_MISSING}


def options_of(manifest: Manifest) -> dict[str, Any]:
    """The options that a dataset was built with, as :meth:`Settings.options` has them."""
    build = manifest.build
    place = (manifest.name, manifest.source, manifest.split)
    cut = (build.limit_videos, build.shard_size, build.allow_missing)
    return _options(place, manifest.recipe, cut)


def _options(
    place: tuple[str, str, str], recipe: RecipeEntry, cut: tuple[int | None, int, bool]
) -> dict[str, Any]:
    return {
        "name": place[0],
        "source": place[1],
        "split": place[2],
        "recipe version": recipe.version,
        "corruptions": [config_name(name, severity) for name, severity in recipe.corruptions],
        "size": recipe.size or "native",
        "format": recipe.format,
        "quality": recipe.quality,
        "subsampling": recipe.subsampling,
        "temporal": recipe.temporal,
        "seed": recipe.seed,
        "stride": recipe.stride,
        "limit-videos": cut[0],
        "shard-size": cut[1],
        ALLOW_MISSING: cut[2],
    }


def from_manifest(manifest: Manifest) -> Settings:
    """The settings that a dataset was built with."""
    recipe = manifest.recipe
    if recipe.version != RECIPE_VERSION:
        raise InputError(
            f"{manifest.name} was built by version {recipe.version} of the recipe and this vidc "
            f"has version {RECIPE_VERSION}: use vidc {manifest.versions.get('vidc', 'of then')}"
        )
    encoding = Encoding(recipe.format, recipe.quality or 85, recipe.subsampling or "420")
    return Settings(
        name=manifest.name,
        source=manifest.source,
        split=manifest.split,
        recipe=Recipe(
            corruptions=recipe.corruptions,
            size=recipe.size,
            encoding=encoding,
            temporal=recipe.temporal,
            seed=recipe.seed,
            stride=recipe.stride,
        ),
        limit_videos=manifest.build.limit_videos,
        shard_size=manifest.build.shard_size,
        allow_missing=manifest.build.allow_missing,
        skip_broken=manifest.build.skip_broken,
    )


def corruption_list(
    corruptions: tuple[str, ...], severities: tuple[int, ...], clean: bool
) -> tuple[tuple[str, int], ...]:
    """Each corruption at each severity, in one order however they were asked for."""
    known = names()
    for name in corruptions:
        if name not in known:
            raise unknown("corruption", name, known)
    pairs = [(name, s) for name in known if name in corruptions for s in sorted(set(severities))]
    return ((CLEAN, 0), *pairs) if clean else tuple(pairs)


def versions(recipe: Recipe) -> dict[str, str]:
    """The versions of everything that may change a byte of what the recipe stores."""
    import cv2
    import numpy
    import PIL
    import pyarrow

    import vidc

    return {
        "vidc": vidc.__version__,
        "numpy": numpy.__version__,
        "opencv": cv2.__version__,
        "pillow": PIL.__version__,
        "pyarrow": pyarrow.__version__,
        **(_package_versions() if any(name in NAMES for name, _ in recipe.corruptions) else {}),
    }


def _package_versions() -> dict[str, str]:
    """Those that ImageNet-C's other seventeen stand on: the package computes them with these."""
    known = ("imagecorruptions-imaug", "imagecorruptions", "scipy", "scikit-image", "numba")
    found = {}
    for name in known:
        with contextlib.suppress(metadata.PackageNotFoundError):  # one of the first two is there
            found[name] = metadata.version(name)
    return found


def difference(ours: Mapping[str, object], theirs: Mapping[str, object]) -> str | None:
    """The most telling choice that differs, in words; None where all are equal.

    >>> difference({"seed": 1, "size": 224}, {"seed": 0, "size": 224})
    'seed is 0 there and 1 here'
    """
    for key in (*_TELLING, *sorted(ours.keys() | theirs.keys())):
        if ours.get(key) != theirs.get(key):
            return f"{key} is {_shown(theirs.get(key))} there and {_shown(ours.get(key))} here"
    return None


def digest(content: object) -> str:
    """The sha256 of some JSON content."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _shown(value: object) -> str:
    if isinstance(value, list):
        return " ".join(str(item) for item in value)
    return "not given" if value is None else str(value)
