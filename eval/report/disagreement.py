"""The frames that UnMix-TNS and Source answer differently: how many, and which ones to look at."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice, zip_longest

import numpy as np

from vidc.eval.report.measures import Flags, Ints
from vidc.eval.report.predictions import CellFrames

OURS = "unmix_tns"
BASE = "source"


@dataclass(frozen=True)
class Answer:
    """What a column said about a frame, and how sure it was (0 to 1)."""

    prediction: int
    confidence: float
    right: bool


@dataclass(frozen=True)
class Pick:
    """A frame worth looking at."""

    position: int  # in the dataset's order
    video: str
    frame: int
    labels: tuple[int, ...]  # the largest object's first
    ours: Answer
    base: Answer


@dataclass(frozen=True)
class Disagreement:
    """How the answers of the two columns meet over a cell, and frames of each kind."""

    both_right: int
    only_ours: int
    only_base: int
    both_wrong: int
    differ: int
    picks: tuple[Pick, ...]


def find_disagreement(frames: CellFrames, most: int) -> Disagreement | None:
    """The counts, and at most ``most`` frames; None where one of the two columns was not run."""
    if OURS not in frames.wrong or BASE not in frames.wrong:
        return None
    ours, base = ~frames.wrong[OURS], ~frames.wrong[BASE]
    differ = frames.prediction[OURS] != frames.prediction[BASE]
    kinds = (
        _surest(frames, differ & ours & ~base, OURS),
        _surest(frames, differ & ~ours & base, BASE),
        _surest(frames, differ & ~ours & ~base, OURS),
    )
    # Turn by turn, so that a small number still shows every kind there is.
    in_turn = chain.from_iterable(zip_longest(*(kind.tolist() for kind in kinds)))
    chosen = islice((at for at in in_turn if at is not None), most)
    return Disagreement(
        both_right=int(np.count_nonzero(ours & base)),
        only_ours=int(np.count_nonzero(ours & ~base)),
        only_base=int(np.count_nonzero(~ours & base)),
        both_wrong=int(np.count_nonzero(~ours & ~base)),
        differ=int(np.count_nonzero(differ)),
        picks=tuple(_pick(frames, at) for at in chosen),
    )


def _surest(frames: CellFrames, which: Flags, column: str) -> Ints:
    """Of each video the frame that ``column`` is surest of, the surest video first.

    One frame a video: neighbouring frames look alike, and a page of them shows nothing.
    """
    candidates = np.flatnonzero(which)
    order = np.argsort(-frames.confidence[column][candidates], kind="stable")
    ranked = candidates[order]
    _, first = np.unique(frames.video[ranked], return_index=True)
    return ranked[np.sort(first)].astype(np.int64)


def _pick(frames: CellFrames, at: int) -> Pick:
    def answer(column: str) -> Answer:
        return Answer(
            int(frames.prediction[column][at]),
            float(frames.confidence[column][at]),
            not frames.wrong[column][at],
        )

    return Pick(
        position=int(frames.position[at]),
        video=frames.videos[frames.video[at]],
        frame=int(frames.frame[at]),
        labels=tuple(dict.fromkeys((int(frames.label[at]), *frames.labels[at].as_py()))),
        ours=answer(OURS),
        base=answer(BASE),
    )
