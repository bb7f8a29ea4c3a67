"""How long the commands take to say what they can do: ``python -m benchmarks.startup``."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from benchmarks.measuring import Row, alone, alternate, at_most, row, seconds_of

AGAINST_ARGPARSE = 3.0


def measure(quick: bool) -> list[Row]:
    """``--help`` against a Python that only imports argparse."""
    calls = {
        "argparse": ["-c", "import argparse"],
        "vidc.build": ["-m", "vidc.build", "--help"],
        "vidc.eval": ["-m", "vidc.eval", "--help"],
    }
    timed = {name: partial(seconds_of, partial(python, words)) for name, words in calls.items()}
    seconds = alternate(timed, rounds=5 if quick else 15)
    base = seconds.pop("argparse")
    return [
        row('python -c "import argparse"', base.times(1e3), "ms"),
        *(
            at_most(f"python -m {name} --help / that", each.over(base), AGAINST_ARGPARSE)
            for name, each in seconds.items()
        ),
    ]


def python(words: list[str]) -> None:
    """Run Python to its end."""
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(alone(measure, sys.argv[1:]))
