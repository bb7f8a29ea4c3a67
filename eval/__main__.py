"""``python -m vidc.eval``: evaluate datasets and print the table; ``report`` makes the page."""

from __future__ import annotations

from collections.abc import Sequence

from vidc.commandline import from_the_start, run, say
from vidc.eval.options import PROGRAM, check_names, parse
from vidc.eval.waiting import sleep_soon

REPORT = "report"


def main(arguments: Sequence[str]) -> int:
    """Evaluate, or make the report of runs that are there."""
    if arguments and arguments[0] == REPORT:
        from vidc.eval.report import main as report

        with from_the_start():
            code: int = report(arguments[1:])
        return code
    options = parse(arguments)
    check_names(options)
    sleep_soon()

    from vidc.eval.evaluate import evaluate_options

    for evaluation in evaluate_options(options):
        say(str(evaluation))
    return 0


if __name__ == "__main__":
    run(main, PROGRAM)
