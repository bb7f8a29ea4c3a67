"""Commands run under watch in a home of their own, and what they were seen to do."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
OUTSIDE = "outside"
UNREACHABLE = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Seen:
    """What a command said and did."""

    code: int
    stderr: str
    events: list[list[str]]

    def touched(self, folder: Path) -> list[str]:
        """The files in a folder that were opened, or made there."""
        paths = [path for event in self.events if not _is_call(event) for path in event[1:]]
        return [path for path in paths if Path(path).is_relative_to(folder)]

    def calls(self) -> list[list[str]]:
        """The addresses that were asked for or connected to."""
        return [event for event in self.events if _is_call(event)]

    def is_one_sentence(self) -> bool:
        """Exit code 2, and one line that is no traceback."""
        return self.code == 2 and self.stderr.count("\n") == 1


def _is_call(event: list[str]) -> bool:
    return event[0].startswith("socket.")


def watched(place: Path, module: str, *words: object) -> Seen:
    """Run a command of vidc with ``place`` for everything of its user's.

    What the folder outside holds must not be repeated anywhere.
    """
    home, here = place / "home", place / "here"
    home.mkdir(exist_ok=True)
    here.mkdir(exist_ok=True)
    log = place / "log"
    log.unlink(missing_ok=True)
    private = list((place / OUTSIDE).glob("*"))
    secret = _arm(private)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "MPL"))}
    kept |= {"HOME": str(home), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    kept |= {"HTTP_PROXY": UNREACHABLE, "HTTPS_PROXY": UNREACHABLE}
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.watched", log, module, *map(str, words)],
        cwd=here,
        env=kept,
        capture_output=True,
    )
    events = [json.loads(line) for line in log.read_bytes().splitlines()]
    events += [["read", str(file)] for file in private if _was_read(file)]
    assert secret not in done.stdout + done.stderr
    for file in place.rglob("*"):
        is_ours = file.is_file() and not file.is_relative_to(place / OUTSIDE)
        assert not is_ours or secret not in file.read_bytes(), file
    return Seen(done.returncode, done.stderr.decode(), events)


def outside(place: Path) -> Path:
    """A folder that no command was given, with a file in it that none may open."""
    folder = place / OUTSIDE
    folder.mkdir()
    (folder / "secret.jpg").write_bytes(b"private")
    return folder


def _arm(private: list[Path]) -> bytes:
    """Give files a content that is nowhere else, which is returned, as if never looked at."""
    secret = b"private " + secrets.token_hex().encode()
    for file in private:
        file.write_bytes(secret)
        os.utime(file, (0, 0))
    return secret


def _was_read(file: Path) -> bool:
    """By a library too, of which Python is told nothing."""
    return file.exists() and file.stat().st_atime_ns != 0
