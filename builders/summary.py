"""What a build says: its plan before, what it made after, sizes and times in human units."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from vidc.builders.pipeline import Recipe
from vidc.builders.plan import Plan, Task, estimated_bytes, estimated_seconds
from vidc.builders.source import RENDERED_NAMES
from vidc.commandline import say
from vidc.engines import Engine, cores
from vidc.errors import printable
from vidc.manifest import Manifest, Skipped


def show_plan(plan: Plan, engine: Engine, share: tuple[int, int] = (0, 1)) -> None:
    """What is going to be built, and which share of it by this run."""
    settings = plan.settings
    say(f"{settings.name} from {settings.source} {settings.split}: {_number(plan.videos, 'video')}")
    if settings.name in RENDERED_NAMES:
        say(f"  rendered clips in the layout of {settings.source}, not its videos")
    elif plan.on_disk != plan.in_release:
        say(f"  on disk: {plan.on_disk} of {_number(plan.in_release, 'video')} of the split")
    elif plan.frames_in_release not in (None, plan.frames_on_disk):
        say(f"  on disk: {plan.frames_on_disk:,} of the split's {plan.frames_in_release:,} frames")
    say(f"  configs: {', '.join(settings.configs)}")
    say(
        f"  plan: {_number(plan.frames, 'frame')} each, {_number(len(plan.tasks), 'shard')} each, "
        f"about {size(estimated_bytes(settings.recipe, plan.frames))}, "
        f"{_expected(settings.recipe, plan.tasks, engine)}"
    )
    index, count = share
    if count > 1:
        tasks = plan.tasks[index::count]
        frames = sum(task.frames for task in tasks)
        say(
            f"  --shards {index}/{count}: {_number(frames, 'frame')} each, "
            f"{_number(len(tasks), 'shard')} each, {_expected(settings.recipe, tasks, engine)}"
        )


def _expected(recipe: Recipe, tasks: Sequence[Task], engine: Engine) -> str:
    """About how long it takes; a cluster's cores are not known here."""
    frames = sum(task.frames for task in tasks)
    if engine.name == "ray":
        return f"about {duration(estimated_seconds(recipe, frames, 1))} of one core's time"
    workers = 1 if engine.name == "serial" else engine.workers or cores()
    # A shard is one worker's: more workers than shards make nothing quicker.
    seconds = estimated_seconds(recipe, frames, max(1, min(workers, len(tasks))))
    return f"about {duration(seconds)} with {_number(workers, 'worker')}"


def show_result(manifest: Manifest, out: Path, frames_now: int, seconds: float) -> None:
    """What has been built; ``frames_now`` of its frames by this run."""
    say(f"{out}: {one_line(manifest)}")
    rate = f", {frames_now / seconds:.1f} frames/s" if frames_now else ""
    say(f"  this run: {_number(frames_now, 'frame')} in {duration(seconds)}{rate}")
    say(f"  {_whole(manifest)}")
    counts = sorted(manifest.class_counts.items(), key=lambda item: (-item[1], item[0]))
    unlabelled = manifest.frames - sum(manifest.class_counts.values())
    listed = ", ".join(f"{name} {count}" for name, count in counts if count)
    say(_wrapped(f"classes: {listed or 'none'}; unlabelled {unlabelled}"))
    for line in _skipped_lines(manifest.skipped):
        say(line)
    if manifest.missing and manifest.name not in RENDERED_NAMES:
        say(f"  missing from disk: {_number(len(manifest.missing), 'video')}, in manifest.json")


def _whole(manifest: Manifest) -> str:
    """Whether numbers measured on it are the dataset's."""
    if manifest.complete:
        return f"complete: every frame of {manifest.source}'s split '{manifest.split}'"
    if manifest.name in RENDERED_NAMES:
        return "a sample: its numbers stand for no real video"
    return (
        f"a part of {manifest.source}'s split '{manifest.split}': its numbers are not the whole's"
    )


def one_line(manifest: Manifest) -> str:
    """A dataset in one line."""
    total = sum(shard.bytes for shard in manifest.shards.values())
    return (
        f"{_number(manifest.videos, 'video')}, {_number(manifest.frames, 'frame')} in each of "
        f"{', '.join(manifest.configs)}; {size(total)} in {_number(len(manifest.shards), 'file')}"
    )


def size(count: float) -> str:
    """A number of bytes.

    >>> size(532), size(87_400_000_000)
    ('532 bytes', '87.4 GB')
    """
    if count < 1000:
        return f"{count:.0f} bytes"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1000
        if count < 1000 or unit == "TB":
            break
    return f"{count:.1f} {unit}"


def duration(seconds: float) -> str:
    """A time span.

    >>> duration(4.2), duration(372), duration(10000)
    ('4 s', '6 min 12 s', '2 h 46 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _skipped_lines(skipped: tuple[Skipped, ...]) -> list[str]:
    if not skipped:
        return ["  skipped: nothing"]
    # A file's name can hold commands to a terminal.
    shown = [f"    {printable(_skipped_line(entry))}" for entry in skipped[:10]]
    if len(skipped) > len(shown):
        shown.append(f"    and {len(skipped) - len(shown)} more, all in manifest.json")
    return [f"  skipped: {_number(len(skipped), 'file')}", *shown]


def _skipped_line(entry: Skipped) -> str:
    return entry.why if entry.why.startswith(entry.file) else f"{entry.file}: {entry.why}"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="    ")


def _number(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
