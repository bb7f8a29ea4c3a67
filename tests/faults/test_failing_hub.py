"""A Hub that fails: publish repeats what may pass, or ends with a sentence and can be continued."""

from __future__ import annotations

import json
import subprocess
import threading

import pytest

from tests.faults.counting import cases
from tests.hub.conftest import build, command
from tests.hub.state import Fault
from tests.hub.test_publish import NAME, published, run_all

PASSING = {
    "429 on the commit": lambda: Fault("POST", "/commit/", times=2, status=429),
    "500 on the commit": lambda: Fault("POST", "/commit/", times=2, status=500),
    "500 on an upload": lambda: Fault("PUT", "/large/", times=1, status=500),
    "503 on the listing": lambda: Fault("GET", "/tree/", times=1, status=503),
    "429 on the log in": lambda: Fault("GET", "/whoami", times=1, status=429),
    "an upload cut off": lambda: Fault("PUT", "/large/", times=1, cut="request"),
    "a commit cut off": lambda: Fault("POST", "/commit/", times=1, cut="request"),
    # The Hub has made the commit, and only we do not know.
    "a commit's answer cut off": lambda: Fault("POST", "/commit/", times=1, cut="answer"),
    "a slow drip": lambda: Fault("PUT", "/large/", times=2, drip=0.05),
}


def is_whole(hub, dataset) -> bool:
    files = published(hub).files
    shards = json.loads((dataset / "manifest.json").read_text())["shards"]
    return all(files[name].data == (dataset / name).read_bytes() for name in shards)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", cases(PASSING, "429 on the commit", "an upload cut off", "a slow drip")
)
def test_a_fault_that_passes_is_sat_out(hub, environment, dataset, fault):
    hub.faults.append(fault())
    done = build(["publish", dataset, NAME], environment())
    assert done.returncode == 0, done.stderr
    assert hub.faults[0].times == 0
    assert is_whole(hub, dataset)
    assert "README.md" in published(hub).files


@pytest.mark.slow
@pytest.mark.parametrize("status", [pytest.param(429, marks=pytest.mark.thorough), 500])
def test_a_fault_that_stays_is_a_sentence_and_can_be_continued(hub, environment, dataset, status):
    hub.faults.append(Fault("POST", "/commit/", times=1000, status=status))
    (failed,) = run_all([("hf_owner", ["publish", dataset, NAME])], environment())
    assert failed["code"] == 2
    assert f"answered {status}" in failed["err"]
    assert failed["err"].count("\n") == 1
    hub.faults.clear()
    uploaded = hub.count("PUT", "/large/")
    (done,) = run_all([("hf_owner", ["publish", dataset, NAME])], environment())
    assert done["code"] == 0, done["err"]
    assert is_whole(hub, dataset)
    # The shards were there already: only the card's pictures came with the second.
    pictures = list((dataset / "assets").iterdir())
    assert hub.count("PUT", "/large/") == uploaded + len(pictures)


@pytest.mark.slow
def test_killed_in_the_middle_it_continues_with_the_rest(hub, environment, dataset):
    held = Fault("PUT", "/large/", times=100, hold=threading.Event())
    hub.faults.append(held)
    # Five uploads go through before the others are held.
    allowed = Fault("PUT", "/large/", times=5)
    hub.faults.insert(0, allowed)
    publisher = subprocess.Popen(command(["publish", dataset, NAME]), env=environment())
    while len(hub.large) < 5 and publisher.poll() is None:
        threading.Event().wait(0.05)
    publisher.kill()
    publisher.wait()
    assert set(published(hub).files) == {".gitattributes"}
    held.times = 0
    held.hold.set()
    before = set(hub.large)
    hub.requests.clear()
    done = build(["publish", dataset, NAME], environment())
    assert done.returncode == 0, done.stderr
    again = {path.removeprefix("/large/") for method, path in hub.requests if method == "PUT"}
    assert again
    assert not again & before
    assert published(hub).files["manifest.json"].data == (dataset / "manifest.json").read_bytes()
