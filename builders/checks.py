"""What is looked at before a build begins: is this its folder, and is there room."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from vidc import manifest as manifests
from vidc.builders.plan import Plan, estimated_bytes
from vidc.builders.settings import ALLOW_MISSING, difference, options_of
from vidc.builders.summary import size
from vidc.builders.workfolder import WorkFolder
from vidc.errors import InputError
from vidc.manifest import Manifest

ANOTHER = "choose another --out, or delete that folder"


def check_folder(out: Path, plan: Plan, versions: dict[str, str]) -> None:
    """Refuse a folder that holds something else, and name the difference."""
    begun = WorkFolder(out).begun()
    if manifests.exists(out):
        _check_finished(out, plan, manifests.read(out))
    elif begun:
        _check_options(out, plan.settings.options(), begun["options"])
        _check_options(out, versions, begun["versions"])
        _check_videos(out, plan.digest, begun["plan"])
    elif out.exists():
        _check_empty(out)


def _check_finished(out: Path, plan: Plan, manifest: Manifest) -> None:
    """As for one that is begun, but a finished dataset stays when a library is updated."""
    _check_options(out, plan.settings.options(), options_of(manifest))
    _check_videos(out, plan.digest, manifest.build.plan)
    if manifest.skipped and not plan.settings.skip_broken:
        raise InputError(f"{out} was built with --skip-broken: {ANOTHER}")


def _check_options(out: Path, ours: Mapping[str, object], theirs: Mapping[str, object]) -> None:
    if ours.get(ALLOW_MISSING):  # may be added to go on, as what is finished is the same with it
        theirs = {**theirs, ALLOW_MISSING: True}
    found = difference(ours, theirs)
    if found:
        raise InputError(f"{out} holds another build ({found}): {ANOTHER}")


def _check_videos(out: Path, ours: str, theirs: str) -> None:
    if ours != theirs:
        raise InputError(f"{out} was begun when --root held other videos or frames: {ANOTHER}")


def _check_empty(out: Path) -> None:
    """A folder of somebody's own is not a place to build in.

    Another of the --shards may have begun or even finished here since it was looked at: then it is
    looked at once more, when no other can change it.
    """
    names = (entry.name for entry in sorted(out.iterdir()))
    others = [name for name in names if not name.startswith(".") and name != "lost+found"]
    if others and not (WorkFolder(out).begun() or manifests.exists(out)):
        raise InputError(f"{out} is not empty (it holds {others[0]}): choose another --out")


def check_space(out: Path, plan: Plan, frames: int) -> None:
    """Refuse to begin what will not fit."""
    needed = estimated_bytes(plan.settings.recipe, frames)
    folder = next(path for path in (out, *out.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(
            f"{out} needs about {size(needed)} and its disk has {size(free)} free: make room, or "
            "take less (--limit-videos, --stride, --format jpeg)"
        )
