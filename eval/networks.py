"""All columns of a cell, fed with the same batches; those that may share a forward share it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from vidc.classes import ClassList
from vidc.eval.meters import Meter
from vidc.eval.methods import Column, method_class, method_settings
from vidc.eval.methods.base import NETWORK, Method
from vidc.eval.models import Classifier, LoadedModel, Outputs, make_classifier
from vidc.eval.normalization import with_normalization
from vidc.eval.protocol import Protocol
from vidc.eval.usercode import is_user_code


class ScoresError(Exception):
    """A method's scores cannot be used; the cell adds the batch and the video."""

    def __init__(self, column: str, what: str) -> None:
        super().__init__(column, what)
        self.column = column
        self.what = what


@dataclass(frozen=True)
class Precision:
    """How the networks compute."""

    device: torch.device
    amp: torch.dtype | None = None
    compile: bool = False


@dataclass(frozen=True)
class Unit:
    """One network, and the columns that read it."""

    classifier: Classifier
    normalization: str
    members: tuple[tuple[str, Method], ...]
    shared: bool


class Networks:
    """The networks and methods of all columns of a cell."""

    def __init__(
        self,
        columns: Sequence[Column],
        model: LoadedModel,
        classes: ClassList,
        protocol: Protocol,
        seed: int,
        precision: Precision,
        meter: Meter | None = None,
    ) -> None:
        self.columns = tuple(column.id for column in columns)
        self._seed = seed
        self.device = precision.device
        plain = make_classifier(model, classes, protocol.head.map).to(precision.device)
        # Once for each column: a user's file is run every time that it is looked up.
        methods = {column.id: method_class(column.method) for column in columns}
        self.units = tuple(
            _unit(plain, group, methods, protocol, seed, precision)
            for group in grouped(columns, methods)
        )
        self.meter = meter or Meter(precision.device, self.columns)

    def step(self, images: Tensor, batch: int = 0) -> tuple[Tensor, Tensor]:
        """Each column's labels (int32) and confidences, columns x B, left on the device.

        The number of the batch decides what is drawn in it, if anything is. A frame for which a
        method gives anything but probabilities has the confidence NaN.
        """
        answers: dict[str, tuple[Tensor, Tensor]] = {}
        for unit in self.units:
            for column, scores in self._scores(unit, images, batch):
                answers[column] = _answer(unit.classifier, column, scores, len(images))
        labels, confidences = zip(*(answers[column] for column in self.columns), strict=True)
        return torch.stack(labels), torch.stack(confidences)

    def _scores(self, unit: Unit, images: Tensor, batch: int) -> list[tuple[str, Tensor]]:
        if not unit.shared:
            ((column, method),) = unit.members
            self._seed_draws(column, batch)
            with self.meter.measure(column), _unchanged(images, column):
                return [(column, method.step(images))]
        refined = []
        everyone = [column for column, _ in unit.members]
        with torch.no_grad():
            self._seed_draws(unit.normalization, batch)
            with self.meter.measure(*everyone), _unchanged(images, everyone[0]):
                outputs = unit.classifier(images)
            for column, method in unit.members:
                # A copy for each: a method may well work in place.
                own = Outputs(outputs.logits.clone(), outputs.features.clone())
                self._seed_draws(column, batch)
                with self.meter.measure(column):
                    refined.append((column, method.refine(own)))
        return refined

    def _seed_draws(self, who: str, batch: int) -> None:
        seed_draws(self.device, self._seed, who, batch)

    def state(self) -> dict[str, Tensor]:
        """Everything that batches have changed; a shared network's part is there once."""
        return {
            _state_name(unit, place, name): tensor
            for place, unit, method in self._methods()
            for name, tensor in method.state().items()
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over what :meth:`state` returned."""
        for place, _, method in self._methods():
            owners = (f"{place}/", f"{place.partition('.')[0]}/")
            method.load_state(
                {
                    name.partition("/")[2]: tensor.to(self.device)
                    for name, tensor in state.items()
                    if name.startswith(owners)
                }
            )

    def kept(self, column: str) -> int:
        """The bytes that a column's network and method hold between batches."""
        unit, method = next(
            (unit, method)
            for _, unit, method in self._methods()
            if (column, method) in unit.members
        )
        of_method = (t for name, t in method.state().items() if not name.startswith(NETWORK))
        of_network = (*unit.classifier.parameters(), *unit.classifier.buffers())
        return sum(tensor.nbytes for tensor in (*of_network, *of_method))

    def _methods(self) -> Iterator[tuple[str, Unit, Method]]:
        for number, unit in enumerate(self.units):
            for index, (_, method) in enumerate(unit.members):
                yield f"{number}.{index}", unit, method


def _state_name(unit: Unit, place: str, name: str) -> str:
    owner = place.partition(".")[0] if unit.shared and name.startswith(NETWORK) else place
    return f"{owner}/{name}"


def grouped(columns: Sequence[Column], methods: Mapping[str, type[Method]]) -> list[list[Column]]:
    """The columns that share a network; one that changes its network has it for itself."""
    groups: dict[str, list[Column]] = {}
    for column in columns:
        shared = shares(methods[column.id])
        groups.setdefault(column.normalization if shared else f"own {column.id}", []).append(column)
    return list(groups.values())


def shares(method: type[Method]) -> bool:
    """Whether a method only reads a forward that others may read as well."""
    return not method.adapts and method.step is Method.step


def check_layers(
    columns: Sequence[Column], model: LoadedModel, classes: ClassList, protocol: Protocol
) -> None:
    """Refuse a network that has not the layers that a column works on.

    Without its numbers, so that no column costs a copy of them. A user's method is not started: it
    may need the device of its cell.
    """
    bare = make_classifier(model, classes, protocol.head.map).to("meta")
    for column in columns:
        name = column.normalization
        swapped = with_normalization(bare, name, protocol.settings(name), seed=0)
        if not is_user_code(column.method):
            _method(method_class(column.method), column, swapped, protocol)


def _unit(
    plain: Classifier,
    group: Sequence[Column],
    methods: Mapping[str, type[Method]],
    protocol: Protocol,
    seed: int,
    precision: Precision,
) -> Unit:
    name = group[0].normalization
    classifier = with_normalization(plain, name, protocol.settings(name), seed)
    classifier = classifier.to(memory_format=torch.channels_last)
    if precision.amp is not None:
        # The network alone: what a method does with its outputs stays in full precision.
        cast = torch.autocast(precision.device.type, precision.amp)
        classifier.forward = cast(classifier.forward)  # type: ignore[method-assign]
    if precision.compile:
        # A graph for each size of batch: which one a batch meets must not hang on the batches
        # before it, or a run that was interrupted would end with other digits.
        classifier.compile(dynamic=False)
    members = []
    for column in group:
        seed_draws(precision.device, seed, column.id, None)
        members.append((column.id, _method(methods[column.id], column, classifier, protocol)))
    return Unit(classifier, name, tuple(members), shares(methods[group[0].id]))


def _method(
    kind: type[Method], column: Column, classifier: Classifier, protocol: Protocol
) -> Method:
    return kind(classifier, method_settings(column.method, kind, protocol))


def seed_draws(device: torch.device, seed: int, who: str, batch: int | None) -> None:
    """Let what a column draws hang on nothing else: not on other columns, nor on where it resumed.

    Of the shipped ones none draws while batches come; a user's method or network may.
    """
    digest = hashlib.sha256(f"{seed} {who} {batch}".encode()).digest()
    number = int.from_bytes(digest[:8])
    # Not torch.manual_seed, which seeds every kind of device there could be: that takes 0.2 ms.
    torch.default_generator.manual_seed(number)
    if device.type == "cuda":
        torch.cuda.manual_seed(number)


@contextmanager
def _unchanged(images: Tensor, column: str) -> Iterator[None]:
    """Refuse a method, or a network, that writes into the batch: the other columns get it too."""
    version = images._version
    yield
    if images._version != version:
        raise ScoresError(column, "changed its images in place, which are the other columns' too,")


def _answer(
    classifier: Classifier, column: str, scores: Tensor, batch: int
) -> tuple[Tensor, Tensor]:
    candidates = len(classifier.head.labels)
    if not isinstance(scores, Tensor) or scores.shape != (batch, candidates):
        found = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise ScoresError(column, f"returned {found} where ({batch}, {candidates}) is due")
    scores = scores.detach().float()
    # Nothing is asked of the device here: a bad frame is marked, and found when it is collected.
    good = ((scores >= 0) & (scores <= 1 + 1e-4)).all(1)
    confidence = torch.where(good, scores.amax(1).clamp(max=1), torch.nan)
    return classifier.predict(scores).to(torch.int32), confidence
