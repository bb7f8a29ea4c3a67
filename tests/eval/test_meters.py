"""What a column costs, by a clock that stands still but where the tests move it."""

import itertools
from types import SimpleNamespace

import pytest
import torch

from tests.eval.memory_source import CLASSES
from tests.eval.one_cell import ALL, OVERRIDES, StoppedError, run, settings_of
from tests.eval.tiny_model import SIZE, tiny_model
from vidc.eval import cell, meters
from vidc.eval.meters import Meter
from vidc.eval.networks import Networks, Precision
from vidc.eval.protocol import load_protocol

CPU = torch.device("cpu")


@pytest.fixture
def ticks(monkeypatch):
    """A clock that is a second later each time it is read: whatever is measured takes one."""
    monkeypatch.setattr(meters, "time", SimpleNamespace(perf_counter=itertools.count().__next__))


@pytest.mark.usefixtures("ticks")
def test_what_columns_share_counts_for_each():
    meter = Meter(CPU, ["source", "lame", "tent"])
    with meter.measure("source", "lame"):
        pass
    with meter.measure("lame"):
        pass
    assert meter.measured("source", 10, 0)["seconds"] == 1
    assert meter.measured("lame", 10, 0) == {
        "seconds": 2,
        "frames_per_second": 5,
        "peak_memory_bytes": None,
    }
    assert meter.measured("tent", 10, 0)["frames_per_second"] is None


@pytest.mark.usefixtures("ticks")
def test_a_shared_forward_counts_for_every_column_that_reads_it():
    protocol = load_protocol("paper", OVERRIDES)
    networks = Networks(ALL, tiny_model(), CLASSES, protocol, 0, Precision(CPU))
    networks.step(torch.zeros(4, 3, SIZE, SIZE))
    seconds = {column.id: networks.meter.measured(column.id, 4, 0)["seconds"] for column in ALL}
    # A forward and what is made of it, however many read the forward; TENT's step is one piece.
    assert seconds == {column.id: 1 if column.method == "tent" else 2 for column in ALL}


@pytest.mark.usefixtures("ticks")
def test_a_meter_goes_on_from_the_state_of_another():
    first, second = Meter(CPU, ["source"]), Meter(CPU, ["source"])
    for meter in (first, first, second):
        with meter.measure("source"):
            pass
    second.load_state(first.state())
    with second.measure("source"):
        pass
    assert second.measured("source", 9, 0)["seconds"] == 3


@pytest.mark.usefixtures("ticks")
def test_a_continued_cells_seconds_include_those_before_it_stopped(tmp_path, monkeypatch):
    """42 frames in 11 batches; ten seconds pass whenever the cell reports, and at no other time."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(cell, "time", SimpleNamespace(monotonic=lambda: clock.now))

    def report(done, frames, errors):
        clock.now += 10

    def report_and_stop(done, frames, errors):
        report(done, frames, errors)
        if done == 12:
            raise StoppedError

    settings = settings_of(checkpoint_every=1)
    whole, _ = run(tmp_path / "whole", settings, watch=report)
    with pytest.raises(StoppedError):
        run(tmp_path / "stopped", settings, watch=report_and_stop)
    continued, _ = run(tmp_path / "stopped", settings, watch=report)
    # A cell reports at its start, after each batch and at its end. The one that stopped had kept
    # two batches when its third was lost.
    assert whole["measured"]["seconds"] == 10 * (1 + 11 + 1)
    assert continued["measured"]["seconds"] == 10 * (1 + 2) + 10 * (1 + 9 + 1)
    for record in (whole, continued):
        assert record["columns"]["source"]["measured"]["seconds"] == 2 * 11
        assert record["columns"]["tent"]["measured"]["seconds"] == 11
    assert continued["measured"]["frames_per_second"] == 42 / 140
