"""The sentence on top: which method won, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vidc.eval.table import MEAN, Row, Section, Table, Value
from vidc.frames import CLEAN, DEFAULT_SEVERITY

SOURCE = "source"


@dataclass(frozen=True)
class Headline:
    """What is said of one dataset: the winner's name, its error, and the rest of the sentence."""

    dataset: str
    winner: str
    sentence: str


@dataclass(frozen=True)
class _Place:
    id: str
    name: str
    value: Value


def headlines(table: Table) -> list[Headline]:
    """One sentence a dataset."""
    return [_headline(table, section) for section in table.sections]


def _headline(table: Table, section: Section) -> Headline:
    row, measure = _decisive(section)
    places = sorted(
        (
            _Place(id, name, value)
            for id, name, value in zip(table.ids, table.names, row.values, strict=True)
            if value is not None
        ),
        key=_rounded,
    )
    winners = [place for place in places if _rounded(place) == _rounded(places[0])]
    others = places[len(winners) :]
    winner = _listed([place.name for place in winners])
    if not others:
        verb = {1: "has", 2: "both have"}.get(len(winners), "all have")
        sentence = f"{winner} {verb} {_article(measure)} of {_percent(winners[0].value)}."
        return Headline(section.dataset, winner, sentence)
    verb = "has" if len(winners) == 1 else "share"
    sentence = f"{winner} {verb} the lowest {measure}, {_percent(winners[0].value)}: "
    sentence += _margins(winners, others) + "."
    return Headline(section.dataset, winner, sentence)


def _decisive(section: Section) -> tuple[Row, str]:
    """The mean row if there is one, else the last of ours, which is the only corruption's."""
    ours = [row for row in section.rows if row.kind == "ours"]
    row = ours[-1]
    if row.corruption == MEAN:
        corrupted = [row.corruption for row in ours if row.corruption not in (MEAN, CLEAN)]
        severities = "" if len(set(corrupted)) == len(corrupted) else " and severities"
        return row, f"mean error over {len(corrupted)} corruptions{severities}"
    if row.corruption == CLEAN:
        return row, "error on clean frames"
    severity = "" if row.severity == DEFAULT_SEVERITY else f" of severity {row.severity}"
    return row, f"error under {row.corruption.replace('_', ' ')}{severity}"


def _margins(winners: Sequence[_Place], others: Sequence[_Place]) -> str:
    best = winners[0]
    following = [place for place in others if _rounded(place) == _rounded(others[0])]
    source = next((place for place in others if place.id == SOURCE), None)
    parts = []
    if source and source not in following:
        parts.append(f"{_points(best, source)} below {source.name}")
    names = _listed([place.name for place in following])
    parts.append(f"{_points(best, following[0])} below {names}, the next")
    if any(_within_spread(best.value, place.value) for place in following):
        parts[-1] += ", which is within the spread of the seeds"
    if any(place.id == SOURCE for place in winners):
        parts[-1] += "; no adaptation lowers it"
    return " and ".join(parts)


def _rounded(place: _Place) -> float:
    """As the table shows it: what looks the same there is a tie here."""
    return round(place.value.mean, 1)


def _points(best: _Place, other: _Place) -> str:
    gap = _rounded(other) - _rounded(best)
    return f"{gap:.1f} {'point' if f'{gap:.1f}' == '1.0' else 'points'}"


def _within_spread(one: Value, other: Value) -> bool:
    if one.std is None or other.std is None:
        return False
    return abs(one.mean - other.mean) <= one.std + other.std


def _percent(value: Value) -> str:
    spread = "" if value.std is None else f" ± {value.std:.1f}"
    return f"{value.mean:.1f}{spread}\u00a0%"


def _article(measure: str) -> str:
    return f"an {measure}" if measure.startswith("error") else f"a {measure}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
