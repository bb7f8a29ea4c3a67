"""The plan holds every frame once and in order, whatever the videos' lengths."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vidc.builders.pipeline import Recipe
from vidc.builders.plan import (
    ROW_GROUP_BYTES,
    estimated_bytes,
    estimated_seconds,
    frame_bytes,
    make_plan,
    row_group_frames,
)
from vidc.builders.settings import Settings
from vidc.builders.source import SourceVideo
from vidc.builders.summary import show_plan
from vidc.classes import class_list
from vidc.corruptions import names
from vidc.engines import Engine
from vidc.errors import InputError
from vidc.images import Encoding

RECIPE = Recipe((("clean", 0), ("gaussian_noise", 5)), size=224)


@dataclass(frozen=True)
class Listing:
    """A source that is only a listing."""

    lengths: tuple[int, ...]
    root: Path = Path("/clean")
    name: str = "imagenet-vid"
    dataset: str = "imagenet-vid-c"
    split: str = "val"
    missing: tuple[str, ...] = ()
    occluded_is_hidden: bool = False
    videos_in_release: int = 555
    frames_in_release: int | None = None

    @property
    def classes(self):
        return class_list("imagenet-vid")

    def videos(self):
        return [
            SourceVideo(f"v{number:04d}", length, self.root / f"v{number:04d}")
            for number, length in enumerate(self.lengths)
        ]

    def frames(self, video):
        raise AssertionError("a plan reads no frame")


def settings(recipe=RECIPE, **changes):
    return Settings("imagenet-vid-c", "imagenet-vid", "val", recipe, **changes)


lengths = st.lists(st.integers(1, 900), min_size=1, max_size=40).map(tuple)


@given(lengths, st.integers(1, 400), st.integers(1, 7), st.none() | st.integers(1, 50))
def test_every_frame_is_in_one_shard_and_in_order(lengths, frames_a_shard, stride, limit):
    recipe = Recipe(RECIPE.corruptions, size=224, stride=stride)
    plan = make_plan(
        Listing(lengths),
        settings(
            recipe,
            shard_size=frames_a_shard * frame_bytes(recipe, "gaussian_noise"),
            limit_videos=limit,
        ),
    )
    stored = [-(-length // stride) for length in lengths[:limit]]
    wanted = [(f"v{v:04d}", i) for v, length in enumerate(stored) for i in range(length)]
    found = [
        (part.video.id, i)
        for task in plan.tasks
        for part in task.parts
        for i in range(part.start, part.stop)
    ]
    assert found == wanted
    assert plan.frames == len(wanted)
    assert plan.videos == len(stored)
    assert [(task.index, task.count) for task in plan.tasks] == [
        (i, len(plan.tasks)) for i in range(len(plan.tasks))
    ]
    for task in plan.tasks:
        pieces = [p for p in task.parts if (p.start, p.stop) != (0, stored[int(p.video.id[1:])])]
        if pieces:  # part of a video: it is alone, and the whole exceeds the shard size
            assert len(task.parts) == 1
            assert stored[int(pieces[0].video.id[1:])] > frames_a_shard
            assert pieces[0].start % min(row_group_frames(recipe), frames_a_shard) == 0
        assert task.frames <= frames_a_shard


many_equal = st.builds(
    lambda length, count: (length,) * count, st.integers(1, 9), st.integers(1, 120)
)


@given(lengths | many_equal)
@example((1,) * 9)
@example((1,) * 49)
@example((1,) * 50)
def test_small_datasets_have_enough_shards_for_several_workers(lengths):
    tasks = len(make_plan(Listing(lengths), settings()).tasks)
    frames, longest = sum(lengths), max(lengths)
    # A shard is one video, or several that together have no more frames than an eighth of all,
    # rounded up. That rounding can leave fewer than eight shards: nine frames make five.
    most = max(longest, math.ceil(frames / 8))
    assert tasks >= math.ceil(frames / most)
    # With S frames, an eighth rounded up is at most (S + 7)/8, and 7·(S + 7)/8 < S where S > 49.
    if frames >= 50 and 8 * longest <= frames:
        assert tasks >= 8


def test_shards_of_a_large_dataset_are_about_as_large_as_asked_for():
    plan = make_plan(Listing((320,) * 555), settings())
    sizes = [task.frames * frame_bytes(RECIPE, "gaussian_noise") for task in plan.tasks]
    assert all(450_000_000 <= size <= 500_000_000 for size in sizes[:-1])


def test_the_plan_does_not_depend_on_where_the_videos_are():
    here, there = (Listing((5, 7, 300), Path(place)) for place in ("/a", "/b/c"))
    assert make_plan(here, settings()).digest == make_plan(there, settings()).digest


@pytest.mark.parametrize(
    "change",
    [
        {"limit_videos": 2},
        {"shard_size": 1000},
        {"recipe": Recipe(RECIPE.corruptions, size=96)},
        {"recipe": Recipe(RECIPE.corruptions, seed=1)},
    ],
)
def test_plan_and_task_names_change_with_every_setting(change):
    before = make_plan(Listing((5, 7, 300)), settings())
    after = make_plan(Listing((5, 7, 300)), settings(**change))
    assert before.digest != after.digest
    versions = {"numpy": "2"}
    keys = {before.task_key(task, versions) for task in before.tasks}
    assert keys.isdisjoint(after.task_key(task, versions) for task in after.tasks)
    assert len(keys) == len(before.tasks)


def test_a_longer_video_changes_the_names_of_its_tasks():
    before = make_plan(Listing((5, 7, 300)), settings())
    after = make_plan(Listing((5, 8, 300)), settings())
    assert [[part.video.id for part in task.parts] for task in before.tasks] == [
        ["v0000", "v0001"],
        ["v0002"],
    ]
    same = [
        before.task_key(old, {}) == after.task_key(new, {})
        for old, new in zip(before.tasks, after.tasks, strict=True)
    ]
    assert same == [False, True]
    assert before.digest != after.digest


ALL = tuple((name, severity) for name in names() for severity in range(1, 6))


@given(st.integers(1, 100), st.sampled_from(["png", "jpeg"]), st.sampled_from([32, 224, None]))
def test_a_row_group_of_all_configs_fits_into_memory(configs, form, size):
    recipe = Recipe(ALL[:configs], size=size, encoding=Encoding(form))
    frames = row_group_frames(recipe)
    together = sum(frame_bytes(recipe, name) for name, _ in recipe.corruptions)
    assert 1 <= frames <= 256
    assert frames * together <= ROW_GROUP_BYTES
    assert frames == 256 or (frames + 1) * together > ROW_GROUP_BYTES


def test_the_default_recipe_has_row_groups_of_256_frames():
    pairs = (("clean", 0), ("gaussian_noise", 5), ("snow", 5), ("rain", 5))
    assert row_group_frames(Recipe(pairs)) == 256


def test_no_video_and_empty_videos():
    with pytest.raises(InputError, match="no video of imagenet-vid's split 'val'"):
        make_plan(Listing(()), settings())
    with pytest.raises(InputError, match=r"v0001 holds no frame: --skip-broken"):
        make_plan(Listing((3, 0, 4)), settings())
    plan = make_plan(Listing((3, 0, 4)), settings(skip_broken=True))
    assert plan.frames == 7
    assert [entry.file for entry in plan.empty] == ["v0001"]


def test_the_estimate_grows_with_frames_and_configs():
    one = estimated_bytes(RECIPE, 1000)
    assert estimated_bytes(RECIPE, 2000) == 2 * one
    assert estimated_bytes(Recipe((*RECIPE.corruptions, ("snow", 5))), 1000) > one


def test_the_time_counts_slow_corruptions_as_slow():
    """At 224 pixels the package's zoom_blur takes some 90 ms a frame, its saturate 30, snow 1.5."""
    clean = (("clean", 0),)
    base = estimated_seconds(Recipe(clean), 1000, 1)
    for name, least, most in (("zoom_blur", 70, 140), ("saturate", 20, 50), ("snow", 1.5, 10)):
        added = estimated_seconds(Recipe((*clean, (name, 5))), 1000, 1) - base
        assert least <= added <= most


def test_more_workers_than_shards_are_not_reckoned_with(capsys):
    plan = make_plan(Listing((2000, 2000)), settings())
    told = {}
    for workers in (1, 2, 64):
        show_plan(plan, Engine(workers=workers))
        told[workers] = re.search(r"about ([^,]*) with", capsys.readouterr().out)[1]
    # Two shards of 2000 frames at 0.010 + 2 · 224² · 1e-7 = 0.020 s each.
    assert told == {1: "1 min 20 s", 2: "40 s", 64: "40 s"}
