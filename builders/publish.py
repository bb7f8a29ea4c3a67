"""``python -m vidc.build publish``: upload a built dataset, or its recipe alone, to the Hub."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from vidc import manifest as manifests
from vidc.commandline import say
from vidc.errors import InputError

if TYPE_CHECKING:
    from vidc.builders.upload import Plan, Remote
    from vidc.manifest import Manifest

EXAMPLES = """\
examples:
  COMMAND lasot-c my-org/lasot-c                   private
  COMMAND lasot-c my-org/lasot-c --recipe-only     no pixel
  COMMAND lasot-c my-org/lasot-c --public --confirm-rights
Given again, it uploads what is not there yet; the token is of 'hf auth login'."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of publish."""
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="a built dataset")
    add("repo", metavar="ORG/NAME", help="where it goes on the Hub")
    add(
        "--recipe-only", action="store_true", help="manifest, annotations and card, no source pixel"
    )
    add("--public", action="store_true", help="for everybody to see; shows the source's terms")
    add(
        "--confirm-rights", action="store_true", help="you may publish these frames (with --public)"
    )


def main(args: argparse.Namespace) -> int:
    """Check, upload, tag, and say how to load it."""
    from vidc.builders import card, upload
    from vidc.hub import is_hub_id

    if not is_hub_id(args.repo):
        raise InputError(f"'{args.repo}' is not a Hub id: give ORG/NAME.")
    manifest = manifests.read(args.folder)
    plan = upload.make_plan(args.folder, manifest, args.repo, recipe_only=args.recipe_only)
    if args.public:
        say(card.licence_section(card.render(manifest, args.repo)))
        if not args.confirm_rights:
            raise InputError(
                "--public needs --confirm-rights: read the terms above, and give both if you may "
                "publish these frames."
            )
    remote = upload.Remote.connect(args.repo)
    remote.check(manifest, plan, public=args.public)
    _verify(args.folder)
    remote.create(public=args.public)
    _upload(remote, plan, manifest, public=args.public)
    return 0


def _verify(folder: Path) -> None:
    from vidc.builders.verify import verify
    from vidc.engines import Engine

    findings = verify(folder, Engine())
    if findings:
        raise InputError(
            f"{folder} is not published, {len(findings)} things are wrong with it (first: "
            f"{findings[0]}): see 'python -m vidc.build verify {folder}'."
        )


def _upload(remote: Remote, plan: Plan, manifest: Manifest, public: bool) -> None:
    sent = remote.send(plan)
    remote.set_public(public)
    tag = f"recipe-{manifest.recipe.version}"
    remote.tag(tag)
    if sent.files:
        files = "1 file" if sent.files == 1 else f"{sent.files} files"
        say(f"uploaded {files} ({sent.bytes / 1e6:,.1f} MB) to {remote.address}")
    else:
        say(f"nothing to upload: {remote.address} has it all")
    say(f"tag: {tag}")
    if plan.recipe_only:
        say(f"python -m vidc.build from-recipe {remote.repo} --root CLEAN --out {manifest.name}")
    else:
        say(f'load_dataset("{remote.repo}", "{plan.default_config}", split="{manifest.split}")')
