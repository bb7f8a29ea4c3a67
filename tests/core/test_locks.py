"""Locks that keep others out while their holder lives, and not a moment longer."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vidc import lock

LOCKS = Path("/proc/locks")
HOLDER = (
    "import sys, time\n"
    "from pathlib import Path\n"
    "from vidc import lock\n"
    "with lock.hold(Path(sys.argv[1])):\n"
    "    print('held', flush=True)\n"
    "    time.sleep(600)\n"
)


def test_one_holder_at_a_time(tmp_path):
    path = tmp_path / "lock"
    busy = pytest.raises(lock.BusyError, match=f"process {os.getpid()} on ")
    with lock.hold(path), busy, lock.hold(path):
        pass
    with lock.hold(path):
        pass


def test_several_shared_holders_or_one_alone(tmp_path):
    path = tmp_path / "lock"
    shared, another = lock.hold(path, shared=True), lock.hold(path, shared=True)
    with shared, another, pytest.raises(lock.BusyError), lock.hold(path):
        pass
    with lock.hold(path), pytest.raises(lock.BusyError), lock.hold(path, shared=True):
        pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_dead_holder_holds_nothing(number, tmp_path):
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(lock.BusyError, match=f"process {holder.pid} on "), lock.hold(path):
        pass
    holder.send_signal(number)
    holder.wait()
    assert path.exists()
    with lock.hold(path):
        pass


def is_blocked(process):
    """Whether the kernel lists the process among those that wait for a lock."""
    waiting = [line.split() for line in LOCKS.read_text().splitlines() if " -> " in line]
    return any(str(process.pid) in words for words in waiting)


def speaks(process):
    """Whether it has printed something, or ended."""
    return bool(select.select([process.stdout], [], [], 0)[0])


@pytest.mark.skipif(not LOCKS.is_file(), reason="needs Linux's list of locks")
def test_waiting_ends_when_the_holder_does(tmp_path):
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True
    )
    holder.stdout.readline()
    waiter = subprocess.Popen(
        [sys.executable, "-c", HOLDER.replace("[1])", "[1]), wait=True"), str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    while not is_blocked(waiter) and not speaks(waiter):
        time.sleep(0.01)
    assert is_blocked(waiter)
    holder.kill()
    assert waiter.stdout.readline() == "held\n"
    waiter.kill()
    for process in (holder, waiter):
        process.wait()


def test_a_lock_file_that_was_removed_meanwhile_locks_nothing(tmp_path):
    path = tmp_path / "lock"
    with lock.hold(path):
        path.unlink()
        with lock.hold(path), pytest.raises(lock.BusyError), lock.hold(path):
            pass


def test_a_file_system_without_locks_is_told_and_used(tmp_path, monkeypatch, capsys):
    def refuse(descriptor, mode):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    with lock.hold(tmp_path / "lock"):
        pass
    assert "has no file locks" in capsys.readouterr().err
    with lock.hold(tmp_path / "one of a thousand tasks", wait=True):
        pass
    assert capsys.readouterr().err == ""
