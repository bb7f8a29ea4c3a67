"""``python -m vidc.eval``: evaluate datasets and print the table; ``report`` makes the page."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from vidc.commandline import run
from vidc.eval.options import PROGRAM, check_names, parse

REPORT = "report"


def main(arguments: Sequence[str]) -> int:
    """Evaluate, or make the report of runs that are there."""
    if arguments and arguments[0] == REPORT:
        from vidc.eval.report import main as report

        code: int = report(arguments[1:])
        return code
    options = parse(arguments)
    check_names(options)
    # Threads that wait for each other's share of a network should sleep: spinning, which is the
    # default, takes the cores from the threads that decode. It is read when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

    from vidc.eval.evaluate import evaluate_options

    for evaluation in evaluate_options(options):
        sys.stdout.write(f"{evaluation}\n")
    return 0


if __name__ == "__main__":
    run(main, PROGRAM)
