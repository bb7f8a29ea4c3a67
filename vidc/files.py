"""Writing files so that a reader sees the old file or the new one, whole, whatever happens.

And what does happen to a folder, told in one sentence.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from vidc.errors import InputError

_ANOTHER = "choose another --out"
_REASONS = {
    errno.ENOSPC: "is full: make room",
    errno.EDQUOT: "is over its quota: make room",
    errno.EROFS: f"is read-only: make it writable or {_ANOTHER}",
    errno.EACCES: f"may not be written by you: change that or {_ANOTHER}",
    errno.EPERM: f"may not be written by you: change that or {_ANOTHER}",
    errno.ENOENT: f"was moved or deleted meanwhile: put it back or {_ANOTHER}",
    errno.ENOTDIR: f"is not a folder: {_ANOTHER}",
    errno.EEXIST: f"is not a folder: {_ANOTHER}",  # as making a folder tells it
    errno.EIO: "cannot be written (input/output error): look at the disk",
    errno.ESTALE: "was lost by the network file system: look at the mount",
    errno.ENAMETOOLONG: "has too long a name: choose a shorter --out",
    errno.ELOOP: f"is behind a link that leads to itself: {_ANOTHER}",
    errno.EFBIG: "may not hold so large a file: raise the limit ('ulimit -f')",
    errno.EMFILE: "needs more open files than are allowed: raise the limit ('ulimit -n')",
}
# With these the same command fails for ever: it is another one that is needed.
_NEVER = (errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP)
_TRIES = 20
# What a file system answers that knows no flushing of folders (SMB, some FUSE ones).
_NO_FLUSHING = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there as a whole, or still as it was before."""
    write_whole_by(path, lambda file: file.write(data))


def write_whole_by(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let ``write`` fill a file of a temporary name beside it, flush it to the disk, rename it.

    The temporary name is always the same, so what a killed process left is used up by the next.
    Where there are no locks, two may write the same file at once and take the temporary one from
    each other: who has lost it begins again, so that ``write`` may be called more than once.
    """
    for _ in range(_TRIES):
        try:
            _write(path, write)
        except (FileExistsError, FileNotFoundError):
            if not path.parent.is_dir():
                raise
        else:
            return
    _write(path, write)


def _write(path: Path, write: Callable[[BinaryIO], object]) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        with temporary.open("x+b") as file:  # x: not through a link that somebody has put there
            write(file)
            file.flush()
            os.fsync(file.fileno())
            move_into_place(temporary, path)
            if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                file.seek(0)
                if path.read_bytes() != file.read():
                    raise FileExistsError  # another one's, perhaps half written, was moved instead
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def move_into_place(temporary: Path, path: Path) -> None:
    """Rename a finished, flushed file to its name, and make the renaming itself durable."""
    temporary.replace(path)
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Make the names in a folder durable: a rename is only safe once its folder is on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FLUSHING:
            raise
    finally:
        os.close(descriptor)


@contextmanager
def explained(out: Path, instead: str = _ANOTHER) -> Iterator[None]:
    """Tell what is wrong with the output folder in one sentence; other files are other matters.

    ``instead`` is what else can be done where there is no --out.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _REASONS or not _concerns(out.absolute(), error.filename):
            raise
        again = ", then give the same command again: it continues with what is not finished"
        reason = _REASONS[error.errno].replace(_ANOTHER, instead)
        raise InputError(f"{out} {reason}{'' if error.errno in _NEVER else again}") from error


def _concerns(out: Path, file: str | None) -> bool:
    """Whether a file is in the output folder or on the way to it; writes do not name theirs."""
    if file is None:
        return True
    path = Path(file).absolute()
    return path.is_relative_to(out) or out.is_relative_to(path)
