"""What the full datasets and the full table would take, reckoned from rates measured here.

Nothing of this size was run. What is assumed and not measured is named as such in the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import Row
from vidc.builders.pipeline import Recipe
from vidc.builders.plan import estimated_bytes, group
from vidc.builders.settings import Settings
from vidc.builders.source import SourceVideo
from vidc.frames import CLEAN

CORES = (2, 32, 256)
GPUS = (1, 8)
RECIPE = Recipe(((CLEAN, 0), ("gaussian_noise", 5), ("snow", 5), ("rain", 5)))

# Assumptions, not measurements.
GPU_FORWARDS = 1500  # ResNet-50 forwards of 224 × 224 frames a second, Source, on one GPU
DOLLARS_A_CORE_HOUR = 0.05
DOLLARS_A_GPU_HOUR = 2.0


@dataclass(frozen=True)
class Dataset:
    """A dataset of the paper's size."""

    name: str
    frames: int
    videos: int

    def shards(self) -> list[int]:
        """The frames of each shard, largest first, if all videos are equally long."""
        length, rest = divmod(self.frames, self.videos)
        videos = [SourceVideo(f"{n:04d}", length + (n < rest), Path()) for n in range(self.videos)]
        groups = group(videos, Settings("any", "any", "any", RECIPE))
        return sorted((sum(p.stop - p.start for p in parts) for parts in groups), reverse=True)


# TAO does not state the frames of its LaSOT part: `--dry-run` counts them. Its videos are half a
# minute long on average, labelled once a second.
DATASETS = (
    Dataset("ImageNet-VID-C (val)", 176_126, 555),
    Dataset("LaSOT-C (test)", 685_000, 280),
    Dataset("TAO-LaSOT-C, for each 100,000 frames", 100_000, 3_300),
)
TABLE = DATASETS[:2]  # what the paper's table is made of


def scale(measured: Mapping[str, Row]) -> list[str]:
    """Two tables and the sentences that they need."""
    return [*building(measured), "", *evaluating(measured)]


def building(measured: Mapping[str, Row]) -> list[str]:
    """Time, disk and money of the datasets."""
    seconds = measured["build, time: fitted slope"].value
    heads = " | ".join(f"{cores} cores" for cores in CORES)
    lines = [
        f"Building, from {1 / seconds:.0f} frames a second and core (1280×720 JPEG in; clean and "
        f"three corruptions out; measured), if the cores of a large machine are as fast and "
        f"${DOLLARS_A_CORE_HOUR:.2f} a core-hour (assumed):",
        "",
        f"| dataset | frames | disk | shards | {heads} | cost | must be written at {CORES[-1]} "
        "cores |",
        "|---|---:|---:|---:|" + "---:|" * (len(CORES) + 2),
    ]
    for dataset in DATASETS:
        size = estimated_bytes(RECIPE, dataset.frames)
        shards = [frames * seconds for frames in dataset.shards()]
        taken = [makespan(shards, cores) for cores in CORES]
        money = sum(shards) / 3600 * DOLLARS_A_CORE_HOUR
        lines.append(
            f"| {dataset.name} | {dataset.frames:,} | {size / 1e9:.0f} GB | {len(shards)} "
            f"| {' | '.join(map(duration, taken))} "
            f"| ${money:.2f} | {size / taken[-1] / 1e9:.1f} GB/s |"
        )
    lines += [
        "",
        "A shard is one core's work (videos are taken as equally long): where there are fewer than "
        "cores, or hardly more, they are the bottleneck, else the processors. `--shard-size 50MB` "
        f"makes about ten times as many; {CORES[-1]} busy cores would write "
        f"{estimated_bytes(RECIPE, 1) * CORES[-1] / seconds / 1e9:.1f} GB/s, and then it is the "
        "disk.",
    ]
    return lines


def evaluating(measured: Mapping[str, Row]) -> list[str]:
    """Time and money of the table."""
    forwards = networks(measured)
    rate = GPU_FORWARDS / forwards
    cells = sorted((each.frames / rate for each in TABLE for _ in range(3)), reverse=True)
    frames = sum(each.frames for each in TABLE)
    lines = [
        f"Evaluating the whole video table: three corruptions of {frames:,} frames through eight "
        f"columns, which cost {forwards:.1f} Source forwards a frame (measured on the CPU). If a "
        f"GPU does {GPU_FORWARDS:,} ResNet-50 forwards a second and costs "
        f"${DOLLARS_A_GPU_HOUR:.0f} an hour (assumed), it sees {rate:.0f} frames a second:",
        "",
        "| GPUs | time | cost | bottleneck |",
        "|---:|---:|---:|---|",
    ]
    for count in GPUS:
        taken = makespan(cells, count)
        money = count * taken / 3600 * DOLLARS_A_GPU_HOUR
        why = "the GPU" if count == 1 else f"the longest of {len(cells)} cells: one LaSOT-C pass"
        lines.append(f"| {count} | {duration(taken)} | ${money:.0f} | {why} |")
    read = measured["vidc.load, every hash checked"].value
    lines += [
        "",
        f"A GPU is kept busy by a reader of {rate:.0f} frames a second; `vidc.load` read "
        f"{read:.0f} here, hashes checked.",
    ]
    return lines


def networks(measured: Mapping[str, Row]) -> float:
    """What one frame costs in all six networks, in Source forwards."""
    tbn = measured["TBN forward / Source forward"].value
    unmix = measured["UnMix-TNS forward / Source forward"].value
    tent = measured["TENT step / Source forward"].value
    both_tents = tent * (1 + measured["TENT† step / TENT step"].value)
    return 1 + 2 * tbn + unmix + both_tents  # α-BN reads the same statistics as TBN


def makespan(pieces: list[float], count: int) -> float:
    """When the last piece ends, each given to the core or GPU that is free first, in this order."""
    busy = [0.0] * count
    for piece in pieces:
        busy.sort()
        busy[0] += piece
    return max(busy)


def duration(seconds: float) -> str:
    """For people: hours, minutes or seconds."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"
