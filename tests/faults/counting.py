"""How many faults are tried, from which seed, and what came of them: hooks and options of pytest.

``make test`` tries a few faults of every kind, ``make faults`` (``--all-faults``) all of them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

FOLDER = "tests/faults/"
PARTS = 16  # of a test that would take too long in one piece
SEED = "fault_seed"
TRIED = "faults tried"  # what a test that tries several faults records
LATE = "faults that came too late"  # which found the command ended, and are tried again


def cases(choices: Mapping[str, object] | Sequence[str], *short: str) -> list[object]:
    """Parameters of a test, by name or names alone; what is not in ``short`` is thorough."""
    if not isinstance(choices, Mapping):
        choices = {name: name for name in choices}
    assert choices.keys() >= set(short)
    return [
        pytest.param(value, id=name, marks=() if name in short else pytest.mark.thorough)
        for name, value in choices.items()
    ]


def pytest_addoption(parser):
    group = parser.getgroup("faults")
    group.addoption("--all-faults", action="store_true", help="all faults, not a few of each kind")
    group.addoption("--fault-seed", type=int, help="of the random moments: repeats a run's faults")


def pytest_configure(config):
    config.addinivalue_line("markers", "thorough: a fault that only --all-faults tries")
    config.addinivalue_line("markers", "repeated(few, many): tried so often, by number")
    if hasattr(config, "workerinput"):
        config.option.fault_seed = config.workerinput[SEED]
    if config.option.fault_seed is None:
        config.option.fault_seed = random.SystemRandom().randrange(10**6)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Every worker has the seed of the main process, which is the one that is printed."""
    node.workerinput[SEED] = node.config.option.fault_seed


def pytest_report_header(config):
    return f"faults: --fault-seed {config.option.fault_seed}"


def pytest_collection_modifyitems(config, items):
    if config.option.all_faults:
        return
    left_out = [item for item in items if item.get_closest_marker("thorough")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter, config):
    tried: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    late: Counter[str] = Counter()
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            if not report.nodeid.startswith(FOLDER):
                continue
            kind = Path(report.nodeid.partition("::")[0]).stem.removeprefix("test_")
            noted = dict(report.user_properties)
            count = noted.get(TRIED, 1)
            tried[kind] += count
            survived[kind] += count if outcome == "passed" else 0
            late[kind] += noted.get(LATE, 0)
    if not tried:
        return
    write = terminalreporter.write_line
    terminalreporter.section(f"faults (--fault-seed {config.option.fault_seed})")
    for kind in sorted(tried):
        write(_line(kind.replace("_", " "), tried[kind], survived[kind], late[kind]))
    write(_line("in all", tried.total(), survived.total(), late.total()))


def _line(name: str, tried: int, survived: int, late: int) -> str:
    came_late = f"   ({late} more came too late)" if late else ""
    return f"{name:28}{tried:5} tried{survived:5} survived{came_late}"


def pytest_generate_tests(metafunc):
    mark = metafunc.definition.get_closest_marker("repeated")
    if mark is not None:
        few, many = mark.args
        metafunc.parametrize("number", range(many if metafunc.config.option.all_faults else few))
