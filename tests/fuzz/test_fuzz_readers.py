"""Whatever is in a file from outside: it is read, or refused in one sentence."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.reader import outcome
from tests.fuzz.readers import READERS

EXAMPLES = 60
TAKES_ITS_TIME = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)


@pytest.mark.parametrize("name", READERS)
def test_valid_files_are_read(tmp_path, name):
    reader = READERS[name](tmp_path)
    for data in reader.valid:
        reader.read(data)


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_read_or_refused(tmp_path, name):
    reader = READERS[name](tmp_path)

    @settings(max_examples=EXAMPLES, suppress_health_check=TAKES_ITS_TIME)
    @given(reader.inputs)
    def check(data):
        outcome(reader, data)

    check()
