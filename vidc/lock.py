"""Locks between processes that the kernel releases when their holder dies, however it dies."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What a file system without locks answers (Lustre mounted without flock, some FUSE ones).
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class BusyError(Exception):
    """The lock is held; ``holder`` says by whom."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


@contextmanager
def hold(path: Path, *, shared: bool = False, wait: bool = False) -> Iterator[None]:
    """Hold the lock that a file stands for; the file's folder must be there.

    Nothing depends on what is in the file, or on its being there: a file left by a killed process
    is not locked. Two holders at once, where the file system has no locks, would only do the same
    work twice, because every file is renamed into place whole; they are told so.
    """
    descriptor = _acquire(path, shared, wait)
    try:
        yield
    finally:
        os.close(descriptor)


def _acquire(path: Path, shared: bool, wait: bool) -> int:
    mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, mode if wait else mode | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "another process"
            os.close(descriptor)
            raise BusyError(holder) from None
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                os.close(descriptor)
                raise
            sys.stderr.write(f"{path.parent} has no file locks: run one command at a time in it\n")
        except BaseException:
            os.close(descriptor)
            raise
        if _is_still(path, descriptor):
            with contextlib.suppress(OSError):  # a full disk: only the message will be poorer
                os.truncate(descriptor, 0)
                os.pwrite(descriptor, _holder().encode(), 0)
            return descriptor
        os.close(descriptor)  # its last holder removed the file: it locks nothing any more


def _holder() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
