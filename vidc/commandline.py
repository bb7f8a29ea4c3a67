"""What every command shares: help written for a person, and mistakes told in one sentence."""

from __future__ import annotations

import argparse
import difflib
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from vidc.errors import InputError, told

USER_MISTAKE = 2
INTERRUPTED = 130
NOBODY_READS = 128 + signal.SIGPIPE  # as a shell tells it of any program
# Nothing that we do is anybody's business: these are asked by Ray, huggingface_hub and others.
_NO_REPORTS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose help opens with its examples and whose errors are one sentence."""

    def __init__(self, *args: object, examples: str = "", **kwargs: object) -> None:
        kwargs.setdefault("formatter_class", _HelpFormatter)
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.examples = examples

    def format_help(self) -> str:
        """The examples, then argparse's own help."""
        return (
            f"{self.examples.strip()}\n\n{super().format_help()}"
            if self.examples
            else super().format_help()
        )

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """As argparse's, but an unknown option comes with the nearest known one."""
        # First of all: else a mistyped option that is required would be told as missing.
        for word in sys.argv[1:] if args is None else args:
            if word.startswith("--") and word.split("=")[0] not in self._option_string_actions:
                self.error(self._about_extra(word))
        parsed, extra = self.parse_known_args(args, namespace)
        if extra:
            self.error(self._about_extra(extra[0]))
        return parsed

    def _about_extra(self, word: str) -> str:
        if not word.startswith("-"):
            return f"unexpected argument '{word}'"
        near = difflib.get_close_matches(
            word.split("=")[0], self._option_string_actions, n=1, cutoff=0.5
        )
        hint = f": did you mean {near[0]}?" if near else ""
        return f"unknown option {word}{hint}"

    def error(self, message: str) -> NoReturn:
        """One sentence on standard error, then exit code 2."""
        self.exit(USER_MISTAKE, f"{self.prog}: {message} (see {self.prog} --help)\n")


class _HelpFormatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Defaults shown, but not where there is none to show."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=27, width=80)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        default = action.default
        if default is None or default is False or default == [] or default is argparse.SUPPRESS:
            return action.help
        if isinstance(action, argparse._StoreFalseAction):  # --no-x: its default is that it is off
            return action.help
        if isinstance(default, list):  # as it would be typed
            return f"{action.help} (default: {' '.join(map(str, default))})"
        return super()._get_help_string(action)


def say(text: str) -> None:
    """Print a line to standard output, at once.

    It may be a file on a disk that is full; no other file of the command is to be blamed for that.
    """
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _print_nowhere()
        raise InputError(
            f"standard output cannot be written ({error.strerror}): make room where it goes, then "
            "give the same command again"
        ) from None


def run(main: Callable[[Sequence[str]], int], program: str) -> NoReturn:
    """Run a command and leave with its exit code; a user's mistake is one sentence and code 2."""
    _open_closed_streams()
    for variable, off in _NO_REPORTS.items():
        os.environ.setdefault(variable, off)
    # A scheduler that ends the job (SIGTERM) is obeyed as Ctrl-C is. Where Ctrl-C is ignored, as in
    # a script's background job, it stays so.
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)
    _print_anything()
    try:
        _check_encoding(sys.argv[1:])
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except InputError as mistake:
        sys.stderr.write(f"{program}: {told(mistake)}\n")
        code = USER_MISTAKE
    except KeyboardInterrupt as interrupt:
        how = str(interrupt) or "the same command continues where it stopped"
        sys.stderr.write(f"{program}: interrupted; {how}\n")
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing more to say, but it may have gone in
        # the middle of the work, so this is no success.
        _print_nowhere()
        code = NOBODY_READS
    sys.exit(code)


@contextmanager
def from_the_start() -> Iterator[None]:
    """Around a command that keeps nothing until its end: interrupted, it can promise no more."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command starts again") from None


def _open_closed_streams() -> None:
    """Where the caller has closed a standard stream (``2>&-``, some daemons), let it lead nowhere.

    Else the next file that is opened, a shard perhaps, would get the stream's number, and what a
    library prints would be written into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
            os.set_inheritable(number, True)  # workers have the same need
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def _print_nowhere() -> None:
    """What is left to print is lost: Python would try it again at its end, and fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_anything() -> None:
    """A terminal or log that knows no † gets its number: no hours of work end in a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _check_encoding(words: Sequence[str]) -> None:
    """Refuse a path that is not text: Arrow opens none, and no result could name it."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            name = os.fsencode(word)
            raise InputError(f"{name!r} is not UTF-8: rename it, or link to it") from None


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Stop, tidily; asked a second time, at once, which loses nothing that was written."""
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_DFL)
    raise KeyboardInterrupt
