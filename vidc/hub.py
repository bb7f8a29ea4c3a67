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

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
# The client refuses these in a name, and - and . at the end of each of its two parts.
_NEVER_IN_AN_ID = re.compile(r"--|\.\.|[.-]/|[.-]$|\.git$")


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
        try:
            there = path.is_file()
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from error
        if not there and name != manifest.FILE and not path.parent.exists():
            raise InputError(
                f"{path.parent} is missing: of a recipe alone 'python -m vidc.build from-recipe' "
                "makes the frames; of a dataset, build or download it again."
            )
        if not there:
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


def is_hub_id(text: str) -> bool:
    """Whether this can be the name of a dataset on the Hub.

    >>> is_hub_id("my-org/lasot-c"), is_hub_id("../lasot-c"), is_hub_id("lasot-c")
    (True, False, False)
    """
    return _HUB_ID.fullmatch(text) is not None and _NEVER_IN_AN_ID.search(text) is None


def find(path_or_id: str | Path, revision: str | None = None, token: str | None = None) -> Files:
    """The files of a folder, or of a Hub dataset where no such folder exists."""
    root = Path(path_or_id)
    try:
        there, folder, finished = root.exists(), root.is_dir(), (root / manifest.FILE).is_file()
    except OSError as error:
        raise InputError(f"{root} cannot be read: {error.strerror}.") from error
    if folder:
        if not finished:
            raise InputError(f"{root} has no {manifest.FILE}: give the folder of a finished build.")
        if revision is not None:
            raise InputError(f"{root} is a folder, and only a dataset on the Hub has a revision.")
        return Folder(root)
    if there:
        raise InputError(f"{root} is a file: give the folder of a built dataset or a Hub id.")
    if not is_hub_id(str(path_or_id)):
        raise InputError(
            f"no folder {path_or_id}: give the folder of a built dataset or a Hub id ORG/NAME."
        )
    if root.parent.is_dir():  # a mistyped path: the Hub is none of its business
        raise InputError(
            f"no dataset {root.name} in {root.parent}: build it first; a Hub id is not looked for "
            f"where a folder {root.parent} is."
        )
    return HubDataset(str(path_or_id), revision, token).pinned()


@contextmanager
def hub_errors(repo: str) -> Iterator[None]:
    """Turn what the Hub's client raises for anything but our own bugs into one sentence."""
    caught: tuple[type[Exception], ...] = (*failures(), RuntimeError)
    try:
        yield
    except caught as raised:
        failure = cause(raised)
        if not isinstance(failure, failures()):
            raise
        raise InputError(_sentence(repo, failure)) from None
    except UnicodeEncodeError:
        # From None: the error holds the text that it is about.
        raise InputError(
            "the token for the Hub has letters that no token has: log in with 'hf auth login'."
        ) from None


def failures() -> tuple[type[Exception], ...]:
    """What the Hub's client raises for a request that failed, whichever HTTP library it uses."""
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

    return (*HfHubHTTPError.__bases__, EntryNotFoundError, OSError)


def cause(raised: BaseException) -> BaseException:
    """What went wrong: the client's uploader wraps it, file by file, in a RuntimeError."""
    if isinstance(raised, RuntimeError) and raised.__cause__ is not None:
        return raised.__cause__
    return raised


def _sentence(repo: str, failure: BaseException) -> str:
    from huggingface_hub import errors

    if isinstance(failure, errors.GatedRepoError):
        return (
            f"{repo} is gated on the Hub: accept its terms on its page, then log in with "
            "'hf auth login'."
        )
    if isinstance(failure, errors.RevisionNotFoundError):
        return f"{repo} has no such revision on the Hub: check its name."
    if isinstance(failure, errors.RepositoryNotFoundError):
        return (
            f"{repo} is neither a folder here nor a dataset on the Hub that this account can see: "
            "check its name, or log in with 'hf auth login' if it is private."
        )
    if isinstance(failure, errors.LocalEntryNotFoundError):
        return (
            f"{repo} is no folder here, could not be reached on the Hub and is not in the cache: "
            "check its name and the network, then repeat."
        )
    if isinstance(failure, errors.EntryNotFoundError):
        return (
            f"{repo} on the Hub lacks a file that was asked for: it is not a dataset made by vidc, "
            "or holds its recipe alone (then rebuild it with 'python -m vidc.build from-recipe')."
        )
    status = status_of(failure)
    if status == 401:
        return "the Hub refuses this token: log in again with 'hf auth login'."
    if status == 403:
        return (
            f"this account has no right to do that with {repo}{_said(failure)}: ask its owner, or "
            "use yours."
        )
    if status is not None:
        return (
            f"the Hub answered {status} for {repo}{_said(failure)}: repeat the command later, it "
            "continues."
        )
    if isinstance(failure, OSError) and failure.strerror:
        return f"{repo} could not be read or written: {failure.strerror}."
    return f"the Hub cannot be reached for {repo}: check the network, then repeat the command."


def _said(failure: BaseException) -> str:
    """The Hub's own words: a full store and an invalid card are refused with the same numbers."""
    words = " ".join(str(getattr(failure, "server_message", None) or "").split()).rstrip(".")
    return f" ({words})" if words else ""


def status_of(failure: BaseException) -> int | None:
    """The HTTP status in what the Hub's client raised; None where there was no answer."""
    response = getattr(failure, "response", None)
    return None if response is None else int(response.status_code)
