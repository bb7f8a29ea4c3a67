"""The sentence on top: which method won, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vidc.eval.table import MEAN, Row, Section, Table, Value

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
        key=lambda place: round(place.value.mean, 1),
    )
    lowest = round(places[0].value.mean, 1)
    winners = [place for place in places if round(place.value.mean, 1) == lowest]
    others = places[len(winners) :]
    winner = _listed([place.name for place in winners])
    if not others:
        verb = "has" if len(winners) == 1 else "all have"
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
        corrupted = sum(row.corruption not in (MEAN, "clean") for row in ours)
        return row, f"mean error over {corrupted} corruptions"
    return row, f"error under {row.corruption.replace('_', ' ')}"


def _margins(winners: Sequence[_Place], others: Sequence[_Place]) -> str:
    best, following = winners[0], others[0]
    source = next((place for place in others if place.id == SOURCE), None)
    parts = []
    if source and source is not following:
        parts.append(f"{_points(best, source)} below {source.name}")
    parts.append(f"{_points(best, following)} below {following.name}, the next")
    if _within_spread(best.value, following.value):
        parts[-1] += ", which is within the spread of the seeds"
    if any(place.id == SOURCE for place in winners):
        parts[-1] += "; no adaptation lowers it"
    return " and ".join(parts)


def _points(best: _Place, other: _Place) -> str:
    gap = round(other.value.mean, 1) - round(best.value.mean, 1)
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
