"""``python -m tests.fuzz 300``: the same properties for a given time, every reader alone.

Each reader has a process of its own. An input that takes more than a gigabyte is a failure, and one
that takes longer than a minute ends it with a traceback. What failed is kept in a file.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz import bounds

ROUND = 50  # inputs between looks at the clock
SHOWN = 100  # lines of what a process said before it failed
# How Python begins to tell why it ends.
REASONS = ("Traceback", "Timeout (", "Fatal Python error")


def main(words: list[str]) -> int:
    """Share the time among the readers and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=300)
    parser.add_argument("--reader", help="only this one, in this process")
    options = parser.parse_args(words)
    from tests.fuzz.readers import READERS

    if options.reader:
        return fuzz(options.reader, options.seconds)
    print(f"{'reader':30} {'inputs':>8} {'read':>8} {'refused':>8} {'memory':>8}", flush=True)
    each = options.seconds / len(READERS)
    failed = [name for name in READERS if _in_process(name, each)]
    print("nothing but values and sentences" if not failed else f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def _in_process(name: str, seconds: float) -> int:
    command = [sys.executable, "-m", "tests.fuzz", str(seconds), "--reader", name]
    # What the image libraries say about damaged files is no finding; a traceback is.
    with tempfile.TemporaryFile("w+") as said:
        code = subprocess.run(command, stderr=said).returncode
        if code:
            said.seek(0)
            lines = [line.rstrip()[:200] for line in said]
            print(*from_the_reason_on(lines), f"{name} ended with {code}", sep="\n", flush=True)
    return code


def from_the_reason_on(lines: Sequence[str]) -> list[str]:
    """The first line, which names the file that is kept, and the traceback.

    Before it are the image libraries' lines, and the input that hypothesis shows after it can be
    endless.
    """
    reasons = (at for at, line in enumerate(lines) if any(word in line for word in REASONS))
    start = next(reasons, 1)
    return [*lines[:1], *lines[start : start + SHOWN]]


def fuzz(name: str, seconds: float) -> int:
    """Try inputs on one reader until the time is over."""
    from hypothesis import HealthCheck, Phase, given, seed, settings

    from tests.fuzz.reader import outcome
    from tests.fuzz.readers import READERS

    folder = Path(tempfile.mkdtemp(prefix="vidc-fuzz-"))
    last = folder / "last-input"
    print(f"an input that ends this process is kept in {last}", file=sys.stderr)
    reader = READERS[name](folder)
    for data in reader.valid:
        reader.read(data)  # so that what is imported on the way counts for no input
    bounds.keep_the_machine_alive()
    before = highest = bounds.peak()
    seen: Counter[str] = Counter()

    @settings(
        max_examples=ROUND,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(reader.inputs)
    def attempt(data: bytes) -> None:
        nonlocal highest
        last.write_bytes(data)
        seen[outcome(reader, data)] += 1
        highest = max(highest, bounds.peak())

    until = time.monotonic() + seconds
    for number in itertools.count():
        seed(time.time_ns() + number)(attempt)()
        if time.monotonic() > until:
            break
    shutil.rmtree(folder)
    tried = sum(seen.values())
    counts = f"{tried:8,} {seen['value']:8,} {seen['refused']:8,}"
    print(f"{name:30} {counts} {(highest - before) / 2**20:5.0f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
