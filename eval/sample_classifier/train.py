"""Train the sample's classifier on single, shuffled, clean frames of clips that are not in it.

Renders the training clips, trains on the CPU for a few minutes, measures the accuracy on the
sample's own clean frames, and writes weights.safetensors and weights.json.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

from vidc import build
from vidc.commandline import Parser, run, say
from vidc.eval.sample_classifier import FOLDER, METADATA, WEIGHTS
from vidc.eval.sample_classifier.augment import MEAN, STD, Augmentation, augmented, normalised
from vidc.eval.sample_classifier.network import SampleNet
from vidc.files import write_whole
from vidc.frames import FrameSource

PROGRAM = "python -m vidc.eval.sample_classifier.train"
SIZE = 112  # of the sample's stored frames
RESIZE = 128


@dataclass(frozen=True)
class Training:
    """Everything that decides the weights, beside the renderer and the library versions."""

    seed: int = 0
    threads: int = 1  # with another number, sums are rounded differently
    clips: int = 100  # of each kind and look, five frames each
    epochs: int = 8
    batch: int = 64
    rate: float = 0.15
    momentum: float = 0.9
    weight_decay: float = 5e-4
    augmentation: Augmentation = field(default_factory=Augmentation)


@dataclass(frozen=True)
class Frames:
    """Labelled frames in memory: 8-bit images, N × 3 × H × W, and the wnid of each."""

    images: Tensor
    wnids: tuple[str, ...]


def collect(source: FrameSource) -> Frames:
    """All labelled frames of a stream."""
    labels = source.labels()
    positions = [position for position, label in enumerate(labels.label) if label >= 0]
    names = source.info.classes.wnids
    images = [torch.from_numpy(frame.image) for frame in source.frames(positions)]
    return Frames(
        images=torch.stack(images).permute(0, 3, 1, 2).contiguous(),
        wnids=tuple(str(names[labels.label[position]]) for position in positions),
    )


def targets(frames: Frames, outputs: Sequence[str]) -> Tensor:
    """The output that is right for each frame."""
    return torch.tensor([outputs.index(wnid) for wnid in frames.wnids])


def train(frames: Frames, outputs: Sequence[str], settings: Training) -> nn.Module:
    """A network trained from scratch; its outputs are these wnids."""
    torch.manual_seed(settings.seed)
    network = SampleNet(len(outputs)).to(memory_format=torch.channels_last)
    right = targets(frames, outputs)
    steps = settings.epochs * (len(right) // settings.batch)
    optimiser = torch.optim.SGD(
        network.parameters(),
        lr=settings.rate,
        momentum=settings.momentum,
        nesterov=True,
        weight_decay=settings.weight_decay,
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, settings.rate, total_steps=steps)
    batches = _batches(len(right), settings)
    for chosen in tqdm(batches, total=steps, desc="training", unit=" batches", disable=None):
        images = augmented(frames.images[chosen], settings.augmentation)
        images = images.contiguous(memory_format=torch.channels_last)
        loss = F.cross_entropy(network(images), right[chosen])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    return network.eval()


def _batches(count: int, settings: Training) -> Iterator[Tensor]:
    """The positions of each batch's frames; the frames left over at an epoch's end are left out."""
    for _ in range(settings.epochs):
        order = torch.randperm(count)
        for start in range(0, count - settings.batch + 1, settings.batch):
            yield order[start : start + settings.batch]


@torch.no_grad()
def accuracy(network: nn.Module, frames: Frames, outputs: Sequence[str]) -> float:
    """The percentage of frames that a network gets right."""
    right = targets(frames, outputs)
    answers = [network(normalised(images)).argmax(1) for images in torch.split(frames.images, 64)]
    return 100 * float((torch.cat(answers) == right).float().mean())


def write(folder: Path, network: nn.Module, metadata: Mapping[str, object]) -> None:
    """Write the weights, then what belongs to them."""
    from safetensors.torch import save

    state = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    data = save(state)
    write_whole(folder / WEIGHTS, data)
    whole = {**metadata, "sha256": hashlib.sha256(data).hexdigest()}
    write_whole(folder / METADATA, (json.dumps(whole, indent=1) + "\n").encode())


def clean_frames(folder: Path, settings: Training) -> tuple[Frames, dict[str, Frames]]:
    """The training frames, and those of the two sample datasets."""
    training, sample = folder / "training", folder / "clean"
    build.render_sample(training, training_clips=settings.clips)
    build.render_sample(sample)
    return collect(build.virtual("imagenet-vid", training, "clean", 0, size=SIZE)), {
        name: collect(build.virtual(name, sample, "clean", 0, size=SIZE, allow_missing=True))
        for name in ("imagenet-vid", "lasot")
    }


def main(arguments: Sequence[str]) -> int:
    """Train, measure and write."""
    parser = Parser(prog=PROGRAM, description=__doc__, examples=f"example:\n  {PROGRAM}")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the two files go")
    out: Path = parser.parse_args(arguments).out
    settings = Training()
    torch.set_num_threads(settings.threads)
    with tempfile.TemporaryDirectory() as temporary:
        frames, sample = clean_frames(Path(temporary), settings)
    outputs = sorted(set(frames.wnids))
    network = train(frames, outputs, settings)
    found = {name: round(accuracy(network, part, outputs), 2) for name, part in sample.items()}
    metadata = {
        "wnids": outputs,
        "preprocessing": {
            "mean": [MEAN] * 3, "std": [STD] * 3,
            "resize": RESIZE, "crop": SIZE, "interpolation": "bilinear",
        },
        "command": PROGRAM,
        "training": asdict(settings),
        "torch": torch.__version__,
        "clean_accuracy": found,
    }  # fmt: skip
    write(out, network, metadata)
    told = ", ".join(f"{name} {percent} %" for name, percent in found.items())
    say(f"{out / WEIGHTS}: accuracy on the sample's clean frames: {told}")
    return 0


if __name__ == "__main__":
    run(main, PROGRAM)
