"""The build command: what it takes, what it refuses in one sentence, and the sample."""

from importlib import import_module

import pytest

from tests.builders import builds, trees
from vidc import manifest as manifests
from vidc.build import main
from vidc.builders import command, preview, sample_build
from vidc.builders.command import parse_bytes, parse_pixels, parse_share
from vidc.builders.settings import DEFAULT_CORRUPTIONS, DEFAULT_SHARD_SIZE
from vidc.builders.source import _MODULES, RENDERED, SOURCES
from vidc.commandline import Parser
from vidc.errors import InputError
from vidc.images import Encoding


@pytest.fixture
def root(tmp_path):
    return trees.write_imagenet_vid(tmp_path / "clean", {"a": 2, "b": 3})


@pytest.fixture(autouse=True)
def _quick_card(monkeypatch):
    monkeypatch.setattr("vidc.builders.card.write", builds.write_card)


def test_every_option_reaches_the_manifest(root, tmp_path):
    out = tmp_path / "out"
    words = "--corruptions rain gaussian_noise --severity 3 1 --no-clean --size 40 --format jpeg"
    words += " --quality 90 --subsampling 444 --temporal coherent --seed 7 --stride 2"
    words += " --limit-videos 1 --shard-size 2MB --name mine --skip-broken --engine serial"
    assert main(["imagenet-vid", "--root", str(root), "--out", str(out), *words.split()]) == 0
    manifest = manifests.read(out)
    assert manifest.name == "mine"
    assert manifest.recipe == manifests.RecipeEntry(
        version=manifest.recipe.version,
        corruptions=(
            ("gaussian_noise", 1),
            ("gaussian_noise", 3),
            ("rain", 1),
            ("rain", 3),
        ),
        size=40,
        format="jpeg",
        quality=90,
        subsampling="444",
        temporal="coherent",
        seed=7,
        stride=2,
    )
    build = manifest.build
    assert (build.limit_videos, build.shard_size, build.skip_broken) == (1, 2_000_000, True)
    assert manifest.hashed_configs[0] == "clean"
    assert (manifest.videos, manifest.frames, manifest.complete) == (1, 1, False)


def test_the_order_of_names_and_commas_between_them_do_not_matter(root, tmp_path):
    for out, words in (("one", "snow rain --severity 1 2"), ("two", "rain,snow --severity 2,1")):
        options = ["--size", "16", "--engine", "serial", "--corruptions", *words.split()]
        main(["imagenet-vid", "--root", str(root), "--out", str(tmp_path / out), *options])
    assert builds.contents(tmp_path / "one") == builds.contents(tmp_path / "two")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--corruptions snwo", "did you mean 'snow'"),
        ("--severity 6", "severity 6"),
        ("--severity 0", "severity 0"),
        ("--size huge", "--size is 'huge'"),
        ("--size 0", "--size is 0"),
        ("--format pgn", "did you mean 'png'"),
        ("--format jpeg --quality 101", "quality is 101"),
        ("--format jpeg --subsampling 422", "unknown chroma subsampling '422'"),
        ("--temporal coherant", "did you mean 'coherent'"),
        ("--seed -1", "--seed is -1"),
        ("--stride 0", "--stride is 0"),
        ("--limit-videos 0", "--limit-videos is 0"),
        ("--shard-size big", "--shard-size is 'big'"),
        ("--shards 3/3", "--shards is '3/3'"),
        ("--shards x", "--shards is 'x'"),
        ("--engine rya", "did you mean 'ray'"),
        ("--workers 0", "--workers is 0"),
        ("--name a/b", "--name 'a/b'"),
        ("--name=", "--name '' must be letters"),
        ("--ray-address auto", "--ray-address belongs to --engine ray"),
        ("--split vla", "did you mean 'val'"),
        (f"--stride {10**23}", "--stride is 1000"),
        (f"--limit-videos {10**23}", "--limit-videos is 1000"),
        (f"--shard-size {10**23}", "--shard-size is '1000"),
        (f"--shard-size {'9' * 400}", "--shard-size is '999"),
        (f"--size {'9' * 5000}", "--size is '999"),
        ("--severity 3 x", "--severity is '3 x': give whole numbers"),
        (f"--severity {'9' * 5000}", "--severity is '999"),
        ("--corruptions ,", "--corruptions is empty"),
        ("--corruptions snow,snwo", "did you mean 'snow'"),
        ("--quality 50", "--quality belongs to --format jpeg"),
        ("--format png --subsampling 444", "--subsampling belongs to --format jpeg"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_written(words, told, root, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InputError) as caught:
        main(["imagenet-vid", "--root", str(root), "--out", str(out), *words.split()])
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not out.exists()


@pytest.mark.parametrize("source", ["imagenet-vid", "lasot", "tao-lasot"])
@pytest.mark.parametrize("wrong", ["empty", "nowhere"])
def test_a_wrong_root_is_refused_before_anything_is_written(source, wrong, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="--root"):
        main([source, "--root", str(tmp_path / wrong), "--out", str(tmp_path / "out")])
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_the_defaults_that_help_shows_are_those_of_the_settings():
    building, previewing = Parser(), Parser()
    command.add_arguments(building)
    preview.add_arguments(previewing)
    assert tuple(building.get_default("corruptions")) == DEFAULT_CORRUPTIONS
    assert tuple(previewing.get_default("corruptions")) == DEFAULT_CORRUPTIONS
    assert parse_bytes(building.get_default("shard_size")) == DEFAULT_SHARD_SIZE


def test_the_help_of_each_source_tells_its_own_splits(capsys):
    for name, splits in command.SPLITS.items():
        assert splits == import_module(_MODULES[name]).SPLITS
        with pytest.raises(SystemExit):
            main([name, "--help"])
        assert f"{', '.join(splits)} (default: {splits[0]})" in capsys.readouterr().out
    assert tuple(command.SPLITS) == SOURCES


def test_the_defaults_of_jpeg_that_help_shows_are_those_of_the_encoding(capsys):
    with pytest.raises(SystemExit):
        main(["imagenet-vid", "--help"])
    said = capsys.readouterr().out
    assert f"of jpeg (default: {Encoding().quality})" in said
    assert f"420 or 444 (default: {Encoding().subsampling})" in said


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("imagenet-vid", "take frames without an annotation file as unlabelled"),
        ("lasot", "go on without missing videos, lines and flags files"),
        ("tao-lasot", "go on without missing videos"),
    ],
)
def test_help_tells_what_may_be_missing_and_which_ray_is_used(name, allowed, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    said = capsys.readouterr().out
    assert f"--allow-missing          {allowed}\n" in said
    assert "auto or HOST:PORT (default: its own Ray)\n" in said


@pytest.mark.parametrize(
    "words",
    ["verify x --root=", "preview lasot --root=", "preview --out=", "from-recipe x --root="],
)
def test_every_command_refuses_an_empty_path(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    assert "it is empty: give a path" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--root", "--out"])
def test_an_empty_path_is_not_the_current_folder(option, root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(root)
    given = {"--root": str(root), "--out": str(tmp_path / "out"), option: ""}
    with pytest.raises(SystemExit) as ended:
        main(["imagenet-vid", *(word for pair in given.items() for word in pair)])
    assert ended.value.code == 2
    assert f"argument {option}: it is empty" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_a_broken_frame_stops_the_command_with_the_way_to_go_on(engine, root, tmp_path):
    (root / "Data/VID/val/a/000001.JPEG").write_bytes(b"no picture")
    words = ["imagenet-vid", "--root", str(root), "--out", str(tmp_path / "out"), "--size", "16"]
    words += ["--corruptions", "snow", "--engine", engine]
    with pytest.raises(InputError, match=r"JPEG nor a PNG image; --skip-broken leaves out .*"):
        main(words)
    assert main([*words, "--skip-broken"]) == 0
    assert manifests.read(tmp_path / "out").frames == 4


def test_the_folder_of_another_source_is_called_that(root, tmp_path):
    lasot = trees.write_lasot(tmp_path / "clean", {"airplane-1": 1})
    words = ["--out", str(tmp_path / "out"), "--size", "16", "--engine", "serial"]
    assert main(["lasot", "--root", str(lasot), "--allow-missing", *words]) == 0
    with pytest.raises(InputError, match=r"\(source is lasot there and imagenet-vid here\)"):
        main(["imagenet-vid", "--root", str(root), *words])


def test_values_with_units():
    assert [parse_bytes(text) for text in ("1", "2kB", "0.5 GB", "3m")] == [
        1,
        2000,
        500_000_000,
        3_000_000,
    ]
    assert (parse_pixels("native"), parse_pixels("96")) == (None, 96)
    assert (parse_share("0/1"), parse_share("9/10")) == ((0, 1), (9, 10))
    for parse, text in ((parse_bytes, "-1"), (parse_pixels, "1.5"), (parse_share, "-1/2")):
        with pytest.raises(InputError):
            parse(text)


def test_the_sample_is_built_by_the_ordinary_path_and_then_reused(tmp_path, monkeypatch, capsys):
    def render(clean):
        if not clean.exists():
            vid = trees.write_imagenet_vid(clean, {"a": 2, "b": 3})
            lasot = trees.write_lasot(clean, {"airplane-1": 3})
            for tree in (vid, lasot):
                (tree / RENDERED).touch()

    monkeypatch.setattr("vidc.builders.sample.render", render)
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    folder = sample_build.FOLDER
    for name, classes, frames in (("imagenet-vid-c", "imagenet-vid", 5), ("lasot-c", "lasot", 3)):
        manifest = manifests.read(folder / name)
        assert (manifest.name, manifest.classes) == (f"{name}-sample", classes)
        assert (manifest.frames, manifest.complete) == (frames, False)
        assert manifest.configs[0] == "clean"
        assert len(manifest.configs) == 4
    before = builds.contents(tmp_path)
    said = capsys.readouterr().out
    assert said.count("a sample: its numbers stand for no real video") == 2
    assert "of the split" not in said
    assert main([]) == 0
    assert capsys.readouterr().out.count("is finished") == 2
    assert builds.contents(tmp_path) == before


def test_an_engine_that_is_not_there_leaves_nothing(root, tmp_path):
    pytest.importorskip("ray")
    out = tmp_path / "out"
    words = ["imagenet-vid", "--root", str(root), "--out", str(out)]
    with pytest.raises(InputError, match="no Ray cluster at 'localhost:1'"):
        main([*words, "--engine", "ray", "--ray-address", "localhost:1"])
    assert not out.exists()
