"""One frame of one of the sample's clips: its pixels, and what is to be seen in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vidc.builders.sample_backdrop import MARGIN
from vidc.builders.sample_looks import Look, mixed
from vidc.builders.sample_scene import Actor, Clip, Scrap
from vidc.builders.sample_shapes import SHAPES, Points, ellipse
from vidc.frames import Pixels

Box = tuple[float, float, float, float]

_SUBPIXEL_BITS = 4
_WALL_STARTS, _WALL_SPEED, _WALL_WIDTH = 8, 24, 150  # frames; pixels a frame; pixels
_WALL_COLOUR = (150, 146, 138)


@dataclass(frozen=True)
class Seen:
    """An actor in a frame: its visible box (x, y, width, height), or None when out of view."""

    actor: int
    kind: str
    box: Box | None
    cut: bool  # part of it is beyond the frame's edge
    hidden: bool  # all of it is behind the wall


def paint(clip: Clip, time: int) -> tuple[Pixels, tuple[Seen, ...]]:
    """One frame of a clip, RGB, and what is to be seen in it."""
    frame = _ground(clip, time)
    seen = tuple(_draw(frame, clip, number, time) for number in range(len(clip.actors)))
    for scrap in clip.scraps:
        _draw_scrap(frame, scrap, time)
    if clip.wall:
        left, right = _wall(time)
        frame[:, max(left, 0) : max(right, 0)] = _WALL_COLOUR
    return frame, seen


def _draw_scrap(frame: Pixels, scrap: Scrap, time: int) -> None:
    import cv2

    # Those that leave on one side come in again on the other.
    height, width = frame.shape[:2]
    centre = np.array(
        [(scrap.x + scrap.across * time) % width, (scrap.y + scrap.down * time) % height]
    )
    leaf = ellipse("", 0.0, 0.0, scrap.length / 2, scrap.width / 2, scrap.turn + scrap.spin * time)
    corners = [np.rint((leaf.points + centre) * 2**_SUBPIXEL_BITS).astype(np.int32)]
    cv2.fillPoly(frame, corners, scrap.colour, cv2.LINE_AA, _SUBPIXEL_BITS)


def _wall(time: int) -> tuple[int, int]:
    """Where the wall begins and ends, from left to right."""
    right = _WALL_SPEED * (time - _WALL_STARTS)
    return right - _WALL_WIDTH, right


def _ground(clip: Clip, time: int) -> Pixels:
    import cv2

    look = clip.look
    dx, dy = clip.pan[0].at(time), clip.pan[1].at(time)
    centre = ((look.width - 1) / 2 + MARGIN, (look.height - 1) / 2 + MARGIN)
    move = cv2.getRotationMatrix2D(centre, clip.tilt.at(time), 1.0)
    move[:, 2] += np.array([dx - MARGIN, dy - MARGIN])
    size = (look.width, look.height)
    moved = cv2.warpAffine(clip.backdrop, move, size, borderMode=cv2.BORDER_REFLECT_101)
    return np.asarray(moved, np.uint8)


def _draw(frame: Pixels, clip: Clip, number: int, time: int) -> Seen:
    """Paint one actor into the frame and tell where it is seen."""
    import cv2

    actor, look = clip.actors[number], clip.look
    parts = SHAPES[actor.kind](actor.stride * time % 1.0)
    outlines = [_placed(part.points, actor, look, time) for part in parts]
    for part, points in zip(parts, outlines, strict=True):
        corners = [np.rint(points * 2**_SUBPIXEL_BITS).astype(np.int32)]
        colour = actor.colours[part.role]
        cv2.fillPoly(frame, corners, colour, cv2.LINE_AA, _SUBPIXEL_BITS)
        if look.outlined:
            darker = mixed(colour, (0, 0, 0), 0.4)
            cv2.polylines(frame, corners, True, darker, 1, cv2.LINE_AA, _SUBPIXEL_BITS)
    return _seen(np.concatenate(outlines), clip, number, time)


def _placed(points: Points, actor: Actor, look: Look, time: int) -> Points:
    """The points of a part where the frame at this time has them."""
    angle = math.radians(actor.turn.at(time))
    c, s = math.cos(angle), math.sin(angle)
    turned = (points * (actor.facing, 1)) @ np.array([[c, s], [-s, c]])
    away = max(0.0, 1.0 - time / actor.entrance) if actor.entrance else 0.0
    x = actor.x.at(time) - actor.facing * away * 1.3 * look.width
    return np.asarray(turned * actor.size.at(time) + (x, actor.y.at(time)))


def _seen(points: Points, clip: Clip, number: int, time: int) -> Seen:
    look = clip.look
    kind = clip.actors[number].kind
    # OpenCV draws around the middles of pixels, boxes count from the frame's edge.
    least, most = points.min(axis=0) + 0.5, points.max(axis=0) + 0.5
    x0, y0 = (max(float(at), 0.0) for at in least)
    x1, y1 = min(float(most[0]), look.width), min(float(most[1]), look.height)
    whole = float(np.prod(most - least))
    inside = max(x1 - x0, 0.0) * max(y1 - y0, 0.0)
    box = (x0, y0, x1 - x0, y1 - y0) if inside > 0.25 * whole else None
    left, right = _wall(time)
    hidden = clip.wall and box is not None and left <= x0 and x1 <= right
    return Seen(number, kind, box, cut=inside < 0.9 * whole, hidden=hidden)
