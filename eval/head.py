"""The class-map head: from a network's outputs to the classes of a dataset, and what is scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vidc.classes import ClassList
from vidc.errors import InputError, unknown
from vidc.frames import UNLABELLED, FrameLabels

MAPS = ("sum", "max", "imagenet")
OUTSIDE = -1  # what the imagenet map predicts for an output that is no class of the dataset
IMAGENET_OUTPUTS = 1000


def groups(classes: ClassList, outputs: Sequence[str] | None = None) -> tuple[tuple[int, ...], ...]:
    """For each class of the dataset, the network's outputs that count as it.

    ``outputs`` are the wnids of the network's outputs; without them they are ImageNet-1k's.
    """
    if outputs is None:
        return classes.imagenet
    return tuple(
        tuple(i for i, output in enumerate(outputs) if output == wnid) for wnid in classes.wnids
    )


class ClassMap(nn.Module):
    """Logits of the network in, logits of the candidates out.

    ``sum``: the candidates' probabilities are the sums of their outputs' probabilities,
    renormalised; ``max``: a candidate's logit is the largest of its outputs'; ``imagenet``: the
    network's logits as they are, and only the prediction is mapped. A class with no output that
    counts as it is not a candidate under ``sum`` and ``max``.
    """

    index: Tensor
    padding: Tensor
    labels: Tensor

    def __init__(self, name: str, members: Sequence[Sequence[int]], outputs: int) -> None:
        super().__init__()
        if name not in MAPS:
            raise unknown("class map", name, MAPS)
        self.map = name
        self.outputs = outputs
        candidates = [label for label, group in enumerate(members) if group]
        widest = max((len(group) for group in members), default=0)
        if widest == 0:
            raise InputError("None of the dataset's classes is among the network's outputs.")
        if max(max(members[label]) for label in candidates) >= outputs:
            raise InputError(
                f"The class map needs output {max(max(members[label]) for label in candidates)}, "
                f"but the network has only {outputs} outputs; use one trained on these classes."
            )
        index = torch.zeros(len(candidates), widest, dtype=torch.int64)
        padding = torch.ones(len(candidates), widest, dtype=torch.bool)
        of_output = torch.full((outputs,), OUTSIDE, dtype=torch.int64)
        for row, label in enumerate(candidates):
            index[row, : len(members[label])] = torch.tensor(members[label])
            padding[row, : len(members[label])] = False
            of_output[list(members[label])] = label
        self.register_buffer("index", index, persistent=False)
        self.register_buffer("padding", padding, persistent=False)
        labels = of_output if name == "imagenet" else torch.tensor(candidates)
        self.register_buffer("labels", labels, persistent=False)

    def forward(self, logits: Tensor) -> Tensor:
        """B × outputs to B × candidates, in float32 or wider."""
        logits = logits if logits.dtype == torch.float64 else logits.float()
        if self.map == "imagenet":
            return logits
        grouped = logits[:, self.index].masked_fill(self.padding, -torch.inf)
        return grouped.logsumexp(2) if self.map == "sum" else grouped.amax(2)

    def predict(self, scores: Tensor) -> Tensor:
        """The label of the dataset that each row of scores or logits names, or -1 outside."""
        return self.labels[scores.argmax(1)]


@dataclass(frozen=True)
class Selection:
    """The positions of a stream that are scored, and how many frames were left out, and why."""

    positions: NDArray[np.int64]
    unlabelled: int
    no_counterpart: int
    several_classes: int

    def left_out(self) -> dict[str, int]:
        """As a result file has it."""
        return {
            "unlabelled": self.unlabelled,
            "no_counterpart": self.no_counterpart,
            "several_classes": self.several_classes,
        }


def select_frames(
    frames: FrameLabels, members: Sequence[Sequence[int]], multi_label: str
) -> Selection:
    """The frames that are replayed and scored.

    Left out are, in this order: frames with no label, frames whose class has no output (see
    :func:`groups`), and under ``drop`` frames with several classes. Under ``any`` those stay, and
    a prediction is right if it names one of the frame's classes.
    """
    if multi_label not in ("any", "drop"):
        raise unknown("multi-label rule", multi_label, ("any", "drop"))
    label = np.asarray(frames.label)
    candidate = np.array([bool(group) for group in members])
    unlabelled = label == UNLABELLED
    no_counterpart = ~unlabelled & ~candidate[label]
    several = np.fromiter((len(set(each)) > 1 for each in frames.labels), np.bool_, len(frames))
    several &= ~unlabelled & ~no_counterpart & (multi_label == "drop")
    return Selection(
        positions=np.flatnonzero(~(unlabelled | no_counterpart | several)),
        unlabelled=int(unlabelled.sum()),
        no_counterpart=int(no_counterpart.sum()),
        several_classes=int(several.sum()),
    )
