"""LaSOT as it is released: ``[<class>/]<class>-<n>/img/00000001.jpg``, text files beside ``img``.

Line i of the text files belongs to file number i, which is frame index i - 1, whatever files are
missing between. The text files must be equally long and end with the last frame; with
--allow-missing they may all end before or after it, and the frames behind their end have no object.
A frame whose object is out of view or whose box has no area has none either. An object that
``full_occlusion.txt`` marks is kept with ``occluded``; as nothing of it can be seen, it gives its
frame no label.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vidc.builders.source import (
    LazyFrames,
    SourceFrame,
    SourceVideo,
    dataset_name,
    is_folder,
    numbered_frames,
    read_bytes,
    read_if_there,
)
from vidc.classes import ClassList, class_list, lasot_test_sequences
from vidc.errors import InputError, unknown
from vidc.frames import Box

SPLITS = ("test", "train", "full")
SEQUENCES_PER_CLASS = 20
# What the release's archives unpack to, where root is the folder that holds it.
_FOLDERS = ("", "LaSOT", "LaSOTBenchmark")
# Of the text files: the longest sequence has 11,397 lines. Reading takes about 37 times as much.
_LONGEST = 2**22


@dataclass(frozen=True)
class Lasot:
    """One split of LaSOT on disk: the sequences that are there, and those that are not."""

    split: str
    sequences: tuple[tuple[str, Path], ...]
    missing: tuple[str, ...]
    dataset: str
    allow_missing: bool = False
    name: str = "lasot"
    occluded_is_hidden: bool = True

    @property
    def classes(self) -> ClassList:
        """The seventy classes."""
        return class_list("lasot")

    @property
    def videos_in_release(self) -> int:
        """How many sequences the whole split has."""
        return len(self.sequences) + len(self.missing)

    @property
    def frames_in_release(self) -> int:
        """How many frames the sequences on disk have by their files' numbers and lines."""
        return sum(_length(folder) for _, folder in self.sequences)

    def videos(self) -> Sequence[SourceVideo]:
        """The sequences on disk."""
        return [
            SourceVideo(name, len(numbered_frames(folder / "img", first=1)), folder / "img")
            for name, folder in self.sequences
        ]

    def frames(self, video: SourceVideo) -> Sequence[SourceFrame]:
        """The sequence's frames in the order of their numbers."""
        category = self.classes.index(video.id.rpartition("-")[0])
        entries = numbered_frames(video.folder, first=1)
        boxes = _boxes(video.folder.parent, category, _last_number(entries), self.allow_missing)

        def objects(index: int, name: str) -> tuple[Box, ...]:
            box = boxes[index] if index < len(boxes) else None
            return () if box is None else (box,)

        return LazyFrames(video.folder, entries, objects)


def open_split(root: Path, split: str | None, allow_missing: bool) -> Lasot:
    """A split of the tree at ``root``: the 280 testing sequences, the other 1120, or all."""
    split = split or SPLITS[0]
    if split not in SPLITS:
        raise unknown("lasot split", split, SPLITS)
    wanted = split_sequences(split)
    found = {name: folder for name in wanted if (folder := _folder(root, name))}
    if not found:
        first, kind = wanted[0], wanted[0].rpartition("-")[0]
        raise InputError(
            f"--root {root} has no sequence of LaSOT's split '{split}': "
            f"looked for {kind}/{first}/img, {first}/img and so on."
        )
    missing = tuple(name for name in wanted if name not in found)
    if missing and not allow_missing:
        raise InputError(
            f"--root {root} has {len(found)} of the {len(wanted)} sequences of LaSOT's split "
            f"'{split}' ({missing[0]} is missing): --allow-missing goes on with those."
        )
    dataset = dataset_name("lasot", *(root / above for above in _FOLDERS))
    return Lasot(split, tuple(found.items()), missing, dataset, allow_missing)


def split_sequences(split: str) -> tuple[str, ...]:
    """The names of a split's sequences, sorted."""
    if split == "test":
        return lasot_test_sequences()
    kinds, numbers = class_list("lasot").names, range(1, SEQUENCES_PER_CLASS + 1)
    everything = {f"{kind}-{number}" for kind in kinds for number in numbers}
    return tuple(sorted(everything.difference(lasot_test_sequences() if split == "train" else ())))


def _folder(root: Path, name: str) -> Path | None:
    places = (name.rpartition("-")[0] + "/" + name, name)
    folders = (root / above / place for above in _FOLDERS for place in places)
    return next((folder for folder in folders if is_folder(folder / "img")), None)


def _length(folder: Path) -> int:
    """A sequence's frames, those that are missing between or at its end included."""
    lines = (read_if_there(folder / "groundtruth.txt") or b"").strip().splitlines()
    return max(len(lines), _last_number(numbered_frames(folder / "img", first=1)))


def _last_number(entries: Sequence[tuple[int, str]]) -> int:
    return entries[-1][0] + 1 if entries else 0


def _boxes(folder: Path, category: int, last: int, allow_missing: bool) -> list[Box | None]:
    """The object of each line of a sequence's ground truth, and None where there is none."""
    file = folder / "groundtruth.txt"
    lines = parse_groundtruth(read_bytes(file), str(file))
    if len(lines) != last and not allow_missing:
        raise InputError(
            f"{file} has {len(lines)} lines and the last frame is number {last}: unpack the "
            "sequence again, or --allow-missing takes frames behind the last line as unlabelled."
        )
    hidden = _flags(folder / "full_occlusion.txt", len(lines), allow_missing)
    away = _flags(folder / "out_of_view.txt", len(lines), allow_missing)
    return [
        None if away[i] or width <= 0 or height <= 0
        # A sequence has one object: its track is always 0.
        else Box((x, y, width, height), category, 0, occluded=hidden[i], generated=False)
        for i, (x, y, width, height) in enumerate(lines)
    ]  # fmt: skip


def _flags(file: Path, count: int, allow_missing: bool) -> list[bool]:
    """A file's flag for each of so many lines; all False where a missing file is allowed."""
    data = read_if_there(file)
    if data is None and allow_missing:
        return [False] * count
    if data is None:
        raise InputError(
            f"{file} is missing: unpack the sequence again, or --allow-missing takes nothing of it "
            "as hidden."
        )
    flags = parse_flags(data, str(file))
    if len(flags) != count:  # a copy that was cut short would give its frames other labels
        raise InputError(
            f"{file} has {len(flags)} entries and groundtruth.txt {count} lines: unpack the "
            "sequence again."
        )
    return flags


def parse_groundtruth(data: bytes, what: str) -> list[tuple[float, float, float, float]]:
    """The x, y, width and height of each line; ``what`` names the file where it is broken."""
    boxes = []
    for number, line in enumerate(_text(data, what).rstrip().split("\n"), start=1):
        try:
            x, y, width, height = (float(part) for part in line.replace(",", " ").split())
        except ValueError:
            x = y = width = height = math.nan
        if not math.isfinite(x + y + width + height):
            raise InputError(
                f"{what} has '{line.strip()[:40]}' in line {number}: x,y,width,height was expected."
            )
        boxes.append((x, y, width, height))
    return boxes


def parse_flags(data: bytes, what: str) -> list[bool]:
    """The 0 and 1 of a file, between commas or lines; ``what`` names it where it is broken."""
    flags = _text(data, what).replace(",", " ").split()
    for flag in flags:
        if flag not in ("0", "1"):
            raise InputError(f"{what} has '{flag[:40]}': only 0 and 1 were expected.")
    return [flag == "1" for flag in flags]


def _text(data: bytes, what: str) -> str:
    if len(data) > _LONGEST:
        raise InputError(f"{what} is longer than any of LaSOT's: unpack the sequence again.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{what} is not plain text.") from None
