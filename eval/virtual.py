"""Clean videos as a dataset that is evaluated: corrupted as they are read, nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vidc.errors import InputError, unknown
from vidc.eval.inputs import About, Corruption, about_stream, recorded
from vidc.eval.table import PAPER_ROWS
from vidc.frames import CLEAN, DEFAULT_SEVERITY, FrameSource
from vidc.manifest import Manifest, RecipeEntry

RECIPE_SETTINGS = ("size", "format", "quality", "subsampling", "temporal", "seed", "stride")


@dataclass(frozen=True)
class CleanVideos:
    """Which clean videos, and how their frames are made; without a recipe, as by default."""

    source: str
    root: str
    split: str | None
    allow_missing: bool
    recipe: RecipeEntry | None = None
    limit_videos: int | None = None

    def open(self, corruption: Corruption, threads: int | None = None) -> FrameSource:
        """The frames under one corruption, made on the fly."""
        from vidc.build import virtual

        values = {name: getattr(self.recipe, name, None) for name in RECIPE_SETTINGS}
        # PNG has no quality and no subsampling; but a size that is None is the videos' own.
        settings: dict[str, Any] = {
            name: value
            for name, value in values.items()
            if value is not None or (name == "size" and self.recipe is not None)
        }
        return virtual(
            self.source,
            self.root,
            *corruption,
            split=self.split,
            allow_missing=self.allow_missing,
            limit_videos=self.limit_videos,
            threads=threads,
            **settings,
        )


@dataclass(frozen=True)
class VirtualInput:
    """A dataset that is never built."""

    about: About
    videos: CleanVideos

    def corruptions(self, names: Sequence[str], severities: Sequence[int]) -> list[Corruption]:
        """As asked for; by default the recipe's, or without one the paper's three at severity 5."""
        from vidc import corruptions

        if self.videos.recipe is not None:
            return recorded(self.about, self.videos.recipe.corruptions, names, severities)
        for name in names:
            if name not in (CLEAN, *corruptions.names()):
                raise unknown("corruption", name, (CLEAN, *corruptions.names()))
        return [
            (name, severity)
            for name in names or PAPER_ROWS
            for severity in ([0] if name == CLEAN else severities or [DEFAULT_SEVERITY])
        ]

    def open(self, corruption: Corruption, threads: int | None) -> FrameSource:
        """The frames of one corruption, made on the fly."""
        return self.videos.open(corruption, threads)

    def located(self) -> VirtualInput:
        """With the absolute path of the clean videos."""
        root = str(Path(self.videos.root).absolute())
        return replace(self, videos=replace(self.videos, root=root))


def virtual_input(
    source: str,
    root: str,
    split: str | None = None,
    allow_missing: bool = False,
    recipe: str | None = None,
) -> VirtualInput:
    """Look at a clean source: which videos there are, and their labels.

    ``recipe`` is a dataset, built or published, whose frames are made again as they are there.
    """
    videos = CleanVideos(source, root, split, allow_missing)
    if recipe is None:
        return VirtualInput(_about(videos, videos.open((CLEAN, 0))), videos)
    manifest = _manifest(recipe, videos)
    videos = replace(
        videos,
        split=manifest.split,
        allow_missing=allow_missing or manifest.build.allow_missing,
        recipe=manifest.recipe,
        limit_videos=manifest.build.limit_videos,
    )
    clean = videos.open((CLEAN, 0))
    found = len(clean.labels())
    if found != manifest.frames:
        raise InputError(
            f"--recipe {recipe} has {manifest.frames:,} frames, and --root {root} {found:,}: give "
            "the clean videos that it was built from."
        )
    return VirtualInput(replace(_about(videos, clean), name=manifest.name), videos)


def _about(videos: CleanVideos, clean: FrameSource) -> About:
    return about_stream(clean.info, videos.root, clean.info.fingerprint)


def _manifest(recipe: str, videos: CleanVideos) -> Manifest:
    """The manifest of a dataset that can be made again from these videos."""
    from vidc import hub
    from vidc import manifest as manifests
    from vidc.corruptions import RECIPE_VERSION

    found = manifests.read(hub.find(recipe).path(manifests.FILE).parent)
    for what, there, asked in (
        ("source", found.source, videos.source),
        ("split", found.split, videos.split or found.split),
        ("recipe version", found.recipe.version, RECIPE_VERSION),
    ):
        if there != asked:
            raise InputError(f"--recipe {recipe} is of the {what} {there}, not {asked}.")
    return found
