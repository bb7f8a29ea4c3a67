"""A dataset's README.md: the project's DATASET_CARD.md filled in from manifest.json."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vidc import manifest as manifests
from vidc.builders import assets
from vidc.builders.card_metadata import configs, is_sample, metadata, pretty_name, terms
from vidc.classes import class_list
from vidc.corruptions.imagenet_c import NAMES
from vidc.corruptions.snow import SPEEDS
from vidc.files import write_whole
from vidc.frames import CLEAN
from vidc.manifest import Manifest, RecipeEntry
from vidc.reading import default_config

if TYPE_CHECKING:
    from jinja2 import Environment

FILE = "README.md"
TEMPLATE = "DATASET_CARD.md"
_RAIN_PICTURE = "docs/rain.png"
# A source that somebody added has its own name here, and terms that we do not know.
_SOURCE_NAMES = {
    "imagenet-vid": "ImageNet-VID",
    "lasot": "LaSOT",
    "tao-lasot": "TAO's LaSOT videos",
}
# Of the splits that are built where none is asked for.
_SPLIT_REASONS = {
    ("imagenet-vid", "val"): "its labels are public, and networks are not trained on it",
    ("lasot", "test"): "networks are not trained on it",
    ("tao-lasot", "trainval"): "all that has public labels; the paper's networks saw none of it",
}
_IMAGENET_C = ("gaussian_noise", "snow", *NAMES)
_WEATHER = ("snow", "rain")  # what moves with --temporal coherent
_ROOTS = {"imagenet-vid": "ILSVRC2015", "lasot": "LaSOT", "tao-lasot": "TAO"}


def write(folder: Path) -> None:
    """Put README.md and its pictures into a built dataset's folder."""
    manifest = manifests.read(folder)
    assets.write(folder, manifest)
    write_whole(folder / FILE, render(manifest).encode())


def is_whole(folder: Path, manifest: Manifest) -> bool:
    """Whether README.md and all its pictures are there."""
    return all((folder / name).is_file() for name in (FILE, *assets.names(manifest)))


def render(manifest: Manifest, repo: str | None = None, *, recipe_only: bool = False) -> str:
    """The text of README.md; ``repo`` is its Hub id where it is known."""
    import yaml

    header = yaml.safe_dump(
        metadata(manifest, recipe_only), sort_keys=False, allow_unicode=True, width=1000
    )
    page = _environment().from_string(template()).render(_context(manifest, repo, recipe_only))
    # The project's page shows the picture where it lies there, a dataset's README its own copy.
    page = page.replace(f"({_RAIN_PICTURE})", f"({assets.RAIN})")
    return f"---\n{header}---\n{page}"


def licence_section(card: str) -> str:
    """The part of a card on licences and terms: what is shown before anything is made public."""
    _, _, rest = card.partition("\n### Licence and terms\n")
    return rest.partition("\n## ")[0].strip()


def template() -> str:
    """DATASET_CARD.md, which is in the package by a link, as the builders are."""
    return (resources.files("vidc") / TEMPLATE).read_text("utf-8")


def _environment() -> Environment:
    from jinja2 import Environment, StrictUndefined

    # Marked up as HTML comments, which a reader of the unfilled page does not see. Not HTML, so
    # nothing is escaped: what comes from a manifest are checked names, numbers and _plain text.
    return Environment(  # noqa: S701
        block_start_string="<!--%",
        block_end_string="%-->",
        comment_start_string="<!--#",
        comment_end_string="#-->",
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )


def _context(manifest: Manifest, repo: str | None, recipe_only: bool) -> dict[str, Any]:
    sample = is_sample(manifest)
    source_name = _SOURCE_NAMES.get(manifest.source, manifest.source)
    recipe = manifest.recipe
    return {
        "pretty_name": pretty_name(manifest),
        "pretty_base": pretty_name(manifest).removesuffix(" (rendered sample)"),
        "name": manifest.name,
        "repo": repo or f"ORG/{manifest.name}",
        "sample": sample,
        "recipe_only": recipe_only,
        "pictures": assets.CLIP in assets.names(manifest, recipe_only),
        "source": manifest.source,
        "source_name": source_name,
        "root_example": _ROOTS.get(manifest.source, "CLEAN"),
        "split": manifest.split,
        "split_words": _split_words(manifest, source_name),
        "split_reason": _SPLIT_REASONS.get((manifest.source, manifest.split), "asked for"),
        "complete": manifest.complete,
        "videos": f"{manifest.videos:,}",
        "frames": f"{manifest.frames:,}",
        "unlabelled": f"{manifest.frames - sum(manifest.class_counts.values()):,}",
        "config_list": ", ".join(f"`{name}`" for name in configs(manifest, recipe_only)),
        "default_config": default_config(manifest.configs),
        "class_count": len(class_list(manifest.classes)),
        "classes": _class_rows(manifest),
        "without_counterpart": _without_counterpart(manifest),
        "license_words": _license_words(manifest),
        "manifest_sha256": hashlib.sha256(manifest.to_json().encode()).hexdigest(),
        "versions": {name: _plain(text) for name, text in manifest.versions.items()},
        "version_words": _listed(
            [f"{_plain(name)} {_plain(text)}" for name, text in sorted(manifest.versions.items())]
        ),
        **_recipe_words(recipe),
        "skipped_words": _skipped_words(manifest),
    }


def _recipe_words(recipe: RecipeEntry) -> dict[str, Any]:
    corruptions = [(name, severity) for name, severity in recipe.corruptions if name != CLEAN]
    severities = sorted({severity for _, severity in corruptions})
    names = list(dict.fromkeys(_word(name) for name, _ in corruptions))
    png = recipe.format == "png"
    format_words = (
        "PNG"
        if png
        else f"JPEG, quality {recipe.quality}, chroma {':'.join(recipe.subsampling or '')}"
    )
    if recipe.size is None:
        size_words = "the source's own"
    else:
        shorter = round(recipe.size * 256 / 224)
        size_words = (
            f"shorter side to {shorter} pixels (bilinear), then the central "
            f"{recipe.size} × {recipe.size}"
        )
    return {
        "corruption_words": _listed(names) or "no corruption",
        "severity_words": _listed([str(severity) for severity in severities]) or "none",
        "size_words": size_words,
        "native": recipe.size is None,
        "format_words": format_words,
        "stored_as": f"{format_words} in Parquet; {size_words}",
        "png": png,
        "seed": recipe.seed,
        "temporal_words": _temporal_words(recipe),
        "moving_words": _moving_words(recipe),
        "definition_words": _definition_words(recipe),
        "recipe_version": _plain(recipe.version),
        "rain": any(name == "rain" for name, _ in corruptions),
        "moving_snow": "snow" in _moving(recipe),
        "packaged": _listed([_word(name) for name in NAMES if name in dict(corruptions)]),
        "snow_speeds": " to ".join(map(str, SPEEDS)),
        **_rain_words(),
    }


def _built(recipe: RecipeEntry) -> list[str]:
    return list(dict.fromkeys(name for name, _ in recipe.corruptions if name != CLEAN))


def _moving(recipe: RecipeEntry) -> list[str]:
    """Those that travel through a video; of somebody's own corruption that is not known."""
    if recipe.temporal == "iid":
        return []
    return [name for name in _built(recipe) if name in _WEATHER]


def _moving_words(recipe: RecipeEntry) -> str:
    moving = _moving(recipe)
    return f"{_listed(moving)} {'moves' if len(moving) == 1 else 'move'}" if moving else ""


def _temporal_words(recipe: RecipeEntry) -> str:
    if recipe.temporal == "iid":
        return "each frame drawn anew"
    moving = _moving_words(recipe)
    still = [_word(name) for name in _built(recipe) if name in _IMAGENET_C and name not in _WEATHER]
    words = [f"{moving} from frame to frame"] if moving else []
    words += [f"{_listed(still)} drawn anew in each"] if still else []
    return ", ".join(words) or "coherent asked for"


def _definition_words(recipe: RecipeEntry) -> str:
    """Which corruptions are defined elsewhere; a sentence with a blank, or nothing."""
    built, moving = _built(recipe), _moving(recipe)
    others = ["rain (see below)"] if "rain" in built else []
    others += ["moving snow (see below)"] if "snow" in moving else []
    others += [f"{_word(n)} (the builder's own)" for n in built if n not in (*_IMAGENET_C, "rain")]
    if len(others) == len(built):
        return "No corruption here is ImageNet-C's. " if built else ""
    but = f" but {_listed(others)}" if others else ""
    return f"All corruptions{but} are ImageNet-C's definitions. "


def _rain_words() -> dict[str, Any]:
    """The rain's parameters from its own code, so that the card cannot say others."""
    from vidc.corruptions.rain import CELL, SEVERITIES, SPEEDS, TILTS

    rows = [{"severity": n, **asdict(row)} for n, row in enumerate(SEVERITIES, 1)]
    return {
        "rain_rows": rows,
        "rain_cell": " × ".join(map(str, CELL)),
        "rain_tilt": f"{max(TILTS):g}",
        "rain_speeds": " to ".join(map(str, SPEEDS)),
    }


def _word(corruption: str) -> str:
    return corruption.replace("_", " ").replace("gaussian", "Gaussian")


def _split_words(manifest: Manifest, source_name: str) -> str:
    if is_sample(manifest):
        return f"`{manifest.split}`, drawn in {source_name}'s layout"
    part = "" if manifest.complete else " (a part of it)"
    return f"`{manifest.split}` of {source_name}{part}"


def _skipped_words(manifest: Manifest) -> str:
    words = []
    if manifest.recipe.stride > 1:
        words.append(f"Of each video every {_ordinal(manifest.recipe.stride)} frame is kept.")
    limit = manifest.build.limit_videos
    if limit is not None:
        words.append(f"Of the split's videos only the first {limit:,} were taken.")
    if manifest.skipped:
        words.append(
            f"{len(manifest.skipped)} files of the source were broken and left out; "
            "`manifest.json` names them."
        )
    if manifest.missing and not is_sample(manifest):
        words.append(
            f"{len(manifest.missing)} videos of the split were not in the source used; "
            "`manifest.json` names them."
        )
    if not (words or manifest.complete or is_sample(manifest)):
        words.append("The source used did not hold exactly the videos of the split.")
    return " ".join(words) or "No frame was left out."


def _class_rows(manifest: Manifest) -> list[dict[str, Any]]:
    classes = class_list(manifest.classes)
    return [
        {
            "label": label,
            "name": name,
            "frames": f"{manifest.class_counts.get(name, 0):,}",
            "imagenet": spans(indices) or "none",
        }
        for label, (name, indices) in enumerate(zip(classes.names, classes.imagenet, strict=True))
    ]


def _without_counterpart(manifest: Manifest) -> list[str]:
    classes = class_list(manifest.classes)
    return [
        name for name, indices in zip(classes.names, classes.imagenet, strict=True) if not indices
    ]


def _license_words(manifest: Manifest) -> str:
    license = terms(manifest).license
    if license["license"] == "other":
        return f"the source's terms, [{license['license_name']}]({license['license_link']})"
    return "the source's terms" if license["license"] == "unknown" else "Apache-2.0"


def spans(numbers: Sequence[int]) -> str:
    """Numbers in words, runs drawn together.

    >>> spans([7, 8, 9, 80, 127, 128])
    '7–9, 80, 127–128'
    """
    parts = []
    # Neighbours have the same distance from their place in the sorted list.
    for _, run in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        parts.append(f"{members[0]}–{members[-1]}" if len(members) > 1 else str(members[0]))
    return ", ".join(parts)


def _ordinal(number: int) -> str:
    """A number as a place in an order.

    >>> [_ordinal(number) for number in (2, 3, 10, 12, 21)]
    ['2nd', '3rd', '10th', '12th', '21st']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _plain(text: str) -> str:
    """A version without anything that Markdown could take for more than text."""
    return "".join(character for character in text if character.isalnum() or character in ".+-")
