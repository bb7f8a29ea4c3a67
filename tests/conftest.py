"""What all tests share: property tests without a time limit, for a busy machine is no failure."""

from hypothesis import settings

from tests.faults.counting import (  # noqa: F401 - hooks and options, by name
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_generate_tests,
    pytest_report_header,
    pytest_terminal_summary,
)

settings.register_profile("vidc", deadline=None)
settings.load_profile("vidc")
