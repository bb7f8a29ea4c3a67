"""Small builds for the tests: a tree, a request, and what came out of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from vidc import manifest as manifests
from vidc.builders import assets, card
from vidc.builders.building import Request, open_clean
from vidc.builders.pipeline import Recipe
from vidc.builders.settings import Settings
from vidc.engines import Engine
from vidc.images import Encoding

CORRUPTIONS = (("clean", 0), ("gaussian_noise", 5), ("snow", 3))
SERIAL = Engine("serial")


def request(
    root: Path,
    out: Path,
    *,
    engine: Engine = SERIAL,
    share: tuple[int, int] = (0, 1),
    dry_run: bool = False,
    source: str = "imagenet-vid",
    corruptions: tuple[tuple[str, int], ...] = CORRUPTIONS,
    size: int | None = 32,
    encoding: Encoding | None = None,
    seed: int = 0,
    stride: int = 1,
    **settings: object,
) -> Request:
    """A request whose every choice is small, unless it is given."""
    allow_missing = bool(settings.get("allow_missing", False))
    opened, absolute = open_clean(source, root, None, allow_missing)
    recipe = Recipe(corruptions, size, encoding or Encoding(), seed=seed, stride=stride)
    chosen = Settings(
        **{
            "name": opened.dataset,
            "source": opened.name,
            "split": opened.split,
            "recipe": recipe,
            **settings,
        }
    )
    return Request(chosen, opened, absolute, out, engine, share, dry_run)


def write_card(folder: Path) -> None:
    """A card with pictures in name only: the real one takes longer than these builds."""
    (folder / assets.FOLDER).mkdir(exist_ok=True)
    for name in (card.FILE, *assets.names(manifests.read(folder))):
        (folder / name).write_text("card\n")


def contents(folder: Path) -> dict[str, str]:
    """The sha256 of every file under a folder, hidden ones included, by relative path."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
