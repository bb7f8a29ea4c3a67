"""Files that are written whole, on file systems that are not all alike."""

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from vidc.errors import InputError
from vidc.files import explained, write_whole


def failing_for_folders(number):
    """An fsync that fails for folders; files are brought onto the disk as ever."""
    real = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        real(descriptor)

    return fsync


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF])
def test_a_file_system_that_cannot_flush_folders_is_used_all_the_same(
    number, tmp_path, monkeypatch
):
    monkeypatch.setattr(os, "fsync", failing_for_folders(number))
    write_whole(tmp_path / "file", b"whole")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"whole"}


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_folder_that_was_not_flushed_is_not_taken_for_flushed(number, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", failing_for_folders(number))
    with pytest.raises(OSError, match=os.strerror(number)):
        write_whole(tmp_path / "file", b"whole")


def test_a_name_that_is_too_long(tmp_path):
    out = tmp_path / ("x" * 300)
    with (
        pytest.raises(InputError, match=r"too long a name: choose a shorter --out$"),
        explained(out),
    ):
        out.mkdir()


def test_a_link_to_itself(tmp_path):
    out = tmp_path / "out"
    out.symlink_to(out)
    with pytest.raises(InputError, match=r"to itself: choose another --out$"), explained(out):
        (out / "file").read_bytes()


def test_a_file_where_a_folder_is_to_be(tmp_path):
    out = tmp_path / "out"
    out.touch()
    with pytest.raises(InputError, match=r"not a folder: choose another --out$"), explained(out):
        out.mkdir(parents=True, exist_ok=True)


def test_two_that_write_the_same_file_at_the_same_time(tmp_path, monkeypatch):
    real, interfering = os.fsync, iter([True])

    def fsync(descriptor):
        real(descriptor)
        if next(interfering, False):
            write_whole(tmp_path / "file", b"theirs")  # takes the temporary file away

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(tmp_path / "file", b"ours")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"ours"}


def test_a_file_that_another_one_has_only_begun_is_not_taken_for_ours(tmp_path, monkeypatch):
    real, interfering = os.fsync, iter([True])

    def fsync(descriptor):
        real(descriptor)
        if next(interfering, False):  # the other one is stopped for good after its first byte
            (tmp_path / ".file.tmp").unlink()
            (tmp_path / ".file.tmp").write_bytes(b"t")

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(tmp_path / "file", b"ours")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"ours"}


def test_many_that_write_the_same_file_at_the_same_time(tmp_path):
    with ThreadPoolExecutor(4) as writers:
        list(writers.map(lambda _: write_whole(tmp_path / "file", b"same" * 999), range(100)))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"same" * 999}
