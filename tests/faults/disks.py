"""Small disks of a test's own, in memory: they can be full, and they can be read-only."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_BYTES = 8 << 20


@dataclass(frozen=True)
class Disk:
    """A mounted file system."""

    folder: Path

    @property
    def _ballast(self) -> Path:
        return self.folder / "somebody else's file"

    def fill(self) -> None:
        """Leave no room."""
        with self._ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\1" * 4096)
            except OSError:
                return

    def make_room(self) -> None:
        self._ballast.unlink()

    def set_read_only(self, read_only: bool) -> None:
        _mount("-o", f"remount,{'ro' if read_only else 'rw'}", str(self.folder))

    def remove(self) -> None:
        _as_root("umount", "--lazy", str(self.folder))


def make(folder: Path) -> Disk:
    """Mount a disk at ``folder``; CalledProcessError where that is not allowed."""
    folder.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={_BYTES},mode=0777", "none", str(folder))
    return Disk(folder)


def _mount(*words: str) -> None:
    _as_root("mount", *words)


def _as_root(*words: str) -> None:
    sudo = () if os.geteuid() == 0 else ("sudo", "--non-interactive")
    subprocess.run([*sudo, *words], check=True, capture_output=True, text=True)
