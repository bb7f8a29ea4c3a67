"""The GPU path on machines without one: fake CUDA tensors forward, the meta device backward.

Fake CUDA tensors raise where a tensor is left on the CPU and where the host waits for a value;
they have no backward. The meta device has, and raises where a value is asked for.
"""

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torchvision.models.resnet import BasicBlock, ResNet

from tests.eval.networks_to_adapt import settings
from vidc.classes import class_list
from vidc.eval.head import ClassMap, groups
from vidc.eval.methods import COLUMNS, METHODS, method_class
from vidc.eval.methods.base import _load_optimizer
from vidc.eval.models import Classifier
from vidc.eval.normalization import NORMALIZATIONS, with_normalization

BATCH = 4
CLASSES = class_list("imagenet-vid")
PAIRS = [f"{method}@{normalization}" for method in METHODS for normalization in NORMALIZATIONS]


def classifier_on(device):
    """A ResNet of one block a stage, made on the device by the mode in force."""
    with torch.device(device):
        backbone = ResNet(BasicBlock, [1, 1, 1, 1])
        head = ClassMap("sum", groups(CLASSES), 1000)
    return Classifier(backbone, head).eval().requires_grad_(False)


def method_on(device, pair):
    method, normalization = pair.split("@")
    network = with_normalization(
        classifier_on(device), normalization, settings(normalization, "unmix_tns.components=8"), 0
    )
    return method_class(method)(network, settings(method, "lame.iterations=5"))


def images_on(device, batch=BATCH):
    images = torch.randn(batch, 3, 32, 32, device=device)
    return images.contiguous(memory_format=torch.channels_last)


def test_what_adam_counts_stays_on_the_host():
    """On the GPU it would be read back at every step after a resumed one."""
    with FakeTensorMode(), torch.device("cuda"):
        weight = nn.Parameter(torch.zeros(3))
        optimizer = torch.optim.Adam([weight])
        moments = {"exp_avg": torch.ones(3), "exp_avg_sq": torch.ones(3)}
        kept = {"step": torch.tensor(7.0), **moments}
        _load_optimizer(optimizer, {f"optimizer.0.{key}": value for key, value in kept.items()})
    places = {key: value.device.type for key, value in optimizer.state[weight].items()}
    assert places == {"step": "cpu", "exp_avg": "cuda", "exp_avg_sq": "cuda"}


def test_all_pairs_are_here():
    assert {column.pair for column in COLUMNS.values()} <= set(PAIRS)


def to_fake_gpu(mode, classifier):
    """Replace every tensor of a network by a fake one on the GPU."""
    for module in classifier.modules():
        for name, tensor in module.named_parameters(recurse=False):
            fake = mode.from_tensor(tensor).detach().to("cuda")
            setattr(module, name, nn.Parameter(fake, requires_grad=tensor.requires_grad))
        for name, tensor in module.named_buffers(recurse=False):
            setattr(module, name, mode.from_tensor(tensor).to("cuda"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("pair", PAIRS)
def test_every_forward_stays_on_a_fake_gpu(pair, dtype):
    """In half precision as autocast has it: convolutions in halves, layers' own tensors not."""
    method = method_on("cpu", pair)
    with FakeTensorMode() as mode:
        to_fake_gpu(mode, method.classifier)
        for module in method.classifier.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                to_dtype(module, dtype)
        for batch in (BATCH, 1):
            outputs = method.classifier(images_on("cuda", batch).to(dtype))
            scores = method.refine(outputs)
            labels = method.classifier.predict(scores)
            assert scores.device.type == labels.device.type == "cuda"
            assert scores.shape == (batch, 30)
            assert scores.dtype == torch.float32
            assert outputs.features.dtype == dtype
        assert {tensor.device.type for tensor in method.state().values()} <= {"cuda"}


def to_dtype(module, dtype):
    for name, tensor in module.named_parameters(recurse=False):
        setattr(module, name, nn.Parameter(tensor.detach().to(dtype), requires_grad=False))


@pytest.mark.parametrize("pair", PAIRS)
def test_the_whole_step_asks_nothing_of_the_meta_device(pair):
    method = method_on("meta", pair)
    start = {name: tensor.shape for name, tensor in method.state().items()}
    for batch in (BATCH, BATCH, 1):
        scores = method.step(images_on("meta", batch))
        assert scores.device.type == "meta"
        assert scores.shape == (batch, 30)
        assert method.classifier.predict(scores).device.type == "meta"
    state = method.state()
    assert {tensor.device.type for tensor in state.values()} <= {"meta"}
    assert pair.startswith("tent") == any(name.startswith("optimizer.") for name in state)
    method.load_state(state)
    method.reset()
    assert {name: tensor.shape for name, tensor in method.state().items()} == start


def test_a_host_sync_would_be_caught():
    """The two devices do raise: else the tests above could not fail."""
    with FakeTensorMode(), pytest.raises(Exception, match="_local_scalar_dense"):
        torch.ones(2, device="cuda").sum().item()
    with FakeTensorMode(), pytest.raises(Exception, match=r"(?i)device"):
        torch.ones(2, device="cuda") + torch.ones(2, device="cpu")
    with pytest.raises(Exception, match=r"(?i)meta"):
        bool(torch.ones((), device="meta") > 0)


needs_gpu = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="this machine has no CUDA device"
)


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("pair", PAIRS)
def test_the_gpu_gives_what_the_cpu_gives(pair):
    torch.manual_seed(0)
    cpu = method_on("cpu", pair)
    gpu = method_on("cpu", pair)
    gpu.classifier.load_state_dict(cpu.classifier.state_dict())
    gpu = method_class(pair.split("@")[0])(gpu.classifier.to("cuda"), gpu.settings)
    for _ in range(3):
        images = images_on("cpu")
        torch.testing.assert_close(
            gpu.step(images.to("cuda")).cpu(), cpu.step(images), rtol=1e-3, atol=1e-4
        )


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("pair", PAIRS)
def test_the_host_never_waits_for_the_gpu(pair):
    method = method_on("cuda", pair)
    images = images_on("cuda")
    method.step(images)
    torch.cuda.set_sync_debug_mode("error")
    try:
        method.step(images)
    finally:
        torch.cuda.set_sync_debug_mode("default")
