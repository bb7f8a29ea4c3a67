"""One cell: one pass over a stream that feeds all columns, with checkpoints on the way."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from vidc.errors import InputError
from vidc.eval import checkpoint, environment
from vidc.eval.answers import Answers, BadFrameError
from vidc.eval.checkpoint import Checkpoint
from vidc.eval.head import groups
from vidc.eval.inputs import Input
from vidc.eval.meters import amount
from vidc.eval.methods import Column
from vidc.eval.models import LoadedModel
from vidc.eval.networks import Networks, Precision, ScoresError
from vidc.eval.pixels import ToDevice
from vidc.eval.protocol import Protocol
from vidc.eval.results import CellKey, RunFolder, predictions_tables
from vidc.eval.scores import column_scores
from vidc.eval.stream import Batch, Scored, Stream, scored_frames, shuffled
from vidc.frames import FrameSource

SHUFFLED = "shuffled"
SECONDS_BETWEEN_CHECKPOINTS = 300.0
# Waiting for a GPU after every batch would leave it idle while the host prepares the next one.
BATCHES_BETWEEN_COLLECTIONS = {"cuda": 32}

Watch = Callable[[int, int, dict[str, float]], None]  # frames done, frames in all, errors so far


@dataclass(frozen=True)
class CellSettings:
    """How every cell of a run is run."""

    columns: tuple[Column, ...]
    protocol: Protocol
    device: str
    amp: bool
    compile: bool
    deterministic: bool
    threads: int | None
    network_threads: int | None  # on a CPU; None: as many as torch takes
    gpu_decode: bool
    limit_frames: int | None
    checkpoint_every: int


def run_cell(
    key: CellKey,
    source_of: Input,
    model: LoadedModel,
    settings: CellSettings,
    folder: RunFolder,
    watch: Watch,
) -> None:
    """Run a cell to its end, from its checkpoint if there is one, and keep it in the folder."""
    device = environment.pick_device(settings.device)
    source = source_of.open((key.corruption, key.severity), settings.threads)
    with environment.settings(
        device,
        deterministic=settings.deterministic,
        threads=settings.network_threads,
        compile=settings.compile,
    ):
        try:
            cell = _Cell(key, source, model, settings, folder, device)
            cell.restore()
            cell.run(watch)
        except torch.OutOfMemoryError:
            raise InputError(
                f"the GPU ran out of memory in {key}: give fewer --columns at a time (the results "
                "stay the same), fewer --workers or a larger --gpus-per-cell where cells share it, "
                "or a smaller batch with --set stream.batch=8 (they do not)."
            ) from None
        cell.finish()


class _Cell:
    def __init__(
        self,
        key: CellKey,
        source: FrameSource,
        model: LoadedModel,
        settings: CellSettings,
        folder: RunFolder,
        device: torch.device,
    ) -> None:
        protocol = settings.protocol
        self.key = key
        self.settings = settings
        self.folder = folder
        self.info = source.info
        self.scored = cell_frames(source, model, settings, key.seed)
        precision = Precision(device, environment.amp_dtype(device, settings.amp), settings.compile)
        self.networks = Networks(
            settings.columns, model, self.info.classes, protocol, key.seed, precision
        )
        self.stream = Stream(
            source,
            self.scored,
            protocol.stream.batch,
            model.preprocessing,
            threads=settings.threads or 1,
            pin=device.type == "cuda",
            files=settings.gpu_decode,
        )
        self.to_device = ToDevice(model.preprocessing, device)
        self.answers = Answers(self.networks.columns, self.scored)
        self.device = device
        self.first_batch = 0
        self.seconds_before = 0.0
        self.started = time.monotonic()
        self.saved_batch, self.saved_at = 0, self.started
        self.collect_every = BATCHES_BETWEEN_COLLECTIONS.get(device.type, 1)

    def run(self, watch: Watch) -> None:
        """Feed the batches that are left to all columns."""
        watch(self.answers.done, len(self.scored), self.answers.errors())
        # Closed at once when something fails, so that no thread reads on.
        with contextlib.closing(self.stream.batches(self.first_batch)) as batches:
            for batch in batches:
                self._step(batch, self.to_device(batch.images))
                due = self._checkpoint_due(batch.number + 1)
                if due or self.answers.waiting >= self.collect_every:
                    self._collect()
                    watch(self.answers.done, len(self.scored), self.answers.errors())
                if due:
                    self._save(batch.number + 1)
        self._collect()
        watch(self.answers.done, len(self.scored), self.answers.errors())

    def _checkpoint_due(self, next_batch: int) -> bool:
        return (
            next_batch - self.saved_batch >= self.settings.checkpoint_every
            or time.monotonic() - self.saved_at >= SECONDS_BETWEEN_CHECKPOINTS
        )

    def _step(self, batch: Batch, images: torch.Tensor) -> None:
        try:
            self.answers.add(*self.networks.step(images, batch.number))
        except ScoresError as mistake:
            raise self._mistake(mistake, batch.number, batch.start) from None

    def _collect(self) -> None:
        try:
            self.answers.collect()
        except BadFrameError as mistake:
            batch = mistake.place // self.settings.protocol.stream.batch
            raise self._mistake(mistake, batch, mistake.place) from None
        self.networks.meter.collect()

    def _mistake(self, mistake: ScoresError, batch: int, place: int) -> InputError:
        video = self.scored.labels.videos[place]
        return InputError(
            f"column {mistake.column} {mistake.what} at batch {batch} of {self.key}, "
            f"in video {video}."
        )

    def _save(self, batch: int) -> None:
        done = self.answers.done
        tensors = {f"networks/{name}": value for name, value in self.networks.state().items()}
        for row in range(len(self.answers.columns)):
            tensors[f"prediction/{row}"] = torch.from_numpy(self.answers.prediction[row, :done])
            tensors[f"confidence/{row}"] = torch.from_numpy(self.answers.confidence[row, :done])
        values = {
            "fingerprint": self.info.fingerprint,
            "meter": self.networks.meter.state(),
            "seconds": self._seconds(),
        }
        checkpoint.save(self.folder.checkpoint(self.key), Checkpoint(batch, tensors, values))
        self.saved_batch, self.saved_at = batch, time.monotonic()

    def restore(self) -> None:
        """Take over the state of the checkpoint, if there is one of this very stream."""
        file = self.folder.checkpoint(self.key)
        kept = checkpoint.load(file)
        if kept is None or kept.values.get("fingerprint") != self.info.fingerprint:
            return
        try:
            self._take_over(kept)
        except (LookupError, TypeError, ValueError, RuntimeError, ScoresError) as mistake:
            raise InputError(
                f"{file} does not fit this evaluation: {checkpoint.AGAIN}."
            ) from mistake

    def _take_over(self, kept: Checkpoint) -> None:
        start = "networks/"
        self.networks.load_state(
            {n.removeprefix(start): t for n, t in kept.tensors.items() if n.startswith(start)}
        )
        rows = range(len(self.answers.columns))
        labels = torch.stack([kept.tensors[f"prediction/{row}"] for row in rows])
        confidences = torch.stack([kept.tensors[f"confidence/{row}"] for row in rows])
        _check_answers(labels, confidences, len(self.info.classes))
        self.answers.fill(labels, confidences)
        if self.answers.done != min(
            kept.batch * self.settings.protocol.stream.batch, len(self.scored)
        ):
            raise ValueError(f"{self.answers.done} answers after {kept.batch} batches")
        self.networks.meter.load_state(kept.values["meter"])
        self.seconds_before = amount(kept.values["seconds"])
        self.first_batch = self.saved_batch = kept.batch

    def finish(self) -> None:
        """Turn the answers into the cell's record and keep both."""
        tables = predictions_tables(
            self.key,
            self.scored,
            self.answers.columns,
            self.answers.prediction,
            self.answers.confidence,
        )
        self.folder.write_cell(self.key, self._record(), tables)

    def _record(self) -> dict[str, Any]:
        frames = len(self.scored)
        seconds = self._seconds()
        meter = self.networks.meter
        return {
            **self.key.values(),
            "frames": frames,
            "left_out": self.scored.left_out,
            "columns": {
                column: {
                    **column_scores(
                        self.answers.prediction[row], self.scored.labels, self.info.classes.names
                    ),
                    "measured": meter.measured(column, frames, self.networks.kept(column)),
                }
                for row, column in enumerate(self.answers.columns)
            },
            "measured": {
                "seconds": seconds,
                "frames_per_second": frames / seconds,
                "device": environment.device_name(self.device),
                "environment": environment.describe(
                    self.device, amp=self.settings.amp, deterministic=self.settings.deterministic
                ),
                "peak_process_memory_bytes": environment.peak_process_memory(),
            },
        }

    def _seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self.started


def _check_answers(labels: torch.Tensor, confidences: torch.Tensor, classes: int) -> None:
    """Answers out of a file are of the kind that a batch gives."""
    if (labels.dtype, confidences.dtype) != (torch.int32, torch.float32):
        raise ValueError("answers of another type")
    if bool(((labels < -1) | (labels >= classes)).any() | (confidences > 1).any()):
        raise ValueError("answers that no method gives")


def cell_frames(
    source: FrameSource, model: LoadedModel, settings: CellSettings, seed: int
) -> Scored:
    """The frames of a cell in the order in which they are seen."""
    protocol = settings.protocol
    members = groups(source.info.classes, model.outputs)
    scored = scored_frames(
        source.labels(), members, protocol.head.multi_label, settings.limit_frames
    )
    if not len(scored):
        raise InputError(
            f"{source.info.dataset} has no frame that can be scored: none has a class that the "
            f"model {model.name} can answer with."
        )
    return shuffled(scored, seed) if protocol.stream.order == SHUFFLED else scored
