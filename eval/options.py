"""What can be asked of an evaluation, with its defaults; light, so that ``--help`` is quick."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vidc.commandline import Parser
from vidc.engines import ENGINES
from vidc.errors import InputError, unknown

PROGRAM = "python -m vidc.eval"
ORDERS = ("in-order", "shuffled", "both")
MOST_SEEDS = 1000
# The options that one looks for here, and the settings of the protocol that they are.
_OF_THE_PROTOCOL = {"--batch": "stream.batch", "--batch-size": "stream.batch"}
_ENGINE_OPTIONS = (("workers", "processes"), ("ray_address", "ray"), ("gpus_per_cell", "ray"))
_TYPES: Mapping[str, tuple[tuple[type[Any], ...], str]] = {
    "str": ((str,), "text"),
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "True or False"),
}

EXAMPLES = f"""\
examples:
  {PROGRAM}                           the sample's table, once built
  {PROGRAM} imagenet-vid-c lasot-c    the paper's, of two folders
  {PROGRAM} ORG/lasot-c --corruptions snow --columns source unmix_tns
  {PROGRAM} --source lasot --root LaSOT     straight from clean videos
  {PROGRAM} lasot-c --columns source mine.py:MyMethod@unmix_tns
  {PROGRAM} report results/RUN [RUN ...]    a page with plots"""

_COLUMNS_HELP = (
    "source tbn alpha_bn unmix_tns tent tent_unmix lame lame_unmix (all of these); "
    "tent@alpha_bn, FILE.py:CLASS@tbn"
)
_SET_HELP = "of the protocol: unmix_tns.components=64; repeatable"


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
    allow_missing: bool = False
    recipe: str | None = None
    engine: str = "serial"
    workers: int | None = None
    ray_address: str | None = None
    gpus_per_cell: float | None = None
    checkpoint_every: int = 200
    out: str = "results"
    report: bool = True

    def __post_init__(self) -> None:
        _check_types(self)
        if self.order is not None and self.order not in ORDERS:
            raise unknown("order", self.order, ORDERS)
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES)
        for name in ("seeds", "threads", "limit_frames", "workers", "checkpoint_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"--{name.replace('_', '-')} is {value}: give at least 1.")
        if self.seeds > MOST_SEEDS:
            raise InputError(f"--seeds is {self.seeds}: give at most {MOST_SEEDS}.")
        if not (math.isfinite(self.gpus_of_a_cell) and self.gpus_of_a_cell >= 0):
            raise InputError(f"--gpus-per-cell is {self.gpus_per_cell}: give a number from 0 on.")
        if (self.source is None) != (self.root is None):
            raise InputError("--source and --root belong together: give both or neither.")
        if self.source is not None and self.datasets:
            raise InputError(f"give --source or a dataset ({self.datasets[0]}), not both.")
        for name, engine in _ENGINE_OPTIONS:
            if getattr(self, name) is not None and self.engine != engine:
                option = name.replace("_", "-")
                raise InputError(f"--{option} belongs to --engine {engine}: give both or neither.")
        for name in ("split", "allow_missing", "recipe"):
            if self.source is None and getattr(self, name):
                raise InputError(
                    f"--{name.replace('_', '-')} belongs to --source: a built dataset is as it was "
                    "built."
                )

    @property
    def gpus_of_a_cell(self) -> float:
        """How many GPUs Ray gives a cell."""
        return 1.0 if self.gpus_per_cell is None else self.gpus_per_cell

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
    for word in arguments:
        option = word.partition("=")[0]
        if option in _OF_THE_PROTOCOL:
            raise InputError(
                f"{option} is a setting of the protocol: give --set {_OF_THE_PROTOCOL[option]}=N."
            )
    values = vars(_parser().parse_args(arguments))
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tuple(each for part in value for each in _split(name, part))
    return Options(**values)


def check_names(options: Options) -> None:
    """Find a mistyped name without torch: nobody should wait for it to be told of a slip."""
    from vidc.eval.inputs import sample_paths
    from vidc.eval.methods import parse_columns
    from vidc.eval.protocol import load_protocol

    parse_columns(options.columns)
    load_protocol(options.protocol, options.settings)
    if not options.datasets and options.source is None:
        sample_paths()


def _check_types(options: Options) -> None:
    """Refuse what no command line could have given: from Python anything may come."""
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        annotation = str(field.type)  # a string in this module
        if value is None and annotation.endswith("| None"):
            continue
        kinds, noun = next(_TYPES[name] for name in _TYPES if name in annotation)
        for each in value if annotation.startswith("tuple") else (value,):
            if not isinstance(each, kinds) or (isinstance(each, bool) and bool not in kinds):
                wanted = "a name or 'FILE.py:FUNCTION'" if field.name == "model" else noun
                raise InputError(f"{field.name} must be {wanted}, not {type(each).__name__}.")


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
        add_help=False,
    )
    _add_what(parser.add_argument_group("what is measured"))
    _add_how(parser.add_argument_group("how it is computed"))
    _add_where(parser.add_argument_group("where it runs and goes"))
    return parser


def _add_what(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("datasets", nargs="*", metavar="DATASET", help="built folders or Hub ids; none: the sample")
    add("--columns", "--methods", nargs="+", metavar="C", help=_COLUMNS_HELP)
    add(
        "--corruptions",
        nargs="+",
        metavar="C",
        help="default: all that are there but clean (sample: all)",
    )
    add("--severity", nargs="+", metavar="N", help="default: all that are there; --source: 5")
    add("--seeds", type=int, metavar="N", help="seeds 0 to N-1, shown as mean ± deviation (1)")
    add("--order", metavar="ORDER", help="in-order, shuffled or both (as the protocol has it)")
    add("--protocol", metavar="P", help="paper, code or FILE.toml (paper)")
    add("--set", action="append", dest="settings", metavar="KEY=VALUE", help=_SET_HELP)
    add("--model", metavar="M", help="torchvision name or FILE.py:FUNCTION (resnet50)")
    add("--weights", metavar="W", help="torchvision name or file (IMAGENET1K_V1)")
    add("--limit-frames", type=int, metavar="N", help="the first N frames only, for a quick try")
    add("--source", metavar="NAME", help="imagenet-vid, lasot or tao-lasot: clean, not built")
    add("--root", metavar="DIR", help="where the clean videos of --source are")
    add("--split", metavar="NAME", help="of --source (its own default)")
    add("--allow-missing", action="store_true", help="of --source: go on without what is missing")
    add("--recipe", metavar="D", help="of --source: as this dataset (224, PNG, seed 0)")


def _add_how(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--device", metavar="D", help="auto, cpu, cuda or cuda:1 (auto)")
    add("--amp", action="store_true", help="networks in half precision")
    add("--compile", action="store_true", help="networks through torch.compile")
    add(
        "--deterministic",
        action="store_true",
        help="the same digits on every run of a GPU, but slower",
    )
    add(
        "--gpu-decode",
        action="store_true",
        help="JPEG decoded by the GPU, whose pixels differ slightly",
    )
    add("--threads", type=int, metavar="N", help="that decode (GPU: one a core; CPU: a quarter)")


def _add_where(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--engine", metavar="E", help="serial; cells over processes, or GPUs by ray (serial)")
    add("--workers", type=int, metavar="N", help="of --engine processes: at a time (one a core)")
    add("--ray-address", metavar="A", help="of a cluster (a Ray of its own on this machine)")
    add("--gpus-per-cell", type=float, metavar="N", help="of --engine ray; 0.5 shares a GPU (1)")
    add("--checkpoint-every", type=int, metavar="N", help="batches, or five minutes (200)")
    add("--out", metavar="DIR", help="where the run's folder is made (results)")
    add("--no-report", action="store_false", dest="report", help="leave out report.html")
    add("-h", "--help", action="help", help="show this and exit")
