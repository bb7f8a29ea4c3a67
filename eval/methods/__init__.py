"""What is done with each batch, and the columns of the table: pairs ``method@normalization``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vidc.errors import InputError, unknown
from vidc.eval.normalization import NORMALIZATIONS
from vidc.eval.usercode import is_user_code, load_user_code, read_user_file

if TYPE_CHECKING:
    from vidc.eval.methods.base import Method
    from vidc.eval.protocol import Protocol

METHODS = ("source", "tent", "lame")


@dataclass(frozen=True)
class Column:
    """One column of the table: a method on a normalization."""

    id: str
    name: str
    method: str  # one of METHODS, or path/file.py:Class
    normalization: str

    @property
    def pair(self) -> str:
        """The column as a pair.

        >>> COLUMNS["tent_unmix"].pair
        'tent@unmix_tns'
        """
        return f"{self.method}@{self.normalization}"


COLUMNS = {
    column.id: column
    for column in (
        Column("source", "Source", "source", "bn"),
        Column("tbn", "TBN", "source", "tbn"),
        Column("alpha_bn", "α-BN", "source", "alpha_bn"),
        Column("unmix_tns", "UnMix-TNS", "source", "unmix_tns"),
        Column("tent", "TENT", "tent", "tbn"),
        Column("tent_unmix", "TENT†", "tent", "unmix_tns"),
        Column("lame", "LAME", "lame", "bn"),
        Column("lame_unmix", "LAME†", "lame", "unmix_tns"),
    )
}


def parse_columns(names: Sequence[str]) -> list[Column]:
    """The columns that the user named, in that order: ids, pairs, or methods of their own files.

    >>> [column.pair for column in parse_columns(["tent", "tent@alpha_bn"])]
    ['tent@tbn', 'tent@alpha_bn']
    """
    columns = [_parse_column(name) for name in names]
    for position, column in enumerate(columns):
        for other in columns[:position]:
            if (other.id, other.method) == (column.id, column.method):
                raise InputError(f"The column {column.id} is asked for twice.")
            if other.id == column.id:
                raise InputError(
                    f"{other.method} and {column.method} would both be the column {column.id}: "
                    "give one of the classes another name."
                )
    return columns


def method_class(name: str) -> type[Method]:
    """The class of a method, by its name or by ``path/file.py:Class``."""
    from vidc.eval.methods.base import Method

    methods = _shipped()
    if name in methods:
        return methods[name]
    if not is_user_code(name):
        raise unknown("method (or path/file.py:Class)", name, methods)
    found = load_user_code(name)
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise InputError(f"{name} is not a subclass of vidc.eval.methods.base.Method.")
    return found


def method_settings(name: str, kind: type[Method], protocol: Protocol) -> dict[str, Any]:
    """The settings of a method; a user's class that extends a shipped one has that one's too."""
    settings = protocol.settings(name)
    if is_user_code(name):
        for shipped, base in _shipped().items():
            if issubclass(kind, base):
                settings |= protocol.overridden(shipped, name)
    return settings


def check_methods(columns: Sequence[Column], protocol: Protocol) -> None:
    """Load every class and check its settings: a slip is told before any dataset is looked at."""
    for column in columns:
        method_settings(column.method, method_class(column.method), protocol)


def _shipped() -> dict[str, type[Method]]:
    from vidc.eval.methods.lame import Lame
    from vidc.eval.methods.source import Source
    from vidc.eval.methods.tent import Tent

    return {"source": Source, "tent": Tent, "lame": Lame}


def _parse_column(text: str) -> Column:
    if text in COLUMNS:
        return COLUMNS[text]
    method, at, normalization = text.rpartition("@")
    if not at:
        method, normalization = text, "bn"
    if normalization not in NORMALIZATIONS:
        raise unknown(f"normalization in {text}", normalization, NORMALIZATIONS)
    if is_user_code(method):
        return _user_column(method, normalization)
    if not at or method not in METHODS:
        known = METHODS if at else (*COLUMNS, "method@normalization", "path/file.py:Class")
        raise unknown("method" if at else "column", method, known)
    named = [column for column in COLUMNS.values() if column.pair == text]
    return named[0] if named else Column(text, text, method, normalization)


def _user_column(method: str, normalization: str) -> Column:
    read_user_file(method)
    title = f"{method.rpartition(':')[2]}@{normalization}"
    return Column(title, title, method, normalization)
