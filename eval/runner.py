"""The grid of cells: one after another, over processes, or over a Ray cluster's GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vidc import engines
from vidc.errors import InputError
from vidc.eval.cell import CellSettings, run_cell
from vidc.eval.display import Display
from vidc.eval.inputs import Input
from vidc.eval.models import load_model
from vidc.eval.options import Options
from vidc.eval.plan import Plan
from vidc.eval.results import CellKey, RunFolder
from vidc.eval.table import Table, build_table
from vidc.eval.usercode import located
from vidc.files import explained


@dataclass(frozen=True)
class Task:
    """A cell for a worker that shares the run's folder but no memory."""

    key: CellKey
    source: Input
    model: str
    weights: str | None
    sha256: str  # of the weights that the result names
    settings: CellSettings
    folder: RunFolder


def run_plan(plan: Plan, options: Options) -> tuple[dict[str, Any], int]:
    """Run the cells that are not finished and write the run's files; how many were run."""
    with explained(plan.folder.path), plan.folder.locked():
        left = [key for key in plan.cells if not plan.folder.finished(key)]
        display = Display([(column.id, column.name) for column in plan.settings.columns])
        display.show(_table_so_far(plan))
        try:
            if options.engine == "serial":
                _run_here(plan, left, display)
            elif left:  # a finished run is read without its cluster
                _run_elsewhere(plan, options, left, display)
        finally:
            display.clear()
        results = plan.folder.write_results(plan.header)
        plan.folder.write_predictions(results["cells"])
    return results, len(left)


def _run_here(plan: Plan, left: Sequence[CellKey], display: Display) -> None:
    for key in left:
        watch, end = display.cell(key)
        try:
            run_cell(key, plan.inputs[key.dataset], plan.model, plan.settings, plan.folder, watch)
        finally:
            end()
        plan.folder.write_results(plan.header)
        display.show(_table_so_far(plan))


def _run_elsewhere(plan: Plan, options: Options, left: Sequence[CellKey], display: Display) -> None:
    engine = engines.Engine(
        options.engine,
        workers=plan.workers,
        ray_address=options.ray_address,
        num_gpus=options.gpus_of_a_cell,
    )
    tasks = [_task(plan, options, key) for key in left]
    progress, end = display.cells(len(left), sum(plan.frames[key.dataset] for key in left))
    try:
        for _ in engines.run(engine, run_task, tasks, progress):
            plan.folder.write_results(plan.header)
            display.show(_table_so_far(plan))
    finally:
        end()


def _task(plan: Plan, options: Options, key: CellKey) -> Task:
    """The cell for a worker that may have another current folder."""
    columns = tuple(
        replace(column, method=located(column.method)) for column in plan.settings.columns
    )
    weights = options.weights
    return Task(
        key,
        plan.inputs[key.dataset].located(),
        located(plan.model.name),
        str(Path(weights).absolute()) if weights and Path(weights).is_file() else weights,
        plan.model.sha256,
        replace(plan.settings, columns=columns),
        RunFolder(plan.folder.path.resolve()),
    )


def run_task(task: Task, advance: engines.Advance) -> None:
    """Run a cell in a worker."""
    done = 0

    def watch(frames: int, total: int, errors: dict[str, float]) -> None:
        nonlocal done
        advance(frames - done)
        done = frames

    model = load_model(task.model, task.weights)
    if model.sha256 != task.sha256:
        raise InputError(
            f"the model {task.model} has other weights each time that it is made: seed its "
            "function, or give --weights FILE."
        )
    with explained(task.folder.path):
        run_cell(task.key, task.source, model, task.settings, task.folder, watch)


def asked_for(plan: Plan, cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of a folder's cells those of this plan; one that is not finished has no columns."""
    known = {
        CellKey(cell["dataset"], cell["corruption"], cell["severity"], cell["seed"]): cell
        for cell in cells
    }
    return [known.get(key, key.values()) for key in plan.cells]


def _table_so_far(plan: Plan) -> Table:
    cells = plan.folder.records(plan.header)
    return build_table(plan.header, asked_for(plan, cells))
