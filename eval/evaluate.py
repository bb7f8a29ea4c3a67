"""``vidc.evaluate``: what the command does, for Python."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidc.errors import InputError
from vidc.eval import table_formats
from vidc.eval.options import Options
from vidc.eval.plan import Plan, make_plan
from vidc.eval.runner import asked_for, run_plan
from vidc.eval.table import build_table
from vidc.files import explained


@dataclass(frozen=True)
class Evaluation:
    """A finished evaluation; as a string, what the command prints."""

    table: str
    results: dict[str, Any]
    folder: Path
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([self.table, "", *self.notes])


def evaluate(
    datasets: str | Path | Iterable[str | Path] = (),
    *,
    columns: str | Iterable[str] = (),
    corruptions: str | Iterable[str] = (),
    severity: int | Iterable[int] = (),
    seeds: int = 1,
    protocol: str | Path = "paper",
    settings: str | Iterable[str] = (),
    order: str | None = None,
    model: str | None = None,
    weights: str | Path | None = None,
    device: str = "auto",
    amp: bool = False,
    compile: bool = False,
    deterministic: bool = False,
    gpu_decode: bool = False,
    threads: int | None = None,
    limit_frames: int | None = None,
    source: str | None = None,
    root: str | Path | None = None,
    split: str | None = None,
    allow_missing: bool = False,
    recipe: str | Path | None = None,
    engine: str = "serial",
    workers: int | None = None,
    ray_address: str | None = None,
    gpus_per_cell: float | None = None,
    checkpoint_every: int = 200,
    out: str | Path = "results",
    report: bool = False,
) -> Evaluation:
    """Evaluate datasets (folders or Hub ids; none: the sample) and return what was measured.

    The arguments are the options of ``python -m vidc.eval``; ``settings`` is its ``--set``, and
    ``report`` is off here: a page is made only where it is asked for. What is finished already is
    read, not run again.

    >>> import vidc
    >>> columns = ["source", "unmix_tns"]
    >>> done = vidc.evaluate("datasets/sample/lasot-c", columns=columns, corruptions="snow")
    >>> done.table.splitlines()[2].split()
    ['lasot-c-sample', 'Source', 'UnMix-TNS']
    >>> (cell,) = done.results["cells"]
    >>> cell["corruption"], cell["severity"], list(cell["columns"])
    ('snow', 4, ['source', 'unmix_tns'])
    """
    options = Options(
        datasets=_several(datasets),
        columns=_several(columns),
        corruptions=_several(corruptions),
        severity=_several(severity),
        seeds=seeds,
        protocol=_text(protocol),
        settings=_several(settings),
        order=order,
        model=model,
        weights=_text(weights),
        device=device,
        amp=amp,
        compile=compile,
        deterministic=deterministic,
        gpu_decode=gpu_decode,
        threads=threads,
        limit_frames=limit_frames,
        source=source,
        root=_text(root),
        split=split,
        allow_missing=allow_missing,
        recipe=_text(recipe),
        engine=engine,
        workers=workers,
        ray_address=ray_address,
        gpus_per_cell=gpus_per_cell,
        checkpoint_every=checkpoint_every,
        out=_text(out),
        report=report,
    )
    if options.order == "both":
        raise InputError("order='both' is two evaluations: call evaluate once for each order.")
    (evaluation,) = evaluate_options(options)
    return evaluation


def evaluate_options(options: Options) -> Iterator[Evaluation]:
    """One evaluation, or two where both orders are asked for: the second's report holds both."""
    orders = ("in-order", "shuffled") if options.order == "both" else (options.order,)
    folders = []
    for order in orders:
        evaluation = _evaluate(dataclasses.replace(options, order=order))
        folders.append(evaluation.folder)
        if options.report:
            page = _write_report(folders)
            evaluation = dataclasses.replace(
                evaluation, notes=(*evaluation.notes, f"Report: {page}")
            )
        yield evaluation


def _evaluate(options: Options) -> Evaluation:
    plan = make_plan(options)
    results, ran = run_plan(plan, options)
    asked = {**results, "cells": asked_for(plan, results["cells"])}
    return Evaluation(
        table=table_formats.text(build_table(asked, asked["cells"])),
        results=asked,
        folder=plan.folder.path,
        notes=_notes(plan, ran),
    )


def _notes(plan: Plan, ran: int) -> tuple[str, ...]:
    before = len(plan.cells) - ran
    reused = f" ({before} of {len(plan.cells)} cells were finished before)" if before else ""
    return (
        f"Preprocessing: {plan.model.preprocessing.describe()}; a frame stored at that size is "
        "neither resized nor cropped.",
        f"Results: {plan.folder.path}{reused}",
    )


def _write_report(folders: list[Path]) -> Path:
    from vidc.eval.report import write

    with explained(folders[-1]):
        return write(folders, folders[-1])


def _several(values: Any) -> tuple[Any, ...]:
    """One value or several, as a tuple; one of the wrong type is left for Options to refuse."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return (_text(values),)
    return tuple(_text(value) for value in values)


def _text(value: Any) -> Any:
    """A path as text, and anything else as it is."""
    return str(value) if isinstance(value, os.PathLike) else value
