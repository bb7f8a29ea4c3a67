"""One colour, dash and marker a column, the same in every chart of the page and in the figures.

The colours are Okabe and Ito's, which people who see colours differently can tell apart. A
column's hue says what is done; a dashed line says that it is done on UnMix-TNS layers (†).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vidc.eval.report.runs import Column


@dataclass(frozen=True)
class Look:
    """How a column is drawn: on paper and light pages, on dark pages, and where there is no hue."""

    light: str
    dark: str
    dash: tuple[float, ...]  # lengths of line and gap in points; empty is a full line
    marker: str  # matplotlib's letter


_INK = ("#2f3437", "#e3e6e8")
_PURPLE = ("#b8578c", "#e29ac2")
_SKY = ("#3897cf", "#6cc0ef")
_VERMILLION = ("#d55e00", "#ff8a3d")
_GREEN = ("#00805d", "#2ac79a")
_BLUE = ("#0065a3", "#5b9bff")
_ORANGE = ("#b97f00", "#f0b429")

_KNOWN = {
    "source": Look(*_INK, (), "o"),
    "tbn": Look(*_PURPLE, (), "s"),
    "alpha_bn": Look(*_SKY, (), "^"),
    "unmix_tns": Look(*_VERMILLION, (), "D"),
    "tent": Look(*_GREEN, (), "v"),
    "tent_unmix": Look(*_GREEN, (5, 2.5), "v"),
    "lame": Look(*_BLUE, (), "P"),
    "lame_unmix": Look(*_BLUE, (5, 2.5), "P"),
}
# The user's own columns: the hue that is not taken, then hues in dashes that are not. No two looks
# share both marker and dash, which are all that is left of them in grey.
_OTHERS = (
    Look(*_ORANGE, (), "X"),
    *(
        Look(*hue, dash, marker)
        for dash in ((1.5, 2), (8, 2, 1.5, 2))
        for hue, marker in ((_ORANGE, "X"), (_SKY, "*"), (_PURPLE, "h"), (_INK, "<"))
    ),
)


def looks(columns: Sequence[Column]) -> dict[str, Look]:
    """The look of each column; it depends on the order of the unknown ones alone."""
    unknown = [column.id for column in columns if column.id not in _KNOWN]
    own = {name: _OTHERS[i % len(_OTHERS)] for i, name in enumerate(unknown)}
    return {column.id: _KNOWN.get(column.id) or own[column.id] for column in columns}
