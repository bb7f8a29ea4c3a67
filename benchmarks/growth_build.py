"""How the cost of a build grows: with frames, with the size of the clean ones, and with workers."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks import build
from benchmarks.curve import Curve, time_and_memory
from benchmarks.measuring import Figure, Ran, alternate, command, seconds_of
from vidc.builders.pipeline import prepare
from vidc.builders.shards import make_row
from vidc.engines import cores

SIDES = (180, 360, 720, 1080)
WORKERS = (1, 2, 4, 8, 16, 32)


def build_frames(folder: Path, counts: Sequence[int], rounds: int) -> list[Curve]:
    """The whole command on one worker, on more and more frames."""
    roots = {
        count: build.make_tree(folder / f"frames{count}", videos=4, frames=count // 4)
        for count in counts
    }
    return time_and_memory(
        "build",
        "frames",
        counts,
        lambda count: _built(roots[int(count)], folder, "--workers", 1),
        rounds,
    )


def build_size(folder: Path, rounds: int) -> Curve:
    """A frame in three corruptions, by the size of the clean frame that it is made from."""
    roots = {
        side: build.make_tree(folder / f"side{side}", videos=1, frames=1, height=side)
        for side in SIDES
    }
    found = alternate(
        {
            str(side): partial(seconds_of, partial(_made_often, root))
            for side, root in roots.items()
        },
        3 * rounds,
    )
    figures = tuple(figure.times(1e3 / build.PICTURES) for figure in found.values())
    return Curve("build a frame", "megapixels", "ms", _megapixels(SIDES), figures)


def build_size_memory(folder: Path, sides: tuple[int, ...], rounds: int) -> Curve:
    """The largest process of a whole build, by the size of its clean frames."""
    roots = {
        side: build.make_tree(folder / f"memory{side}", videos=1, frames=32, height=side)
        for side in sides
    }
    _, memory = time_and_memory(
        "build of 32 frames",
        "megapixels",
        sides,
        lambda side: _built(roots[int(side)], folder, "--workers", 1, "--no-clean"),
        rounds,
    )
    return replace(memory, places=_megapixels(sides))


def build_workers(folder: Path, frames: int, rounds: int) -> list[Curve]:
    """Frames a second of the real command, and the memory of it all, by its workers."""
    root = build.make_tree(folder / "workers", videos=16, frames=frames)
    counts = [count for count in WORKERS if count <= max(2, cores())]
    memory: dict[int, list[float]] = {count: [] for count in counts}

    def rate(count: int) -> float:
        """Frames a second: two builds' difference, without start-up and end."""
        words = ("--workers", count, "--no-clean")
        few = _built(root, folder, *words, "--limit-videos", 2)
        whole = _built(root, folder, *words)
        memory[count].append(whole.together / 1e6)
        return 14 * frames / (whole.seconds - few.seconds)

    found = alternate({str(count): partial(rate, count) for count in counts}, rounds, warm_up=0)
    places = tuple(map(float, counts))
    peaks = tuple(Figure(tuple(memory[count])) for count in counts)
    return [
        Curve("build, rate", "workers", "frames/s", places, tuple(found.values())),
        Curve("build, memory of all processes", "workers", "MB", places, peaks),
    ]


def _built(root: Path, folder: Path, *words: object) -> Ran:
    out = folder / "built"
    ran = command("vidc.build", "imagenet-vid", "--root", root, "--out", out, *words)
    shutil.rmtree(out)
    return ran


def _made_often(root: Path) -> None:
    source, video, (frame,) = build.first_video(root)
    for _ in range(build.PICTURES):
        make_row(prepare(source, video, frame, build.RECIPE), build.RECIPE)


def _megapixels(sides: tuple[int, ...]) -> tuple[float, ...]:
    return tuple(side * (side * build.WIDTH // build.HEIGHT) / 1e6 for side in sides)
