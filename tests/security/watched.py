"""``python -m tests.security.watched LOG MODULE [WORDS]``: run a command, noting what it does.

A line of LOG for every file that Python opens, every folder it makes or lists, every name it
changes, and every address it asks for.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

# Of each event, which arguments are paths, and which ones hold the folders these are relative to.
PATHS: dict[str, tuple[tuple[int, int | None], ...]] = {
    "open": ((0, None),),
    "os.listdir": ((0, None),),
    "os.scandir": ((0, None),),
    "os.truncate": ((0, None),),
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((0, 2), (1, 3)),
    "os.symlink": ((0, 2), (1, 2)),
}
CALLS = (
    *("socket.connect", "socket.sendto", "socket.sendmsg"),
    *("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"),
)


def main(log: str, module: str, *words: str) -> None:
    """Watch from before the first import of the command."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in CALLS:
            noted = [str(argument) for argument in arguments]
        elif event in PATHS:
            noted = _paths(event, arguments)
        else:
            return
        os.write(descriptor, json.dumps([event, *noted]).encode() + b"\n")

    sys.addaudithook(watch)
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _paths(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """The paths of an event, absolute; a number stands for a file that was opened before."""
    return [
        _absolute(arguments[at] or ".", -1 if folder is None else arguments[folder])
        for at, folder in PATHS[event]
        if not isinstance(arguments[at], int)
    ]


def _absolute(path: str | bytes | os.PathLike[str], folder: int) -> str:
    base = Path.cwd() if folder == -1 else Path(f"/proc/self/fd/{folder}").readlink()
    return os.path.normpath(base / os.fsdecode(path))


if __name__ == "__main__":
    main(*sys.argv[1:])
