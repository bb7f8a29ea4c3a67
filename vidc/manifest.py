"""manifest.json: what a built dataset is, and the sha256 of every file that it is made of."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from vidc import jsonfields
from vidc.errors import InputError
from vidc.files import write_whole
from vidc.frames import ANNOTATIONS, CLEAN, config_name
from vidc.jsonfields import NAME, Fields

FILE = "manifest.json"
SCHEMA = 1

# A manifest may come from the internet: these are all the names that it may make us open.
_SHARD = re.compile(rf"data/{NAME}/{NAME}-[0-9]{{5,}}-of-[0-9]{{5,}}\.parquet")
_LARGEST_FILE = 32 * 2**20


@dataclass(frozen=True)
class RecipeEntry:
    """Everything that decides a pixel, beside the clean video itself."""

    version: str
    corruptions: tuple[tuple[str, int], ...]
    size: int | None  # None: as large as the source
    format: str
    quality: int | None
    subsampling: str | None
    temporal: str
    seed: int
    stride: int


@dataclass(frozen=True)
class BuildEntry:
    """Which videos were asked for and how they were cut into shards."""

    limit_videos: int | None
    shard_size: int
    allow_missing: bool
    skip_broken: bool
    plan: str  # sha256 over all settings and every (video, start, stop) of every shard


@dataclass(frozen=True)
class Shard:
    """One Parquet file."""

    sha256: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class Skipped:
    """A source file that was left out, and why."""

    file: str
    why: str


@dataclass(frozen=True)
class Manifest:
    """The whole of manifest.json; equal builds have equal manifests."""

    name: str
    source: str
    split: str
    classes: str
    complete: bool  # every frame of every video of the split
    recipe: RecipeEntry
    build: BuildEntry
    versions: Mapping[str, str]
    videos: int
    frames: int
    class_counts: Mapping[str, int]
    skipped: tuple[Skipped, ...]
    missing: tuple[str, ...]
    shards: Mapping[str, Shard]

    @property
    def configs(self) -> tuple[str, ...]:
        """The configs with images, in the recipe's order."""
        return tuple(config_name(name, severity) for name, severity in self.recipe.corruptions)

    @property
    def hashed_configs(self) -> tuple[str, ...]:
        """The configs whose pixel hashes are in ``annotations``: clean first, built or not."""
        return (CLEAN, *(config for config in self.configs if config != CLEAN))

    def files(self, config: str) -> tuple[str, ...]:
        """The shards of a config in order, as paths relative to the dataset's folder."""
        return tuple(sorted(path for path in self.shards if path.split("/")[1] == config))

    def to_json(self) -> str:
        """The file's text: sorted keys, so that equal manifests are equal files."""
        content = {"schema": SCHEMA, **asdict(self)}
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def write(folder: Path, manifest: Manifest) -> None:
    """Put manifest.json into a dataset's folder."""
    write_whole(folder / FILE, manifest.to_json().encode())


def exists(folder: Path) -> bool:
    """Whether the folder holds a finished dataset."""
    return (folder / FILE).is_file()


def read(folder: Path) -> Manifest:
    """The manifest in a dataset's folder, checked."""
    path = folder / FILE
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError(f"{path} is too large to be a manifest")
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise InputError(
            f"{folder} holds no {FILE}: give the folder of a dataset that was built to its end"
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text: build or download it again") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    return parse(text, str(path))


def parse(text: str, where: str) -> Manifest:
    """A manifest from its text; ``where`` names the file in the error."""
    content = jsonfields.parse(text, where)
    fields = Fields(content, where)
    if fields.integer("schema") != SCHEMA:
        raise InputError(
            f"{where} has schema {content['schema']} and this vidc reads {SCHEMA}: "
            "use the version of vidc that wrote it"
        )
    fields.inner("versions").text("vidc")
    manifest = Manifest(
        name=fields.name("name"),
        source=fields.name("source"),
        split=fields.name("split"),
        classes=fields.name("classes"),
        complete=fields.boolean("complete"),
        recipe=_recipe(fields.inner("recipe")),
        build=_build(fields.inner("build")),
        versions={key: fields.inner("versions").text(key) for key in fields.keys_of("versions")},
        videos=fields.integer("videos"),
        frames=fields.integer("frames"),
        class_counts={
            key: fields.inner("class_counts").integer(key) for key in fields.keys_of("class_counts")
        },
        skipped=tuple(
            Skipped(entry.text("file"), entry.text("why")) for entry in fields.entries("skipped")
        ),
        missing=fields.texts("missing"),
        shards=_shards(fields.inner("shards"), fields.keys_of("shards")),
    )
    _check_shards(manifest, where)
    return manifest


def _recipe(fields: Fields) -> RecipeEntry:
    return RecipeEntry(
        version=fields.text("version"),
        corruptions=_corruptions(fields),
        size=fields.optional_integer("size", least=1),
        format=fields.name("format"),
        quality=fields.optional_integer("quality"),
        subsampling=fields.optional_text("subsampling"),
        temporal=fields.name("temporal"),
        seed=fields.integer("seed"),
        stride=fields.integer("stride", least=1),
    )


def _corruptions(fields: Fields) -> tuple[tuple[str, int], ...]:
    pairs = []
    for pair in fields.values("corruptions"):
        if not (isinstance(pair, list) and len(pair) == 2):
            raise fields.wrong("corruptions", "a list of [corruption, severity]")
        entry = Fields({"name": pair[0], "severity": pair[1]}, fields.where)
        pairs.append((entry.name("name"), entry.integer("severity")))
    if not pairs or len({config_name(*pair) for pair in pairs}) != len(pairs):
        raise fields.wrong("corruptions", "a list of different corruptions")
    return tuple(pairs)


def _build(fields: Fields) -> BuildEntry:
    return BuildEntry(
        limit_videos=fields.optional_integer("limit_videos", least=1),
        shard_size=fields.integer("shard_size", least=1),
        allow_missing=fields.boolean("allow_missing"),
        skip_broken=fields.boolean("skip_broken"),
        plan=fields.sha256("plan"),
    )


def _shards(fields: Fields, paths: list[str]) -> dict[str, Shard]:
    return {path: shard_of(fields, path) for path in paths}


def shard_of(fields: Fields, path: str) -> Shard:
    """What is said of the shard at this path, which has to be one that we would give it."""
    if not _SHARD.fullmatch(path):
        raise fields.wrong(path, "a name like data/snow/val-00000-of-00002.parquet")
    entry = fields.inner(path)
    return Shard(entry.sha256("sha256"), entry.integer("rows"), entry.integer("bytes"))


def _check_shards(manifest: Manifest, where: str) -> None:
    """Every config has the same shards, and there is no other."""
    names: dict[str, list[str]] = {config: [] for config in (*manifest.configs, ANNOTATIONS)}
    for path in sorted(manifest.shards):
        _, config, file = path.split("/")
        if config not in names:
            raise InputError(f"{where} lists {path}, but its recipe has no {config}")
        names[config].append(file)
    count = len(names[ANNOTATIONS])
    expected = [f"{manifest.split}-{i:05d}-of-{count:05d}.parquet" for i in range(count)]
    for config, files in names.items():
        if files != expected or not files:
            raise InputError(f"{where} does not list the same shards, 0 to N, for {config}")
