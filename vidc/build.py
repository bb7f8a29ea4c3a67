"""``python -m vidc.build``: make a dataset, check it, look at it, publish it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vidc.commandline import Parser, run
from vidc.errors import unknown

if TYPE_CHECKING:
    from pathlib import Path

    from vidc.frames import FrameSource

PROGRAM = "python -m vidc.build"
PURPOSE = "Make a dataset, check it, look at it, publish it."

EXAMPLES = f"""\
examples:
  {PROGRAM}                 the sample, no download: datasets/sample
  {PROGRAM} imagenet-vid --root ILSVRC2015 --out imagenet-vid-c
  {PROGRAM} lasot --root LaSOT --out lasot-c --severity 3 5
  {PROGRAM} verify imagenet-vid-c --root ILSVRC2015"""

# name, help line, module of vidc.builders with add_arguments(parser) and main(args) -> exit code;
# imported only when asked for, so that help and mistakes in the name are told at once.
COMMANDS = (
    ("imagenet-vid", "build ImageNet-VID-C from ILSVRC2015's videos", "command"),
    ("lasot", "build LaSOT-C from LaSOT's sequences", "command"),
    ("tao-lasot", "build TAO-LaSOT-C from the LaSOT videos of TAO", "command"),
    ("verify", "re-read a built dataset and check every byte of it", "verify"),
    ("preview", "draw a frame in its corruptions", "preview"),
    ("publish", "upload a built dataset to the Hugging Face Hub", "publish"),
    ("from-recipe", "rebuild a published dataset from your own clean videos", "recipe"),
)


def virtual(
    source: str,
    root: str | Path,
    corruption: str,
    severity: int,
    *,
    split: str | None = None,
    size: int | None = 224,
    format: str = "png",
    quality: int = 85,
    subsampling: str = "420",
    seed: int = 0,
    temporal: str = "iid",
    stride: int = 1,
    limit_videos: int | None = None,
    allow_missing: bool = False,
    threads: int | None = None,
) -> FrameSource:
    """The frames that a build of these settings would store, made on the fly from clean videos."""
    from vidc.builders.pipeline import Recipe
    from vidc.builders.source import open_source
    from vidc.builders.virtual import VirtualFrames
    from vidc.images import Encoding

    recipe = Recipe(
        corruptions=((corruption, severity),),
        size=size,
        encoding=Encoding(format, quality, subsampling),
        temporal=temporal,
        seed=seed,
        stride=stride,
    )
    opened = open_source(source, root, split=split, allow_missing=allow_missing)
    return VirtualFrames(opened, recipe, limit_videos=limit_videos, threads=threads)


def render_sample(root: str | Path, training_clips: int | None = None) -> None:
    """Render the sample's clean videos, or so many clips of each kind to train a network for it."""
    from pathlib import Path

    from vidc.builders import sample

    if training_clips is None:
        sample.render(Path(root))
    else:
        sample.render_training(Path(root), training_clips)


def main(arguments: Sequence[str]) -> int:
    """Find the command that is meant and run it."""
    if not arguments:
        from vidc.builders.sample_build import build_sample

        return build_sample()
    name = arguments[0]
    if name.startswith("-"):
        _overview().parse_args(arguments)
        return 0
    modules = {command: module for command, _, module in COMMANDS}
    if name not in modules:
        raise unknown("command", name, modules)
    module = importlib.import_module(f"vidc.builders.{modules[name]}")
    examples = getattr(module, "EXAMPLES", "").replace("COMMAND", f"{PROGRAM} {name}")
    parser = Parser(prog=f"{PROGRAM} {name}", examples=examples)
    parser.set_defaults(command=name)
    module.add_arguments(parser)
    code: int = module.main(parser.parse_args(arguments[1:]))
    return code


def _overview() -> Parser:
    lines = "\n".join(f"  {name:14}{line}" for name, line, _ in COMMANDS)
    return Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [COMMAND] ...",
        examples=EXAMPLES,
        description=f"{PURPOSE}\n\ncommands (each has its own --help):\n{lines}",
    )


if __name__ == "__main__":
    run(main, PROGRAM)
