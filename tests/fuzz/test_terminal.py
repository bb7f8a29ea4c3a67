"""What the commands write of names that they find: printable text, whatever a terminal obeys."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.builders import trees
from tests.report.generated import Shape, write_run

HOSTILE = "a\x1b[2J\x1b]0;b\a\x9b31m\r\u202ec"  # clears, renames, colours, overwrites, turns round
QUICK = ("--size", "32", "--corruptions", "snow", "--engine", "serial")


def said(code, module, *words):
    """The lines that a command writes, which ends with this code."""
    line = [sys.executable, "-m", f"vidc.{module}", *map(str, words)]
    done = subprocess.run(line, capture_output=True)
    written = (done.stdout + done.stderr).decode()
    assert done.returncode == code, written
    return written.split("\n")


def tells_the_name(lines):
    """It stands there, and none of its letters does anything."""
    assert any(r"a\x1b[2J\x1b]0;b\x07\x9b31m\r\u202ec" in line for line in lines)
    return all(line.isprintable() for line in lines)


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Videos of which one has such a name, and a frame that is no picture."""
    root = tmp_path_factory.mktemp("videos")
    for name in ("v", HOSTILE):
        trees.write_imagenet_vid(root, {name: 2})
    frame = root / "ILSVRC2015" / "Data" / "VID" / "val" / HOSTILE / "000001.JPEG"
    frame.write_bytes(b"no picture")
    return root / "ILSVRC2015"


@pytest.fixture(scope="module")
def built(broken, tmp_path_factory):
    """What a build writes that leaves it out, and its dataset."""
    out = tmp_path_factory.mktemp("built") / "out"
    words = ("imagenet-vid", "--root", broken, "--out", out, *QUICK, "--skip-broken")
    return said(0, "build", *words), out


def test_a_frame_that_ends_a_build(broken, tmp_path):
    words = ("imagenet-vid", "--root", broken, "--out", tmp_path / "out", *QUICK)
    assert tells_the_name(said(2, "build", *words))


def test_a_frame_that_is_left_out(built):
    assert tells_the_name(built[0])


def test_what_verify_finds(built, tmp_path):
    mine = shutil.copytree(built[1], tmp_path / "mine")
    (mine / "data" / "snow" / HOSTILE).write_text("nobody asked for this")
    assert tells_the_name(said(1, "build", "verify", mine, "--workers", "1"))


def test_a_name_in_a_manifest(built, tmp_path):
    mine = shutil.copytree(built[1], tmp_path / "mine")
    manifest = json.loads((mine / "manifest.json").read_text())
    manifest["shards"][HOSTILE] = {}
    (mine / "manifest.json").write_text(json.dumps(manifest))
    assert tells_the_name(said(2, "eval", mine))


def test_a_name_in_a_results_file(tmp_path):
    run = write_run(tmp_path / "run", Shape(videos=2, frames=20, columns=("source",)))
    results = json.loads((run / "results.json").read_text())
    results["cells"][0]["dataset"] = HOSTILE
    (run / "results.json").write_text(json.dumps(results))
    assert tells_the_name(said(2, "eval", "report", run))
