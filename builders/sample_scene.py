"""One clip of the sample: objects that move, turn and grow before a backdrop that moves too."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from vidc.builders.sample_backdrop import make_backdrop
from vidc.builders.sample_dice import Dice
from vidc.builders.sample_looks import Colour, Ground, Look, mixed
from vidc.frames import Pixels

_ENTRANCE_FRAMES = 8
_SCRAPS = (0, 12, 24, 36, 48)  # how many there may be in a clip


@dataclass(frozen=True)
class Swing:
    """A value that swings around a middle as time goes by."""

    middle: float
    reach: float
    speed: float  # turns a frame
    start: float

    def at(self, time: float) -> float:
        """The value at a time, counted in frames."""
        return self.middle + self.reach * math.sin(math.tau * (self.speed * time + self.start))


@dataclass(frozen=True)
class Actor:
    """One object of a clip: what it is, its colours and how it moves."""

    kind: str
    colours: dict[str, Colour]
    facing: int
    x: Swing
    y: Swing
    size: Swing
    turn: Swing
    stride: float  # strides a frame
    entrance: int = 0  # frames it takes to come in from the side


@dataclass(frozen=True)
class Scrap:
    """Something small that flies by in front: a leaf, a piece of paper."""

    x: float
    y: float
    across: float  # pixels a frame
    down: float
    length: float
    width: float
    turn: float  # degrees
    spin: float  # degrees a frame
    colour: Colour


@dataclass(frozen=True)
class Clip:
    """Everything needed to paint any frame of one clip."""

    look: Look
    ground: Ground
    backdrop: Pixels
    pan: tuple[Swing, Swing]
    tilt: Swing
    actors: tuple[Actor, ...]
    scraps: tuple[Scrap, ...]
    wall: bool = False  # a wall passes between camera and actors


def make_clip(name: str, look: Look, kind: str) -> Clip:
    """The clip of one object that belongs to a name: same name, same clip."""
    dice = Dice(name)
    ground = dice.pick(look.grounds)
    return Clip(
        look=look,
        ground=ground,
        backdrop=make_backdrop(look, ground, dice),
        pan=(_swing(dice, 0, 18, 0.03), _swing(dice, 0, 14, 0.03)),
        tilt=_swing(dice, 0, 5, 0.02),
        actors=(_actor(kind, look, ground, dice, 0.5, (0.26, 0.36)),),
        scraps=tuple(_scrap(look, dice) for _ in range(dice.pick(_SCRAPS))),
    )


def with_companion(clip: Clip, name: str, kind: str) -> Clip:
    """The clip with a second, smaller object in its upper corner."""
    small = _actor(kind, clip.look, clip.ground, Dice(f"{name} companion"), 0.22, (0.1, 0.12))
    small = replace(small, y=replace(small.y, middle=0.2 * clip.look.height))
    return replace(clip, actors=(*clip.actors, small))


def with_entrance(clip: Clip) -> Clip:
    """The clip with its object coming in from the side: the first frames are empty."""
    entering = replace(clip.actors[0], entrance=_ENTRANCE_FRAMES)
    return replace(clip, actors=(entering, *clip.actors[1:]))


def with_wall(clip: Clip) -> Clip:
    """The clip with a wall that passes by and for a moment hides everything behind it."""
    return replace(clip, wall=True)


def _swing(dice: Dice, middle: float, reach: float, speed: float) -> Swing:
    return Swing(
        middle,
        dice.between(0.5, 1.0) * reach,
        dice.between(0.5, 1.0) * speed,
        dice.between(0.0, 1.0),
    )


def _actor(
    kind: str, look: Look, ground: Ground, dice: Dice, across: float, sizes: tuple[float, float]
) -> Actor:
    """``across`` and ``sizes`` are parts of the frame's width and height."""
    size = dice.between(*sizes) * look.height
    return Actor(
        kind=kind,
        colours=_colours(look, ground, dice),
        facing=dice.pick((-1, 1)),
        x=_swing(dice, across * look.width + dice.between(-8, 8), 9, 0.035),
        y=_swing(dice, 0.5 * look.height + dice.between(-6, 6), 7, 0.035),
        size=_swing(dice, size, 0.14 * size, 0.03),
        turn=_swing(dice, dice.between(-12, 12), 14, 0.03),
        stride=dice.between(0.04, 0.1),
    )


def _scrap(look: Look, dice: Dice) -> Scrap:
    grey = dice.pick((30, 60, 200, 235, 255))
    return Scrap(
        x=dice.between(0, look.width),
        y=dice.between(0, look.height),
        across=dice.between(-4, 4),
        down=dice.between(-2, 4),
        length=dice.between(4, 16),
        width=dice.between(1, 3),
        turn=dice.between(0, 360),
        spin=dice.between(-12, 12),
        colour=dice.pick((dice.pick(look.bodies), (grey, grey, grey))),
    )


def _colours(look: Look, ground: Ground, dice: Dice) -> dict[str, Colour]:
    body = dice.pick(look.bodies)
    accent = dice.pick([colour for colour in look.bodies if colour != body])
    grey = int(dice.between(16, 48))
    white = int(dice.between(212, 246))
    colours = {
        "body": body,
        "accent": accent,
        "dark": (grey, grey, grey + 6),
        "light": (white, white, white - 8),
    }
    haze = dice.between(0, look.haze)
    return {role: mixed(colour, ground[1], haze) for role, colour in colours.items()}
