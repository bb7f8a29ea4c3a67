"""The examples in the public API's docstrings run as written."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["vidc", "vidc.errors", "vidc.classes", "vidc.frames"])
def test_docstring_examples(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
