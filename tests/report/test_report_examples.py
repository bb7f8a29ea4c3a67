"""The examples in the report's docstrings run as written."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["vidc.eval.report.error_table", "vidc.eval.report.settings"])
def test_docstring_examples(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
