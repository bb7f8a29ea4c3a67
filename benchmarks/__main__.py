"""Run every benchmark and write what was measured: ``python -m benchmarks [--quick] [NAME ...]``.

Each module here has ``measure(quick)``, which returns rows of {name, value, unit, floor, holds}.
The rows go to RESULTS.json, a page for people to RESULTS.md, both beside this file.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vidc.commandline import Parser, run
from vidc.errors import unknown

SUBJECTS = {
    "corruptions": "Corruptions, one thread",
    "build": "Building",
    "memory": "Building at length",
    "read": "Reading",
    "eval": "Evaluating",
    "report": "The report page",
}
HERE = Path(__file__).parent


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
    measured = {
        name: importlib.import_module(f"benchmarks.{name}").measure(args.quick)
        for name in args.subjects or SUBJECTS
    }
    page = render(measured, machine(), quick=args.quick)
    print(page)
    if not args.subjects:
        rows = [row for rows in measured.values() for row in rows]
        (HERE / "RESULTS.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
        (HERE / "RESULTS.md").write_text(page, "utf-8")
        print(f"Written to {HERE / 'RESULTS.md'} and RESULTS.json.")
    return 0 if all(row["holds"] is not False for rows in measured.values() for row in rows) else 1


def machine() -> str:
    """The machine and the libraries in one line."""
    import cv2
    import numpy as np
    import pyarrow as pa
    import torch

    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
            if line.startswith("model name")
        )
        if Path("/proc/cpuinfo").exists()
        else iter(()),
        platform.processor() or platform.machine(),
    )
    return (
        f"{model}, {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"torch {torch.__version__}, numpy {np.__version__}, OpenCV {cv2.__version__}, "
        f"pyarrow {pa.__version__}"
    )


def render(measured: dict[str, list[dict[str, Any]]], where: str, *, quick: bool) -> str:
    """The page: a table for each subject, with the floor and whether it holds."""
    lines = [
        "# What was measured",
        "",
        f"Made by `make bench{' ARGS=--quick' if quick else ''}` on: {where}.",
        "Ratios compare two things run alternately in the same process run; values are medians.",
    ]
    for name, rows in measured.items():
        lines += ["", f"## {SUBJECTS[name]}", "", "| what | measured | floor | holds |"]
        lines.append("|---|---:|---:|---|")
        for row in rows:
            floor = "" if row["floor"] is None else str(row["floor"])
            holds = {True: "yes", False: "**no**", None: ""}[row["holds"]]
            lines.append(
                f"| {row['name']} | {row['value']:.4g} {row['unit']} | {floor} | {holds} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run(main, "python -m benchmarks")
