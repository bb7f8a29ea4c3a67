"""The manifest of a dataset whose every task is finished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vidc.builders.plan import Plan
from vidc.builders.workfolder import Finished
from vidc.classes import ClassList
from vidc.manifest import BuildEntry, Manifest


def assemble(
    plan: Plan, classes: ClassList, versions: dict[str, str], results: Sequence[Finished]
) -> Manifest:
    """Add up what the tasks tell, in their order."""
    settings = plan.settings
    broken = (entry for result in results for entry in result.skipped)
    # A sequence that is broken as a whole is so in each of the shards that it was cut into.
    skipped = tuple(dict.fromkeys((*plan.empty, *broken)))
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(result.class_counts)
    return Manifest(
        name=settings.name,
        source=settings.source,
        split=settings.split,
        classes=classes.name,
        complete=plan.whole and not skipped,
        recipe=settings.recipe_entry(),
        build=BuildEntry(
            limit_videos=settings.limit_videos,
            shard_size=settings.shard_size,
            allow_missing=settings.allow_missing,
            skip_broken=settings.skip_broken,
            plan=plan.digest,
        ),
        versions=versions,
        videos=len({video for result in results for video in result.videos}),
        frames=sum(result.frames for result in results),
        class_counts={name: counts[name] for name in classes.names},
        skipped=skipped,
        missing=plan.missing,
        shards={path: shard for result in results for path, shard in result.shards.items()},
    )
