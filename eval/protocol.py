"""The protocol of a run: every hyperparameter, read from TOML and checked."""

from __future__ import annotations

import dataclasses
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias, cast

from vidc.errors import InputError, unknown

NAMES = ("paper", "code")
_LARGEST = 2**63 - 1
# Far above what a method could use: a number beyond it fits no memory, or no float32.
_MOST = 65536
_HIGHEST = 1_000_000
_DEEPEST = 16  # levels of tables and lists in [custom]
# Four times the paper's. What a key of many dots takes to read grows as its square: at this length
# a tenth of a gigabyte, at four times as much more than one.
_LONGEST = 8192

Tables: TypeAlias = dict[str, Any]


def _number(low: float, high: float, *, above: bool = False) -> Any:
    return field(metadata={"low": low, "high": high, "above": above})


def _flag() -> Any:
    return field()


def _choice(*names: str) -> Any:
    return field(metadata={"choices": names})


@dataclass(frozen=True)
class Stream:
    """How frames become batches."""

    batch: int = _number(1, _MOST)
    order: str = _choice("in-order", "shuffled")


@dataclass(frozen=True)
class Head:
    """From the network's outputs to the dataset's classes."""

    map: str = _choice("sum", "max", "imagenet")
    multi_label: str = _choice("any", "drop")


@dataclass(frozen=True)
class AlphaBN:
    """Source and batch statistics, mixed."""

    alpha: float = _number(0, 1)
    unbiased: bool = _flag()


@dataclass(frozen=True)
class UnMixTNS:
    """The mixture of K components in each layer."""

    components: int = _number(1, _MOST)
    tau: float = _number(0, _HIGHEST, above=True)
    alpha: float = _number(0, 1)
    momentum0: float = _number(0, 1)
    base_batch: int = _number(1, _MOST)
    eps: float = _number(0, _HIGHEST)


@dataclass(frozen=True)
class Tent:
    """Entropy minimisation by SGD."""

    lr: float = _number(0, _HIGHEST)
    momentum: float = _number(0, 1)
    nesterov: bool = _flag()
    weight_decay: float = _number(0, _HIGHEST)
    steps: int = _number(1, _MOST)


@dataclass(frozen=True)
class Lame:
    """Laplacian adjustment of the probabilities."""

    neighbours: int = _number(1, _MOST)
    iterations: int = _number(1, _MOST)
    tolerance: float = _number(0, _HIGHEST)
    floor: float = _number(0, 1, above=True)


@dataclass(frozen=True)
class Protocol:
    """All hyperparameters of a run. Made by :func:`load_protocol`, which checks them."""

    name: str
    stream: Stream
    head: Head
    alpha_bn: AlphaBN
    unmix_tns: UnMixTNS
    tent: Tent
    lame: Lame
    custom: Mapping[str, Any]

    def settings(self, name: str) -> dict[str, Any]:
        """The settings of a method or normalization; those of a user's file are in ``custom``."""
        if name.rpartition(":")[0]:
            return dict(self.custom)
        section = getattr(self, name, None)
        return dataclasses.asdict(section) if section is not None else {}

    def overridden(self, section: str, name: str) -> dict[str, Any]:
        """A section's settings as a user's method has them: those that ``custom`` names are its."""
        own = {
            key: _checked(section, key, self.custom[key], f"custom.{key} (of {name})")
            for key in self.settings(section)
            if key in self.custom
        }
        settings = self.settings(section) | own
        if section == "tent":
            _check_together(Tent(**settings))
        return settings

    def as_dict(self) -> dict[str, Any]:
        """Everything, as plain values for a result file."""
        return dataclasses.asdict(self)


SECTIONS: Mapping[str, type[Any]] = {
    "stream": Stream,
    "head": Head,
    "alpha_bn": AlphaBN,
    "unmix_tns": UnMixTNS,
    "tent": Tent,
    "lame": Lame,
}
CUSTOM = "custom"


def load_protocol(name: str | Path = "paper", overrides: Iterable[str] = ()) -> Protocol:
    """The protocol of this name or TOML file, with ``section.key=value`` put over it.

    >>> load_protocol("paper", ["unmix_tns.components=64"]).unmix_tns.components
    64
    """
    tables = _tables(str(name))
    for override in overrides:
        section, key, value = _parse_override(override)
        _check_key(section, key, f"--set {override}")
        tables[section][key] = _checked(section, key, value, f"--set {override}")
    sections = {title: kind(**tables[title]) for title, kind in SECTIONS.items()}
    title = str(name) if str(name) in NAMES else Path(name).stem
    protocol = Protocol(name=title, custom=tables[CUSTOM], **sections)
    _check_together(protocol.tent)
    return protocol


def _tables(name: str) -> Tables:
    """The tables of a protocol over those of its base."""
    text, where = _read(name)
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as mistake:
        raise InputError(f"{where} is not TOML: {mistake}.") from None
    base = given.pop("base", None if name == "paper" else "paper")
    if base is not None and base not in NAMES:
        raise unknown(f"base in {where}", base, NAMES)
    tables = _tables(base) if base else {title: {} for title in (*SECTIONS, CUSTOM)}
    for section, table in given.items():
        if section not in (*SECTIONS, CUSTOM):
            raise unknown(f"section ({where})", section, (*SECTIONS, CUSTOM))
        if not isinstance(table, dict):
            raise InputError(f"{where}: {section} must be a table, written [{section}].")
        for key, value in table.items():
            _check_key(section, key, where)
            tables[section][key] = _checked(section, key, value, where)
    return tables


def _read(name: str) -> tuple[str, str]:
    if name in NAMES:
        file = resources.files("vidc.eval").joinpath("protocols", f"{name}.toml")
        return file.read_text("utf-8"), f"protocol {name}"
    path = Path(name)
    if path.suffix != ".toml":
        raise unknown("protocol (a file must end in .toml)", name, NAMES)
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(_LONGEST + 1)
    except (OSError, UnicodeDecodeError) as mistake:
        raise InputError(f"The protocol {path} cannot be read: {mistake}.") from None
    if len(text) > _LONGEST:
        raise InputError(
            f"The protocol {path} has more than {_LONGEST} letters: give only what differs from "
            "its base."
        )
    return text, str(path)


def _parse_override(override: str) -> tuple[str, str, Any]:
    name, equals, text = override.partition("=")
    section, dot, key = name.strip().partition(".")
    if not (equals and dot and key):
        raise InputError(f"--set {override}: write it as section.key=value.")
    try:
        return section, key, tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return section, key, text.strip()  # a bare word, such as `max`


def _check_key(section: str, key: str, where: str) -> None:
    if section == CUSTOM:
        return
    if section not in SECTIONS:
        raise unknown(f"section ({where})", section, (*SECTIONS, CUSTOM))
    keys = [item.name for item in dataclasses.fields(SECTIONS[section])]
    if key not in keys:
        raise unknown(f"key of [{section}] ({where})", key, keys)


def _checked(section: str, key: str, value: Any, where: str) -> Any:
    """The value in its field's type, or an error that says what it must be."""
    if section == CUSTOM:
        if not _is_plain(value, _DEEPEST):
            raise InputError(
                f"{where}: {section}.{key} must be text, true, false, a finite number, or a list "
                "or table of these: results.json has to hold it."
            )
        return value
    rule = next(item for item in dataclasses.fields(SECTIONS[section]) if item.name == key)
    kind = cast(str, rule.type)  # annotations are strings in this module
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise InputError(f"{where}: {section}.{key} must be a number below 2^63.")
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value).__name__ != kind or not _within(value, rule.metadata):
        raise InputError(f"{where}: {section}.{key} must be {_wanted(kind, rule.metadata)}.")
    return value


def _is_plain(value: Any, levels: int) -> bool:
    """Whether JSON can hold the value: TOML also has dates, NaN, and numbers of any size."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_is_plain(each, levels - 1) for each in inner)
    if isinstance(value, int | float):
        return abs(value) <= (_LARGEST if isinstance(value, int) else sys.float_info.max)
    return isinstance(value, str)


def _within(value: Any, rule: Mapping[str, Any]) -> bool:
    if "choices" in rule:
        return value in rule["choices"]
    if "low" not in rule:
        return True
    low_enough = value > rule["low"] if rule["above"] else value >= rule["low"]
    return bool(low_enough and value <= rule["high"])


def _wanted(kind: str, rule: Mapping[str, Any]) -> str:
    if "choices" in rule:
        return "one of " + ", ".join(rule["choices"])
    noun = {"int": "a whole number", "float": "a number", "bool": "true or false"}[kind]
    if "low" not in rule:
        return noun
    if rule["above"]:
        return f"{noun} above {rule['low']} and at most {rule['high']}"
    return f"{noun} from {rule['low']} to {rule['high']}"


def _check_together(tent: Tent) -> None:
    if tent.nesterov and tent.momentum == 0:
        raise InputError("tent.nesterov needs tent.momentum above 0.")
