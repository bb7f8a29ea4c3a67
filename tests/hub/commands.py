"""Run several build commands in one process, each as its user, and print what each said.

One process, because importing what they need takes longer than they do. The list of
[token or null, arguments] is read from standard input.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys

from vidc import build
from vidc.commandline import run


def one(token: str | None, arguments: list[str]) -> dict[str, object]:
    """A command's exit code and output."""
    os.environ.pop("HF_TOKEN", None)
    if token:
        os.environ["HF_TOKEN"] = token
    sys.argv = ["build", *arguments]
    out, err = io.StringIO(), io.StringIO()
    code: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(build.main, build.PROGRAM)
        except SystemExit as end:
            code = end.code
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


if __name__ == "__main__":
    results = [one(token, arguments) for token, arguments in json.load(sys.stdin)]
    print(json.dumps(results))  # noqa: T201
