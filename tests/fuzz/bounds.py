"""What reading one file may cost: a gigabyte of memory and a minute."""

from __future__ import annotations

import contextlib
import faulthandler
import resource
from collections.abc import Iterator
from pathlib import Path

GIGABYTE = 2**30
LONGEST = 60.0  # seconds on a busy machine: nobody waits longer
_STATUS = Path("/proc/self/status")


@contextlib.contextmanager
def in_a_minute() -> Iterator[None]:
    """End the process with a traceback where the block takes longer."""
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def in_a_gigabyte() -> Iterator[None]:
    """Fail where the block takes more memory at any time; measured where Linux counts it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins again at what there is
    before = peak()
    yield
    grown = peak() - before
    assert grown < GIGABYTE, f"it took {grown >> 20} MB"


def peak() -> int:
    """The most bytes that were in memory at once: getrusage's begin with those of the parent."""
    if not _STATUS.exists():
        return 0
    fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) * 1024


def keep_the_machine_alive() -> None:
    """A limit so far off that it turns no gigabyte too many into an allocation that is refused."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    far = pages * resource.getpagesize() + 8 * GIGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (far, far))
