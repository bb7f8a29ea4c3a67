"""Commands run under watch in a home of their own, and what they were seen to do."""

from __future__ import annotations

import json
import os
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
    stdout: str
    stderr: str
    events: list[list[str]]

    def touched(self, folder: Path) -> list[str]:
        """The files in a folder that were opened, or made there."""
        paths = [
            path
            for event in self.events
            if event[0].startswith(("open", "os."))
            for path in event[1:3]
        ]
        inside = (Path(os.path.normpath(path)).is_relative_to(folder) for path in paths)
        return [path for path, found in zip(paths, inside, strict=True) if found]

    def calls(self) -> list[list[str]]:
        """The addresses that were asked for or connected to."""
        return [event for event in self.events if event[0].startswith("socket.")]

    def is_one_sentence(self) -> bool:
        """Exit code 2, and one line that is no traceback."""
        return self.code == 2 and self.stderr.count("\n") == 1


def watched(place: Path, module: str, *words: object) -> Seen:
    """Run a command of vidc with ``place`` for everything of its user's."""
    home, here = place / "home", place / "here"
    home.mkdir(exist_ok=True)
    here.mkdir(exist_ok=True)
    log = place / "log"
    log.unlink(missing_ok=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "MPL"))}
    kept |= {"HOME": str(home), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    kept |= {"HTTP_PROXY": UNREACHABLE, "HTTPS_PROXY": UNREACHABLE}
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.watched", log, module, *map(str, words)],
        cwd=here,
        env=kept,
        capture_output=True,
        text=True,
    )
    events = [json.loads(line) for line in log.read_bytes().splitlines()]
    return Seen(done.returncode, done.stdout, done.stderr, events)


def outside(place: Path) -> Path:
    """A folder that no command was given, with a file in it that none may open."""
    folder = place / OUTSIDE
    folder.mkdir()
    (folder / "secret.jpg").write_bytes(b"private")
    return folder
