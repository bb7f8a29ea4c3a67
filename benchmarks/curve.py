"""One quantity against another: measured in turns, fitted by a straight line, drawn as a panel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measuring import Figure, Ran, Row, alternate, row

COLUMNS = 4  # panels side by side


@dataclass(frozen=True)
class Curve:
    """One quantity against another."""

    title: str
    against: str
    unit: str
    places: tuple[float, ...]
    figures: tuple[Figure, ...]

    @property
    def values(self) -> list[float]:
        """The medians."""
        return [figure.median for figure in self.figures]

    def line(self) -> tuple[float, float]:
        """Slope and start of the straight line that is nearest, by relative distance."""
        values = np.asarray(self.values)
        slope, start = np.polyfit(self.places, values, 1, w=1 / values)
        return float(slope), float(start)

    def rows(self) -> list[Row]:
        """Every measured place, and the fitted line."""
        slope, start = self.line()
        places = zip(self.places, self.figures, strict=True)
        return [
            *(
                row(f"{self.title}, {self.against} {x:g}", figure, self.unit)
                for x, figure in places
            ),
            row(f"{self.title}: fitted start", start, self.unit),
            row(f"{self.title}: fitted slope", slope, f"{self.unit} for each of {self.against}"),
        ]


def time_and_memory(
    what: str,
    against: str,
    places: Sequence[float],
    run: Callable[[float], Ran],
    rounds: int,
    *,
    together: bool = False,
) -> list[Curve]:
    """Two curves from whole commands: seconds, and the memory of the largest process or of all."""
    memory: dict[float, list[float]] = {place: [] for place in places}

    def seconds(place: float) -> float:
        ran = run(place)
        memory[place].append((ran.together if together else ran.largest) / 1e6)
        return ran.seconds

    runs = {str(place): partial(seconds, place) for place in places}
    found = alternate(runs, rounds, warm_up=0)
    spots = tuple(map(float, places))
    peaks = tuple(Figure(tuple(memory[place])) for place in places)
    of = "memory of all processes" if together else "peak memory"
    return [
        Curve(f"{what}, time", against, "s", spots, tuple(found.values())),
        Curve(f"{what}, {of}", against, "MB", spots, peaks),
    ]


def draw(curves: Sequence[Curve], picture: Path) -> None:
    """A panel a curve: what was measured with its spread, and the line fitted to it."""
    from matplotlib.figure import Figure as Canvas

    rows = -(-len(curves) // COLUMNS)
    canvas = Canvas(figsize=(13, 2.3 * rows), layout="constrained")
    panels = canvas.subplots(rows, COLUMNS, squeeze=False).ravel()
    for panel, curve in zip(panels, curves, strict=False):
        low, high = np.array([figure.spread for figure in curve.figures]).T
        values = np.asarray(curve.values)
        panel.errorbar(
            curve.places, values, (values - low, high - values), fmt="o", color="#0072b2", capsize=3
        )
        slope, start = curve.line()
        ends = np.array([0, max(curve.places)])
        panel.plot(ends, start + slope * ends, color="#d55e00", linewidth=1)
        panel.set(xlabel=curve.against, ylabel=curve.unit, ylim=(0, 1.1 * max(high)))
        panel.set_title(curve.title, fontsize="small")
        panel.grid(alpha=0.3)
    for panel in panels[len(curves) :]:
        panel.remove()
    canvas.savefig(picture, dpi=100)
