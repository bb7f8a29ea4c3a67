"""What a run runs on: the device, its settings while the run lasts, and their record."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import vidc
from vidc.errors import InputError

DEVICES = ("auto", "cpu", "cuda")
# Each network has a graph for a whole batch and one for each size of a last one; torch's own limit
# of 8 for all networks together would leave the rest as they are, and so with other digits.
GRAPHS = 4096


def pick_device(asked: str) -> torch.device:
    """The device for ``auto``, ``cpu``, ``cuda`` or ``cuda:1``."""
    if asked == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(asked)
    except RuntimeError:
        device = None
    if device is None or device.type not in DEVICES:
        raise InputError(f"--device {asked} is not known: give {', '.join(DEVICES)} or cuda:1.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"--device {asked}: this machine has no CUDA device that torch can use.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(f"--device {asked}: there are {torch.cuda.device_count()} CUDA devices.")
    return device


def amp_dtype(device: torch.device, amp: bool) -> torch.dtype | None:
    """The half precision of ``--amp``: bfloat16, but float16 on GPUs that only emulate that."""
    if not amp:
        return None
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.float16
    return torch.bfloat16


@contextlib.contextmanager
def settings(
    device: torch.device, *, deterministic: bool, threads: int | None = None, compile: bool = False
) -> Iterator[None]:
    """Set torch's global switches and its random state for a run, and put the caller's back."""
    before = (
        torch.backends.cudnn.benchmark,
        torch.are_deterministic_algorithms_enabled(),
        os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
        torch.get_num_threads(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    cuda = device.type == "cuda"
    current = torch.cuda.device(device) if cuda else contextlib.nullcontext()
    graphs = _many_graphs() if compile else contextlib.nullcontext()
    with torch.random.fork_rng(devices=[device] if cuda else []), current, graphs:
        try:
            torch.backends.cudnn.benchmark = not deterministic
            torch.set_num_threads(threads or before[3])
            if deterministic:
                # Without this cuBLAS may split sums differently from run to run.
                os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
            torch.use_deterministic_algorithms(deterministic)
            yield
        finally:
            torch.backends.cudnn.benchmark = before[0]
            torch.use_deterministic_algorithms(before[1], warn_only=before[4])
            _restore("CUBLAS_WORKSPACE_CONFIG", before[2])
            torch.set_num_threads(before[3])


def describe(
    device: torch.device, *, amp: bool, deterministic: bool, threads: int | None = None
) -> dict[str, Any]:
    """Versions, hardware and switches, for the result file."""
    cuda = device.type == "cuda"
    return {
        "vidc": vidc.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "torch_threads": threads or torch.get_num_threads(),
        "device": str(device),
        "device_name": device_name(device),
        "cuda": torch.version.cuda if cuda else None,
        "cudnn": torch.backends.cudnn.version() if cuda else None,  # type: ignore[no-untyped-call]
        "cudnn_benchmark": not deterministic,
        "tf32_matmul": torch.backends.cuda.matmul.allow_tf32,
        "tf32_convolution": torch.backends.cudnn.allow_tf32,
        "deterministic_algorithms": deterministic,
        "amp": str(amp_dtype(device, amp)).removeprefix("torch.") if amp else None,
    }


def device_name(device: torch.device) -> str:
    """What the device calls itself."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return processor()


def processor() -> str:
    """What the CPU calls itself, where the system tells it, else its kind.

    ``platform.processor`` would start a process to ask: an evaluation that is killed leaves none.
    """
    told = Path("/proc/cpuinfo")
    lines = told.read_text("utf-8", "replace").splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def peak_process_memory() -> int:
    """The most memory this process has held so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _many_graphs() -> contextlib.AbstractContextManager[object]:
    import torch._dynamo.config as dynamo

    # The names that every version since 2.6 knows.
    limits = ("cache_size_limit", "accumulated_cache_size_limit")
    patched: contextlib.AbstractContextManager[object] = dynamo.patch(dict.fromkeys(limits, GRAPHS))
    return patched


def _restore(variable: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(variable, None)
    else:
        os.environ[variable] = value
