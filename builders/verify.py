"""``python -m vidc.build verify``: re-read a built dataset and say what is not as it should be."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vidc.builders import arguments
from vidc.commandline import from_the_start, say
from vidc.engines import Engine, run
from vidc.errors import InputError, printable

if TYPE_CHECKING:
    from vidc.builders.verify_shard import Seen
    from vidc.manifest import Manifest

EXAMPLES = """\
examples:
  COMMAND lasot-c                 every byte, row and pixel
  COMMAND lasot-c --root LaSOT    and 100 frames made again
Exit code 0 if all is well, 1 with a list if something is off."""

SOMETHING_IS_OFF = 1
SAMPLES, SEED = 100, 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of verify."""
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="a built dataset")
    add("--root", type=arguments.path, metavar="DIR", help="the clean videos it was built from")
    # No defaults here: without --root they would be misplaced, and are refused.
    again = f"frames made again from --root (default: {SAMPLES})"
    add("--samples", type=int, metavar="N", help=again)
    add("--seed", type=int, help=f"of the choice of these frames (default: {SEED})")
    add("--workers", type=int, metavar="N", help="processes; all cores if not given")


@from_the_start()
def main(args: argparse.Namespace) -> int:
    """Print what was found; the exit code says whether it was anything."""
    from vidc import manifest as manifests
    from vidc.builders import summary

    samples, seed = _choice(args)
    engine = Engine(workers=args.workers)
    manifest = manifests.read(args.folder)
    _check_has_images(args.folder, manifest)
    if args.root:
        from vidc.builders.verify_pixels import clean_videos, remake

        clean_videos(manifest, args.root)  # a mistyped --root is told before hours of reading
    findings = verify(args.folder, engine)
    remade = 0
    if args.root and not findings:
        remade, findings = remake(args.folder, args.root, samples, seed, engine)
    for finding in findings:
        say(printable(finding))
    if findings:
        say(f"{args.folder} is not as it should be")
        return SOMETHING_IS_OFF
    say(f"{args.folder} is as it was built: {summary.one_line(manifest)}")
    if args.root:
        say(f"  {remade} frames made again from {args.root}: the same pixels and labels")
    return 0


def _choice(args: argparse.Namespace) -> tuple[int, int]:
    """How many frames are made again, and the seed of the choice."""
    for name in ("samples", "seed"):
        if getattr(args, name) is not None and not args.root:
            raise InputError(f"--{name} belongs to --root: give both or neither")
    samples = SAMPLES if args.samples is None else args.samples
    if samples < 1:
        raise InputError(f"--samples is {samples}: give at least 1")
    return samples, SEED if args.seed is None else args.seed


def _check_has_images(folder: Path, manifest: Manifest) -> None:
    """A recipe is published without images: that none is there is then no damage."""
    from vidc.builders.source import is_folder
    from vidc.frames import ANNOTATIONS

    data = folder / "data"
    images = any(is_folder(data / config) for config in manifest.configs)
    if is_folder(data / ANNOTATIONS) and not images:
        raise InputError(
            f"{folder} holds a recipe, and no image to verify: 'python -m vidc.build from-recipe "
            f"{folder} --root DIR' builds it"
        )


def verify(folder: Path, engine: Engine) -> list[str]:
    """Everything that is wrong with a built dataset, one sentence each."""
    from tqdm import tqdm

    from vidc import manifest as manifests
    from vidc.builders.verify_shard import ShardCheck, check_shard
    from vidc.frames import ANNOTATIONS

    manifest = manifests.read(folder)
    count = len(manifest.files(ANNOTATIONS))
    jobs = [ShardCheck(folder.absolute(), manifest, index) for index in range(count)]
    total = manifest.frames * len(manifest.configs)
    with tqdm(total=total, unit=" frames", disable=None) as bar:

        def progress(done: int) -> None:
            bar.update(done - bar.n)

        seen = dict(run(engine, check_shard, jobs, progress))
    shards = [seen[index] for index in range(count)]
    return [
        *_wrong_files(folder, manifest),
        *(finding for shard in shards for finding in shard.findings),
        *_wrong_order(shards),
        *_wrong_counts(manifest, shards),
    ]


def _wrong_files(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Files that do not belong to the dataset; missing ones are found when they are read."""
    for path in sorted((folder / "data").rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_dir() and name not in manifest.shards:
            yield f"{name} is not in the manifest"


def _wrong_order(shards: Sequence[Seen]) -> Iterator[str]:
    """Videos by id, each in one piece, and its frames by index."""
    before: tuple[str, int] | None = None
    for shard in shards:
        for place in shard.frames:
            if before is not None and place <= before:
                yield (
                    f"frame {place[1]} of {place[0]} comes after frame {before[1]} of "
                    f"{before[0]}: the order is broken"
                )
            before = place


def _wrong_counts(manifest: Manifest, shards: Sequence[Seen]) -> Iterator[str]:
    from vidc.classes import class_list

    frames = [place for shard in shards for place in shard.frames]
    if len(frames) != manifest.frames:
        yield f"there are {len(frames)} frames and the manifest says {manifest.frames}"
    videos = len({video for video, _ in frames})
    if videos != manifest.videos:
        yield f"there are {videos} videos and the manifest says {manifest.videos}"
    labels: Counter[int] = Counter()
    for shard in shards:
        labels.update(shard.labels)
    for label, name in enumerate(class_list(manifest.classes).names):
        said = manifest.class_counts.get(name, 0)
        if labels[label] != said:
            yield f"there are {labels[label]} frames of {name} and the manifest says {said}"
