"""What a source of clean video is: videos by id, their frames by index, and their labels.

One file beside this one for each release that is understood. A source is small and can be sent to
another process; listings and annotations are read when a video's frames are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from vidc.classes import ClassList
from vidc.errors import InputError, unknown
from vidc.frames import Box

# Name on the command line: the module here, with open_split(root, split, allow_missing).
_MODULES = {
    "imagenet-vid": "vidc.builders.imagenet_vid",
    "lasot": "vidc.builders.lasot",
    "tao-lasot": "vidc.builders.tao",
}
SOURCES = tuple(_MODULES)

_IMAGE_SUFFIXES = (".jpeg", ".jpg", ".png")
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class SourceVideo:
    """One video: the source's own id, how many frames are there, and the folder they are in."""

    id: str
    frames: int
    folder: Path


@dataclass(frozen=True, slots=True)
class SourceFrame:
    """One frame: its index in the video, its file, and its boxes in the file's own pixels."""

    index: int
    file: Path
    objects: tuple[Box, ...]


class Source(Protocol):
    """Clean videos with labels, in a fixed order."""

    @property
    def name(self) -> str:
        """The source: ``imagenet-vid``."""

    @property
    def dataset(self) -> str:
        """What is made of it: ``imagenet-vid-c``."""

    @property
    def split(self) -> str:
        """The split that was opened."""

    @property
    def classes(self) -> ClassList:
        """The classes that boxes are labelled with."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The videos of the split that are not on disk."""

    @property
    def occluded_is_hidden(self) -> bool:
        """Whether an occluded object cannot be seen at all, and so gives a frame no label."""

    def videos(self) -> Sequence[SourceVideo]:
        """All videos sorted by id; no pixel and no annotation is read."""

    def frames(self, video: SourceVideo) -> Sequence[SourceFrame]:
        """A video's frames by position; each is read when asked for, and again when asked again."""


def open_source(
    name: str, root: str | Path, split: str | None = None, allow_missing: bool = False
) -> Source:
    """The source called ``name`` in the folder ``root``; the split is the source's own default."""
    if name not in _MODULES:
        raise unknown("source", name, SOURCES)
    folder = Path(root)
    if not folder.is_dir():
        raise InputError(f"--root {folder} is not a folder: give the one that holds {name}.")
    source: Source = import_module(_MODULES[name]).open_split(folder, split, allow_missing)
    return source


def frame_files(folder: Path) -> list[tuple[int, Path]]:
    """The numbered image files of a folder, by number; gaps are kept.

    Hidden files and files that are no image are passed over. An image whose name is no number is
    an error, because leaving out a frame in silence would change the stream.
    """
    files: dict[int, Path] = {}
    for name in _listing(folder):
        file = folder / name
        stem = file.stem
        if name.startswith(".") or file.suffix.lower() not in _IMAGE_SUFFIXES:
            continue
        if not _NUMBER.fullmatch(stem):
            raise InputError(f"{file} is an image whose name is not a frame number: move it away.")
        if int(stem) in files:
            raise InputError(f"{file} and {files[int(stem)].name} are the same frame: remove one.")
        files[int(stem)] = file
    return sorted(files.items())


def subfolders(folder: Path) -> list[str]:
    """The names of the folders in a folder, sorted; hidden ones are passed over."""
    return [
        name for name in _listing(folder) if not name.startswith(".") and (folder / name).is_dir()
    ]


def checked_id(name: str, folder: Path) -> str:
    """A video's id, which is stored as text and so must be valid Unicode."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{folder} has a name that is not valid UTF-8: rename it.") from None
    return name


def read_bytes(file: Path) -> bytes:
    """A file's bytes; a file that cannot be read is told in one sentence."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from error


def _listing(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder} cannot be listed: {error.strerror}.") from error
