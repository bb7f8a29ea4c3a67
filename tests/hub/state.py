"""What the loopback Hub remembers: repositories with their commits and tags, users, and faults."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Stored:
    """A file of a commit."""

    data: bytes
    large: bool

    @property
    def git_oid(self) -> str:
        return hashlib.sha1(b"blob %d\0" % len(self.data) + self.data).hexdigest()  # noqa: S324

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.large else self.git_oid

    def entry(self, path: str) -> dict[str, object]:
        size = len(self.data)
        lfs = {"oid": self.sha256, "size": size, "pointerSize": 134}
        entry = {"type": "file", "path": path, "size": size, "oid": self.git_oid}
        return entry | ({"lfs": lfs} if self.large else {})


@dataclass
class Repo:
    """A dataset repository: its commits, oldest first, each with all its files."""

    private: bool
    commits: dict[str, dict[str, Stored]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def commit(self, files: dict[str, Stored]) -> str:
        names = json.dumps([len(self.commits), {path: file.sha256 for path, file in files.items()}])
        oid = hashlib.sha1(names.encode()).hexdigest()  # noqa: S324
        self.commits[oid] = files
        return oid

    @property
    def head(self) -> str:
        return next(reversed(self.commits))

    @property
    def files(self) -> dict[str, Stored]:
        return self.commits[self.head]

    def resolve(self, revision: str) -> str | None:
        if revision == "main":
            return self.head
        if revision in self.tags:
            return self.tags[revision]
        return revision if revision in self.commits else None


@dataclass
class Fault:
    """What happens to the next requests of a method whose path contains ``part``."""

    method: str
    part: str
    times: int
    status: int | None = None  # answer with this
    cut: str = ""  # close the connection in the middle of the "request" or of the "answer"
    drip: float = 0.0  # seconds for each kilobyte of the answer or of the upload
    hold: threading.Event | None = None  # wait for this before going on


class Hub:
    """The state of the Hub, shared by all requests."""

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.large: dict[str, bytes] = {}
        self.users = {"hf_owner": "org", "hf_stranger": "stranger"}
        self.requests: list[tuple[str, str]] = []
        self.faults: list[Fault] = []
        self.lock = threading.RLock()
        self.url = ""

    def count(self, method: str, part: str) -> int:
        """How many requests there were of a method with this in their path."""
        return sum(m == method and part in path for m, path in self.requests)

    def take_fault(self, method: str, path: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and fault.method == method and fault.part in path:
                    fault.times -= 1
                    return fault
        return None
