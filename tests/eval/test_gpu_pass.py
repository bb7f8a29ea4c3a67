"""The runner's part of the GPU path, on machines without one and on those that have one.

Fake CUDA tensors raise where a tensor was left on the CPU and where the host waits for a value; the
meta device runs backward and optimiser steps, and raises where a value is asked for.
"""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.eval.memory_source import CLASSES
from tests.eval.one_cell import ALL, OVERRIDES, run, settings_of
from tests.eval.test_fake_cuda import to_fake_gpu
from tests.eval.tiny_model import PREPROCESSING, SIZE, tiny_model
from vidc.eval.meters import Meter
from vidc.eval.methods import COLUMNS
from vidc.eval.networks import Networks, Precision
from vidc.eval.normalization import moments
from vidc.eval.pixels import ToDevice
from vidc.eval.protocol import load_protocol

CUDA, META = torch.device("cuda"), torch.device("meta")


def networks_on(device, columns, model):
    # Times and memory are asked of a real device only.
    meter = Meter(torch.device("cpu"), [column.id for column in columns])
    protocol = load_protocol("paper", OVERRIDES)
    return Networks(columns, model, CLASSES, protocol, 0, Precision(device), meter)


def test_a_batch_goes_through_all_columns_but_tents_on_fake_cuda_without_the_host_waiting():
    # Fake tensors have no backward, which TENT needs: its columns go through on the meta device.
    sharing = [column for column in ALL if column.method != "tent"]
    pixels = torch.zeros(4, SIZE, SIZE, 3, dtype=torch.uint8)
    networks = networks_on(torch.device("cpu"), sharing, tiny_model())
    with FakeTensorMode() as mode:
        for unit in networks.units:
            to_fake_gpu(mode, unit.classifier)
        images = ToDevice(PREPROCESSING, CUDA)(mode.from_tensor(pixels))
        assert images.is_contiguous(memory_format=torch.channels_last)
        labels, confidences = networks.step(images)
    assert labels.device.type == confidences.device.type == "cuda"
    assert labels.shape == confidences.shape == (len(sharing), 4)
    assert labels.dtype == torch.int32


class OnlyMeta(TorchDispatchMode):
    """Raises where an operation touches a tensor with memory: one left behind on the CPU."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        for value in torch.utils._pytree.tree_leaves((args, kwargs)):
            # A scalar on the CPU is an argument to a kernel, not a tensor left behind.
            if isinstance(value, torch.Tensor) and value.ndim and value.device != META:
                raise AssertionError(f"{function} got a tensor on {value.device}")
        return function(*args, **kwargs or {})


def test_a_batch_goes_through_all_columns_on_meta_with_backward_and_optimiser():
    networks = networks_on(META, ALL, tiny_model())
    to_device = ToDevice(PREPROCESSING, META)
    pixels = torch.zeros(4, SIZE, SIZE, 3, dtype=torch.uint8, device=META)
    with OnlyMeta():
        for _ in range(2):  # the second has momentum to work with
            labels, confidences = networks.step(to_device(pixels))
    assert labels.shape == confidences.shape == (len(ALL), 4)
    assert labels.device == confidences.device == META
    assert any("momentum" in name for name in networks.state())


def test_only_meta_would_notice_a_tensor_left_behind():
    with pytest.raises(AssertionError, match="got a tensor on cpu"), OnlyMeta():
        torch.zeros(3) + torch.zeros(3, device=META)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_gives_the_cpus_answers(tmp_path):
    record, on_cpu = run(tmp_path / "cpu")
    record, on_gpu = run(tmp_path / "gpu", settings_of(device="cuda"))
    for column in COLUMNS:
        cpu, gpu = (t[f"{column}_confidence"].to_numpy() for t in (on_cpu, on_gpu))
        assert abs(cpu - gpu).max() < 1e-2
        assert record["columns"][column]["measured"]["peak_memory_bytes"] > 0


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_step_on_a_gpu_does_not_make_the_host_wait():
    networks = Networks(
        ALL, tiny_model(), CLASSES, load_protocol("paper", OVERRIDES), 0, Precision(CUDA)
    )
    to_device = ToDevice(PREPROCESSING, CUDA)
    pixels = torch.zeros(4, SIZE, SIZE, 3, dtype=torch.uint8, pin_memory=True)
    networks.step(to_device(pixels))
    torch.cuda.set_sync_debug_mode("error")
    try:
        networks.step(to_device(pixels))
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_compiled_columns_give_the_same_answers(tmp_path, monkeypatch):
    # The compiler's own code is not under test: its eager backend needs no C++ compiler.
    compiled = []

    def through_eager(module, **options):
        compiled.append(type(module).__name__)
        module._compiled_call_impl = torch.compile(module._call_impl, backend="eager", **options)

    monkeypatch.setattr(torch.nn.Module, "compile", through_eager)
    columns = [COLUMNS["source"], COLUMNS["unmix_tns"], COLUMNS["tent_unmix"]]
    _, plain = run(tmp_path / "plain", settings_of(columns))
    assert not compiled
    _, fast = run(tmp_path / "compiled", settings_of(columns, compile=True))
    assert len(compiled) == 3
    for column in columns:
        a, b = (t[f"{column.id}_confidence"].to_numpy() for t in (plain, fast))
        assert abs(a - b).max() < 1e-4


def test_every_batch_of_every_compiled_network_runs_through_a_graph_of_its_size(
    tmp_path, monkeypatch
):
    """Eight columns are six networks, with a whole and a short batch each: twelve graphs."""
    traced = []

    def watched(graph, inputs):
        traced.append(graph)
        return graph.forward

    def through_watched(module, **options):
        module._compiled_call_impl = torch.compile(module._call_impl, backend=watched, **options)

    def must_compile(x, per_image):
        assert torch.compiler.is_compiling(), "a network ran as it is"
        return moments.FUSED

    torch._dynamo.reset()
    monkeypatch.setattr(torch.nn.Module, "compile", through_watched)
    monkeypatch.setattr(moments, "_way", must_compile)
    limit = torch._dynamo.config.recompile_limit
    record, _ = run(tmp_path / "run", settings_of(compile=True))
    assert record["frames"] % 4  # so that the last batch is short
    assert len(traced) == 12
    assert torch._dynamo.config.recompile_limit == limit
