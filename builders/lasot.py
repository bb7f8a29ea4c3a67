"""LaSOT as it is released: ``[<class>/]<class>-<n>/img/00000001.jpg``, text files beside ``img``.

Line i of the text files belongs to file number i, which is frame index i - 1. A frame beyond the
end of ``groundtruth.txt``, and a frame whose object is out of view or has a box without area, has
no object. An object that ``full_occlusion.txt`` marks is kept with ``occluded``, but cannot be
seen at all and so gives its frame no label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from vidc.builders.source import SourceFrame, SourceVideo, frame_files, read_bytes
from vidc.classes import ClassList, class_list, lasot_test_sequences
from vidc.errors import InputError, unknown
from vidc.frames import Box

SPLITS = ("test", "train", "all")
SEQUENCES_PER_CLASS = 20


@dataclass(frozen=True)
class Lasot:
    """One split of LaSOT on disk: the folder of each sequence that is there."""

    root: Path
    split: str
    sequences: tuple[tuple[str, Path], ...]
    missing: tuple[str, ...]
    name: str = "lasot"
    dataset: str = "lasot-c"
    occluded_is_hidden: bool = True

    @property
    def classes(self) -> ClassList:
        """The seventy classes."""
        return class_list("lasot")

    def videos(self) -> Sequence[SourceVideo]:
        """The sequences on disk."""
        return [
            SourceVideo(name, len(frame_files(folder / "img")), folder)
            for name, folder in self.sequences
        ]

    def frames(self, video: SourceVideo) -> Sequence[SourceFrame]:
        """The sequence's frames in the order of their numbers."""
        category = self.classes.index(video.id.rpartition("-")[0])
        return _Frames(frame_files(video.folder / "img"), _boxes(video.folder, category))


@dataclass(frozen=True)
class _Frames(Sequence[SourceFrame]):
    files: list[tuple[int, Path]]
    boxes: list[Box | None]

    def __len__(self) -> int:
        return len(self.files)

    @overload
    def __getitem__(self, position: int) -> SourceFrame: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[SourceFrame]: ...
    def __getitem__(self, position: int | slice) -> SourceFrame | Sequence[SourceFrame]:
        if isinstance(position, slice):
            return _Frames(self.files[position], self.boxes)
        number, file = self.files[position]
        box = self.boxes[number - 1] if 0 < number <= len(self.boxes) else None
        return SourceFrame(number - 1, file, () if box is None else (box,))


def open_split(root: Path, split: str | None, allow_missing: bool) -> Lasot:
    """A split of the tree at ``root``: the 280 testing sequences, the other 1120, or all."""
    split = split or SPLITS[0]
    if split not in SPLITS:
        raise unknown("lasot split", split, SPLITS)
    wanted = split_sequences(split)
    found = tuple((name, folder) for name in wanted if (folder := _folder(root, name)))
    if not found:
        raise InputError(
            f"--root {root} has none of LaSOT's sequences: looked for {wanted[0]}/img and "
            f"{wanted[0].rpartition('-')[0]}/{wanted[0]}/img."
        )
    present = {name for name, _ in found}
    missing = tuple(name for name in wanted if name not in present)
    if missing and not allow_missing:
        raise InputError(
            f"--root {root} has {len(found)} of the {len(wanted)} sequences of LaSOT's split "
            f"'{split}' ({missing[0]} is missing): --allow-missing goes on without the rest."
        )
    return Lasot(root, split, found, missing)


def split_sequences(split: str) -> tuple[str, ...]:
    """The names of a split's sequences, sorted."""
    if split == "test":
        return lasot_test_sequences()
    everything = {
        f"{name}-{number}"
        for name in class_list("lasot").names
        for number in range(1, SEQUENCES_PER_CLASS + 1)
    }
    return tuple(sorted(everything - set(lasot_test_sequences() if split == "train" else ())))


def _folder(root: Path, name: str) -> Path | None:
    for folder in (root / name.rpartition("-")[0] / name, root / name):
        if (folder / "img").is_dir():
            return folder
    return None


def _boxes(folder: Path, category: int) -> list[Box | None]:
    truth = parse_groundtruth(
        read_bytes(folder / "groundtruth.txt"), str(folder / "groundtruth.txt")
    )
    hidden, away = (
        parse_flags(read_bytes(file), str(file)) if (file := folder / name).exists() else []
        for name in ("full_occlusion.txt", "out_of_view.txt")
    )
    return [
        None
        if (i < len(away) and away[i]) or box[2] <= 0 or box[3] <= 0
        else Box(box, category, 0, i < len(hidden) and hidden[i], False)
        for i, box in enumerate(truth)
    ]


def parse_groundtruth(data: bytes, what: str) -> list[tuple[float, float, float, float]]:
    """The x, y, width and height of each line; ``what`` names the file where it is broken."""
    boxes = []
    for number, line in enumerate(_text(data, what).splitlines(), start=1):
        try:
            x, y, width, height = (float(part) for part in line.split(","))
        except ValueError:
            raise InputError(
                f"{what} has '{line[:40]}' in line {number}: x,y,width,height was expected."
            ) from None
        boxes.append((x, y, width, height))
    return boxes


def parse_flags(data: bytes, what: str) -> list[bool]:
    """The comma-separated 0 and 1 of a file; ``what`` names the file where it is broken."""
    parts = [part.strip() for part in _text(data, what).replace("\n", ",").split(",")]
    flags = [part for part in parts if part]
    for flag in flags:
        if flag not in ("0", "1"):
            raise InputError(f"{what} has '{flag[:40]}': only 0 and 1 were expected.")
    return [flag == "1" for flag in flags]


def _text(data: bytes, what: str) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError:
        raise InputError(f"{what} is not plain text.") from None
