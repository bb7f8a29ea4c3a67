"""What an evaluation will do: everything that can be checked before a frame is read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

import vidc
from vidc.engines import cores
from vidc.errors import InputError
from vidc.eval import environment
from vidc.eval.cell import CellSettings, cell_frames
from vidc.eval.inputs import Input, built_input, sample_paths
from vidc.eval.methods import COLUMNS, check_methods, parse_columns
from vidc.eval.models import LoadedModel, load_model
from vidc.eval.networks import check_layers
from vidc.eval.options import Options
from vidc.eval.protocol import load_protocol
from vidc.eval.report.runs import SCHEMA
from vidc.eval.results import CellKey, RunFolder
from vidc.eval.table import row_order
from vidc.eval.usercode import is_user_code, read_user_file
from vidc.eval.virtual import virtual_input
from vidc.eval.weights import SAMPLE

DEFAULT_MODEL = "resnet50"


@dataclass(frozen=True)
class Plan:
    """The cells to run, with all that they need."""

    inputs: dict[str, Input]
    model: LoadedModel
    settings: CellSettings
    cells: tuple[CellKey, ...]
    frames: dict[str, int]  # of a cell of each dataset
    workers: int | None  # cells at a time, where they are this machine's processes
    folder: RunFolder
    header: dict[str, Any]


def make_plan(options: Options) -> Plan:
    """Look at everything that was asked for; a mistake is told before anything is written."""
    order = [f"stream.order={options.order}"] if options.order else []
    protocol = load_protocol(options.protocol, [*options.settings, *order])
    columns = tuple(parse_columns(options.columns or list(COLUMNS)))
    check_methods(columns, protocol)
    inputs = _inputs(options)
    cells = _cells(options, inputs)
    device = _device(options)
    model = load_model(options.model or _default_model(inputs), options.weights)
    for source in inputs.values():
        check_layers(columns, model, source.about.classes, protocol)
    workers = cells_at_once(options, device)
    settings = CellSettings(
        columns=columns,
        protocol=protocol,
        device=str(device),
        amp=options.amp,
        compile=options.compile,
        deterministic=options.deterministic,
        threads=options.threads or max(1, decode_threads(device) // (workers or 1)),
        network_threads=network_threads(options, workers),
        gpu_decode=options.gpu_decode,
        limit_frames=options.limit_frames,
        checkpoint_every=options.checkpoint_every,
    )
    return Plan(
        inputs=inputs,
        model=model,
        settings=settings,
        cells=cells,
        frames=_open_all(inputs, model, cells, settings),
        workers=workers,
        folder=RunFolder(Path(options.out) / _run_name(inputs, model, settings)),
        header=_header(options, inputs, model, settings),
    )


def _inputs(options: Options) -> dict[str, Input]:
    inputs: list[Input]
    if options.source is not None and options.root is not None:
        inputs = [
            virtual_input(
                options.source, options.root, options.split, options.allow_missing, options.recipe
            )
        ]
    else:
        inputs = [built_input(path) for path in options.datasets or sample_paths()]
    by_name: dict[str, Input] = {}
    for each in inputs:
        if each.about.name in by_name:
            raise InputError(
                f"{by_name[each.about.name].about.path} and {each.about.path} are both named "
                f"{each.about.name}: evaluate them one at a time."
            )
        by_name[each.about.name] = each
    return by_name


def _cells(options: Options, inputs: dict[str, Input]) -> tuple[CellKey, ...]:
    return tuple(
        CellKey(name, *corruption, seed)
        for name, each in inputs.items()
        for corruption in sorted(
            set(each.corruptions(options.corruptions, options.severity)), key=row_order
        )
        for seed in range(options.seeds)
    )


def _device(options: Options) -> torch.device:
    if options.engine == "ray":
        device = _ray_device(options)
    else:
        device = environment.pick_device(options.device)
    if options.gpu_decode and device.type != "cuda":
        raise InputError("--gpu-decode needs a CUDA device: leave it out.")
    return device


def _ray_device(options: Options) -> torch.device:
    """What a cell finds where Ray places it: its own GPUs, or none.

    The machine that hands out the cells is not asked: it may have no GPU, or one that no cell gets.
    """
    gpus = options.gpus_of_a_cell > 0
    asked = options.device if options.device != "auto" else "cuda" if gpus else "cpu"
    if asked == "cuda" and gpus:
        return torch.device("cuda")
    if asked.startswith("cuda"):
        raise InputError(
            f"--device {asked}: Ray chooses the GPUs of a cell; give --device cuda, and how many "
            "with --gpus-per-cell."
        )
    return environment.pick_device(asked)


def decode_threads(device: torch.device) -> int:
    """Enough to keep a GPU busy; few where the networks need the same cores."""
    return cores() if device.type == "cuda" else max(1, cores() // 4)


def cells_at_once(options: Options, device: torch.device) -> int | None:
    """How many cells run beside each other in processes: on a CPU one a core, on a GPU one."""
    if options.engine != "processes":
        return None
    return options.workers or (1 if device.type == "cuda" else cores())


def network_threads(options: Options, workers: int | None) -> int:
    """Cells that share a machine's cores each have their part of them; Ray gives a cell one."""
    if options.engine == "ray":
        return 1
    return max(1, torch.get_num_threads() // (workers or 1))


def _default_model(inputs: dict[str, Input]) -> str:
    samples = [each.about.is_sample for each in inputs.values()]
    return SAMPLE if all(samples) else DEFAULT_MODEL


def _open_all(
    inputs: dict[str, Input],
    model: LoadedModel,
    cells: tuple[CellKey, ...],
    settings: CellSettings,
) -> dict[str, int]:
    """Find a missing shard now, not hours later when its cell's turn comes; count the frames."""
    frames: dict[str, int] = {}
    for name, corruption in dict.fromkeys((c.dataset, (c.corruption, c.severity)) for c in cells):
        source = inputs[name].open(corruption, settings.threads)
        if name not in frames:
            frames[name] = len(cell_frames(source, model, settings, seed=0))
    return frames


def _header(
    options: Options, inputs: dict[str, Input], model: LoadedModel, settings: CellSettings
) -> dict[str, Any]:
    """All of results.json but its cells."""
    # The machine that hands out the cells need not have their GPUs: each cell tells its own.
    local = torch.device("cpu") if options.engine == "ray" else torch.device(settings.device)
    return {
        "vidc": vidc.__version__,
        "command": options.command(),
        "protocol": settings.protocol.as_dict(),
        "environment": environment.describe(
            local,
            amp=settings.amp,
            deterministic=settings.deterministic,
            threads=settings.network_threads,
        )
        | {"compile": settings.compile, "gpu_decode": settings.gpu_decode},
        "model": model.describe(),
        "order": settings.protocol.stream.order,
        "limit_frames": settings.limit_frames,
        "columns": [
            {"id": column.id, "name": column.name, "pair": column.pair}
            for column in settings.columns
        ],
        "datasets": {
            name: {
                "path": each.about.path,
                "fingerprint": each.about.fingerprint,
                "split": each.about.split,
                "classes": list(each.about.classes.names),
                "complete": each.about.complete and settings.limit_frames is None,
            }
            for name, each in inputs.items()
        },
    }


def _run_name(inputs: dict[str, Input], model: LoadedModel, settings: CellSettings) -> str:
    """A name that is the same only where every digit of a cell would be, on the same hardware."""
    device = torch.device(settings.device)
    identity = {
        "vidc": vidc.__version__,
        "torch": str(torch.__version__),
        "schema": SCHEMA,
        "datasets": {name: each.about.fingerprint for name, each in inputs.items()},
        "model": [model.sha256, model.name, _file_hash(model.name), asdict(model.preprocessing)],
        "protocol": settings.protocol.as_dict(),
        "columns": [[c.id, c.pair, _file_hash(c.method)] for c in settings.columns],
        "device": device.type,
        # A CPU's threads add up their parts of a sum: with another number of them the last digits
        # of a confidence are others.
        "threads": settings.network_threads if device.type == "cpu" else None,
        "amp": settings.amp,
        "compile": settings.compile,
        "deterministic": settings.deterministic,
        "gpu_decode": settings.gpu_decode,
        "limit_frames": settings.limit_frames,
    }
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    title = SAMPLE if model.name == SAMPLE else f"{'+'.join(sorted(inputs))}-{_short(model.name)}"
    order = "-shuffled" if settings.protocol.stream.order == "shuffled" else ""
    return f"{title}-{settings.protocol.name}{order}-{digest[:8]}"


def _file_hash(name: str) -> str | None:
    """The hash of a user's file: an edited method is another method."""
    if not is_user_code(name):
        return None
    return hashlib.sha256(read_user_file(name)).hexdigest()


def _short(model: str) -> str:
    return model.rpartition(":")[2]
