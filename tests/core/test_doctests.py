"""The examples in docstrings run as written."""

import doctest
import importlib

import pytest

NAMES = ["vidc", "vidc.errors", "vidc.classes", "vidc.frames", "vidc.hub", "vidc.reading"]


@pytest.mark.parametrize("name", [*NAMES, "vidc.builders.card"])
def test_docstring_examples(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
