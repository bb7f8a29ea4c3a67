"""A small Hub on loopback: the part of the Hugging Face Hub's protocol that its client uses.

Faults can be switched on for the requests to come; every request is counted.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub.state import Fault, Hub, Repo, Stored

LARGE = (".parquet", ".png", ".webp")
NO_REPO = {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}


class RefusedError(Exception):
    """An answer other than success."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {"X-Error-Message": message} | (headers or {})


@contextmanager
def running() -> Iterator[Hub]:
    """A Hub on a free port of 127.0.0.1, until the block ends."""
    hub = Hub()

    class Handler(_Handler):
        state = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield hub
    finally:
        for fault in hub.faults:
            if fault.hold:
                fault.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()


REPO = r"(?P<repo>[^/]+/[^/]+)"
ROUTES: list[tuple[str, str, str]] = [
    ("GET", r"/api/whoami-v2", "whoami"),
    ("POST", r"/api/repos/create", "create"),
    ("POST", r"/api/validate-yaml", "validate"),
    ("GET", rf"/api/datasets/{REPO}", "info"),
    ("GET", rf"/api/datasets/{REPO}/revision/(?P<rev>[^/]+)", "info"),
    ("GET", rf"/api/datasets/{REPO}/tree/(?P<rev>[^/]+)(?:/(?P<path>.*))?", "tree"),
    ("POST", rf"/api/datasets/{REPO}/paths-info/(?P<rev>[^/]+)", "paths_info"),
    ("GET", rf"/api/datasets/{REPO}/refs", "refs"),
    ("POST", rf"/api/datasets/{REPO}/tag/(?P<rev>[^/]+)", "tag"),
    ("DELETE", rf"/api/datasets/{REPO}/tag/(?P<rev>[^/]+)", "untag"),
    ("PUT", rf"/api/datasets/{REPO}/settings", "settings"),
    ("POST", rf"/api/datasets/{REPO}/preupload/(?P<rev>[^/]+)", "preupload"),
    ("POST", rf"/api/datasets/{REPO}/commit/(?P<rev>[^/]+)", "commit"),
    ("POST", rf"/datasets/{REPO}\.git/info/lfs/objects/batch", "batch"),
    ("PUT", r"/large/(?P<oid>[0-9a-f]{64})", "upload"),
    ("POST", r"/large/verify", "verify"),
    ("GET", rf"/datasets/{REPO}/resolve/(?P<rev>[^/]+)/(?P<path>.+)", "resolve"),
    ("HEAD", rf"/datasets/{REPO}/resolve/(?P<rev>[^/]+)/(?P<path>.+)", "resolve"),
]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Hub

    def log_message(self, *args: object) -> None:
        """Quiet: the tests look at ``Hub.requests``."""

    def do_GET(self) -> None:
        self._serve()

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

    def _serve(self) -> None:
        address = urlsplit(self.path)
        self.query = parse_qs(address.query, keep_blank_values=True)
        path = unquote(address.path)
        self.state.requests.append((self.command, path))
        fault = self.state.take_fault(self.command, path)
        try:
            self.body = self._read_body(fault)
            if fault and fault.hold:
                fault.hold.wait(60)
            if fault and fault.status:
                raise RefusedError(fault.status, "fault", {"Retry-After": "1"})
            self._answer(*self._route(path), fault)
        except RefusedError as refused:
            body = b"" if self.command == "HEAD" else json.dumps({"error": str(refused)}).encode()
            self._answer(refused.status, refused.headers, body, None)
        except OSError:
            self.close_connection = True

    def _route(self, path: str) -> tuple[int, dict[str, str], bytes]:
        for method, pattern, name in ROUTES:
            match = re.fullmatch(pattern, path)
            if match and method == self.command:
                handle: Callable[..., object] = getattr(self, f"_{name}")
                result = handle(**match.groupdict())
                if isinstance(result, tuple):
                    return result
                return 200, {"Content-Type": "application/json"}, json.dumps(result).encode()
        raise RefusedError(404, f"no such address {path}")

    def _read_body(self, fault: Fault | None) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            return self._read_chunks()
        left = int(self.headers.get("Content-Length") or 0)
        if fault and fault.cut == "request" and left:
            self.rfile.read(left // 2)
            raise ConnectionAbortedError
        parts = []
        while left:
            parts.append(self.rfile.read(min(left, 1024 if fault and fault.drip else left)))
            left -= len(parts[-1])
            if fault and fault.drip:
                time.sleep(fault.drip)
        return b"".join(parts)

    def _read_chunks(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(
        self, status: int, headers: dict[str, str], body: bytes, fault: Fault | None
    ) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault and fault.cut == "answer":
            self.wfile.write(body[: len(body) // 2])
            raise ConnectionAbortedError
        for start in range(0, len(body), 1024) if fault and fault.drip else ():
            self.wfile.write(body[start : start + 1024])
            self.wfile.flush()
            time.sleep(fault.drip)
        if not (fault and fault.drip):
            self.wfile.write(body)

    # Who asks, and what may be seen.

    def _user(self) -> str | None:
        given = self.headers.get("Authorization")
        if given is None:
            return None
        user = self.state.users.get(given.removeprefix("Bearer "))
        if user is None:
            raise RefusedError(401, "Invalid credentials in Authorization header")
        return user

    def _seen(self, repo: str) -> Repo:
        user = self._user()
        found = self.state.repos.get(repo)
        if found is None or (found.private and user != repo.split("/")[0]):
            raise RefusedError(404 if user else 401, "Repository not found", NO_REPO)
        return found

    def _owned(self, repo: str) -> Repo:
        if self._user() is None:
            raise RefusedError(401, "Invalid username or password.")
        found = self._seen(repo)
        if self._user() != repo.split("/")[0]:
            raise RefusedError(403, "You don't have the rights to write here")
        return found

    def _at(self, repo: str, rev: str) -> tuple[Repo, str]:
        found = self._seen(repo)
        oid = found.resolve(rev)
        if oid is None:
            raise RefusedError(404, "Revision not found", {"X-Error-Code": "RevisionNotFound"})
        return found, oid

    # The requests.

    def _whoami(self) -> object:
        user = self._user()
        if user is None:
            raise RefusedError(401, "Invalid username or password.")
        return {"type": "user", "name": user, "orgs": [], "auth": {}}

    def _create(self) -> object:
        content = json.loads(self.body)
        user = self._user()
        if user is None:
            raise RefusedError(401, "Invalid username or password.")
        repo = f"{content['organization'] or user}/{content['name']}"
        url = f"{self.state.url}/datasets/{repo}"
        if repo.split("/")[0] != user:
            raise RefusedError(403, "You don't have the rights to create a dataset here")
        with self.state.lock:
            if repo in self.state.repos:
                body = {"error": "You already created this dataset repo", "url": url}
                return 409, {}, json.dumps(body).encode()
            private = content.get("visibility") == "private" or content.get("private") is True
            self.state.repos[repo] = Repo(private)
            self.state.repos[repo].commit({".gitattributes": Stored(b"*.parquet lfs\n", False)})
        return {"url": url, "name": repo, "id": repo}

    def _validate(self) -> object:
        return {"errors": [], "warnings": []}

    def _info(self, repo: str, rev: str = "main") -> object:
        found, oid = self._at(repo, rev)
        siblings = [{"rfilename": path} for path in sorted(found.commits[oid])]
        return {
            "_id": hashlib.sha256(repo.encode()).hexdigest()[:24],
            "id": repo,
            "author": repo.split("/")[0],
            "sha": oid,
            "private": found.private,
            "gated": False,
            "disabled": False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
            "lastModified": "2026-01-01T00:00:00.000Z",
            "createdAt": "2026-01-01T00:00:00.000Z",
            "siblings": siblings,
        }

    def _tree(self, repo: str, rev: str, path: str | None) -> object:
        found, oid = self._at(repo, rev)
        prefix = f"{path}/" if path else ""
        inside = {name: f for name, f in found.commits[oid].items() if name.startswith(prefix)}
        if path and not inside:
            raise RefusedError(404, "Entry not found", {"X-Error-Code": "EntryNotFound"})
        deep = self.query.get("recursive", ["false"])[0].lower() in ("true", "1")
        entries = []
        for name, file in sorted(inside.items()):
            if deep or "/" not in name.removeprefix(prefix):
                entries.append(file.entry(name))
        return entries + self._folders(sorted(inside), prefix, deep)

    @staticmethod
    def _folders(names: list[str], prefix: str, deep: bool) -> list[dict[str, object]]:
        found = set()
        for name in names:
            parents = name.removeprefix(prefix).split("/")[:-1]
            for depth in range(1, len(parents) + 1 if deep else min(len(parents), 1) + 1):
                found.add(prefix + "/".join(parents[:depth]))
        return [
            {"type": "directory", "path": name, "oid": "0" * 40, "size": 0}
            for name in sorted(found)
        ]

    def _paths_info(self, repo: str, rev: str) -> object:
        found, oid = self._at(repo, rev)
        if "json" in self.headers.get("Content-Type", ""):
            paths = json.loads(self.body)["paths"]
        else:
            paths = parse_qs(self.body.decode())["paths"]
        files = found.commits[oid]
        entries: list[dict[str, object]] = []
        for path in [paths] if isinstance(paths, str) else paths:
            if path in files:
                entries.append(files[path].entry(path))
            elif any(name.startswith(f"{path}/") for name in files):
                entries.append({"type": "directory", "path": path, "oid": "0" * 40, "size": 0})
        return entries

    def _refs(self, repo: str) -> object:
        found = self._seen(repo)
        tags = [
            {"name": name, "ref": f"refs/tags/{name}", "targetCommit": oid}
            for name, oid in found.tags.items()
        ]
        main = {"name": "main", "ref": "refs/heads/main", "targetCommit": found.head}
        return {"branches": [main], "converts": [], "tags": tags}

    def _tag(self, repo: str, rev: str) -> object:
        found = self._owned(repo)
        name = json.loads(self.body)["tag"]
        if name in found.tags:
            raise RefusedError(409, "Tag already exists")
        found.tags[name] = found.resolve(rev) or found.head
        return {}

    def _untag(self, repo: str, rev: str) -> object:
        self._owned(repo).tags.pop(rev)
        return {}

    def _settings(self, repo: str) -> object:
        content = json.loads(self.body)
        found = self._owned(repo)
        found.private = content.get("visibility", "") == "private" or content.get("private") is True
        return {}

    def _preupload(self, repo: str, rev: str) -> object:
        files = self._owned(repo).files
        return {
            "files": [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(LARGE) else "regular",
                    "shouldIgnore": False,
                    "oid": files[file["path"]].etag if file["path"] in files else None,
                }
                for file in json.loads(self.body)["files"]
            ]
        }

    def _batch(self, repo: str) -> object:
        self._owned(repo)
        objects = []
        for wanted in json.loads(self.body)["objects"]:
            entry = {"oid": wanted["oid"], "size": wanted["size"]}
            if wanted["oid"] not in self.state.large:
                upload = {"href": f"{self.state.url}/large/{wanted['oid']}"}
                check = {"href": f"{self.state.url}/large/verify"}
                entry["actions"] = {"upload": upload, "verify": check}
            objects.append(entry)
        return {"transfer": "basic", "objects": objects}

    def _upload(self, oid: str) -> object:
        if hashlib.sha256(self.body).hexdigest() != oid:
            raise RefusedError(400, "not the announced content")
        self.state.large[oid] = self.body
        return {}

    def _verify(self) -> object:
        if json.loads(self.body)["oid"] not in self.state.large:
            raise RefusedError(404, "not uploaded")
        return {}

    def _commit(self, repo: str, rev: str) -> object:
        found = self._owned(repo)
        with self.state.lock:
            files = dict(found.files)
            for line in self.body.splitlines():
                entry = json.loads(line)
                value = entry["value"]
                if entry["key"] == "file":
                    files[value["path"]] = Stored(base64.b64decode(value["content"]), False)
                elif entry["key"] == "lfsFile":
                    files[value["path"]] = Stored(self.state.large[value["oid"]], True)
                elif entry["key"] == "deletedFile":
                    del files[value["path"]]
            oid = found.commit(files)
        url = f"{self.state.url}/datasets/{repo}/commit/{oid}"
        return {"success": True, "commitOid": oid, "commitUrl": url}

    def _resolve(self, repo: str, rev: str, path: str) -> tuple[int, dict[str, str], bytes]:
        found, oid = self._at(repo, rev)
        file = found.commits[oid].get(path)
        commit = {"X-Repo-Commit": oid}
        if file is None:
            raise RefusedError(404, "Entry not found", {"X-Error-Code": "EntryNotFound"} | commit)
        headers = commit | {"ETag": f'"{file.etag}"', "Accept-Ranges": "bytes"}
        size = len(file.data)
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if match is None:
            return 200, headers | {"Content-Length": str(size)}, file.data
        first = int(match[1]) if match[1] else size - int(match[2])
        last = min(int(match[2]), size - 1) if match[1] and match[2] else size - 1
        if first > last:
            raise RefusedError(416, "no such range", {"Content-Range": f"bytes */{size}"})
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        return 206, headers, file.data[first : last + 1]
