"""``python -m vidc.build`` with no argument: render the sample and build its two datasets."""

from __future__ import annotations

from pathlib import Path

from vidc.builders import sample
from vidc.builders.building import Request, build, open_clean
from vidc.builders.pipeline import Recipe
from vidc.builders.settings import DEFAULT_CORRUPTIONS, Settings, corruption_list
from vidc.files import explained

FOLDER = Path("datasets/sample")
# source, where its clean videos are, where its dataset goes
PARTS = (
    ("imagenet-vid", "clean/ILSVRC2015", "imagenet-vid-c"),
    ("lasot", "clean/LaSOT", "lasot-c"),
)


def build_sample(folder: Path = FOLDER) -> int:
    """Render what is not there and build what is not finished, the way of the real datasets."""
    with explained(folder, "give the command in another folder"):
        sample.render(folder / "clean")
    recipe = Recipe(
        corruptions=corruption_list(DEFAULT_CORRUPTIONS, (sample.SEVERITY,), clean=True),
        size=sample.SIZE,
    )
    for name, root, out in PARTS:
        source, absolute = open_clean(name, folder / root, allow_missing=True)
        settings = Settings(
            name=source.dataset,
            source=source.name,
            split=source.split,
            recipe=recipe,
            allow_missing=True,
        )
        build(Request(settings, source, absolute, folder / out))
    return 0
