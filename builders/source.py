"""What a source of clean video is: videos by id, their frames by index, and their labels.

One file beside this one for each release that is understood. A source is small and can be sent to
another process; listings and annotations are read when a video's frames are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Protocol, overload

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

# A file of this name at the top of a tree says that vidc rendered it. What is made of such a tree
# has a name of its own, so that it is never taken for the release whose layout it has.
RENDERED = "RENDERED_BY_VIDC.txt"
SAMPLE = "-sample"
RENDERED_NAMES = ("imagenet-vid-c-sample", "lasot-c-sample")

_FRAME_NAME = re.compile(r"(.*)\.(?:jpe?g|png)", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,9}")  # an index is stored as int32


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
        """What is made of it: ``imagenet-vid-c``, or of the rendered sample another name."""

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
    def videos_in_release(self) -> int:
        """How many videos the whole split has."""

    @property
    def frames_in_release(self) -> int | None:
        """How many frames they have together; None where that is not known."""

    @property
    def occluded_is_hidden(self) -> bool:
        """Whether an occluded object cannot be seen at all, and so gives a frame no label."""

    def videos(self) -> Sequence[SourceVideo]:
        """All videos sorted by id; no pixel and no annotation of a frame is read."""

    def frames(self, video: SourceVideo) -> Sequence[SourceFrame]:
        """A video's frames by position; each is read when asked for, and again when asked again."""


def open_source(
    name: str, root: str | Path, split: str | None = None, allow_missing: bool = False
) -> Source:
    """The source called ``name`` in the folder ``root``; the split is the source's own default."""
    if name not in _MODULES:
        raise unknown("source", name, SOURCES)
    folder = Path(root)
    if not is_folder(folder):
        raise InputError(f"--root {folder} is not a folder: give the one that holds {name}.")
    source: Source = import_module(_MODULES[name]).open_split(folder, split, allow_missing)
    return source


def dataset_name(source: str, *trees: Path) -> str:
    """What a dataset made of a source's tree is called."""
    rendered = any((tree / RENDERED).is_file() for tree in trees)
    return f"{source}-c{SAMPLE if rendered else ''}"


def check_name(name: str, source: Source) -> None:
    """Refuse to call these frames what vidc calls others."""
    if name != source.dataset and name.removesuffix(SAMPLE) in {f"{each}-c" for each in SOURCES}:
        raise InputError(
            f"--name {name} stands for other frames than these, which are {source.dataset}: "
            "choose another name."
        )


@dataclass(frozen=True)
class LazyFrames(Sequence[SourceFrame]):
    """Frames by position: (index, file name) is known, the objects are found when asked for.

    A broken annotation raises for its own frame only; the frames after it can still be had.
    """

    folder: Path
    entries: Sequence[tuple[int, str]]
    objects: Callable[[int, str], tuple[Box, ...]]

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, position: int) -> SourceFrame: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[SourceFrame]: ...
    def __getitem__(self, position: int | slice) -> SourceFrame | Sequence[SourceFrame]:
        if isinstance(position, slice):
            return replace(self, entries=self.entries[position])
        index, name = self.entries[position]
        return SourceFrame(index, self.folder / name, self.objects(index, name))


def index_and_file(frames: Sequence[SourceFrame], position: int) -> tuple[int, Path]:
    """Which frame it is, without a look at its annotation, which may be broken."""
    if isinstance(frames, LazyFrames):
        index, name = frames.entries[position]
        return index, frames.folder / name
    frame = frames[position]
    return frame.index, frame.file


def numbered_frames(folder: Path, first: int = 0) -> list[tuple[int, str]]:
    """The index and name of each numbered image file, where ``first`` is the number of index 0.

    Gaps are kept. Hidden files and files that are no image are passed over. An image whose name is
    no number is an error, because to leave out a frame in silence would change the stream.
    """
    found: dict[int, str] = {}
    for name in _listing(folder):
        match = _FRAME_NAME.fullmatch(name)
        if match is None or name.startswith("."):
            continue
        if not _NUMBER.fullmatch(match[1]) or int(match[1]) < first:
            raise InputError(f"{folder / name} is not named by a frame number: move it away.")
        index = int(match[1]) - first
        if index in found:
            raise InputError(f"{folder / name} and {found[index]} are the same frame: remove one.")
        found[index] = name
    return sorted(found.items())


def subfolders(folder: Path) -> list[str]:
    """The names of the folders in a folder, sorted; hidden ones are passed over."""
    names = [name for name in _listing(folder) if not name.startswith(".")]
    return [name for name in names if is_folder(folder / name)]


def is_folder(path: Path) -> bool:
    """Whether a folder is there; a name no file system takes is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_text(name: str) -> bool:
    """Whether a name can be stored: file names may hold bytes that are not Unicode."""
    try:
        return "\0" not in name and bool(name.encode("utf-8"))
    except UnicodeEncodeError:
        return False


def read_bytes(file: Path) -> bytes:
    """A file's bytes; a file that cannot be read is told in one sentence."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from error


def read_if_there(file: Path) -> bytes | None:
    """A file's bytes, or None where there is no such file; one behind a locked door is an error."""
    try:
        return read_bytes(file)
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def _listing(folder: Path) -> list[str]:
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder} cannot be listed: {error.strerror}.") from error
    for name in names:
        if not is_text(name):
            raise InputError(f"{folder} holds {name!r}, which is not valid UTF-8: rename it.")
    return names
