"""``python -m vidc.build imagenet-vid|lasot|tao-lasot``: build a dataset from clean videos."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from vidc.builders import arguments
from vidc.engines import ENGINES, Engine
from vidc.errors import InputError

if TYPE_CHECKING:
    from vidc.builders.building import Request
    from vidc.builders.pipeline import Recipe
    from vidc.images import Encoding

EXAMPLES = """\
examples:
  COMMAND --root CLEAN --out DATASET
  COMMAND --root CLEAN --out DATASET --dry-run
  COMMAND --root CLEAN --out DATASET --severity 1 3 5
  COMMAND --root CLEAN --out DATASET --shards 3/10
The same command again continues where it stopped."""

# What each source's help says: its splits, the default first, and what --allow-missing allows.
SPLITS = {
    "imagenet-vid": ("val", "train"),
    "lasot": ("test", "train", "full"),
    "tao-lasot": ("trainval", "train", "validation"),
}
_ALLOWED = {
    "imagenet-vid": "take frames without an annotation file as unlabelled",
    "lasot": "go on without missing videos, lines and flags files",
    "tao-lasot": "go on without missing videos",
}
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a build from the source that the command is called after."""
    source = parser.get_default("command")
    parser.usage = f"{parser.prog} --root DIR --out DIR [options]"
    add = parser.add_argument
    add("--root", type=arguments.path, required=True, metavar="DIR", help="the clean videos")
    add("--out", type=arguments.path, required=True, metavar="DIR", help="the dataset's folder")
    add("--split", metavar="NAME", help=_splits(source))
    add("--name", help="the dataset's name, if not the source's own")
    what = parser.add_argument_group("what is built")
    _add_recipe(what)
    _add_selection(parser.add_argument_group("which frames"), source)
    _add_work(parser.add_argument_group("how it is built"))


def _splits(source: str) -> str:
    known = SPLITS.get(source)
    return f"{', '.join(known)} (default: {known[0]})" if known else "if not the source's own"


def _add_recipe(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--corruptions",
        nargs="+",
        metavar="NAME",
        default=["gaussian_noise", "snow", "rain"],
        help="any of vidc.corruptions()",
    )
    add("--severity", nargs="+", metavar="N", default=["5"], help="1 to 5")
    clean = argparse.BooleanOptionalAction
    add("--clean", action=clean, default=True, help="store the clean frames as well")
    add("--size", default="224", help="pixels (resize and crop), or native")
    add("--format", default="png", help="png or jpeg")
    # No defaults here: with --format png they would be misplaced, and are refused.
    add("--quality", type=int, help="of jpeg (default: 85)")
    add("--subsampling", metavar="RATIO", help="of jpeg: 420 or 444 (default: 420)")
    add("--temporal", default="iid", help="iid, or coherent: weather moves")
    add("--seed", type=int, default=0, help="of all randomness")


def _add_selection(group: argparse._ArgumentGroup, source: str) -> None:
    add = group.add_argument
    add("--stride", type=int, default=1, metavar="N", help="every N-th frame of each video")
    add("--limit-videos", type=int, metavar="N", help="the first N videos only")
    allowed = _ALLOWED.get(source, "go on without what is missing")
    add("--allow-missing", action="store_true", help=allowed)
    add("--skip-broken", action="store_true", help="leave out broken files, and record them")


def _add_work(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--workers", type=int, metavar="N", help="processes; all cores if not given")
    add("--engine", default="processes", help=", ".join(ENGINES))
    add("--ray-address", metavar="ADDRESS", help="auto or HOST:PORT (default: its own Ray)")
    add(
        "--shards",
        metavar="I/N",
        help="only shards I, I+N, ...: one of N jobs, I from 0",
    )
    add("--shard-size", default="500MB", metavar="SIZE", help="of a Parquet file, about")
    add("--dry-run", action="store_true", help="print the plan, its size and time, and stop")


def main(args: argparse.Namespace) -> int:
    """Build the dataset that the options describe."""
    request = _request(args)
    from vidc.builders.building import build
    from vidc.builders.shards import BrokenFileError

    try:
        build(request)
    except BrokenFileError as mistake:
        raise InputError(
            f"{str(mistake).removesuffix('.')}; --skip-broken leaves out what is broken, and the "
            "same command with it continues"
        ) from mistake
    return 0


def _request(args: argparse.Namespace) -> Request:
    share = parse_share(args.shards)
    shard_size = parse_bytes(args.shard_size)
    engine = Engine(name=args.engine, workers=args.workers, ray_address=args.ray_address)
    from vidc.builders.building import Request, open_clean
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
    return Request(settings, source, root, args.out, engine, share, args.dry_run)


def _recipe(args: argparse.Namespace) -> Recipe:
    from vidc.builders.pipeline import Recipe
    from vidc.builders.settings import corruption_list

    names = arguments.listed("--corruptions", args.corruptions)
    severities = arguments.numbers("--severity", args.severity)
    return Recipe(
        corruptions=corruption_list(names, severities, args.clean),
        size=parse_pixels(args.size),
        encoding=_encoding(args),
        temporal=args.temporal,
        seed=args.seed,
        stride=args.stride,
    )


def _encoding(args: argparse.Namespace) -> Encoding:
    from vidc.images import Encoding

    of_jpeg: dict[str, Any] = {
        name: value
        for name in ("quality", "subsampling")
        if (value := getattr(args, name)) is not None
    }
    if of_jpeg and args.format == "png":
        raise InputError(f"--{next(iter(of_jpeg))} belongs to --format jpeg: give both or neither")
    return Encoding(args.format, **of_jpeg)


def parse_pixels(text: str) -> int | None:
    """The value of --size.

    >>> parse_pixels("224"), parse_pixels("native")
    (224, None)
    """
    if text == "native":
        return None
    if not text.isdecimal() or len(text) > 9:  # Python refuses numbers of thousands of digits
        raise InputError(f"--size is '{text}': give a number of pixels up to 8192, or native")
    return int(text)


def parse_bytes(text: str) -> int:
    """The value of --shard-size.

    >>> parse_bytes("500MB"), parse_bytes("1.5g"), parse_bytes("4096")
    (500000000, 1500000000, 4096)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kmg]?)b?", text.lower())
    if match is None:
        raise InputError(f"--shard-size is '{text}': give a size such as 500MB or 2GB")
    size = float(match[1]) * _UNITS[match[2]]
    if size >= 2**63:
        raise InputError(f"--shard-size is '{text}': give less than 2^63 bytes")
    return int(size)


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
