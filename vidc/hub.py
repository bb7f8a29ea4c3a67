"""Where a dataset's files are: a folder here, or a dataset on the Hugging Face Hub."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from vidc import manifest
from vidc.errors import InputError

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


class Files(Protocol):
    """The files of one dataset, by their path inside it."""

    @property
    def where(self) -> str:
        """How a person names the dataset: its folder or its Hub id."""

    def path(self, name: str) -> Path:
        """A local path of the file ``name``; InputError where the dataset does not have it."""


@dataclass(frozen=True)
class Folder:
    """A dataset in a folder of this machine."""

    root: Path

    @property
    def where(self) -> str:
        """The folder, as it was given."""
        return str(self.root)

    def path(self, name: str) -> Path:
        """The file inside the folder."""
        path = self.root / name
        if not path.is_file():
            raise InputError(f"{path} is missing: build the dataset again with the same command.")
        return path


@dataclass(frozen=True)
class HubDataset:
    """A dataset on the Hub, held at one commit; files arrive in the client's cache when needed."""

    id: str
    revision: str | None = None
    # Never shown: a token must not reach a log through a representation.
    token: str | None = field(default=None, repr=False)

    @property
    def where(self) -> str:
        """The Hub id."""
        return self.id

    def path(self, name: str) -> Path:
        """The file in the client's cache, downloaded the first time."""
        from huggingface_hub import hf_hub_download

        with hub_errors(self.id):
            return Path(
                hf_hub_download(
                    self.id, name, repo_type="dataset", revision=self.revision, token=self.token
                )
            )

    def pinned(self) -> HubDataset:
        """The same dataset held at today's commit, so that a later upload cannot mix two builds."""
        # The cache keeps a file under snapshots/<commit>/, which also works without a network.
        commit = self.path(manifest.FILE).parent.name
        return HubDataset(self.id, commit, self.token)


def find(path_or_id: str | Path, revision: str | None = None, token: str | None = None) -> Files:
    """The files of a folder, or of a Hub dataset where no such folder exists."""
    root = Path(path_or_id)
    if root.is_dir():
        if not (root / manifest.FILE).is_file():
            raise InputError(f"{root} has no {manifest.FILE}: give the folder of a finished build.")
        return Folder(root)
    if root.exists():
        raise InputError(f"{root} is a file: give the folder of a built dataset or a Hub id.")
    if not _HUB_ID.fullmatch(str(path_or_id)):
        raise InputError(
            f"no folder {path_or_id}: give the folder of a built dataset or a Hub id ORG/NAME."
        )
    return HubDataset(str(path_or_id), revision, token).pinned()


@contextmanager
def hub_errors(repo: str) -> Iterator[None]:
    """Turn what the Hub's client raises for a caller's mistake into one sentence about it."""
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError:
        raise InputError(
            f"{repo} is gated on the Hub: accept its terms on its page, then log in with "
            "'hf auth login'."
        ) from None
    except errors.RevisionNotFoundError:
        raise InputError(f"{repo} has no such revision on the Hub: check its name.") from None
    except errors.RepositoryNotFoundError:
        raise InputError(
            f"{repo} is neither a folder here nor a dataset on the Hub that this account can see: "
            "check its name, or log in with 'hf auth login' if it is private."
        ) from None
    except errors.LocalEntryNotFoundError:
        raise InputError(
            f"{repo} could not be reached and is not in the cache: check the network, then repeat."
        ) from None
    except errors.EntryNotFoundError:
        raise InputError(
            f"{repo} on the Hub is not a dataset made by vidc: it lacks one of its files."
        ) from None
