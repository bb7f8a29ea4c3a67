"""A dataset goes to a Hub on loopback with the real client and comes back with real readers."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from tests.hub import server
from tests.hub.conftest import build, command
from tests.hub.rows import line
from tests.hub.state import Fault, Repo, Stored
from vidc import manifest as manifests

ROOT = Path(__file__).parents[2]
NAME = "org/imagenet-vid-c"
CONFIGS = ("clean", "gaussian_noise", "snow", "rain", "annotations")


def published(hub) -> Repo:
    return hub.repos[NAME]


def rows_in_folder(folder: Path, config: str) -> list[str]:
    """All rows of a config, read plainly with pyarrow."""
    rows = []
    for file in sorted((folder / "data" / config).iterdir()):
        for row in pq.read_table(file).to_pylist():
            image = row.pop("image", None)
            rows.append(line(row | ({"image": image["bytes"]} if image else {})))
    return rows


def rows_from_hub(wanted: list[str], environment: dict[str, str]) -> list[list[str]]:
    """The rows of each ``reader:config``, read in one process that begins with an empty cache."""
    arguments = ["-m", "tests.hub.rows", NAME, "val", *wanted]
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    return [part.splitlines() for part in done.stdout.split("\n\n")[:-1]]


def run_all(
    commands: list[tuple[str | None, list]], environment: dict[str, str], cwd: Path = ROOT
) -> list[dict]:
    """What ``tests/hub/commands.py`` says of these commands."""
    text = json.dumps([[token, [str(word) for word in words]] for token, words in commands])
    done = subprocess.run(
        [sys.executable, "-m", "tests.hub.commands"],
        input=text,
        env=environment | {"PYTHONPATH": str(ROOT)},
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_is_published_is_the_folder_and_is_private(hub, environment, dataset):
    done = build(["publish", dataset, NAME], environment())
    assert done.returncode == 0, done.stderr
    assert f'load_dataset("{NAME}", "snow", split="val")' in done.stdout
    files = published(hub).files
    for file in dataset.rglob("*"):
        name = file.relative_to(dataset).as_posix()
        if file.is_file() and name != "README.md":
            assert files[name].data == file.read_bytes(), name
    # The card differs only in that it knows its address.
    local = (dataset / "README.md").read_text()
    assert files["README.md"].data.decode() == local.replace("ORG/imagenet-vid-c", NAME)
    assert published(hub).private
    version = manifests.read(dataset).recipe.version
    assert published(hub).tags == {f"recipe-{version}": published(hub).head}


def test_a_second_publish_uploads_nothing(hub, environment, dataset):
    first, second = run_all([("hf_owner", ["publish", dataset, NAME])] * 2, environment())
    assert first["code"] == second["code"] == 0
    uploaded = len({file.sha256 for file in published(hub).files.values() if file.large})
    assert hub.count("PUT", "/large/") == uploaded
    assert len(published(hub).commits) == 3  # the empty one, the shards, the rest
    assert "nothing to upload" in second["out"]


@pytest.mark.slow
def test_every_reader_gives_every_row_of_the_folder_in_order(hub, environment, dataset):
    assert build(["publish", dataset, NAME], environment()).returncode == 0
    expected = {config: rows_in_folder(dataset, config) for config in CONFIGS}
    assert len(expected["snow"]) == 15
    runs = [
        ["vidc:snow", "streaming:rain", "streaming:annotations"],
        ["datasets:snow", "datasets:annotations", "vidc:clean"],
    ]
    for number, wanted in enumerate(runs):
        found = rows_from_hub(wanted, environment(home=f"empty-{number}"))
        assert len(found) == len(wanted)
        for each, rows in zip(wanted, found, strict=True):
            assert rows == expected[each.partition(":")[2]], each


def test_every_refusal_is_one_sentence_and_leaves_nothing(hub, environment, dataset, tmp_path):
    hub.repos["org/taken"] = Repo(private=True)
    hub.repos["org/taken"].commit({"model.safetensors": Stored(b"other things", False)})
    hub.repos["org/other"] = Repo(private=True)
    other = (dataset / "manifest.json").read_text().replace("imagenet-vid-c", "another-c")
    hub.repos["org/other"].commit({"manifest.json": Stored(other.encode(), False)})
    hub.repos["org/app"] = Repo(private=True)
    hub.repos["org/app"].commit({"manifest.json": Stored(b'{"name": "an app"}', False)})
    hub.repos["org/open"] = Repo(private=False)
    hub.repos["org/open"].commit({".gitattributes": Stored(b"", False)})
    before = {name: repo.head for name, repo in hub.repos.items()}
    cases = [
        (None, [dataset, NAME], "no Hugging Face token"),
        ("hf_wrong", [dataset, NAME], "refuses this token"),
        ("hf_stranger", [dataset, NAME], "no right"),
        ("hf_owner", [dataset, "org/taken"], "holds something else (for one, model.safetensors)"),
        ("hf_owner", [dataset, "org/other"], "holds the dataset another-c"),
        ("hf_owner", [dataset, "org/app"], "org/app holds something else (for one, manifest.json)"),
        ("hf_owner", [dataset, "org/open"], "is public: give --public and --confirm-rights"),
        ("hf_owner", [dataset, NAME, "--public"], "--public needs --confirm-rights"),
        ("hf_owner", [dataset, "no-slash"], "is not a Hub id"),
        ("hf_owner", [tmp_path, NAME], "holds no manifest.json"),
    ]
    results = run_all([(t, ["publish", *arguments]) for t, arguments, _ in cases], environment())
    for (_, arguments, words), result in zip(cases, results, strict=True):
        assert result["code"] == 2, (arguments, result)
        assert words in result["err"], (arguments, result)
        assert result["err"].count("\n") == 1, result["err"]
    assert {name: repo.head for name, repo in hub.repos.items()} == before
    assert not hub.large


def test_a_hub_that_is_not_there_is_one_sentence(environment, dataset):
    nowhere = environment() | {"HF_ENDPOINT": "http://127.0.0.1:9"}
    done = build(["publish", dataset, NAME], nowhere)
    assert done.returncode == 2
    assert "cannot be reached" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_damaged_dataset_is_not_published(hub, environment, dataset, tmp_path):
    copy = shutil.copytree(dataset, tmp_path / "damaged")
    shard = next((copy / "data" / "snow").iterdir())
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    done = build(["publish", copy, NAME], environment())
    assert done.returncode == 2
    assert "is not published" in done.stderr
    assert shard.name in done.stderr
    assert not hub.repos


def test_a_picture_that_cannot_be_read_is_one_sentence(hub, environment, dataset, tmp_path):
    copy = shutil.copytree(dataset, tmp_path / "copy")
    picture = sorted((copy / "assets").iterdir())[0]
    picture.unlink()
    picture.symlink_to(picture)
    done = build(["publish", copy, NAME], environment())
    assert done.returncode == 2
    assert f"{picture} cannot be read: Too many levels" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not hub.repos


def test_public_shows_the_terms_and_makes_it_public(hub, environment, dataset):
    private, public = run_all(
        [
            ("hf_owner", ["publish", dataset, NAME]),
            ("hf_owner", ["publish", dataset, NAME, "--public", "--confirm-rights"]),
        ],
        environment(),
    )
    assert "terms of access" not in private["out"]
    assert public["code"] == 0, public["err"]
    assert "terms of access" in public["out"]
    assert not published(hub).private


def test_the_token_is_written_nowhere(hub, environment, dataset, tmp_path):
    secret = "hf_5ecretTokenOfThisTest"  # noqa: S105
    hub.users[secret] = "org"
    hub.faults.append(Fault("POST", "/commit/", times=100, status=403))
    failed, without, odd = run_all(
        [(token, ["publish", dataset, NAME]) for token in (secret, None, f"{secret}é")],
        environment(),
    )
    assert failed["code"] == without["code"] == odd["code"] == 2
    assert "letters that no token has" in odd["err"]
    assert "(fault)" in failed["err"]  # the Hub's own words
    hub.faults.clear()
    (published,) = run_all([(secret, ["publish", dataset, NAME])], environment())
    assert published["code"] == 0, published["err"]
    assert secret not in json.dumps([failed, without, odd, published])
    for folder in (tmp_path, dataset):
        for file in folder.rglob("*"):
            assert not file.is_file() or secret.encode() not in file.read_bytes(), file


def test_the_token_is_in_no_process_list(hub, environment, dataset):
    secret = "hf_5ecretTokenOfThisTest"  # noqa: S105
    hub.users[secret] = "org"
    held = Fault("PUT", "/large/", times=1, hold=threading.Event())
    hub.faults.append(held)
    publisher = psutil.Popen(
        command(["publish", dataset, NAME]),
        env=environment() | {"HF_TOKEN": secret},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    lines = set()
    while held.times and publisher.poll() is None:
        lines |= command_lines(publisher)
        time.sleep(0.01)
    lines |= command_lines(publisher)  # in the middle of an upload
    held.hold.set()
    _, told = publisher.communicate()
    assert publisher.returncode == 0, told
    assert any("publish" in line for line in lines)
    assert not [line for line in lines if secret in line]


def command_lines(process: psutil.Process) -> set[str]:
    """Those of a process and of all that it has started."""
    lines = set()
    with contextlib.suppress(psutil.NoSuchProcess):
        lines.add(" ".join(process.cmdline()))
        for child in process.children():
            lines |= command_lines(child)
    return lines


def test_the_hub_is_not_told_that_it_is_vidc(hub, environment, dataset, monkeypatch):
    agents = []

    def serve(handler, serve=server._Handler._serve):
        agents.append(handler.headers["User-Agent"])
        serve(handler)

    monkeypatch.setattr(server._Handler, "_serve", serve)
    assert build(["publish", dataset, NAME], environment()).returncode == 0
    assert len(agents) == len(hub.requests)
    assert not [agent for agent in agents if "vidc" in agent.lower()]
