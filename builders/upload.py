"""Uploading: which files a dataset's repository should hold, and bringing it there."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from vidc import manifest as manifests
from vidc.builders import assets, card
from vidc.builders.card_metadata import configs
from vidc.errors import InputError
from vidc.frames import ANNOTATIONS
from vidc.hub import cause, failures, hub_errors, status_of
from vidc.manifest import Manifest
from vidc.reading import default_config

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

_Result = TypeVar("_Result")

# The client repeats most requests by itself; these are for the ones that it does not.
_TRIES = 3
_PASSING = (429, 500, 502, 503, 504)
# Every repository has it from the start, and it is not ours.
_NOT_OURS = ".gitattributes"


@dataclass(frozen=True)
class Plan:
    """The files of the repository: shards in the folder, and small ones by content."""

    folder: Path
    shards: dict[str, str]  # path: sha256
    small: dict[str, bytes]
    recipe_only: bool
    default_config: str


@dataclass(frozen=True)
class Sent:
    """What an upload amounted to."""

    files: int
    bytes: int


def make_plan(folder: Path, manifest: Manifest, repo: str, *, recipe_only: bool) -> Plan:
    """What is uploaded of a built dataset: everything, or all that holds no source pixel."""
    pictures = assets.names(manifest, recipe_only)
    text = card.render(manifest, repo, recipe_only=recipe_only)
    small = {picture: _read(folder / picture) for picture in pictures}
    small[manifests.FILE] = _read(folder / manifests.FILE)
    small[card.FILE] = text.encode()
    names = [name for config in configs(manifest, recipe_only) for name in manifest.files(config)]
    return Plan(
        folder=folder,
        shards={name: manifest.shards[name].sha256 for name in names},
        small=small,
        recipe_only=recipe_only,
        default_config=ANNOTATIONS if recipe_only else default_config(manifest.configs),
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"{path} is missing: give the build's own command again, it makes the rest."
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None


class Remote:
    """A dataset repository on the Hub, reached with the account that is logged in."""

    def __init__(self, repo: str, api: HfApi) -> None:
        self.repo = repo
        self._api = api

    @classmethod
    def connect(cls, repo: str) -> Remote:
        """Log in with the token that huggingface_hub finds in its usual places."""
        from huggingface_hub import HfApi, get_token
        from huggingface_hub.utils.tqdm import disable_progress_bars

        if get_token() is None:
            raise InputError(
                "no Hugging Face token: log in with 'hf auth login', or set HF_TOKEN, and repeat."
            )
        if not sys.stderr.isatty():
            disable_progress_bars()
        api = HfApi()
        with hub_errors(repo):
            _patiently(api.whoami)
        return cls(repo, api)

    @property
    def address(self) -> str:
        """The repository's page."""
        return f"{self._api.endpoint}/datasets/{self.repo}"

    def check(self, manifest: Manifest, plan: Plan, *, public: bool) -> None:
        """Refuse a repository that holds something else, or that more people see than was meant."""
        from huggingface_hub.errors import RepositoryNotFoundError

        with hub_errors(self.repo):
            try:
                info = _patiently(lambda: self._api.dataset_info(self.repo))
            except RepositoryNotFoundError:
                return
            held = self._held()
            self._check_contents(manifest, plan, held)
        if not info.private and not public:
            raise InputError(
                f"{self.repo} is public: give --public and --confirm-rights if these frames may "
                "be, or another name."
            )

    def _check_contents(self, manifest: Manifest, plan: Plan, held: dict[str, RepoFile]) -> None:
        others = sorted(held.keys() - plan.shards.keys() - plan.small.keys() - {_NOT_OURS})
        frames = [
            name
            for name in others
            if name.startswith("data/") and not name.startswith(f"data/{ANNOTATIONS}/")
        ]
        if plan.recipe_only and frames:
            # Deleting them would not help: they would stay in the repository's history.
            raise InputError(
                f"{self.repo} holds frames (for one, {frames[0]}): publish the recipe under "
                "another name."
            )
        name = self._held_name() if manifests.FILE in held else None
        if name is not None:
            if name != manifest.name:
                raise InputError(
                    f"{self.repo} holds the dataset {name}, not {manifest.name}: choose another "
                    "name."
                )
            return
        # A manifest.json that is not ours is as much another's as any other file.
        others += [manifests.FILE] if manifests.FILE in held else []
        if others:
            raise InputError(
                f"{self.repo} holds something else (for one, {others[0]}): choose another name."
            )

    def _held_name(self) -> str | None:
        """What the dataset there is called; None where its manifest.json is none of ours."""
        path = self._api.hf_hub_download(self.repo, manifests.FILE, repo_type="dataset")
        try:
            return manifests.read(Path(path).parent).name
        except InputError:
            return None

    def create(self, *, public: bool) -> None:
        """Make the repository where there is none."""
        with hub_errors(self.repo):
            _patiently(
                lambda: self._api.create_repo(
                    self.repo, repo_type="dataset", private=not public, exist_ok=True
                )
            )

    def set_public(self, public: bool) -> None:
        """Show a repository to everybody that was private before, if that was asked for."""
        if public:
            with hub_errors(self.repo):
                if _patiently(lambda: self._api.dataset_info(self.repo)).private:
                    self._api.update_repo_settings(self.repo, repo_type="dataset", private=False)

    def send(self, plan: Plan) -> Sent:
        """Upload what differs: shards first, so that no manifest promises what is not there."""
        with hub_errors(self.repo):
            held = _patiently(self._held)
            shards = [name for name, sha256 in plan.shards.items() if _sha256(held, name) != sha256]
            small = [name for name, data in plan.small.items() if not _same(held.get(name), data)]
            if shards:
                _patiently(lambda: self._send_shards(plan, shards))
            stale = self._stale(plan, held)
            if small or stale:
                _patiently(lambda: self._send_small(plan, small, stale))
        size = sum((plan.folder / name).stat().st_size for name in shards)
        return Sent(len(shards) + len(small), size + sum(len(plan.small[name]) for name in small))

    def _send_shards(self, plan: Plan, names: list[str]) -> None:
        self._api.upload_folder(
            repo_id=self.repo,
            repo_type="dataset",
            folder_path=plan.folder,
            allow_patterns=names,
            commit_message="Add shards",
        )

    def _send_small(self, plan: Plan, names: list[str], stale: list[str]) -> None:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        self._api.create_commit(
            self.repo,
            [
                *(CommitOperationAdd(name, plan.small[name]) for name in names),
                *(CommitOperationDelete(name) for name in stale),
            ],
            commit_message="Add manifest and card",
            repo_type="dataset",
        )

    @staticmethod
    def _stale(plan: Plan, held: dict[str, RepoFile]) -> list[str]:
        """Shards and pictures of an earlier version; other files are the owner's own."""
        ours = ("data/", f"{assets.FOLDER}/")
        kept = plan.shards.keys() | plan.small.keys()
        return sorted(name for name in held if name.startswith(ours) and name not in kept)

    def _held(self) -> dict[str, RepoFile]:
        from huggingface_hub.hf_api import RepoFile

        tree = self._api.list_repo_tree(self.repo, recursive=True, repo_type="dataset")
        return {entry.path: entry for entry in tree if isinstance(entry, RepoFile)}

    def tag(self, name: str) -> None:
        """Make the tag point at what is there now."""
        with hub_errors(self.repo):
            refs = _patiently(lambda: self._api.list_repo_refs(self.repo, repo_type="dataset"))
            head = next(branch.target_commit for branch in refs.branches if branch.name == "main")
            tags = {tag.name: tag.target_commit for tag in refs.tags}
            if tags.get(name) == head:
                return
            if name in tags:
                _patiently(lambda: self._api.delete_tag(self.repo, tag=name, repo_type="dataset"))
            _patiently(
                lambda: self._api.create_tag(
                    self.repo, tag=name, repo_type="dataset", exist_ok=True
                )
            )


def _sha256(held: dict[str, RepoFile], name: str) -> str | None:
    file = held.get(name)
    return file.lfs.sha256 if file and file.lfs else None


def _same(file: RepoFile | None, data: bytes) -> bool:
    """Whether a file on the Hub has this content: small files are known by git's own hash."""
    if file is None:
        return False
    if file.lfs:
        return file.lfs.sha256 == hashlib.sha256(data).hexdigest()
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False)
    return file.blob_id == blob.hexdigest()


def _patiently(request: Callable[[], _Result]) -> _Result:
    """Repeat a request that met a busy or failing Hub, a little later each time."""
    caught: tuple[type[Exception], ...] = (*failures(), RuntimeError)
    for attempt in range(1, _TRIES):
        try:
            return request()
        except caught as raised:
            if not _passing(cause(raised)):
                raise
            time.sleep(attempt)
    return request()


def _passing(failure: BaseException) -> bool:
    """Whether it may be better in a moment; a wrong token or a missing right will not be."""
    return isinstance(failure, failures()) and status_of(failure) in (None, *_PASSING)
