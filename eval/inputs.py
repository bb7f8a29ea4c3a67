"""What is evaluated: a dataset, and the corruptions of it that are meant."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from vidc.classes import ClassList
from vidc.errors import InputError, unknown
from vidc.frames import CLEAN, FrameSource, StreamInfo, config_name
from vidc.manifest import Manifest

SAMPLE_FOLDERS = ("datasets/sample/imagenet-vid-c", "datasets/sample/lasot-c")
SAMPLE_SUFFIX = "-sample"

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

    def located(self) -> Input:
        """The same for a worker whose current folder is another."""


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
        return recorded(self.about, self.built, names, severities)

    def open(self, corruption: Corruption, threads: int | None) -> FrameSource:
        """The frames of one config."""
        from vidc.reading import load

        reader = load(self.about.path, config_name(*corruption), threads=threads)
        if _fingerprint(reader.manifest) != self.about.fingerprint:
            raise InputError(f"{self.about.path} has changed since this evaluation began.")
        return reader

    def located(self) -> BuiltInput:
        """With the folder's absolute path; a Hub id is the same everywhere."""
        folder = Path(self.about.path)
        path = str(folder.absolute()) if folder.is_dir() else self.about.path
        return replace(self, about=replace(self.about, path=path))


def built_input(path_or_id: str) -> BuiltInput:
    """Look at a built dataset: its manifest and labels, none of its frames."""
    from vidc.reading import load

    reader = load(path_or_id)
    return BuiltInput(
        about=about_stream(reader.info, path_or_id, _fingerprint(reader.manifest)),
        built=reader.manifest.recipe.corruptions,
    )


def _fingerprint(manifest: Manifest) -> str:
    return hashlib.sha256(manifest.to_json().encode()).hexdigest()


def sample_paths() -> tuple[str, ...]:
    """The two sample datasets, or what to do where they are missing."""
    missing = [folder for folder in SAMPLE_FOLDERS if not Path(folder).is_dir()]
    if missing:
        raise InputError(
            f"no dataset was given and the sample is not built ({missing[0]} is missing): "
            "'python -m vidc.build' makes it."
        )
    return SAMPLE_FOLDERS


def about_stream(info: StreamInfo, path: str, fingerprint: str) -> About:
    """What a result file says about a dataset, of which this is one stream."""
    return About(info.dataset, path, info.split, info.classes, fingerprint, info.complete)


def recorded(
    about: About, built: Sequence[Corruption], names: Sequence[str], severities: Sequence[int]
) -> list[Corruption]:
    """Of the corruptions in a dataset's manifest those that are meant."""
    known = {name for name, _ in built}
    for name in names:
        if name not in known:
            raise unknown(f"corruption of {about.path}", name, known)
    wanted = names or [name for name in known if name != CLEAN or about.is_sample]
    if not known.intersection(wanted):
        raise InputError(f"{about.path} holds no corruption: give --corruptions clean.")
    chosen = [
        (name, severity)
        for name, severity in built
        if name in wanted and (name == CLEAN or not severities or severity in severities)
    ]
    there = {severity for name, severity in built if name in wanted}
    for severity in severities:
        if severity not in there:
            only = ", ".join(map(str, sorted(there)))
            of = f" of {', '.join(names)}" if names else ""
            raise InputError(f"--severity {severity}: {about.path} has only {only}{of}.")
    for name in names:
        if name not in {each for each, _ in chosen}:
            only = ", ".join(str(severity) for each, severity in built if each == name)
            raise InputError(f"--severity: of {name} {about.path} has only {only}; add that.")
    return chosen
