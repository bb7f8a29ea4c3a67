"""The linter and the type checker, beside what a user has built in the same folder."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
MODULE = '''\
"""A module that knows the library's types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa


def stored(features: datasets.Features) -> pa.Schema:
    """The columns."""
    return features.arrow_schema
'''


@pytest.mark.parametrize("check", [["ruff", "check", "."], ["mypy"]], ids=lambda check: check[0])
def test_built_datasets_are_not_taken_for_the_library(tmp_path: Path, check: list[str]) -> None:
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)
    (tmp_path / "vidc").mkdir()
    (tmp_path / "vidc" / "__init__.py").write_text(MODULE)
    (tmp_path / "datasets" / "sample").mkdir(parents=True)

    checked = subprocess.run(
        [sys.executable, "-m", *check], cwd=tmp_path, capture_output=True, text=True
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
