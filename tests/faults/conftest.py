"""What the faults share: clean videos, the commands on them, and what they give undisturbed."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.builders import trees
from tests.eval.tiny_dataset import write_model
from tests.faults import disks
from tests.faults.aiming import Aim
from tests.faults.counting import LATE, PARTS, TRIED
from tests.faults.running import Undisturbed, contents, count_changes, start
from tests.hub.conftest import clean, dataset, environment, hub  # noqa: F401 - fixtures

THINGS = {
    "dog 1": trees.Thing(trees.DOG),
    "bird": trees.Thing(trees.BIRD),
    "car": trees.Thing(trees.CAR),
    "dog 2": trees.Thing(trees.DOG),
}
FRAMES = 6


@pytest.fixture
def rng(request) -> random.Random:
    """The random numbers of one test: the same whenever the seed is, whatever else is run."""
    seed = request.config.option.fault_seed
    print(f"repeat with --fault-seed {seed}")  # noqa: T201 - shown where the test fails
    return random.Random(f"{seed} {request.node.name}")


@pytest.fixture
def several(request, record_property) -> Callable[[int, int], int]:
    """For a test that tries many: how many, in the short selection or in all; it is counted."""

    def choose(few: int, many: int) -> int:
        count = many if request.config.option.all_faults else min(few, many)
        record_property(TRIED, count)
        return count

    return choose


@pytest.fixture
def aim(rng, record_property) -> Aim:
    """Random moments to hit a command at; those that come too late are counted apart."""
    return Aim(rng, lambda late: record_property(LATE, late))


@pytest.fixture
def moments(request, rng, several, number) -> Callable[..., list[int]]:
    """Of a command's changes those to stop at: a few, or this part's share of most or of all."""

    def choose(total: int, few: int, most: int | None = None) -> list[int]:
        whole = request.config.option.all_faults
        mine = range(1 + number, total + 1, PARTS) if whole else range(1, total + 1)
        count = several(few, len(mine) if most is None else most // PARTS)
        return sorted(rng.sample(mine, count))

    return choose


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """For every process started here: on so little work, two threads wait for each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        yield


@pytest.fixture(scope="session")
def videos(tmp_path_factory) -> Path:
    """Four clean videos of three classes in ImageNet-VID's layout."""
    root = tmp_path_factory.mktemp("videos")
    for name, thing in THINGS.items():
        trees.write_imagenet_vid(root, {name: FRAMES}, things=[thing])
    return root / "ILSVRC2015"


@pytest.fixture(scope="session")
def building(videos, tmp_path_factory) -> Undisturbed:
    """A build of those videos in four shards, by two workers."""
    words = ["imagenet-vid", "--root", str(videos), "--size", "32", "--shard-size", "40kB"]
    words += ["--corruptions", "snow", "gaussian_noise", "--workers", "2"]
    return _undisturbed("build", words, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def evaluating(building, tmp_path_factory) -> Undisturbed:
    """An evaluation of that dataset with a checkpoint after every batch."""
    words = [str(building.folder), "--model", write_model(tmp_path_factory.mktemp("model"))]
    words += ["--columns", "source", "unmix_tns", "tent_unmix", "lame_unmix"]
    words += ["--set", "stream.batch=4", "--set", "unmix_tns.components=4"]
    words += ["--checkpoint-every", "1", "--no-report"]
    return _undisturbed("eval", words, tmp_path_factory.mktemp("evaluated"))


def _undisturbed(command: str, words: list[str], folder: Path) -> Undisturbed:
    out = folder / "out"
    running = start(command, [*words, "--out", out], folder)
    started = time.monotonic()  # from here on a hit finds it; the imports are behind it
    running.end().assert_well()
    return Undisturbed(command, words, out, contents(out), time.monotonic() - started)


@pytest.fixture(scope="session")
def step_by_step(building, evaluating) -> dict[str, Undisturbed]:
    """Both commands in one process each, which can be paused at any change of the folder."""
    serial = [word for word in building.words if word not in ("--workers", "2")]
    alone = Undisturbed(
        "build", [*serial, "--engine", "serial"], building.folder, building.files, 0
    )
    return {"build": alone, "eval": evaluating}


@pytest.fixture(scope="session")
def changes(step_by_step, tmp_path_factory) -> dict[str, int]:
    """How often each command changes its output folder."""
    counts = {}
    for name, left_alone in step_by_step.items():
        folder = tmp_path_factory.mktemp(name)
        words = [*left_alone.words, "--out", folder / "out"]
        counts[name] = count_changes(name, words, folder)
        assert contents(folder / "out") == left_alone.files
    return counts


@pytest.fixture
def disk(tmp_path) -> Iterator[disks.Disk]:
    """A small disk of the test's own."""
    try:
        made = disks.make(tmp_path / "disk")
    except subprocess.CalledProcessError as refused:
        pytest.skip(f"a disk cannot be mounted here: {refused.stderr.strip()}")
    except FileNotFoundError as missing:
        pytest.skip(f"a disk cannot be mounted here: there is no {missing.filename}")
    yield made
    made.remove()
