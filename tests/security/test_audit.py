"""The lint fails on a known vulnerability, and only on that."""

import json

import pytest

from tests.security import audit

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


def test_any_other_failure_is_one():
    well, line = audit.verdict("", "KeyError: 'x'")
    assert well is False
    assert "KeyError" in line


def test_every_exception_is_explained():
    assert all(len(why.split()) > 3 for why in audit.EXCEPTIONS.values())
