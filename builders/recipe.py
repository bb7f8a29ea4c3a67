"""``python -m vidc.build from-recipe``: rebuild a dataset from clean videos, compare each frame."""

from __future__ import annotations

import argparse
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vidc.builders import arguments
from vidc.commandline import say
from vidc.errors import InputError, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from vidc.hub import Files
    from vidc.manifest import Manifest

EXAMPLES = """\
examples:
  COMMAND my-org/lasot-c --root LaSOT    into lasot-c
  COMMAND some/folder --root LaSOT --out lasot-c
Exit code 0: all pixels and labels are as recorded; 1: some are not, and named."""

DIFFERENT = 1
_SHOWN = 20
_LABELS = ("label", "labels", "objects")

Key = tuple[str, int]  # a frame's video and index


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of from-recipe."""
    add = parser.add_argument
    add("recipe", metavar="ORG/NAME|DIR", help="a published dataset or recipe, or a folder of one")
    add(
        "--root",
        type=arguments.path,
        required=True,
        metavar="DIR",
        help="your copy of the clean videos",
    )
    add(
        "--out",
        type=arguments.path,
        metavar="DIR",
        help="the rebuilt dataset's folder; else its name",
    )
    add("--revision", metavar="TAG", help="of the published one; the newest if not given")
    add("--workers", type=int, metavar="N", help="processes; all cores if not given")


def main(args: argparse.Namespace) -> int:
    """Rebuild with the recorded recipe through the ordinary build, then compare."""
    from vidc import hub
    from vidc import manifest as manifests
    from vidc.builders.building import again, build
    from vidc.engines import Engine

    files = hub.find(args.recipe, args.revision)
    manifest = manifests.read(files.path(manifests.FILE).parent)
    args.out = args.out or Path(manifest.name)
    if isinstance(files, hub.Folder) and files.root.resolve() == args.out.resolve():
        raise InputError(f"--out is {args.out}, the recipe's own folder: choose another.")
    recorded = read_annotations(files, manifest)
    built = build(again(manifest, args.root, args.out, Engine(workers=args.workers)))
    if built is None:
        raise InputError(f"{args.out} is not finished: give the same command again.")
    found = compare(recorded, read_annotations(hub.Folder(args.out), built))
    return _tell(found, manifest, args)


def read_annotations(files: Files, manifest: Manifest) -> pa.Table:
    """Every frame's labels, boxes and the hashes of its pixels, from files that are as recorded."""
    import pyarrow as pa

    from vidc.frames import ANNOTATIONS
    from vidc.rowgroups import ROW_COLUMNS, read_checked

    return pa.concat_tables(
        read_checked(files, name, manifest.shards[name], [*ROW_COLUMNS, "sha256"])
        for name in manifest.files(ANNOTATIONS)
    )


@dataclass(frozen=True)
class Comparison:
    """How a rebuilt dataset differs from the recorded one."""

    frames: int
    missing: tuple[Key, ...]
    added: tuple[Key, ...]
    repainted: dict[Key, tuple[str, ...]]  # other pixels, and the configs in which
    relabelled: tuple[Key, ...]  # other labels or boxes

    @property
    def equal(self) -> bool:
        """Whether every frame is there with its recorded pixels and labels, and no other."""
        return not (self.missing or self.added or self.repainted or self.relabelled)


def compare(recorded: pa.Table, rebuilt: pa.Table) -> Comparison:
    """Every recorded frame against the rebuilt one of the same video and index."""
    if recorded.equals(rebuilt):
        return Comparison(recorded.num_rows, (), (), {}, ())
    wanted, found = _rows(recorded), _rows(rebuilt)
    both = [key for key in wanted if key in found]
    repainted = {key: _other_pixels(wanted[key].hashes, found[key].hashes) for key in both}
    return Comparison(
        frames=len(wanted),
        missing=tuple(key for key in wanted if key not in found),
        added=tuple(key for key in found if key not in wanted),
        repainted={key: configs for key, configs in repainted.items() if configs},
        relabelled=tuple(key for key in both if wanted[key].labels != found[key].labels),
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """What is recorded of a frame."""

    hashes: dict[str, str]
    labels: bytes  # a hash of labels and boxes, which of a whole dataset would fill the memory


def _rows(table: pa.Table) -> dict[Key, _Row]:
    rows = {}
    for batch in table.to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            labels = repr([row[name] for name in _LABELS]).encode()
            key = row["video"], row["frame"]
            rows[key] = _Row(row["sha256"], hashlib.sha256(labels).digest())
    return rows


def _other_pixels(wanted: dict[str, str], found: dict[str, str]) -> tuple[str, ...]:
    return tuple(config for config, sha256 in wanted.items() if found.get(config) != sha256)


def _tell(found: Comparison, manifest: Manifest, args: argparse.Namespace) -> int:
    configs = ", ".join(manifest.hashed_configs)
    if found.equal:
        say(f"every one of {found.frames:,} frames is as recorded, in {configs}: {args.out}")
        return 0
    lines = [f"{video} frame {frame}: not in {args.root}" for video, frame in found.missing]
    lines += [f"{video} frame {frame}: not in the recipe" for video, frame in found.added]
    lines += [
        f"{video} frame {frame}: {_what(found, (video, frame))}"
        for video, frame in dict.fromkeys((*found.repainted, *found.relabelled))
    ]
    for line in lines[:_SHOWN]:
        say(printable(line))
    if len(lines) > _SHOWN:
        say(f"and {len(lines) - _SHOWN:,} more")
    others = len(lines) - len(found.missing) - len(found.added)
    say(
        f"{args.out} is not the recorded dataset of {found.frames:,} frames: "
        f"{len(found.missing):,} missing, {len(found.added):,} that it has not, "
        f"{others:,} different"
    )
    # What is finished is not built again, whatever has changed in --root since.
    say(f"with other clean videos in {args.root}, delete {args.out} and give the command again")
    return DIFFERENT


def _what(found: Comparison, key: Key) -> str:
    """What differs of a frame that is in both."""
    pixels = [f"other pixels in {_where(found.repainted[key])}"] if key in found.repainted else []
    labels = ["other labels or boxes"] if key in found.relabelled else []
    return ", ".join(pixels + labels)


def _where(configs: tuple[str, ...]) -> str:
    """The configs that differ; where clean does, the source's own frame is another one."""
    from vidc.frames import CLEAN

    note = " (so your clean frame is another one)" if CLEAN in configs else ""
    return ", ".join(configs) + note
