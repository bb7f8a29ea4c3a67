"""The pictures in a dataset's assets/: a contact sheet, a clip, its classes, and the rain."""

from __future__ import annotations

import io
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vidc.classes import class_list
from vidc.files import write_whole
from vidc.frames import FrameLabels, Pixels
from vidc.manifest import Manifest
from vidc.reading import load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "assets"
CONTACT_SHEET = f"{FOLDER}/contact-sheet.png"
CLIP = f"{FOLDER}/clip.webp"
CLASSES = f"{FOLDER}/classes.png"
RAIN = f"{FOLDER}/rain.png"
_WITH_PIXELS = (CONTACT_SHEET, CLIP)

_SHEET_VIDEOS = 4
_MOST_CONFIGS = 6
_PANEL = 160
_CLIP_FRAMES = 32
_CLIP_MILLISECONDS = 100


def names(manifest: Manifest, recipe_only: bool = False) -> tuple[str, ...]:
    """The pictures that a dataset has; a recipe's show no pixel of the source."""
    shows_pixels = manifest.frames > 0 and not recipe_only
    rains = any(corruption == "rain" for corruption, _ in manifest.recipe.corruptions)
    return (CLASSES, *((RAIN,) if rains else ()), *(_WITH_PIXELS if shows_pixels else ()))


def write(folder: Path, manifest: Manifest) -> None:
    """Draw the pictures; the same dataset gives the same bytes."""
    import matplotlib

    (folder / FOLDER).mkdir(exist_ok=True)
    with matplotlib.rc_context():
        # The defaults, whatever style the user has set; not rc_context(rcParamsDefault), which
        # looks for a screen's toolkit.
        matplotlib.rcdefaults()
        write_whole(folder / CLASSES, _histogram(manifest))
        if RAIN in names(manifest):
            # In the package by a link, as the card's text is.
            write_whole(folder / RAIN, (resources.files("vidc") / "rain.png").read_bytes())
        if CONTACT_SHEET in names(manifest):
            configs = manifest.configs[:_MOST_CONFIGS]
            labels = load(folder, configs[0]).labels()
            write_whole(folder / CONTACT_SHEET, _contact_sheet(folder, configs, labels))
            write_whole(folder / CLIP, _clip(folder, configs, labels))


def _contact_sheet(folder: Path, configs: tuple[str, ...], labels: FrameLabels) -> bytes:
    from matplotlib.figure import Figure

    positions = _sheet_positions(labels)
    figure = Figure(figsize=(2 * len(configs), 2.1 * len(positions)), dpi=100)
    axes = figure.subplots(len(positions), len(configs), squeeze=False)
    for column, config in enumerate(configs):
        reader = load(folder, config)
        for row, frame in enumerate(reader.frames(positions)):
            axis = axes[row, column]
            axis.imshow(_shown(frame.image))
            axis.set_axis_off()
            if row == 0:
                axis.set_title(config, fontsize=10)
    figure.subplots_adjust(0.01, 0.01, 0.99, 0.94, wspace=0.03, hspace=0.03)
    return _png(figure)


def _sheet_positions(labels: FrameLabels) -> list[int]:
    """The middle frames of a few videos of different classes, as many as there are."""
    starts = _starts(labels)
    middles = [(a + b) // 2 for a, b in zip(starts, [*starts[1:], len(labels)], strict=True)]
    seen: dict[int, int] = {}
    for middle in middles:
        seen.setdefault(int(labels.label[middle]), middle)
    different = sorted(seen.values())
    step = max(1, len(different) // _SHEET_VIDEOS)
    return different[::step][:_SHEET_VIDEOS]


def _clip(folder: Path, configs: tuple[str, ...], labels: FrameLabels) -> bytes:
    """Consecutive frames of the first video that is long enough, the configs side by side."""
    from PIL import Image

    starts = _starts(labels)
    lengths = np.diff([*starts, len(labels)])
    chosen = int(np.argmax(lengths >= min(_CLIP_FRAMES, lengths.max())))
    positions = range(starts[chosen], starts[chosen] + min(_CLIP_FRAMES, int(lengths[chosen])))
    strips: list[list[Pixels]] = [[] for _ in positions]
    for config in configs:
        for number, frame in enumerate(load(folder, config).frames(positions)):
            strips[number].append(_panel(frame.image))
    pictures = [Image.fromarray(np.hstack(strip)) for strip in strips]
    # Frames of a video may differ in size, and those of a WebP may not.
    pictures = [picture.resize(pictures[0].size) for picture in pictures]
    file = io.BytesIO()
    pictures[0].save(
        file,
        "WEBP",
        save_all=True,
        append_images=pictures[1:],
        duration=_CLIP_MILLISECONDS,
        loop=0,
        quality=60,
    )
    return file.getvalue()


def _panel(image: bytes | Pixels) -> Pixels:
    """A frame shrunk to one height, so that configs line up."""
    from PIL import Image

    picture = Image.fromarray(_shown(image))
    width = max(1, round(picture.width * _PANEL / picture.height))
    return np.asarray(picture.resize((width, _PANEL), Image.Resampling.BILINEAR))


def _shown(image: bytes | Pixels) -> Pixels:
    if isinstance(image, bytes):
        raise TypeError("a decoded frame is needed")
    return image


def _starts(labels: FrameLabels) -> list[int]:
    """The position of each video's first frame."""
    return [0, *(np.flatnonzero(labels.videos[1:] != labels.videos[:-1]) + 1).tolist()]


def _histogram(manifest: Manifest) -> bytes:
    from matplotlib.figure import Figure

    classes = class_list(manifest.classes).names
    counts = [manifest.class_counts.get(name, 0) for name in classes]
    figure = Figure(figsize=(9, 0.19 * len(classes) + 0.9), dpi=100)
    axis = figure.subplots()
    axis.barh(range(len(classes)), counts, color="#4477aa")
    axis.set_yticks(range(len(classes)), classes, fontsize=8)
    axis.set_ylim(len(classes) - 0.5, -0.5)
    axis.set_xlabel("frames")
    axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    return _png(figure)


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    # Without the library's version in it, which would be all that differs between two.
    metadata: dict[str, Any] = {"Software": None}
    figure.savefig(file, format="png", metadata=metadata)
    return file.getvalue()
