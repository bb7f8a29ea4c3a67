"""What the report says a column cost, against sums and ratios worked out by hand."""

from pathlib import Path

import pytest

from vidc.eval.report.costs import costs, process_memory
from vidc.eval.report.runs import Cell, Column, Measured, Run, Scores


def run_of(*cells, columns=("source", "tbn")):
    """A run of cells (frames, process memory, then the seconds and memory of each column)."""
    return Run(
        folder=Path(),
        name="made",
        order="in-order",
        columns=tuple(Column(id, id, id) for id in columns),
        datasets={},
        cells=tuple(
            Cell(
                dataset="d",
                corruption=f"corruption_{number}",
                severity=5,
                seed=0,
                frames=frames,
                left_out={},
                columns={
                    id: Scores(50.0, frames, {}, {}, Measured(seconds, None, memory))
                    for id, (seconds, memory) in zip(columns, measured, strict=True)
                },
                process_memory=process,
            )
            for number, (frames, process, *measured) in enumerate(cells)
        ),
        raw={},
    )


def test_seconds_are_added_up_and_the_most_memory_is_told():
    run = run_of((100, 7e9, (1.0, 500), (2.5, 800)), (300, 5e9, (3.0, 400), (5.5, 600)))
    source, tbn = costs(run)
    assert [source.column.id, tbn.column.id] == ["source", "tbn"]
    assert (source.seconds, tbn.seconds) == (4.0, 8.0)
    assert (source.against_source, tbn.against_source) == (1.0, 2.0)
    assert (source.frames_per_second, tbn.frames_per_second) == (100.0, 50.0)
    assert (source.speed_share, tbn.speed_share) == (1.0, 0.5)
    assert (source.memory_bytes, tbn.memory_bytes) == (500, 800)
    assert (source.memory_share, tbn.memory_share) == (0.625, 1.0)
    assert process_memory(run) == 7e9


def test_a_column_that_was_not_timed_in_every_cell_has_no_time():
    source, tbn = costs(
        run_of((100, None, (1.0, None), (2.0, 9)), (100, 3e9, (1.0, None), (None, 4)))
    )
    assert (source.seconds, source.frames_per_second, source.speed_share) == (2.0, 100.0, 1.0)
    assert (tbn.seconds, tbn.frames_per_second, tbn.speed_share) == (None, None, 0.0)
    assert tbn.against_source is None
    assert (source.memory_bytes, source.memory_share) == (None, 0.0)
    assert (tbn.memory_bytes, tbn.memory_share) == (9, 1.0)


@pytest.mark.parametrize("columns", [("source", "tbn"), ("lame", "tbn")])
def test_without_sources_time_nothing_is_measured_against_it(columns):
    run = run_of((100, None, (None, None), (2.0, None)), columns=columns)
    assert [cost.against_source for cost in costs(run)] == [None, None]
    assert [cost.seconds for cost in costs(run)] == [None, 2.0]
    assert process_memory(run) is None
