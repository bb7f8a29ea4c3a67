"""What all tests share: property tests without a time limit, for a busy machine is no failure."""

import signal

import pytest
from hypothesis import settings

from tests.faults.counting import (  # noqa: F401 - hooks and options, by name
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_configure_node,
    pytest_generate_tests,
    pytest_report_header,
    pytest_terminal_summary,
)

settings.register_profile("vidc", deadline=None)
settings.load_profile("vidc")


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_arrives():
    """Also where the tests run in a shell's background, which ignores it and hands that on."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
