"""``python -m vidc.build imagenet-vid|lasot|tao-lasot``: build a dataset from clean videos."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from vidc.engines import ENGINES, Engine
from vidc.errors import InputError

if TYPE_CHECKING:
    from vidc.builders.pipeline import Recipe

EXAMPLES = """\
examples:
  COMMAND --root CLEAN --out DATASET
  COMMAND --root CLEAN --out DATASET --dry-run
  COMMAND --root CLEAN --out DATASET --severity 1 3 5
  COMMAND --root CLEAN --out DATASET --shards 3/10
The same command again continues where it stopped."""

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a build."""
    parser.usage = f"{parser.prog} --root DIR --out DIR [options]"
    add = parser.add_argument
    add("--root", type=Path, required=True, metavar="DIR", help="the clean videos")
    add("--out", type=Path, required=True, metavar="DIR", help="the dataset's folder")
    add("--split", help="default: val, test (lasot), trainval (tao-lasot)")
    add("--name", help="the dataset's name, if not the source's own")
    what = parser.add_argument_group("what is built")
    _add_recipe(what)
    _add_selection(parser.add_argument_group("which frames"))
    _add_work(parser.add_argument_group("how it is built"))


def _add_recipe(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--corruptions",
        nargs="+",
        metavar="NAME",
        default=["gaussian_noise", "snow", "rain"],
        help="any of vidc.corruptions()",
    )
    add("--severity", nargs="+", type=int, metavar="N", default=[5], help="1 to 5")
    clean = argparse.BooleanOptionalAction
    add("--clean", action=clean, default=True, help="store the clean frames as well")
    add("--size", default="224", help="pixels (resize and crop), or native")
    add("--format", default="png", help="png or jpeg")
    add("--quality", type=int, default=85, help="of jpeg")
    add("--subsampling", default="420", metavar="RATIO", help="of jpeg: 420 or 444")
    add("--temporal", default="iid", help="iid, or coherent: weather moves")
    add("--seed", type=int, default=0, help="of all randomness")


def _add_selection(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--stride", type=int, default=1, metavar="N", help="every N-th frame of each video")
    add("--limit-videos", type=int, metavar="N", help="the first N videos only")
    add("--allow-missing", action="store_true", help="go on if videos of the split are not there")
    add("--skip-broken", action="store_true", help="leave out broken files, and record them")


def _add_work(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--workers", type=int, metavar="N", help="processes; all cores if not given")
    add("--engine", default="processes", help=", ".join(ENGINES))
    add("--ray-address", metavar="ADDRESS", help="auto or HOST:PORT")
    add(
        "--shards",
        metavar="I/N",
        help="only shards I, I+N, ...: one of N jobs, I from 0",
    )
    add("--shard-size", default="500MB", metavar="SIZE", help="of a Parquet file, about")
    add("--dry-run", action="store_true", help="print the plan, its size and time, and stop")


def main(args: argparse.Namespace) -> int:
    """Build the dataset that the options describe."""
    share = parse_share(args.shards)
    shard_size = parse_bytes(args.shard_size)
    engine = Engine(name=args.engine, workers=args.workers, ray_address=args.ray_address)
    from vidc.builders.building import Request, build, open_clean
    from vidc.builders.settings import Settings

    recipe = _recipe(args)
    source, root = open_clean(args.command, args.root, args.split, args.allow_missing)
    settings = Settings(
        name=source.dataset if args.name is None else args.name,
        source=source.name,
        split=source.split,
        recipe=recipe,
        limit_videos=args.limit_videos,
        shard_size=shard_size,
        allow_missing=args.allow_missing,
        skip_broken=args.skip_broken,
    )
    build(Request(settings, source, root, args.out, engine, share, args.dry_run))
    return 0


def _recipe(args: argparse.Namespace) -> Recipe:
    from vidc.builders.pipeline import Recipe
    from vidc.builders.settings import corruption_list
    from vidc.images import Encoding

    return Recipe(
        corruptions=corruption_list(tuple(args.corruptions), tuple(args.severity), args.clean),
        size=parse_pixels(args.size),
        encoding=Encoding(args.format, args.quality, args.subsampling),
        temporal=args.temporal,
        seed=args.seed,
        stride=args.stride,
    )


def parse_pixels(text: str) -> int | None:
    """The value of --size.

    >>> parse_pixels("224"), parse_pixels("native")
    (224, None)
    """
    if text == "native":
        return None
    if not text.isdecimal():
        raise InputError(f"--size is '{text}': give a number of pixels, or native")
    return int(text)


def parse_bytes(text: str) -> int:
    """The value of --shard-size.

    >>> parse_bytes("500MB"), parse_bytes("1.5g"), parse_bytes("4096")
    (500000000, 1500000000, 4096)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kmg]?)b?", text.lower())
    if match is None:
        raise InputError(f"--shard-size is '{text}': give a size such as 500MB or 2GB")
    return int(float(match[1]) * _UNITS[match[2]])


def parse_share(text: str | None) -> tuple[int, int]:
    """The value of --shards.

    >>> parse_share("3/10"), parse_share(None)
    ((3, 10), (0, 1))
    """
    if text is None:
        return 0, 1
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if match is None or int(match[1]) >= int(match[2]):
        raise InputError(f"--shards is '{text}': give I/N with I from 0 to N - 1, such as 3/10")
    return int(match[1]), int(match[2])
