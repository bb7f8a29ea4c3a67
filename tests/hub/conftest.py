"""The loopback Hub, a built dataset to publish, and commands that know no other Hub."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.builders import trees
from tests.hub.server import running
from tests.hub.state import Hub

VIDEOS = {"ILSVRC2015_val_00000000": 5, "ILSVRC2015_val_00000001": 3, "ILSVRC2015_val_00000002": 7}
OWNER = "hf_owner"


@pytest.fixture(scope="session")
def clean(tmp_path_factory) -> Path:
    """A small tree of clean ImageNet-VID videos."""
    return trees.write_imagenet_vid(tmp_path_factory.mktemp("clean"), VIDEOS)


@pytest.fixture(scope="session")
def dataset(tmp_path_factory, clean) -> Path:
    """A dataset built from them by the ordinary command, in several shards."""
    out = tmp_path_factory.mktemp("built") / "imagenet-vid-c"
    options = ["--size", "48", "--shard-size", "40kB", "--workers", "1"]
    done = build(["imagenet-vid", "--root", clean, "--out", out, *options], dict(os.environ))
    assert done.returncode == 0, done.stderr
    return out


def build(arguments: list, environment: dict[str, str]) -> subprocess.CompletedProcess:
    """``python -m vidc.build`` to its end."""
    return subprocess.run(command(arguments), env=environment, capture_output=True, text=True)


def command(arguments: list) -> list[str]:
    return [sys.executable, "-m", "vidc.build", *map(str, arguments)]


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A Hub of this test's own."""
    with running() as hub:
        yield hub


@pytest.fixture
def environment(hub, tmp_path) -> Callable[..., dict[str, str]]:
    """What a process must be started with to know this Hub alone, with an empty cache."""

    def make(home: str = "home") -> dict[str, str]:
        hidden = ("hf_", "hugging", "http_proxy", "https_proxy", "all_proxy")
        kept = {k: v for k, v in os.environ.items() if not k.lower().startswith(hidden)}
        # Whatever is not on loopback goes to a proxy that is not there.
        proxies = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
        hugging = {
            "HF_ENDPOINT": hub.url,
            "HF_HOME": str(tmp_path / home),
            "HF_TOKEN": OWNER,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "NO_PROXY": "127.0.0.1",
            "USE_TORCH": "0",  # a streamed dataset would import it, for seconds
        }
        return kept | proxies | hugging

    return make
