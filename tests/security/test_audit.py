"""The lint fails on a known vulnerability, and only on that."""

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.security import audit

ROOT = Path(__file__).parents[2]
SOUND = {"name": "numpy", "version": "2.0", "vulns": []}
UNSOUND = {"name": "pillow", "version": "9.0", "vulns": [{"id": "CVE-1", "aliases": ["GHSA-2"]}]}
UNKNOWN = {"name": "mine", "skip_reason": "not found"}


def said(*packages):
    return audit.verdict(json.dumps({"dependencies": packages}), "")


def test_a_vulnerability_is_named():
    well, line = said(SOUND, UNSOUND)
    assert well is False
    assert "pillow 9.0: CVE-1" in line


@pytest.mark.parametrize("name", ["CVE-1", "GHSA-2"])
def test_an_exception_goes_by_any_of_its_names(monkeypatch, name):
    monkeypatch.setattr(audit, "EXCEPTIONS", {name: "we never open such a file"})
    assert said(SOUND, UNSOUND)[0] is True


def test_all_is_well():
    assert said(SOUND, UNKNOWN) == (
        True,
        "pip-audit: 2 packages, no known vulnerability (1 it does not know)",
    )


def test_who_cannot_be_asked_has_said_nothing():
    assert said(UNKNOWN)[0] is None
    assert audit.verdict("", "requests.exceptions.ConnectionError: no route")[0] is None


@contextmanager
def answering(status):
    """The address of a service that gives every question this answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_error(status)

        def log_message(self, *words):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def never_answering():
    """The address of a machine that drops who knocks: its only place in the queue is taken."""
    with (
        socket.create_server(("127.0.0.1", 0), backlog=0) as full,
        socket.create_connection(full.getsockname()),
    ):
        yield full.getsockname()[1]


def asked(port):
    """What becomes of pip-audit's real words when it asks the service at this port."""
    line = [
        sys.executable,
        *audit.COMMAND,
        "--timeout",
        "1",
        "--osv-url",
        f"http://127.0.0.1:{port}",
    ]
    alone = os.environ | {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    done = subprocess.run(line, cwd=ROOT, env=alone, capture_output=True, text=True)
    return audit.verdict(done.stdout, done.stderr)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_service_that_is_too_busy_has_said_nothing(status):
    with answering(status) as port:
        assert asked(port)[0] is None


def test_a_service_that_never_answers_has_said_nothing():
    with never_answering() as port:
        assert asked(port)[0] is None


def test_a_service_that_does_not_understand_the_question_is_a_failure():
    with answering(400) as port:
        well, line = asked(port)
    assert well is False
    assert "400 Client Error" in line


def test_any_other_failure_is_one():
    well, line = audit.verdict("", "KeyError: 'x'")
    assert well is False
    assert "KeyError" in line


def test_every_exception_is_explained():
    assert all(len(why.split()) > 3 for why in audit.EXCEPTIONS.values())
