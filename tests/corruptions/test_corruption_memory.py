"""Memory: a small multiple of the frame in a call, and nothing that grows with calls."""

import gc
import sys
import tracemalloc

import numpy as np
import psutil
import pytest

from tests.reference import pictures
from vidc.corruptions import TEMPORAL, Key, corrupt

OURS = ("gaussian_noise", "snow", "rain")


@pytest.mark.parametrize("temporal", TEMPORAL)
@pytest.mark.parametrize("name", OURS)
def test_a_call_needs_a_small_multiple_of_the_frame(name, temporal):
    frame = pictures.integers(720, 1280)
    corrupt(frame, name, 5, Key(0, "d", "v", 0), temporal)
    tracemalloc.start()
    try:
        corrupt(frame, name, 5, Key(0, "d", "v", 1), temporal)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The result itself is one of these.
    assert peak < 5 * frame.nbytes


def test_ten_thousand_calls_leave_nothing_behind():
    frames = [pictures.integers(12, 17), pictures.integers(9, 30, 1)]

    def calls(start, stop):
        for number in range(start, stop):
            key = Key(0, "d", f"video {number // 4}", number)
            name, temporal = OURS[number % 3], TEMPORAL[number // 3 % 2]
            corrupt(frames[number // 6 % 2], name, 1 + number % 5, key, temporal)

    # Tables, and caches of a few hundred small entries, are filled by these.
    calls(0, 2_500)
    objects, resident = held()
    calls(2_500, 12_500)
    more_objects, more_resident = held()
    # The cache of zoomed axes may still take in a last few dozen, of ten objects each.
    assert more_objects - objects < 1_000
    assert more_resident - resident < 4 << 20


def held():
    """The objects that Python holds, and the process's memory in bytes."""
    gc.collect()
    return sys.getallocatedblocks(), psutil.Process().memory_info().rss


def test_results_do_not_hold_on_to_large_buffers():
    frame = pictures.integers(64, 64)
    for name in OURS:
        out = corrupt(frame, name, 3, Key(0, "d", "v", 0))
        base = out if out.base is None else out.base
        assert isinstance(base, np.ndarray)
        assert base.nbytes == frame.nbytes
