"""The build command: what it takes, what it refuses in one sentence, and the sample."""

import pytest

from tests.builders import builds, trees
from vidc import manifest as manifests
from vidc.build import main
from vidc.builders import sample_build
from vidc.builders.command import parse_bytes, parse_pixels, parse_share
from vidc.builders.source import RENDERED
from vidc.errors import InputError


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


def test_the_order_of_names_does_not_matter(root, tmp_path):
    for out, words in (("one", "snow rain --severity 1 2"), ("two", "rain snow --severity 2 1")):
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
        ("--split vla", "did you mean 'val'"),
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
    with pytest.raises(InputError, match="--ray-address belongs to --engine ray"):
        main([*words, "--ray-address", "auto"])
    with pytest.raises(InputError, match="--name '' must be letters"):
        main([*words, "--name", ""])
    assert not out.exists()
