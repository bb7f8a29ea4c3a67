"""A whole build: plan it, run what is not finished, write the manifest and the card."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from vidc import engines
from vidc import manifest as manifests
from vidc.builders import summary
from vidc.builders.assemble import assemble
from vidc.builders.checks import ANOTHER, check_folder, check_space
from vidc.builders.plan import Task, make_plan
from vidc.builders.settings import Settings, from_manifest, versions
from vidc.builders.shards import Job, build_shard
from vidc.builders.source import Source, check_name, open_source
from vidc.builders.workfolder import Finished, WorkFolder, present
from vidc.commandline import say
from vidc.engines import Engine, run
from vidc.errors import InputError
from vidc.files import explained
from vidc.frames import ANNOTATIONS
from vidc.manifest import Manifest


@dataclass(frozen=True)
class Request:
    """Settings, where to read and write, and who does the work."""

    settings: Settings
    source: Source
    root: Path  # where the source was opened
    out: Path
    engine: Engine = field(default_factory=Engine)
    share: tuple[int, int] = (0, 1)  # (i, n): of n builds at once, this one does i, i + n, ...
    dry_run: bool = False

    def __post_init__(self) -> None:
        check_name(self.settings.name, self.source)


def open_clean(
    name: str, root: Path, split: str | None = None, allow_missing: bool = False
) -> tuple[Source, Path]:
    """A source, and its root as workers with another current folder will find it."""
    absolute = root.absolute()
    return open_source(name, absolute, split, allow_missing), absolute


def again(manifest: Manifest, root: Path, out: Path, engine: Engine) -> Request:
    """The request that a dataset was built by, for clean videos that lie somewhere else."""
    settings = from_manifest(manifest)
    source, absolute = open_clean(settings.source, root, settings.split, settings.allow_missing)
    return Request(settings, source, absolute, out, engine)


def build(request: Request) -> Manifest | None:
    """Build the dataset or go on with it; None where it is not finished after this run."""
    with explained(request.out):
        return _Build(request).run()


class _Build:
    """One run of the command; each step may be repeated after an interruption."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._out = request.out.absolute()
        self._work = WorkFolder(self._out)
        self._versions = versions(request.settings.recipe)
        self._plan = make_plan(request.source, request.settings)
        index, count = request.share
        self._share = self._plan.tasks[index::count]

    def run(self) -> Manifest | None:
        check_folder(self._out, self._plan, self._versions)
        manifest = self._manifest()
        todo = self._todo(manifest)
        if manifest and not todo and not self._work.path.exists() and self._has_card(manifest):
            say(f"{self._request.out} is finished: {summary.one_line(manifest)}")
            return manifest
        summary.show_plan(self._plan, self._request.engine, self._request.share)
        check_space(self._out, self._plan, sum(task.frames for task in todo))
        if self._request.dry_run:
            return manifest
        engines.check(self._request.engine)
        with self._work.building(alone=self._request.share == (0, 1)):
            return self._run_locked()

    def _run_locked(self) -> Manifest | None:
        started = time.monotonic()
        with self._work.step():
            check_folder(self._out, self._plan, self._versions)
            self._begin()
        todo = self._todo(self._manifest())
        self._run_tasks(todo)
        with self._work.step():
            manifest = self._finish()
        if manifest:
            seconds = time.monotonic() - started
            frames = sum(self._stored(task, manifest) for task in todo)
            summary.show_result(manifest, self._request.out, frames, seconds)
        return manifest

    def _stored(self, task: Task, manifest: Manifest) -> int:
        """How many frames a task has stored: fewer than planned where some were broken."""
        return manifest.shards[task.path(ANNOTATIONS, manifest.split)].rows

    def _begin(self) -> None:
        options = self._plan.settings.options()
        self._work.begin(
            {"options": options, "versions": self._versions, "plan": self._plan.digest}
        )
        # Once, and each in one that is there: a folder that is deleted meanwhile must not come back
        # in part, for then the same command would take it for somebody else's.
        (self._out / "data").mkdir(exist_ok=True)
        for path in self._share[0].paths(self._plan.settings) if self._share else ():
            (self._out / path).parent.mkdir(exist_ok=True)

    def _manifest(self) -> Manifest | None:
        return manifests.read(self._out) if manifests.exists(self._out) else None

    def _has_card(self, manifest: Manifest) -> bool:
        from vidc.builders import card

        return card.is_whole(self._out, manifest)

    def _todo(self, manifest: Manifest | None) -> list[Task]:
        """The tasks of this share that are not finished, or whose files are gone."""
        if manifest:
            return [task for task in self._share if self._lacks(task, manifest)]
        return [task for task in self._share if self._finished(task) is None]

    def _lacks(self, task: Task, manifest: Manifest) -> bool:
        paths = task.paths(self._plan.settings)
        return not all(present(self._out, path, manifest.shards[path]) for path in paths)

    def _finished(self, task: Task) -> Finished | None:
        return self._work.finished(self._key(task), self._plan.settings.skip_broken)

    def _key(self, task: Task) -> str:
        return self._plan.task_key(task, self._versions)

    def _run_tasks(self, todo: Sequence[Task]) -> None:
        total = sum(task.frames for task in self._share)
        before = total - sum(task.frames for task in todo)
        jobs = [self._job(task) for task in todo]
        with tqdm(total=total, initial=before, unit=" frames", disable=None) as bar:

            def progress(done: int) -> None:
                bar.update(before + done - bar.n)

            for _ in run(self._request.engine, build_shard, jobs, progress):
                pass

    def _job(self, task: Task) -> Job:
        return Job(
            source=self._request.source,
            root=self._request.root,
            out=self._out,
            settings=self._plan.settings,
            task=task,
            key=self._key(task),
            versions=self._versions,
        )

    def _finish(self) -> Manifest | None:
        """Write manifest and card once every task is finished, whoever finished it."""
        manifest = self._manifest()
        if manifest:
            lacking = sum(self._lacks(task, manifest) for task in self._plan.tasks)
            if lacking:  # another of the --shards has not built its own again yet
                self._say_unfinished(len(self._plan.tasks) - lacking)
                return None
        else:
            finished = [self._finished(task) for task in self._plan.tasks]
            results = [result for result in finished if result]
            if len(results) < len(finished):
                self._say_unfinished(len(results))
                return None
            self._check_some_frame(results)
            classes = self._request.source.classes
            manifest = assemble(self._plan, classes, self._versions, results)
            manifests.write(self._out, manifest)
        from vidc.builders import card

        card.write(self._out)
        self._work.remove()
        return manifest

    def _say_unfinished(self, finished: int) -> None:
        if self._request.share == (0, 1):
            raise InputError(
                f"files have gone from {self._out} while it was built: give the same command again"
            )
        say(
            f"{self._request.out}: {finished} of {len(self._plan.tasks)} shards are finished; the "
            "last of the --shards to end, or the same command without it, completes the dataset"
        )

    def _check_some_frame(self, results: Sequence[Finished]) -> None:
        """Where every single file was left out as broken, something else is wrong."""
        if not any(result.frames for result in results):
            first = next(entry for result in results for entry in result.skipped)
            raise InputError(
                f"{self._out} would have no frame, all of --root were broken ({first.file}: "
                f"{first.why}): mend that, then {ANOTHER}"
            )
