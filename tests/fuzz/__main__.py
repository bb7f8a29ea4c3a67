"""``python -m tests.fuzz 300``: the same properties for a given time, every reader alone.

Each reader has a process of its own, which may take one gigabyte more than it has when it begins;
an input that takes longer than a minute ends it with a traceback. What failed is kept in a file.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

GIGABYTE = 2**30
LONGEST = 60.0  # seconds an input may take on a busy machine: nobody waits longer
ROUND = 50  # inputs between looks at the clock


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
            # The traceback comes first; the input that hypothesis shows after it can be endless.
            lines = [line.rstrip()[:200] for line in itertools.islice(said, 100)]
            print(*lines, f"{name} ended with {code}", sep="\n", flush=True)
    return code


def fuzz(name: str, seconds: float) -> int:
    """Try inputs on one reader until the time is over."""
    from hypothesis import HealthCheck, Phase, given, seed, settings

    from tests.fuzz.reader import outcome
    from tests.fuzz.readers import READERS

    folder = Path(tempfile.mkdtemp(prefix="vidc-fuzz-"))
    reader = READERS[name](folder)
    for data in reader.valid:
        reader.read(data)  # so that what is imported on the way counts for no input
    before = _limit_memory()
    seen: Counter[str] = Counter()
    last = folder / "last-input"

    @settings(
        max_examples=ROUND,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(reader.inputs)
    def attempt(data: bytes) -> None:
        last.write_bytes(data)
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        seen[outcome(reader, data)] += 1

    print(f"an input that ends this process is kept in {last}", file=sys.stderr)
    until = time.monotonic() + seconds
    for number in itertools.count():
        seed(time.time_ns() + number)(attempt)()
        faulthandler.cancel_dump_traceback_later()
        if time.monotonic() > until:
            break
    grown = (_peak() - before) / 2**20
    tried = sum(seen.values())
    counts = f"{tried:8,} {seen['value']:8,} {seen['refused']:8,}"
    print(f"{name:30} {counts} {grown:5.0f} MB", flush=True)
    return 0


def _limit_memory() -> int:
    """Allow a gigabyte more than there is; the peak so far."""
    fields = Path("/proc/self/statm").read_text().split()
    now = int(fields[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + GIGABYTE, now + GIGABYTE))
    return _peak()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
