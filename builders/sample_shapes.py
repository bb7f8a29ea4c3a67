"""The sample's twelve kinds of object, drawn as coloured polygons.

An object lives in a box of about -1 to 1 by -0.8 to 0.8, x to the right, y down, and faces right.
``phase`` runs from 0 to 1 through one stride, wing beat or turn of the wheels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """One polygon, and the colour it takes: body, accent, dark or light."""

    role: str
    points: Points


def polygon(role: str, *corners: tuple[float, float]) -> Part:
    """A polygon from its corners."""
    return Part(role, np.array(corners, dtype=np.float64))


def ellipse(role: str, x: float, y: float, rx: float, ry: float, turn: float = 0.0) -> Part:
    """An ellipse around (x, y), turned clockwise by so many degrees."""
    around = np.linspace(0.0, math.tau, 28, endpoint=False)
    points = np.stack([rx * np.cos(around), ry * np.sin(around)], axis=1)
    return Part(role, points @ _rotation(turn) + (x, y))


def limb(role: str, x: float, y: float, length: float, width: float, turn: float) -> Part:
    """A tapered bar hanging from (x, y), swung by so many degrees towards the tail."""
    half = width / 2
    corners = [(-half, 0.0), (half, 0.0), (half * 0.8, length), (-half * 0.8, length)]
    return Part(role, np.array(corners) @ _rotation(turn) + (x, y))


def bar(role: str, start: tuple[float, float], end: tuple[float, float], width: float) -> Part:
    """A straight bar between two points."""
    a, b = np.array(start), np.array(end)
    along = (b - a) / np.hypot(*(b - a))
    across = np.array([-along[1], along[0]]) * width / 2
    return Part(role, np.array([a + across, b + across, b - across, a - across]))


def ring(role: str, x: float, y: float, outer: float, inner: float) -> Part:
    """A ring, as one polygon that goes round twice and so leaves its middle open."""
    around = np.linspace(0.0, math.tau, 29)
    circle = np.stack([np.cos(around), np.sin(around)], axis=1)
    there_and_back = np.concatenate([outer * circle, inner * circle[::-1]])
    return Part(role, there_and_back + np.array([x, y]))


def _rotation(degrees: float) -> Points:
    angle = math.radians(degrees)
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, s], [-s, c]])


def _wave(phase: float, shift: float = 0.0) -> float:
    return math.sin(math.tau * (phase + shift))


def _legs(
    role: str, xs: Sequence[float], y: float, length: float, width: float, phase: float
) -> list[Part]:
    return [
        limb(role, x, y, length, width, 22 * _wave(phase, 0.5 * (i % 2))) for i, x in enumerate(xs)
    ]


def _wheel(x: float, y: float, radius: float, phase: float) -> list[Part]:
    turn = 360 * phase
    return [
        ellipse("dark", x, y, radius, radius),
        ellipse("light", x, y, radius * 0.45, radius * 0.45),
        limb("dark", x, y, radius * 0.45, radius * 0.2, turn),
    ]


def airplane(phase: float) -> list[Part]:
    """Seen from above, with swept wings."""
    tilt = 0.04 * _wave(phase)
    return [
        polygon("accent", (0.25, 0.05), (-0.3, 0.8 + tilt), (-0.52, 0.8 + tilt), (-0.2, 0.05)),
        polygon("accent", (0.25, -0.05), (-0.3, -0.8 + tilt), (-0.52, -0.8 + tilt), (-0.2, -0.05)),
        polygon("accent", (-0.7, 0.0), (-0.95, 0.34), (-1.05, 0.34), (-0.95, 0.0)),
        polygon("accent", (-0.7, 0.0), (-0.95, -0.34), (-1.05, -0.34), (-0.95, 0.0)),
        ellipse("body", 0.0, 0.0, 1.0, 0.15),
        ellipse("light", 0.72, 0.0, 0.13, 0.08),
        ellipse("dark", 0.0, 0.42, 0.14, 0.06),
        ellipse("dark", 0.0, -0.42, 0.14, 0.06),
    ]


def bicycle(phase: float) -> list[Part]:
    """Two open wheels and a diamond frame."""
    crank = limb("dark", -0.05, 0.32, 0.2, 0.07, 360 * phase)
    back, front, saddle, head = (-0.6, 0.3), (0.6, 0.3), (-0.25, -0.28), (0.42, -0.3)
    pedals = (-0.05, 0.32)
    frame = [(back, saddle), (back, pedals), (pedals, saddle), (pedals, head), (saddle, head)]
    return [
        ring("dark", *back, 0.42, 0.32),
        ring("dark", *front, 0.42, 0.32),
        *(bar("body", start, end, 0.1) for start, end in [*frame, (head, front)]),
        bar("body", head, (0.36, -0.52), 0.09),
        bar("accent", (0.24, -0.55), (0.56, -0.5), 0.1),
        bar("accent", (-0.44, -0.4), (-0.1, -0.36), 0.13),
        bar("body", saddle, (-0.28, -0.4), 0.09),
        crank,
    ]


def bird(phase: float) -> list[Part]:
    """In flight, both wings beating."""
    lift = 0.62 * _wave(phase)
    return [
        polygon("dark", (0.34, -0.04), (0.3, -0.14 - lift), (-0.06, -0.2 - lift), (-0.08, 0.0)),
        polygon("accent", (-0.6, 0.02), (-1.05, -0.2), (-0.94, 0.04), (-1.05, 0.26)),
        ellipse("body", -0.1, 0.05, 0.62, 0.24, 6),
        ellipse("body", 0.55, -0.06, 0.24, 0.22),
        polygon("accent", (0.72, -0.16), (1.05, -0.02), (0.72, 0.06)),
        ellipse("dark", 0.6, -0.12, 0.05, 0.05),
        polygon("accent", (0.2, 0.0), (-0.05, -0.14 - lift), (-0.6, -0.24 - lift), (-0.4, 0.06)),
        polygon("light", (0.06, 0.0), (-0.12, -0.6 * lift), (-0.4, -0.6 * lift), (-0.28, 0.04)),
    ]


def bus(phase: float) -> list[Part]:
    """A long box with a row of windows."""
    windows = [
        polygon("light", (x, -0.42), (x + 0.24, -0.42), (x + 0.24, -0.1), (x, -0.1))
        for x in (-0.88, -0.57, -0.26, 0.05, 0.36)
    ]
    return [
        polygon("body", (-1.0, -0.55), (0.95, -0.55), (1.0, -0.4), (1.0, 0.42), (-1.0, 0.42)),
        *windows,
        polygon("light", (0.7, -0.42), (0.94, -0.42), (0.96, 0.35), (0.7, 0.35)),
        polygon("accent", (-1.0, 0.06), (0.66, 0.06), (0.66, 0.18), (-1.0, 0.18)),
        *_wheel(-0.55, 0.44, 0.2, phase),
        *_wheel(0.45, 0.44, 0.2, phase),
    ]


def car(phase: float) -> list[Part]:
    """A low body with a rounded cabin."""
    return [
        polygon("body", (-0.62, -0.02), (-0.4, -0.42), (0.22, -0.42), (0.5, -0.02)),
        polygon("light", (-0.5, -0.04), (-0.34, -0.34), (-0.1, -0.34), (-0.1, -0.04)),
        polygon("light", (-0.02, -0.04), (-0.02, -0.34), (0.18, -0.34), (0.38, -0.04)),
        polygon(
            "body",
            (-1.0, 0.02), (-0.9, -0.06), (0.55, -0.06), (0.95, 0.06), (1.0, 0.34), (-1.0, 0.34),
        ),
        polygon("accent", (-1.0, 0.22), (1.0, 0.22), (1.0, 0.3), (-1.0, 0.3)),
        *_wheel(-0.56, 0.34, 0.24, phase),
        *_wheel(0.56, 0.34, 0.24, phase),
    ]  # fmt: skip


def elephant(phase: float) -> list[Part]:
    """A heavy body, an ear and a trunk."""
    sway = 0.1 * _wave(phase)
    return [
        *_legs("body", (-0.62, -0.38, 0.08, 0.3), 0.2, 0.56, 0.24, phase),
        ellipse("body", -0.18, -0.08, 0.66, 0.46),
        ellipse("body", 0.55, -0.2, 0.34, 0.34),
        polygon("body", (0.68, -0.2), (0.92, -0.1), (0.98 + sway, 0.6), (0.82 + sway, 0.62)),
        polygon("light", (0.62, 0.06), (0.74, 0.04), (1.0, 0.2), (0.98, 0.26)),
        ellipse("accent", 0.36, -0.16, 0.24, 0.34, 10 + 60 * sway),
        ellipse("dark", 0.7, -0.26, 0.05, 0.05),
        bar("dark", (-0.82, -0.12), (-0.96, 0.24 + sway), 0.07),
    ]


def lizard(phase: float) -> list[Part]:
    """Seen from above, winding."""
    xs = np.linspace(-1.0, 0.6, 12)
    middle = 0.22 * np.sin(math.tau * (xs * 0.7 - phase)) * (1.2 - (xs + 1.0) * 0.45)
    width = np.interp(xs, [-1.0, -0.4, -0.1, 0.45, 0.6], [0.02, 0.09, 0.2, 0.16, 0.1])
    back = np.concatenate(
        [np.stack([xs, middle - width], 1), np.stack([xs, middle + width], 1)[::-1]]
    )
    step = 20 * _wave(phase)
    spots = (-0.2, 0.1, 0.4)
    front, rear = float(np.interp(0.4, xs, middle)), float(np.interp(-0.12, xs, middle))
    return [
        limb("accent", 0.4, front, 0.5, 0.11, -30 + step),
        limb("accent", 0.4, front, 0.5, 0.11, 210 + step),
        limb("accent", -0.12, rear, 0.5, 0.12, 30 - step),
        limb("accent", -0.12, rear, 0.5, 0.12, 150 - step),
        Part("body", back),
        ellipse("body", 0.74, float(middle[-1]), 0.26, 0.15),
        *(ellipse("dark", x, float(np.interp(x, xs, middle)), 0.06, 0.05) for x in spots),
        ellipse("light", 0.82, float(middle[-1]) - 0.09, 0.05, 0.05),
        ellipse("light", 0.82, float(middle[-1]) + 0.09, 0.05, 0.05),
    ]


def rabbit(phase: float) -> list[Part]:
    """Sitting up, with long ears."""
    twitch = 8 * _wave(phase)
    return [
        ellipse("light", -0.62, 0.36, 0.16, 0.16),
        ellipse("body", -0.15, 0.24, 0.5, 0.44, -12),
        ellipse("accent", -0.2, 0.46, 0.32, 0.26),
        ellipse("body", 0.12, -0.55, 0.1, 0.36, -14 + twitch),
        ellipse("body", 0.4, -0.55, 0.1, 0.36, 10 + twitch),
        ellipse("light", 0.4, -0.55, 0.04, 0.26, 10 + twitch),
        ellipse("body", 0.3, -0.08, 0.3, 0.26),
        ellipse("dark", 0.4, -0.14, 0.06, 0.06),
        ellipse("dark", 0.58, -0.02, 0.05, 0.04),
        limb("body", 0.18, 0.3, 0.42, 0.16, -6 + twitch),
        ellipse("body", 0.0, 0.68, 0.36, 0.1),
    ]


def sheep(phase: float) -> list[Part]:
    """A woolly cloud with a dark face."""
    wool = [
        ellipse("light", -0.12 + 0.52 * math.cos(a), -0.1 + 0.3 * math.sin(a), 0.26, 0.24)
        for a in np.linspace(0.0, math.tau, 9, endpoint=False)
    ]
    nod = 0.06 * _wave(phase)
    return [
        *_legs("dark", (-0.52, -0.32, 0.06, 0.24), 0.2, 0.5, 0.12, phase),
        *wool,
        ellipse("light", -0.12, -0.1, 0.5, 0.32),
        ellipse("dark", 0.66, -0.12 + nod, 0.2, 0.26, -24),
        ellipse("dark", 0.46, -0.24 + nod, 0.18, 0.08, 20),
        ellipse("light", 0.58, -0.44 + nod, 0.2, 0.14),
        ellipse("accent", 0.72, -0.16 + nod, 0.05, 0.05),
    ]


def train(phase: float) -> list[Part]:
    """A steam engine: boiler, cab, chimney and small wheels."""
    wheels = [wheel for x in (-0.72, -0.3, 0.12, 0.54) for wheel in _wheel(x, 0.46, 0.17, phase)]
    puff = 0.06 * _wave(phase)
    return [
        ellipse("light", 0.42 - puff, -0.66, 0.2, 0.12),
        ellipse("light", 0.18 - 2 * puff, -0.74, 0.16, 0.1),
        polygon("dark", (0.46, -0.2), (0.42, -0.56), (0.74, -0.56), (0.7, -0.2)),
        polygon("body", (-0.3, -0.2), (0.84, -0.2), (0.92, 0.0), (0.84, 0.26), (-0.3, 0.26)),
        polygon("body", (-0.92, -0.52), (-0.28, -0.52), (-0.28, 0.34), (-0.92, 0.34)),
        polygon("dark", (-1.0, -0.62), (-0.2, -0.62), (-0.2, -0.5), (-1.0, -0.5)),
        polygon("light", (-0.78, -0.4), (-0.42, -0.4), (-0.42, -0.08), (-0.78, -0.08)),
        *(polygon("accent", (x, -0.2), (x + 0.1, -0.2), (x + 0.1, 0.26), (x, 0.26))
          for x in (-0.1, 0.25, 0.6)),
        polygon("accent", (-0.95, 0.28), (0.85, 0.28), (1.08, 0.58), (0.8, 0.46), (-0.95, 0.4)),
        *wheels,
    ]  # fmt: skip


def turtle(phase: float) -> list[Part]:
    """Seen from above: a patterned shell, four flippers and a head."""
    stroke = 18 * _wave(phase)
    scutes = [
        ellipse("accent", 0.36 * math.cos(a) - 0.05, 0.32 * math.sin(a), 0.15, 0.13)
        for a in np.linspace(0.0, math.tau, 6, endpoint=False)
    ]
    return [
        ellipse("accent", 0.8, 0.0, 0.22, 0.16),
        ellipse("dark", 0.9, -0.07, 0.04, 0.04),
        ellipse("dark", 0.9, 0.07, 0.04, 0.04),
        limb("accent", 0.3, 0.3, 0.55, 0.26, -30 + stroke),
        limb("accent", 0.3, -0.3, 0.55, 0.26, 210 - stroke),
        limb("accent", -0.4, 0.3, 0.4, 0.22, 40 - stroke),
        limb("accent", -0.4, -0.3, 0.4, 0.22, 140 + stroke),
        polygon("accent", (-0.6, -0.08), (-0.95, 0.0), (-0.6, 0.08)),
        ellipse("body", -0.05, 0.0, 0.66, 0.56),
        *scutes,
        ellipse("accent", -0.05, 0.0, 0.16, 0.14),
    ]


def zebra(phase: float) -> list[Part]:
    """A striped horse."""
    nod = 0.05 * _wave(phase)
    neck = [(0.3, -0.1), (0.62, -0.62 + nod), (0.86, -0.52 + nod), (0.62, 0.1)]
    stripes = [
        polygon("dark", (x, -0.34), (x + 0.09, -0.34), (x + 0.05, 0.22), (x - 0.04, 0.22))
        for x in (-0.58, -0.36, -0.14, 0.08, 0.3)
    ]
    return [
        *_legs("light", (-0.56, -0.42, 0.24, 0.4), 0.1, 0.66, 0.13, phase),
        bar("dark", (-0.72, -0.14), (-0.92, 0.3 + nod), 0.09),
        ellipse("light", -0.1, -0.06, 0.66, 0.3),
        polygon("light", *neck),
        ellipse("light", 0.84, -0.5 + nod, 0.26, 0.14, 26),
        *stripes,
        bar("dark", (0.52, -0.3 + nod), (0.74, -0.22 + nod), 0.08),
        bar("dark", (0.42, -0.12 + nod), (0.66, -0.04 + nod), 0.08),
        bar("dark", (0.36, -0.16), (0.64, -0.7 + nod), 0.12),
        ellipse("dark", 1.02, -0.42 + nod, 0.09, 0.09),
    ]


SHAPES: dict[str, Callable[[float], list[Part]]] = {
    "airplane": airplane,
    "bicycle": bicycle,
    "bird": bird,
    "bus": bus,
    "car": car,
    "elephant": elephant,
    "lizard": lizard,
    "rabbit": rabbit,
    "sheep": sheep,
    "train": train,
    "turtle": turtle,
    "zebra": zebra,
}
