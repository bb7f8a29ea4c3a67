"""The device that is picked and its half precision, with torch's answers about GPUs replaced."""

import os

import pytest
import torch

from vidc.errors import InputError
from vidc.eval.environment import amp_dtype, pick_device, settings


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("warn_only", [False, True])
@pytest.mark.parametrize("before", [False, True])
def test_the_caller_s_switches_are_replaced_and_put_back(before, warn_only, deterministic):
    def switches():
        return (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
        )

    try:
        torch.use_deterministic_algorithms(before, warn_only=warn_only)
        outside = switches()
        with settings(torch.device("cpu"), deterministic=deterministic):
            assert switches()[:2] == (deterministic, False)
        assert switches() == outside
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_that_is_not_there_is_told():
    assert pick_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(InputError, match="--device cuda:2: there are 2 CUDA devices"):
        pick_device("cuda:2")


@pytest.mark.parametrize(("native", "dtype"), [(True, torch.bfloat16), (False, torch.float16)])
def test_half_precision_is_bfloat16_where_a_gpu_has_it_in_hardware(native, dtype, monkeypatch):
    # Where emulation counts, a GPU without bfloat16 says yes too.
    supported = {True: True, False: native}
    monkeypatch.setattr(
        torch.cuda,
        "is_bf16_supported",
        lambda including_emulation=True: supported[including_emulation],
    )
    assert amp_dtype(torch.device("cuda"), amp=True) == dtype
    assert amp_dtype(torch.device("cuda"), amp=False) is None
    assert amp_dtype(torch.device("cpu"), amp=True) == torch.bfloat16
