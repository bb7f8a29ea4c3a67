"""Build one shard: decode each frame once, corrupt it in every way, write all configs' files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vidc import images
from vidc import manifest as manifests
from vidc.builders.checks import ANOTHER
from vidc.builders.pipeline import Prepared, Recipe, corrupted, prepare, selected, store
from vidc.builders.plan import Part, Task, row_group_frames
from vidc.builders.settings import Settings, versions
from vidc.builders.shardwriter import Row, ShardWriter, file_name
from vidc.builders.source import Source, index_and_file
from vidc.builders.workfolder import Finished, WorkFolder
from vidc.engines import Advance
from vidc.errors import InputError
from vidc.files import explained, move_into_place
from vidc.frames import CLEAN, UNLABELLED, config_name
from vidc.manifest import Shard, Skipped


class BrokenFileError(InputError):
    """A file of the clean videos that cannot be used, and that --skip-broken would leave out."""


@dataclass(frozen=True)
class Job:
    """A task with all that a worker, here or on another machine, needs to do it."""

    source: Source
    root: Path
    out: Path
    settings: Settings
    task: Task
    key: str  # the name of its marker
    versions: dict[str, str]


def build_shard(job: Job, advance: Advance) -> None:
    """Write the shard, then its marker; a task that is finished already is left as it is."""
    here = versions(job.settings.recipe)
    if here != job.versions:
        raise InputError(
            f"the versions of the libraries differ between machines: {here} on this worker "
            f"and {job.versions} where the build was started"
        )
    work = WorkFolder(job.out)
    with explained(job.out):
        try:
            with work.task(job.task.index) as folder:
                if work.finished(job.key, job.settings.skip_broken) is None:
                    work.mark(job.key, _Shard(job, advance).build(folder))
        except FileNotFoundError:
            # Somebody else has finished the whole dataset while this one waited for the task.
            if not manifests.exists(job.out):
                raise


class _Shard:
    """The making of one shard."""

    def __init__(self, job: Job, advance: Advance) -> None:
        self._job = job
        self._recipe = job.settings.recipe
        self._advance = advance
        self._skipped: list[Skipped] = []
        self._videos: dict[str, None] = {}
        self._labels: Counter[int] = Counter()

    def build(self, folder: Path) -> Finished:
        """Write the files into ``folder``, move them into place, and say what they hold."""
        configs = self._job.settings.configs
        hashed = (CLEAN, *(config for config in configs if config != CLEAN))
        writer = ShardWriter(folder, configs, hashed, self._recipe.encoding.extension)
        try:
            self._write(writer)
            written = writer.finish()
        except BaseException:
            writer.abandon()
            raise
        paths = {c: self._job.task.path(c, self._job.settings.split) for c in written}
        shards = {paths[config]: shard for config, shard in written.items()}
        self._check_repaired(shards)
        for config, path in paths.items():
            move_into_place(folder / file_name(config), self._job.out / path)
        names = self._job.source.classes.names
        return Finished(
            shards=shards,
            videos=tuple(self._videos),
            frames=self._labels.total(),
            class_counts={
                names[label]: n for label, n in self._labels.items() if label != UNLABELLED
            },
            skipped=tuple(self._skipped),
        )

    def _check_repaired(self, shards: Mapping[str, Shard]) -> None:
        """What is built again in a finished dataset is what it had been, or replaces nothing."""
        out = self._job.out
        recorded = manifests.read(out).shards if manifests.exists(out) else shards
        for path, shard in shards.items():
            if recorded[path] != shard:
                raise InputError(
                    f"{out / path} was built again and is not what manifest.json says: --root or a "
                    f"library has changed since; {ANOTHER}"
                )

    def _write(self, writer: ShardWriter) -> None:
        most = row_group_frames(self._recipe)
        for part in self._job.task.parts:
            for row in self._rows(part):
                writer.add(row)
                self._videos[row.video] = None
                self._labels[row.label] += 1
                self._advance(1)
                if len(writer) == most:
                    writer.end_row_group()
            writer.end_row_group()  # no row group holds two videos

    def _rows(self, part: Part) -> Iterator[Row]:
        positions = selected(part.video, self._recipe)[part.start : part.stop]
        try:
            frames = self._job.source.frames(part.video)
            self._check_count(part, len(frames))
        except InputError as mistake:
            self._skip(part.video.folder, mistake)
            self._advance(len(positions))
            return
        for position in positions:
            file = part.video.folder
            try:
                _, file = index_and_file(frames, position)  # known before a broken annotation
                prepared = prepare(self._job.source, part.video, frames[position], self._recipe)
                row = make_row(prepared, self._recipe)
            except InputError as mistake:
                self._skip(file, mistake)
                self._advance(1)
            else:
                yield row

    def _check_count(self, part: Part, count: int) -> None:
        if count != part.video.frames:
            raise InputError(
                f"{part.video.folder} has {count} frames and had {part.video.frames} when the "
                "build was planned: leave --root alone while it is read"
            )

    def _skip(self, file: Path, mistake: InputError) -> None:
        """Leave out what is broken if that was asked for; else the mistake stops the build."""
        root = self._job.root
        why = str(mistake)
        if f"{root}/" not in why:  # a corruption knows the frame, but not whose it is
            why = f"{file}: {why}"
        if not self._job.settings.skip_broken:
            raise BrokenFileError(why) from mistake
        name = str(file.relative_to(root)) if file.is_relative_to(root) else file.name
        why = why.replace(f"{root}/", "")
        self._skipped.append(Skipped(_storable(name), _storable(why)))


def _storable(text: str) -> str:
    """The text without what a file name may hold and a text file may not."""
    return text.encode("utf-8", "backslashreplace").decode()


def make_row(prepared: Prepared, recipe: Recipe) -> Row:
    """A frame in every config of the recipe, with the hash of its clean pixels in any case."""
    stored = {
        config_name(name, severity): store(
            corrupted(prepared, name, severity, recipe), recipe.encoding
        )
        for name, severity in recipe.corruptions
    }
    hashes = {config: item.sha256 for config, item in stored.items()}
    if CLEAN not in hashes:
        hashes[CLEAN] = _clean_hash(prepared, recipe)
    return Row(
        video=prepared.video,
        frame=prepared.frame,
        label=prepared.label,
        labels=prepared.labels,
        objects=prepared.objects,
        images={config: item.data for config, item in stored.items()},
        hashes=hashes,
    )


def _clean_hash(prepared: Prepared, recipe: Recipe) -> str:
    """What the clean config would promise, were it built: JPEG would change its pixels too."""
    if recipe.encoding.format == "png":
        return images.pixel_hash(prepared.pixels)
    return store(prepared.pixels, recipe.encoding).sha256
