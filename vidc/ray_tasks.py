"""The Ray engine: one Ray task a task; placing them and running them again is left to Ray."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from vidc.engines import Engine, Progress, Reporter, Result, Task, Work, cores
from vidc.errors import InputError

_SECONDS_BETWEEN_REPORTS = 1.0
_SECONDS_TO_ANSWER = 10.0


def run_ray(
    engine: Engine, work: Work[Task, Result], tasks: Sequence[Task], progress: Progress
) -> Iterator[tuple[int, Result]]:
    """See :func:`vidc.engines.run`."""
    check_ray(engine)
    import ray

    ours = not ray.is_initialized()
    if ours:
        _connect(engine)
    try:
        _check_gpus(engine)
        yield from _run(engine, work, tasks, progress)
    finally:
        if ours:
            ray.shutdown()


def check_ray(engine: Engine) -> None:
    """Whether Ray is installed, and whether anything answers where its cluster should be."""
    try:
        import ray
    except ImportError:
        raise InputError("--engine ray needs Ray: pip install 'vidc[ray]'") from None
    if ray.is_initialized():
        return
    address = _address(engine)
    try:
        _knock(address)
    except OSError as error:
        raise InputError(f"no Ray cluster at '{address}' (--ray-address): {error}") from None


def _address(engine: Engine) -> str:
    return engine.ray_address or os.environ.get("RAY_ADDRESS") or "local"


def _connect(engine: Engine) -> None:
    import ray

    address = _address(engine)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options |= {"num_cpus": engine.workers or cores(), "include_dashboard": False}
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, **options)
    except (OSError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"no Ray cluster at '{address}' (--ray-address): {reason}") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_sigterm)  # ray.init sets its own


def _check_gpus(engine: Engine) -> None:
    """Ray would wait for ever for a node that can hold such a task."""
    import ray

    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    most = max((node["Resources"].get("GPU", 0) for node in nodes if node["Alive"]), default=0)
    if engine.num_gpus > most:
        raise InputError(
            f"no node of the Ray cluster has {engine.num_gpus:g} GPUs for a task (the most is "
            f"{most:g}): give --gpus-per-cell 0 --device cpu, or fewer GPUs."
        )


def _knock(address: str) -> None:
    """See whether anything answers: where nothing does, ray.init ends the process by abort."""
    host, mark, port = address.removeprefix("ray://").rpartition(":")
    if mark and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_SECONDS_TO_ANSWER).close()


def _run(
    engine: Engine, work: Work[Task, Result], tasks: Sequence[Task], progress: Progress
) -> Iterator[tuple[int, Result]]:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # The counter lives on this process's node: any other may be lost.
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    counter_type: Any = ray.remote(_Counter)
    counter = counter_type.options(num_cpus=0, scheduling_strategy=here).remote()
    # Given here, because with .options() Ray would use the worker of a task with a GPU again: it
    # keeps that GPU's memory, and stays on that GPU where Ray means another one.
    task_type: Any = ray.remote(
        num_cpus=engine.num_cpus,
        num_gpus=engine.num_gpus,
        max_retries=engine.retries,
        scheduling_strategy="SPREAD",
    )(_run_task)
    remote = task_type.remote
    references = [remote(work, task, index, counter) for index, task in enumerate(tasks)]
    indices = {reference: index for index, reference in enumerate(references)}
    pending = references
    try:
        while pending:
            ready, pending = ray.wait(pending, num_returns=1, timeout=_SECONDS_BETWEEN_REPORTS)
            progress(ray.get(counter.total.remote()))
            for reference in ready:
                yield indices[reference], _result(reference, indices[reference])
    finally:
        for reference in pending:  # a Ray of the caller's goes on, and would go on with these
            ray.cancel(reference, force=True)


def _result(reference: Any, index: int) -> Any:
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"Ray lost task {index} once too often: {reason}") from None


def _run_task(work: Work[Task, Result], task: Task, index: int, counter: Any) -> Result:
    import ray

    sent: list[Any] = []

    def send(count: int) -> None:
        sent[:] = [counter.put.remote(index, count)]

    advance = Reporter(send, _SECONDS_BETWEEN_REPORTS)
    result = work(task, advance)
    advance.finish()
    ray.get(sent)  # whoever sees the task finished must see all of its count
    return result


class _Counter:
    """The actor that adds up the counts of all tasks; a task that is run again starts from 0."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def put(self, index: int, count: int) -> None:
        self._counts[index] = count

    def total(self) -> int:
        return sum(self._counts.values())
