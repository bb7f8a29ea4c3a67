"""How a network's threads wait for each other on a CPU; set before torch is loaded, or never."""

from __future__ import annotations

import os

# Tries before a waiting thread sleeps: some 20 µs. GNU OpenMP's own 300,000 keep the cores from the
# threads that decode; with none at all, every one of a small layer's operations begins by waking
# a thread, which takes longer than the operation.
TRIES = {"GOMP_SPINCOUNT": "20000"}


def sleep_soon() -> None:
    """Let waiting threads sleep soon, unless the user has said how they are to wait."""
    if "OMP_WAIT_POLICY" not in os.environ:
        for variable, tries in TRIES.items():
            os.environ.setdefault(variable, tries)
