"""Run every benchmark and write what was measured: ``python -m benchmarks [--quick] [NAME ...]``.

Each subject is a module here with ``measure(quick)``, which returns rows, and runs in a process of
its own, so that no subject finds the memory or the threads of another. The rows go to
RESULTS.json, a page for people to RESULTS.md, both beside this file.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.measuring import Row, from_json, table, to_json
from vidc.commandline import Parser, run
from vidc.errors import unknown
from vidc.eval import waiting

SUBJECTS = {
    "corruptions": "Corruptions, one thread",
    "build": "Building",
    "memory": "Building at length",
    "read": "Reading",
    "eval": "Evaluating on the CPU",
    "startup": "Starting",
    "report": "The report page",
    "growth": "How cost grows",
}
GROWTH_NOTE = (
    "The builds of more frames are of longer videos: a worker holds the encoded frames of one row "
    "group, which is one video up to 256 frames, so its memory grows up to there. "
    "*Building at length* has it for longer ones."
)
HERE = Path(__file__).parent
PAGE, ROWS = HERE / "RESULTS.md", HERE / "RESULTS.json"


def main(words: Sequence[str]) -> int:
    """Measure the subjects asked for, print the page, and write both files."""
    parser = Parser(
        prog="python -m benchmarks",
        examples="Example:\n  make bench ARGS=--quick",
        description="Measure vidc against what a user would do instead, on this machine.",
    )
    parser.add_argument("subjects", nargs="*", metavar="NAME", help=f"of {', '.join(SUBJECTS)}")
    parser.add_argument("--quick", action="store_true", help="fewer repeats and smaller inputs")
    args = parser.parse_args(words)
    for name in args.subjects:
        if name not in SUBJECTS:
            raise unknown("benchmark", name, SUBJECTS)
    subjects = args.subjects or list(SUBJECTS)
    measured = [row for name in subjects for row in measure(name, args.quick)]
    rows = [row for row in kept() if row.subject not in subjects]
    rows = in_order([*rows, *measured])
    page = render(rows, machine())
    print(page)
    ROWS.write_text(to_json(rows), "utf-8")
    PAGE.write_text(page, "utf-8")
    print(f"Written to {PAGE} and {ROWS.name}.")
    return 0 if all(row.holds is not False for row in measured) else 1


def kept() -> list[Row]:
    """What was measured before: of the subjects not asked for it stays."""
    stored = json.loads(ROWS.read_text("utf-8")) if ROWS.exists() else []
    return [row for row in map(from_json, stored) if row.subject in SUBJECTS]


def in_order(rows: Sequence[Row]) -> list[Row]:
    """The rows subject by subject; inside of one as they were measured."""
    return [row for name in SUBJECTS for row in rows if row.subject == name]


def measure(name: str, quick: bool) -> list[Row]:
    """The rows of one subject, from a process with a fixed number of threads."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.json"
        words = [sys.executable, "-m", f"benchmarks.{name}", "--json", str(out)]
        process = subprocess.run(
            [*words, *(["--quick"] if quick else [])],
            # Threads wait as python -m vidc.eval has it.
            env={**waiting.TRIES, **os.environ, "OMP_NUM_THREADS": str(threads())},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if not out.exists():
            raise SystemExit(f"benchmarks.{name} ended with exit code {process.returncode}")
        rows = [
            replace(from_json(row), subject=name, quick=quick)
            for row in json.loads(out.read_text())
        ]
    print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return rows


def threads() -> int:
    """As many as this process may use cores."""
    from vidc.engines import cores

    return cores()


def machine() -> str:
    """The machine and the libraries in one line."""
    import cv2
    import numpy as np
    import pyarrow as pa
    import torch

    from vidc.eval.environment import processor

    return (
        f"{processor()}, {threads()} cores; Python {platform.python_version()}, "
        f"torch {torch.__version__} with {threads()} threads, numpy {np.__version__}, "
        f"OpenCV {cv2.__version__} with 1 thread, pyarrow {pa.__version__}"
    )


def render(rows: Sequence[Row], where: str) -> str:
    """The page: a table for each subject, with the floors and whether they hold."""
    lines = [
        "# What was measured",
        "",
        f"Made by `make bench` on: {where}. A part headed quick is of `make bench ARGS=--quick`: "
        "fewer rounds on smaller inputs.",
        "",
        "What is compared runs in turns; a ratio is the median of the ratios of its rounds, of "
        "corruptions that of the best rounds.",
    ]
    for name, group in itertools.groupby(rows, key=lambda row: row.subject):
        part = list(group)
        quick = " (quick)" if part[0].quick else ""
        lines += ["", f"## {SUBJECTS[name]}{quick}", "", *table(part)]
        if name == "growth":
            lines += ["", "![Time and memory against the size of the work](../docs/growth.png)"]
            lines += ["", GROWTH_NOTE]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run(main, "python -m benchmarks")
