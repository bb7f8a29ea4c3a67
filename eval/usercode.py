"""The user's own code by name: ``path/file.py:name``."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from vidc.errors import InputError, unknown


def is_user_code(name: str) -> bool:
    """Whether a name points into a user's file.

    >>> is_user_code("mine.py:MyMethod"), is_user_code("resnet50")
    (True, False)
    """
    return name.rpartition(":")[0].endswith(".py")


def read_user_file(name: str) -> bytes:
    """The content of the file that ``path/file.py:name`` names."""
    path = Path(name.rpartition(":")[0])
    try:
        if not path.is_file():
            raise InputError(f"There is no file {path} (from {name}).")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read (from {name}): {error.strerror}.") from None


def load_user_code(name: str) -> Any:
    """The object that ``path/file.py:name`` names. Running that file is what the user asked for."""
    file, _, attribute = name.rpartition(":")
    path = Path(file)
    read_user_file(name)  # told in a sentence, which an OSError of the file's own code is not
    # Named by the file's place, so that two files of the same name do not take each other's.
    module_name = f"vidc_user_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses in that file look their module up
    try:
        spec.loader.exec_module(module)
    except (SyntaxError, ImportError) as mistake:
        raise InputError(f"{path} cannot be imported: {mistake}.") from mistake
    if not hasattr(module, attribute):
        names = [each for each in vars(module) if not each.startswith("_")]
        raise unknown(f"name in {path}", attribute, names)
    return getattr(module, attribute)


def located(name: str) -> str:
    """The same name for a worker whose current folder is another."""
    if not is_user_code(name):
        return name
    file, _, inside = name.rpartition(":")
    return f"{Path(file).absolute()}:{inside}"
