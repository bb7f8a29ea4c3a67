"""The hidden folder ``.vidc`` in a dataset that is being built: locks, temporary files, markers.

A finished task has a marker, a small JSON file named by a hash of the task's content: a plan that
has changed finds none of its markers and skips nothing. The folder goes when the dataset is done.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vidc import jsonfields, lock
from vidc.errors import InputError
from vidc.files import write_whole
from vidc.jsonfields import Fields
from vidc.manifest import Shard, Skipped, shard_of

NAME = ".vidc"
_BUILD = "build"  # the lock of a whole build
_TRIES = 20


@dataclass(frozen=True)
class Finished:
    """What a finished task tells: its files, and what is in them."""

    shards: dict[str, Shard]  # by path relative to the dataset's folder
    videos: tuple[str, ...]
    frames: int
    class_counts: dict[str, int]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True)
class WorkFolder:
    """The ``.vidc`` of the dataset in ``out``."""

    out: Path

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.out / NAME

    def create(self) -> None:
        """Make it, and the dataset's folder around it."""
        for name in ("done", "locks", "tasks"):
            (self.path / name).mkdir(parents=True, exist_ok=True)

    def remove(self) -> None:
        """Remove it; another build that finishes at the same time may be doing the same.

        The lock of the whole build goes last. A build that comes while it is there is told to wait;
        if it went before the others, that build would be left waiting for one of them in silence.
        """
        locks = self.path / "locks"
        for part in (*_entries(self.path), *_entries(locks)):
            if part.is_dir() and part != locks:
                shutil.rmtree(part, ignore_errors=True)
            elif part.is_file() and part.name != _BUILD:
                part.unlink(missing_ok=True)
        (locks / _BUILD).unlink(missing_ok=True)
        for folder in (locks, self.path):
            with suppress(OSError):  # gone already, or in use by the next build
                folder.rmdir()

    @contextmanager
    def building(self, alone: bool) -> Iterator[None]:
        """Be the only build in the folder, or one of several that share its tasks."""
        with ExitStack() as stack:
            try:
                self._hold(stack, _BUILD, shared=not alone)
            except lock.BusyError as busy:
                raise InputError(
                    f"a build is running in {self.out} ({busy.holder}): wait for it or stop it"
                ) from None
            yield

    @contextmanager
    def step(self) -> Iterator[None]:
        """Wait for one's turn at what only one build may do at a time."""
        with ExitStack() as stack:
            self._hold(stack, "step", wait=True)
            yield

    def _hold(self, stack: ExitStack, name: str, shared: bool = False, wait: bool = False) -> None:
        locks = self.path / "locks"
        for last in (*[False] * _TRIES, True):
            try:
                locks.mkdir(parents=True, exist_ok=True)
                stack.enter_context(lock.hold(locks / name, shared=shared, wait=wait))
                break
            except FileNotFoundError:  # a build that has just finished has removed the folder
                if last:
                    raise
        # Not before: one that is told to wait would leave its folders to a build that has ended.
        self.create()

    @contextmanager
    def task(self, index: int) -> Iterator[Path]:
        """An empty folder for a task's temporary files, held by this process alone."""
        folder = self.path / "tasks" / f"{index:05d}"
        with lock.hold(self.path / "locks" / f"{index:05d}", wait=True):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def begin(self, state: dict[str, Any]) -> None:
        """Write down what is being built here."""
        write_whole(self.path / "plan.json", json.dumps(state, indent=1, sort_keys=True).encode())

    def begun(self) -> dict[str, Any] | None:
        """What is being built here; None where nothing is yet."""
        file = self.path / "plan.json"
        try:
            content = jsonfields.parse(file.read_text("utf-8"), str(file))
        except (FileNotFoundError, UnicodeDecodeError, InputError):
            return None
        kinds = {"options": dict, "versions": dict, "plan": str}
        whole = isinstance(content, dict) and all(
            isinstance(content.get(key), kind) for key, kind in kinds.items()
        )
        return content if whole else None

    def mark(self, key: str, finished: Finished) -> None:
        """Mark a task as finished."""
        text = json.dumps(asdict(finished), indent=1, sort_keys=True)
        write_whole(self._marker(key), text.encode())

    def finished(self, key: str, skip_broken: bool) -> Finished | None:
        """What a task's marker tells; None where it has none or its files are not as it says.

        What was finished by leaving out broken files counts only for who asks for that: others
        are to be told what is broken.
        """
        try:
            finished = _parse(self._marker(key).read_text("utf-8"), str(self._marker(key)))
        except (FileNotFoundError, UnicodeDecodeError, InputError):
            return None  # none, or damaged: the task is done again
        if finished.skipped and not skip_broken:
            return None
        there = all(present(self.out, path, shard) for path, shard in finished.shards.items())
        return finished if there else None

    def _marker(self, key: str) -> Path:
        return self.path / "done" / f"{key}.json"


def _entries(folder: Path) -> list[Path]:
    """What is in a folder; nothing where it is gone."""
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []


def present(out: Path, path: str, shard: Shard) -> bool:
    """Whether a shard is there with its size; :mod:`vidc.builders.verify` looks closer."""
    try:
        return (out / path).stat().st_size == shard.bytes
    except OSError:
        return False


def _parse(text: str, where: str) -> Finished:
    fields = Fields(jsonfields.parse(text, where), where)
    shards = fields.inner("shards")
    counts = fields.inner("class_counts")
    return Finished(
        shards={path: shard_of(shards, path) for path in fields.keys_of("shards")},
        videos=fields.texts("videos"),
        frames=fields.integer("frames"),
        class_counts={name: counts.integer(name) for name in counts.content},
        skipped=tuple(
            Skipped(entry.text("file"), entry.text("why")) for entry in fields.entries("skipped")
        ),
    )
