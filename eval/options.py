"""What can be asked of an evaluation, with its defaults; light, so that ``--help`` is quick."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from vidc.commandline import Parser
from vidc.errors import InputError, unknown

PROGRAM = "python -m vidc.eval"
ORDERS = ("in-order", "shuffled", "both")
ENGINES = ("serial", "ray")

EXAMPLES = f"""\
examples:
  {PROGRAM}                                  the sample's table (python -m vidc.build first)
  {PROGRAM} imagenet-vid-c lasot-c           the paper's table, from two built folders
  {PROGRAM} ORG/imagenet-vid-c --corruptions snow --columns source unmix_tns --seeds 3
  {PROGRAM} --source imagenet-vid --root ILSVRC2015     straight from clean videos
  {PROGRAM} lasot-c --columns source mine.py:MyMethod@unmix_tns
  {PROGRAM} report results/RUN [RUN ...]     a page with plots and the numbers behind them"""


@dataclass(frozen=True)
class Options:
    """Everything that an evaluation can be told. Empty means the default that the text names."""

    datasets: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    corruptions: tuple[str, ...] = ()
    severity: tuple[int, ...] = ()
    seeds: int = 1
    protocol: str = "paper"
    settings: tuple[str, ...] = ()
    order: str | None = None
    model: str | None = None
    weights: str | None = None
    device: str = "auto"
    amp: bool = False
    compile: bool = False
    deterministic: bool = False
    gpu_decode: bool = False
    threads: int | None = None
    limit_frames: int | None = None
    source: str | None = None
    root: str | None = None
    split: str | None = None
    engine: str = "serial"
    ray_address: str | None = None
    gpus_per_cell: float = 1.0
    checkpoint_every: int = 200
    out: str = "results"
    report: bool = True

    def __post_init__(self) -> None:
        if self.order is not None and self.order not in ORDERS:
            raise unknown("order", self.order, ORDERS)
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES)
        for name in ("seeds", "threads", "limit_frames", "checkpoint_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"--{name.replace('_', '-')} is {value}: give at least 1.")
        if self.gpus_per_cell < 0:
            raise InputError(f"--gpus-per-cell is {self.gpus_per_cell:g}: give 0 or more.")
        if (self.source is None) != (self.root is None):
            raise InputError("--source and --root belong together: give both or neither.")
        if self.source is not None and self.datasets:
            raise InputError(f"give --source or a dataset ({self.datasets[0]}), not both.")
        if self.split is not None and self.source is None:
            raise InputError("--split belongs to --source: a built dataset has its own split.")

    def command(self) -> list[str]:
        """The command that asks for this, defaults left out."""
        words = PROGRAM.split() + list(self.datasets)
        for field in dataclasses.fields(self)[1:]:
            value = getattr(self, field.name)
            if value == field.default:
                continue
            if field.name == "settings":
                words += [word for setting in value for word in ("--set", setting)]
            elif field.name == "report":
                words.append("--no-report")
            else:
                words.append(f"--{field.name.replace('_', '-')}")
                values = value if isinstance(value, tuple) else () if value is True else (value,)
                words += [str(each) for each in values]
        return words


def parse(arguments: Sequence[str]) -> Options:
    """The options of a command line."""
    values = vars(_parser().parse_args(arguments))
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tuple(each for part in value for each in _split(name, part))
    return Options(**values)


def _split(name: str, part: str) -> list[str] | list[int]:
    """``snow,rain`` as two; a dataset or a setting may hold a comma of its own."""
    if name in ("datasets", "settings"):
        return [part]
    words = [word for word in part.split(",") if word]
    if name != "severity":
        return words
    try:
        return [int(word) for word in words]
    except ValueError:
        raise InputError(f"--severity {part} is not a number from 1 to 5.") from None


def _parser() -> Parser:
    parser = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [DATASET ...] [options]",
        examples=EXAMPLES,
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument(
        "datasets", nargs="*", metavar="DATASET", help="built folders or Hub ids; none: the sample"
    )
    _add_what(parser.add_argument_group("what is measured"))
    _add_how(parser.add_argument_group("how it is computed"))
    _add_where(parser.add_argument_group("where it runs and goes"))
    return parser


def _add_what(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--columns",
        "--methods",
        nargs="+",
        metavar="C",
        help="ids, or method@normalization (all 8)",
    )
    group.add_argument(
        "--corruptions", nargs="+", metavar="C", help="which (all that are there); also: clean"
    )
    group.add_argument("--severity", nargs="+", metavar="S", help="which (all; with --source: 5)")
    group.add_argument("--seeds", type=int, metavar="N", help="0 to N-1; over 1: mean ± sd (1)")
    group.add_argument(
        "--order", metavar="ORDER", help="in-order, shuffled or both (the protocol's)"
    )
    group.add_argument("--protocol", metavar="P", help="paper, code or FILE.toml (paper)")
    group.add_argument(
        "--set",
        action="append",
        dest="settings",
        metavar="KEY=V",
        help="as unmix_tns.components=64",
    )
    group.add_argument(
        "--model", metavar="M", help="torchvision name or file.py:function (resnet50)"
    )
    group.add_argument("--weights", metavar="W", help="a name or a file (IMAGENET1K_V1)")
    group.add_argument(
        "--limit-frames", type=int, metavar="N", help="the first N frames only, for a quick try"
    )
    group.add_argument("--source", metavar="NAME", help="imagenet-vid, lasot or tao-lasot, unbuilt")
    group.add_argument("--root", metavar="DIR", help="where the --source's clean videos are")
    group.add_argument("--split", metavar="SPLIT", help="of the --source (its own default)")


def _add_how(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--device", metavar="D", help="auto, cpu, cuda or cuda:1 (auto)")
    group.add_argument("--amp", action="store_true", help="networks in half precision")
    group.add_argument("--compile", action="store_true", help="networks through torch.compile")
    group.add_argument("--deterministic", action="store_true", help="the same digits on every run")
    group.add_argument(
        "--gpu-decode", action="store_true", help="JPEG decoded by the GPU; pixels differ slightly"
    )
    group.add_argument("--threads", type=int, metavar="N", help="that decode (one a core)")


def _add_where(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--engine", metavar="E", help="serial, or ray: cells over GPUs (serial)")
    group.add_argument("--ray-address", metavar="A", help="of a cluster (one on this machine)")
    group.add_argument("--gpus-per-cell", type=float, metavar="N", help="for ray, as 0.5 (1)")
    group.add_argument(
        "--checkpoint-every", type=int, metavar="N", help="batches, or 5 minutes (200)"
    )
    group.add_argument("--out", metavar="DIR", help="a folder a run is made in it (results)")
    group.add_argument("--no-report", action="store_false", dest="report", help="files only")
