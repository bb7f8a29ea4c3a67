"""The watch sees what a command must not do; else nothing would follow from its silence."""

import os

import pytest

from tests.security.watching import OUTSIDE, outside, watched

SECRET = f"../{OUTSIDE}/secret.jpg"
TOUCHES = {
    "opened": f"open({SECRET!r})",
    "opened by bytes": f"open({SECRET.encode()!r})",
    "opened after a change of folder": f"os.chdir('../{OUTSIDE}'); open('secret.jpg')",
    "made": f"open('../{OUTSIDE}/new', 'w')",
    "removed": f"os.remove({SECRET!r})",
    "removed beneath a folder": (
        f"os.remove('secret.jpg', dir_fd=os.open('../{OUTSIDE}', os.O_RDONLY))"
    ),
    "moved": f"os.rename({SECRET!r}, '../{OUTSIDE}/new')",
    "moved there": f"open('mine', 'w'); os.rename('mine', '../{OUTSIDE}/new')",
    "linked": f"os.link({SECRET!r}, '../{OUTSIDE}/new')",
    "linked from there": f"os.symlink('mine', '../{OUTSIDE}/new')",
    "linked to": f"os.symlink(os.path.abspath('../{OUTSIDE}/new'), 'mine')",
    "cut": f"os.truncate({SECRET!r}, 0)",
    "listed": f"os.listdir('../{OUTSIDE}')",
}
LIBRARIES = {
    "read by a library": f"import pyarrow; pyarrow.OSFile({SECRET!r}).read()",
    "decoded by a library": f"import cv2; cv2.imread({SECRET!r})",
}
CALLS = {
    "connected": "socket.create_connection(('127.0.0.1', 9))",
    "sent": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('127.0.0.1', 9))",
    "looked up": "socket.gethostbyname('localhost')",
    "looked up well": "socket.getaddrinfo('localhost', 80)",
}


def misbehaving(place, line):
    (place / "here").mkdir()
    (place / "here" / "misbehaving.py").write_text(f"import os, socket\n{line}\n")
    return watched(place, "misbehaving")


@pytest.mark.parametrize("line", TOUCHES.values(), ids=TOUCHES)
def test_a_file_that_is_touched(tmp_path, line):
    folder = outside(tmp_path)
    assert misbehaving(tmp_path, line).touched(folder)


@pytest.mark.parametrize("line", LIBRARIES.values(), ids=LIBRARIES)
def test_a_file_that_is_read_by_another_language(tmp_path, line):
    folder = outside(tmp_path)
    os.utime(folder / "secret.jpg", (0, 0))
    (folder / "secret.jpg").read_bytes()
    if (folder / "secret.jpg").stat().st_atime_ns == 0:
        pytest.skip("this disk does not note when a file was read")
    assert misbehaving(tmp_path, line).touched(folder)


@pytest.mark.parametrize("line", CALLS.values(), ids=CALLS)
def test_somebody_who_is_called(tmp_path, line):
    assert misbehaving(tmp_path, line).calls()


@pytest.mark.parametrize("to", ["print({})", "open('mine', 'w').write({})"])
def test_a_secret_that_is_repeated(tmp_path, to):
    outside(tmp_path)
    with pytest.raises(AssertionError):
        misbehaving(tmp_path, to.format(f"open({SECRET!r}).read()"))


def test_one_that_behaves(tmp_path):
    folder = outside(tmp_path)
    seen = misbehaving(tmp_path, "open('mine', 'w').write('mine')")
    assert seen.code == 0, seen.stderr
    assert seen.touched(tmp_path / "here")
    assert not seen.touched(folder)
    assert not seen.calls()
