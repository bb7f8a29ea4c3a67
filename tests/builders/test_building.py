"""A build as a whole: the same bytes whoever builds, continued where it stopped or refused."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import builds, trees
from vidc.builders import imagenet_vid
from vidc.builders.building import build
from vidc.builders.plan import make_plan
from vidc.builders.settings import versions
from vidc.builders.shards import Job, build_shard
from vidc.builders.source import RENDERED
from vidc.builders.workfolder import WorkFolder
from vidc.engines import Engine
from vidc.errors import InputError

VIDEOS = {f"video_{number}": 3 + number % 3 for number in range(9)}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return trees.write_imagenet_vid(tmp_path_factory.mktemp("clean"), VIDEOS)


@pytest.fixture(autouse=True)
def _quick_card(monkeypatch):
    """The card is looked at elsewhere, and takes longer than these builds."""
    monkeypatch.setattr("vidc.builders.card.write", builds.write_card)


@pytest.fixture(scope="module")
def wanted(root, tmp_path_factory):
    """Every file of an undisturbed build in one process."""
    out = tmp_path_factory.mktemp("wanted") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vidc.builders.card.write", builds.write_card)
        build(builds.request(root, out))
    return builds.contents(out)


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_any_number_of_workers_gives_the_same_bytes(workers, root, wanted, tmp_path):
    out = tmp_path / "deep" / "out"
    build(builds.request(root, out, engine=Engine(workers=workers)))
    assert builds.contents(out) == wanted
    assert not (out / ".vidc").exists()


def test_a_finished_build_is_left_alone(root, wanted, tmp_path, capsys):
    out = tmp_path / "out"
    first = build(builds.request(root, out))
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    capsys.readouterr()
    assert build(builds.request(root, out)) == first
    assert "is finished: 9 videos, 36 frames" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


@pytest.mark.parametrize("name", ["README.md", "assets/clip.webp"])
def test_a_card_that_has_gone_is_written_again(name, root, wanted, tmp_path):
    out = tmp_path / "out"
    build(builds.request(root, out))
    (out / name).unlink()
    build(builds.request(root, out))
    assert builds.contents(out) == wanted
    assert not (out / ".vidc").exists()


@pytest.mark.parametrize(
    ("release", "limit", "complete"),
    [(555, None, False), (2, None, True), (2, 1, False), (1, 1, False), (1, None, False)],
)
def test_complete_is_the_whole_split_and_nothing_else(
    release, limit, complete, tmp_path, monkeypatch, capsys
):
    root = trees.write_imagenet_vid(tmp_path / "clean", {"a": 1, "b": 1})
    monkeypatch.setitem(imagenet_vid._VIDEOS_IN_RELEASE, "val", release)
    monkeypatch.setitem(imagenet_vid._FRAMES_IN_RELEASE, "val", 2)
    manifest = build(builds.request(root, tmp_path / "out", limit_videos=limit))
    assert manifest.complete == complete
    said = capsys.readouterr().out
    assert (f"on disk: 2 of {release} video" in said) == (release != 2)
    assert ("complete: every frame of imagenet-vid's split 'val'" in said) == complete
    assert ("a part of imagenet-vid's split 'val'" in said) != complete


def test_all_videos_without_some_of_their_frames_are_not_complete(tmp_path, monkeypatch, capsys):
    root = trees.write_imagenet_vid(tmp_path / "clean", {"a": 3, "b": 1})
    monkeypatch.setitem(imagenet_vid._VIDEOS_IN_RELEASE, "val", 2)
    assert not build(builds.request(root, tmp_path / "out")).complete
    assert "on disk: 4 of the split's 176,126 frames" in capsys.readouterr().out


def test_rendered_clips_cannot_be_built_under_the_release_s_name(tmp_path):
    root = trees.write_imagenet_vid(tmp_path / "clean", {"a": 1})
    (root / RENDERED).touch()
    with pytest.raises(InputError, match="which are imagenet-vid-c-sample"):
        builds.request(root, tmp_path / "out", name="imagenet-vid-c")


def test_a_moved_folder_and_moved_videos_change_nothing(root, wanted, tmp_path):
    out, moved = tmp_path / "out", tmp_path / "elsewhere" / "moved"
    build(builds.request(root, out, share=(0, 2)))
    moved.parent.mkdir()
    out.rename(moved)
    clean = shutil.copytree(root, tmp_path / "clean copy")
    build(builds.request(clean, moved))
    assert builds.contents(moved) == wanted


def test_shares_make_the_whole_in_any_order(root, wanted, tmp_path, capsys):
    out = tmp_path / "out"
    assert build(builds.request(root, out, share=(2, 3))) is None
    said = capsys.readouterr().out
    assert "--shards 2/3: 15 frames each, 3 shards each" in said
    assert "3 of 9 shards are finished" in said
    assert build(builds.request(root, out, share=(0, 3))) is None
    assert build(builds.request(root, out, share=(1, 3))) is not None
    assert builds.contents(out) == wanted
    assert build(builds.request(root, out, share=(0, 3))) is not None


@pytest.mark.slow
def test_shares_run_side_by_side(root, tmp_path):
    def command(out, *more):
        words = ["imagenet-vid", "--root", str(root), "--out", str(tmp_path / out), "--size", "32"]
        return [sys.executable, "-m", "vidc.build", *words, *more]

    jobs = [
        subprocess.Popen(command("out", "--shards", f"{i}/3", "--engine", "serial"))
        for i in (0, 1, 2, 1)
    ]
    assert [job.wait() for job in jobs] == [0, 0, 0, 0]
    assert not (tmp_path / "out" / ".vidc").exists()
    subprocess.run(command("alone"), check=True)
    assert builds.contents(tmp_path / "out") == builds.contents(tmp_path / "alone")


DIFFERENT = [
    ({"seed": 1}, "seed is 0 there and 1 here"),
    ({"size": 48}, "size is 32 there and 48 here"),
    ({"stride": 2}, "stride is 1 there and 2 here"),
    ({"limit_videos": 3}, "limit-videos is not given there and 3 here"),
    ({"name": "other"}, "name is imagenet-vid-c there and other here"),
    (
        {"corruptions": (("clean", 0), ("rain", 5))},
        "corruptions is clean gaussian_noise snow_s3 there and clean rain here",
    ),
]


@pytest.mark.parametrize(("change", "told"), DIFFERENT)
@pytest.mark.parametrize("finished", [True, False])
def test_other_settings_are_refused_by_name(change, told, finished, root, tmp_path):
    out = tmp_path / "out"
    build(builds.request(root, out, share=(0, 1) if finished else (0, 2)))
    before = builds.contents(out)
    with pytest.raises(InputError, match=told):
        build(builds.request(root, out, **change))
    assert builds.contents(out) == before


@pytest.mark.parametrize("finished", [True, False])
def test_other_videos_are_refused(finished, root, tmp_path):
    out = tmp_path / "out"
    build(builds.request(root, out, share=(0, 1) if finished else (0, 2)))
    changed = shutil.copytree(root, tmp_path / "changed")
    (changed / "Data/VID/val/video_4/000000.JPEG").unlink()
    with pytest.raises(InputError, match="--root held other videos or frames"):
        build(builds.request(changed, out))


def test_other_versions_are_refused_only_before_the_end(root, tmp_path, monkeypatch):
    out, done = tmp_path / "out", tmp_path / "done"
    build(builds.request(root, out, share=(0, 2)))
    build(builds.request(root, done))
    monkeypatch.setattr("pyarrow.__version__", "999")
    with pytest.raises(InputError, match=r"pyarrow is .* there and 999 here"):
        build(builds.request(root, out))
    assert build(builds.request(root, done)) is not None


def test_what_the_shares_of_a_repair_have_not_built_yet_is_not_called_finished(
    root, tmp_path, capsys
):
    out = tmp_path / "out"
    wanted = build(builds.request(root, out, shard_size=20_000))
    before = builds.contents(out)
    shutil.rmtree(out / "data" / "snow_s3")
    capsys.readouterr()
    assert build(builds.request(root, out, shard_size=20_000, share=(0, 2))) is None
    assert "shards are finished; the last of the --shards to end" in capsys.readouterr().out
    assert (out / ".vidc").exists()
    assert build(builds.request(root, out, shard_size=20_000, share=(1, 2))) == wanted
    assert builds.contents(out) == before


def test_a_repair_from_other_videos_replaces_nothing(root, tmp_path):
    clean = shutil.copytree(root, tmp_path / "clean")
    out = tmp_path / "out"
    build(builds.request(clean, out))
    lost = next((out / "data" / "clean").iterdir())
    lost.unlink()
    before = builds.contents(out / "data")
    for file in (clean / "Annotations").rglob("*.xml"):
        file.write_text(trees.annotation([trees.Thing(trees.BIRD)]))
    with pytest.raises(InputError, match=r"was built again and is not what manifest\.json says"):
        build(builds.request(clean, out))
    assert builds.contents(out / "data") == before


def test_a_folder_that_another_share_begins_meanwhile_is_not_somebodys_own(
    root, wanted, tmp_path, monkeypatch
):
    """Between the look for a build and the look for other files."""
    out, begun, looks = tmp_path / "out", WorkFolder.begun, []

    def begin_after_the_first_look(work):
        looks.append(begun(work))
        if len(looks) == 1:
            build(builds.request(root, out, share=(1, 2)))
        return looks[-1]

    monkeypatch.setattr(WorkFolder, "begun", begin_after_the_first_look)
    out.mkdir()
    build(builds.request(root, out, share=(0, 2)))
    assert looks[0] is None
    assert builds.contents(out) == wanted


def test_a_folder_of_somebodys_own_is_not_touched(root, tmp_path):
    (tmp_path / "thesis.tex").write_text("all my work")
    with pytest.raises(InputError, match=r"is not empty \(it holds thesis.tex\)"):
        build(builds.request(root, tmp_path))
    assert list(tmp_path.iterdir()) == [tmp_path / "thesis.tex"]


def test_a_build_that_ends_is_one_build_up_to_its_last_file(tmp_path, monkeypatch):
    """Whoever comes meanwhile is refused at once, and never left waiting for another lock."""
    work, gone, unlink = WorkFolder(tmp_path), [], os.unlink
    monkeypatch.setattr(os, "unlink", lambda *at, **how: gone.append(at[0]) or unlink(*at, **how))
    with work.building(alone=True), work.step(), work.task(3):
        work.begin({})
        work.remove()
    monkeypatch.undo()
    names = [Path(at).name for at in gone]
    assert {"plan.json", "step", "00003"} < set(names[:-1])
    assert names[-1] == "build"
    assert not work.path.exists()


def test_a_folder_that_another_build_removes_meanwhile_is_made_again(tmp_path, monkeypatch):
    work, mkdir, times = WorkFolder(tmp_path), os.mkdir, 3

    def removed_before(path, *how):
        nonlocal times
        if Path(path).name == "locks" and times:
            times -= 1
            shutil.rmtree(work.path, ignore_errors=True)
        mkdir(path, *how)

    work.create()
    monkeypatch.setattr(os, "mkdir", removed_before)
    shutil.rmtree(work.path / "locks")
    with work.building(alone=True):
        assert times == 0
        assert (work.path / "locks" / "build").exists()
        assert (work.path / "done").is_dir()


def test_a_build_that_is_told_to_wait_leaves_nothing_behind(tmp_path):
    work = WorkFolder(tmp_path)
    with work.building(alone=True):
        for name in ("done", "tasks"):
            (work.path / name).rmdir()  # as the build that holds the lock does at its end
        with pytest.raises(InputError, match="a build is running"), work.building(alone=True):
            pass
        assert [path.name for path in work.path.iterdir()] == ["locks"]


def test_where_no_folder_can_be_made_trying_ends_with_the_system_s_own_error():
    with pytest.raises(FileNotFoundError), WorkFolder(Path("/proc/none")).building(alone=True):
        pass


def test_two_builds_in_one_folder(root, tmp_path):
    out = tmp_path / "out"
    with WorkFolder(out).building(alone=True):
        for share in ((0, 1), (0, 2)):
            with pytest.raises(InputError, match=f"a build is running in .*process {os.getpid()}"):
                build(builds.request(root, out, share=share))
    with WorkFolder(out).building(alone=False):
        with pytest.raises(InputError, match="a build is running in"):
            build(builds.request(root, out))
        build(builds.request(root, out, share=(0, 2)))
    assert build(builds.request(root, out)) is not None


def test_too_little_room_is_told_before_anything_is_written(root, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(InputError, match=r"needs about .* and its disk has 1.0 kB free"):
        build(builds.request(root, tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_writes_nothing(root, tmp_path, capsys):
    assert build(builds.request(root, tmp_path / "out", dry_run=True)) is None
    assert "plan: 36 frames each, 9 shards each" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_lost_shard_is_made_again(root, wanted, tmp_path):
    out = tmp_path / "out"
    build(builds.request(root, out))
    (out / "data/snow_s3/val-00003-of-00009.parquet").unlink()
    (out / "data/clean/val-00005-of-00009.parquet").write_bytes(b"short")
    untouched = out / "data/clean/val-00000-of-00009.parquet"
    before = untouched.stat().st_mtime_ns
    assert build(builds.request(root, out)) is not None
    assert builds.contents(out) == wanted
    assert untouched.stat().st_mtime_ns == before


def test_a_lost_shard_that_comes_out_different_is_refused(root, tmp_path):
    out = tmp_path / "out"
    build(builds.request(root, out))
    (out / "data/clean/val-00003-of-00009.parquet").unlink()
    changed = shutil.copytree(root, tmp_path / "changed")
    frame = changed / "Data/VID/val/video_3/000000.JPEG"
    frame.write_bytes(trees.jpeg(trees.picture(90, 160, "another")))
    with pytest.raises(InputError, match=r"is not what manifest\.json says"):
        build(builds.request(changed, out))


def test_a_worker_with_other_libraries_is_refused(root, tmp_path):
    asked = builds.request(root, tmp_path / "out")
    task, *_ = make_plan(asked.source, asked.settings).tasks
    started_with = versions(asked.settings.recipe) | {"numpy": "0.9"}
    job = Job(asked.source, root, asked.out, asked.settings, task, "0" * 64, started_with)
    with pytest.raises(InputError, match=r"differ between machines: .*'numpy': '0\.9'"):
        build_shard(job, lambda units: None)
    assert not asked.out.exists()


def test_the_output_folder_disappears(root, tmp_path):
    out = tmp_path / "out"
    moved = tmp_path / "moved"

    def advance_and_move(total):
        if total == 5:
            out.rename(moved)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vidc.builders.building.tqdm", _bar_that_calls(advance_and_move))
        with pytest.raises(InputError, match="was moved or deleted meanwhile"):
            build(builds.request(root, out))
    if out.exists():
        shutil.rmtree(out)
    moved.rename(out)
    assert build(builds.request(root, out)) is not None


def test_files_that_go_while_it_is_built_are_made_again_by_the_same_command(root, wanted, tmp_path):
    out = tmp_path / "out"
    first = out / "data/clean/val-00000-of-00009.parquet"

    def lose_the_first(total):
        if total == 36:  # the last frame of the last shard
            first.unlink()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vidc.builders.building.tqdm", _bar_that_calls(lose_the_first))
        with pytest.raises(InputError, match=f"files have gone from {out} .* same command again"):
            build(builds.request(root, out))
    assert not (out / "manifest.json").exists()
    assert build(builds.request(root, out)) is not None
    assert builds.contents(out) == wanted


def _bar_that_calls(function):
    """A stand-in for tqdm that tells how far the build is."""

    class Bar:
        def __init__(self, **options):
            self.n = options["initial"]

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def update(self, units):
            self.n += units
            function(self.n)

    return Bar


def test_a_full_disk_leaves_what_is_finished(root, wanted, tmp_path, capsys):
    out = tmp_path / "out"
    with pytest.MonkeyPatch.context() as patch:
        _fill_disk_after(100_000, patch)
        with pytest.raises(InputError, match="is full: make room"):
            build(builds.request(root, out))
    finished = {path: path.stat().st_mtime_ns for path in out.glob("data/*/*")}
    assert finished
    assert builds.contents(out / "data").items() <= {
        (path.removeprefix("data/"), sha256) for path, sha256 in wanted.items()
    }
    assert list((out / ".vidc" / "tasks").iterdir()) == []
    build(builds.request(root, out))
    assert builds.contents(out) == wanted
    assert finished.items() <= {p: p.stat().st_mtime_ns for p in out.glob("data/*/*")}.items()
    assert capsys.readouterr().err == ""


def _fill_disk_after(room, patch):
    """Let the shards' files fail as they do on a full disk, once so many bytes are written."""
    from vidc.builders.shardwriter import _HashedFile

    write = _HashedFile.write
    left = [room]

    def write_while_there_is_room(self, data):
        left[0] -= len(data)
        if left[0] < 0 and not self._abandoned:
            raise OSError(28, "No space left on device")
        return write(self, data)

    patch.setattr(_HashedFile, "write", write_while_there_is_room)


@pytest.mark.parametrize("wrong", ["file", "parent"])
def test_an_output_that_is_a_file(wrong, root, tmp_path):
    (tmp_path / "out").write_text("a file")
    out = tmp_path / "out" if wrong == "file" else tmp_path / "out" / "inner"
    with pytest.raises(InputError, match="is not a folder"):
        build(builds.request(root, out))
    assert (tmp_path / "out").read_text() == "a file"
