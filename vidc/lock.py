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
_ONE_AT_A_TIME = "do not give the same command twice at the same time"


class BusyError(Exception):
    """The lock is held; ``holder`` says by whom."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


@contextmanager
def hold(path: Path, *, shared: bool = False, wait: bool = False) -> Iterator[None]:
    """Hold the lock that a file stands for; the file's folder must be there.

    Nothing depends on what is in the file, or on its being there: a file left by a killed process
    is not locked. Where the file system has no locks there may be two holders. Each file is renamed
    into place whole, so they do the same work twice or one takes the other's temporary files away
    and that one ends; who does not ``wait``, which is once in a command, is told so.
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
            if not wait:
                sys.stderr.write(f"{path.parent} has no file locks: {_ONE_AT_A_TIME}\n")
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
