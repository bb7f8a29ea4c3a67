"""``python -m tests.security.watched LOG MODULE [WORDS]``: run a command, noting what it does.

A line of LOG for every file that Python opens, every folder it makes, every name it changes and
every address it asks for.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from typing import Any

EVENTS = ("open", "os.mkdir", "os.rename", "socket.connect", "socket.getaddrinfo")


def main(log: str, module: str, *words: str) -> None:
    """Watch from before the first import of the command."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in EVENTS:
            line = json.dumps([event, *map(str, arguments)])
            os.write(descriptor, line.encode("utf-8", "surrogatepass") + b"\n")

    sys.addaudithook(watch)
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
