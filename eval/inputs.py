"""What is evaluated: built datasets, or clean videos corrupted on the fly."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vidc.classes import ClassList
from vidc.errors import InputError, unknown
from vidc.frames import CLEAN, DEFAULT_SEVERITY, FrameSource, StreamInfo, config_name
from vidc.manifest import Manifest

SAMPLE_FOLDERS = ("datasets/sample/imagenet-vid-c", "datasets/sample/lasot-c")
SAMPLE_SUFFIX = "-sample"
VIRTUAL_CORRUPTIONS = ("gaussian_noise", "rain", "snow")

Corruption = tuple[str, int]  # its name and severity; ("clean", 0) is none


class Input(Protocol):
    """A dataset that can be evaluated; plain values only, so that it can be sent to a worker."""

    @property
    def about(self) -> About:
        """What it is."""

    def corruptions(self, names: Sequence[str], severities: Sequence[int]) -> list[Corruption]:
        """The corruptions that are meant by these names and severities, none meaning all."""

    def open(self, corruption: Corruption, threads: int | None) -> FrameSource:
        """Its frames under one corruption."""


@dataclass(frozen=True)
class About:
    """What a result file says about a dataset."""

    name: str
    path: str
    split: str
    classes: ClassList
    fingerprint: str
    complete: bool

    @property
    def is_sample(self) -> bool:
        """Whether it is the rendered sample, which must never stand beside the paper's numbers."""
        return self.name.endswith(SAMPLE_SUFFIX)


@dataclass(frozen=True)
class BuiltInput:
    """A built folder or a dataset on the Hub."""

    about: About
    built: tuple[Corruption, ...]

    def corruptions(self, names: Sequence[str], severities: Sequence[int]) -> list[Corruption]:
        """As asked for; by default every corruption that was built (and, for the sample, clean)."""
        known = {name for name, _ in self.built}
        for name in names:
            if name not in known:
                raise unknown(f"corruption of {self.about.path}", name, known)
        wanted = names or [name for name in known if name != CLEAN or self.about.is_sample]
        chosen = [
            (name, severity)
            for name, severity in self.built
            if name in wanted and (name == CLEAN or not severities or severity in severities)
        ]
        for severity in severities:
            if severity not in {each for _, each in self.built}:
                there = ", ".join(str(each) for each in sorted({s for _, s in self.built if s}))
                raise InputError(f"--severity {severity}: {self.about.path} has only {there}.")
        if not chosen:
            raise InputError(f"{self.about.path} holds no corruption: give --corruptions clean.")
        return chosen

    def open(self, corruption: Corruption, threads: int | None) -> FrameSource:
        """The frames of one config."""
        from vidc.reading import load

        reader = load(self.about.path, config_name(*corruption), threads=threads)
        if _fingerprint(reader.manifest) != self.about.fingerprint:
            raise InputError(f"{self.about.path} has changed since this evaluation began.")
        return reader


@dataclass(frozen=True)
class VirtualInput:
    """Clean videos on disk, corrupted as they are read; nothing is written."""

    about: About
    source: str
    root: str
    split: str | None
    allow_missing: bool

    def corruptions(self, names: Sequence[str], severities: Sequence[int]) -> list[Corruption]:
        """As asked for; by default the paper's three at severity 5."""
        from vidc import corruptions

        for name in names:
            if name not in (CLEAN, *corruptions.names()):
                raise unknown("corruption", name, (CLEAN, *corruptions.names()))
        return [
            (name, severity)
            for name in names or VIRTUAL_CORRUPTIONS
            for severity in ([0] if name == CLEAN else severities or [DEFAULT_SEVERITY])
        ]

    def open(self, corruption: Corruption, threads: int | None) -> FrameSource:
        """The frames of one corruption, made on the fly."""
        from vidc.build import virtual

        return virtual(
            self.source,
            self.root,
            *corruption,
            split=self.split,
            allow_missing=self.allow_missing,
            threads=threads,
        )


def built_input(path_or_id: str) -> BuiltInput:
    """Look at a built dataset: its manifest and labels, none of its frames."""
    from vidc.reading import load

    reader = load(path_or_id)
    return BuiltInput(
        about=_about(reader.info, path_or_id, _fingerprint(reader.manifest)),
        built=reader.manifest.recipe.corruptions,
    )


def _fingerprint(manifest: Manifest) -> str:
    return hashlib.sha256(manifest.to_json().encode()).hexdigest()


def virtual_input(
    source: str, root: str, split: str | None = None, allow_missing: bool = False
) -> VirtualInput:
    """Look at a clean source: which videos there are, and their labels."""
    from vidc.build import virtual

    info = virtual(source, root, CLEAN, 0, split=split, allow_missing=allow_missing).info
    return VirtualInput(_about(info, root, info.fingerprint), source, root, split, allow_missing)


def sample_paths() -> tuple[str, ...]:
    """The two sample datasets, or what to do where they are missing."""
    missing = [folder for folder in SAMPLE_FOLDERS if not Path(folder).is_dir()]
    if missing:
        raise InputError(
            f"no dataset was given and the sample is not built ({missing[0]} is missing): "
            "'python -m vidc.build' makes it."
        )
    return SAMPLE_FOLDERS


def _about(info: StreamInfo, path: str, fingerprint: str) -> About:
    return About(info.dataset, path, info.split, info.classes, fingerprint, info.complete)
