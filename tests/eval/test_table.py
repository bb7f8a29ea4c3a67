"""The table: means and deviations by hand, the paper's numbers in their place, four spellings."""

from __future__ import annotations

import csv
import io
import math
import shutil
import subprocess

import pytest

from vidc.eval import table_formats
from vidc.eval.protocol import load_protocol
from vidc.eval.table import build_table

PAIRS = {"source": "Source", "tbn": "TBN", "tent_unmix": "TENT†"}


def results_of(*datasets, order="in-order", complete=True, columns=PAIRS):
    return {
        "protocol": {"name": "paper", "stream": {"batch": 16}},
        "model": {"name": "resnet50", "weights": "IMAGENET1K_V1"},
        "order": order,
        "columns": [{"id": id_, "name": name} for id_, name in columns.items()],
        "datasets": {name: {"complete": complete} for name in datasets},
    }


def cell(dataset, corruption, errors, severity=5, seed=0, columns=PAIRS):
    severity = 0 if corruption == "clean" else severity
    key = {"dataset": dataset, "corruption": corruption, "severity": severity, "seed": seed}
    if errors is None:
        return key  # not finished
    scores = {id_: {"error": error} for id_, error in zip(columns, errors, strict=True)}
    return key | {"columns": scores}


def rows_of(table, kind="ours"):
    (section,) = table.sections
    return {row.corruption: row for row in section.rows if row.kind == kind}


def means(row):
    return [value and value.mean for value in row.values]


THREE = [
    cell("imagenet-vid-c", "snow", [50.0, 90.0, 55.0]),
    cell("imagenet-vid-c", "gaussian_noise", [80.0, 93.0, 76.0]),
    cell("imagenet-vid-c", "rain", [83.0, 93.0, 79.0]),
]


def test_rows_are_in_the_papers_order_and_the_mean_is_over_the_corruptions_only():
    cells = [cell("imagenet-vid-c", "clean", [10.0, 80.0, 12.0]), *THREE]
    table = build_table(results_of("imagenet-vid-c"), cells)
    rows = rows_of(table)
    assert list(rows) == ["clean", "gaussian_noise", "rain", "snow", "mean"]
    assert means(rows["mean"]) == [71.0, 92.0, 70.0]  # (50+80+83)/3, (90+93+93)/3, (55+76+79)/3


def test_the_papers_numbers_and_differences_stand_beside_the_real_datasets():
    table = build_table(results_of("imagenet-vid-c"), THREE)
    paper, difference = rows_of(table, "paper"), rows_of(table, "difference")
    assert means(paper["snow"]) == [49.2, 91.4, 54.8]
    assert means(paper["mean"]) == [70.4, 92.0, 70.6]
    assert means(difference["snow"]) == pytest.approx([0.8, -1.4, 0.2])
    assert means(difference["mean"]) == pytest.approx([0.6, 0.0, -0.6])


def test_taos_lasot_stands_beside_the_papers_lasot():
    table = build_table(results_of("tao-lasot-c"), [cell("tao-lasot-c", "rain", [1.0, 2.0, 3.0])])
    assert means(rows_of(table, "paper")["rain"]) == [89.5, 97.1, 88.4]


@pytest.mark.parametrize("name", ["imagenet-vid-c-sample", "lasot-c-sample", "my-lasot-c"])
def test_no_other_dataset_stands_beside_the_papers_numbers(name):
    table = build_table(results_of(name), [cell(name, "snow", [1.0, 2.0, 3.0])])
    assert not rows_of(table, "paper")
    assert not rows_of(table, "difference")
    assert "49.2" not in table_formats.text(table)
    rendered = "Rendered clips: not comparable with the paper" in table_formats.text(table)
    assert rendered == name.endswith("-sample")


def test_another_model_beside_the_papers_numbers_is_said_to_be_one():
    results = results_of("lasot-c")
    cells = [cell("lasot-c", "snow", [70.0, 96.0, 72.0])]
    (own,) = build_table(results, cells).sections
    assert not any("resnet50 IMAGENET1K_V1" in note for note in own.notes)
    for changed in ({"name": "resnet18"}, {"weights": "IMAGENET1K_V2"}):
        other = {**results, "model": {**results["model"], **changed}}
        (section,) = build_table(other, cells).sections
        assert any("resnet50 IMAGENET1K_V1" in note for note in section.notes)


@pytest.mark.parametrize("corruption", ["fog", "clean"])
def test_where_the_paper_has_no_number_nothing_is_said_of_its_numbers(corruption):
    results = results_of("lasot-c")
    other = {**results, "model": {"name": "resnet18", "weights": "mine"}}
    (section,) = build_table(other, [cell("lasot-c", corruption, [70.0, 96.0, 72.0])]).sections
    assert section.notes == ()


@pytest.mark.parametrize(
    ("error", "shown"), [(49.16, "+0.0"), (49.24, "+0.0"), (49.1, "-0.1"), (49.3, "+0.1")]
)
def test_no_difference_has_no_sign_of_its_own(error, shown):
    cells = [cell("imagenet-vid-c", "snow", [error], columns={"source": "Source"})]
    results = results_of("imagenet-vid-c", columns={"source": "Source"})
    lines = table_formats.text(build_table(results, cells)).splitlines()
    assert [row.split()[-1] for row in lines if "difference" in row] == [shown]


def test_shuffled_frames_do_not_stand_beside_the_papers_numbers():
    table = build_table(results_of("imagenet-vid-c", order="shuffled"), THREE)
    assert not rows_of(table, "paper")


def test_the_papers_mean_needs_its_three_corruptions():
    table = build_table(results_of("imagenet-vid-c"), THREE[:2])
    assert "mean" in rows_of(table)
    assert "mean" not in rows_of(table, "paper")


def test_a_column_the_paper_does_not_have_has_no_number_of_it():
    columns = {"source": "Source", "mine@bn": "mine@bn"}
    cells = [cell("lasot-c", "snow", [70.0, 60.0], columns=columns)]
    table = build_table(results_of("lasot-c", columns=columns), cells)
    assert means(rows_of(table, "paper")["snow"]) == [71.2, None]


def test_several_seeds_give_the_mean_and_the_sample_standard_deviation():
    cells = [
        cell("s", corruption, [error, 0.0, 0.0], seed=seed)
        for corruption, errors in {"rain": [10.0, 12.0, 17.0], "snow": [20.0, 24.0, 22.0]}.items()
        for seed, error in enumerate(errors)
    ]
    rows = rows_of(build_table(results_of("s"), cells))
    rain = rows["rain"].values[0]
    assert (rain.mean, rain.std) == (13.0, pytest.approx(math.sqrt((9 + 1 + 16) / 2)))
    # The seeds' own means are 15, 18 and 19.5.
    mean = rows["mean"].values[0]
    assert mean.mean == pytest.approx(17.5)
    assert mean.std == pytest.approx(math.sqrt((2.5**2 + 0.5**2 + 2.0**2) / 2))


def test_rows_with_different_seeds_have_a_mean_without_deviation():
    cells = [
        cell("s", "rain", [10.0, 0.0, 0.0], seed=0),
        cell("s", "rain", [20.0, 0.0, 0.0], seed=1),
        cell("s", "snow", [30.0, 0.0, 0.0], seed=0),
    ]
    value = rows_of(build_table(results_of("s"), cells))["mean"].values[0]
    assert (value.mean, value.std) == (22.5, None)


def test_what_is_not_finished_is_left_open_and_so_is_the_mean():
    cells = [cell("s", "rain", [1.0, 2.0, 3.0]), cell("s", "snow", None)]
    table = build_table(results_of("s"), cells)
    rows = rows_of(table)
    assert means(rows["snow"]) == [None] * 3
    assert means(rows["mean"]) == [None] * 3
    assert table_formats.text(table).count("…") == 6


def test_severities_are_rows_of_their_own():
    cells = [cell("s", "snow", [1.0, 2.0, 3.0], severity=s) for s in (5, 3)]
    text = table_formats.text(build_table(results_of("s"), cells))
    assert text.index("Snow, severity 3") < text.index("Snow  ")


def test_an_incomplete_dataset_is_said_to_be_one_and_stands_beside_nothing():
    table = build_table(results_of("lasot-c", complete=False), [cell("lasot-c", "snow", [1, 2, 3])])
    assert "Not every frame of the split" in table_formats.text(table)
    assert "Not every frame of the split" in table_formats.markdown(table)
    assert not rows_of(table, "paper")


def test_text_marks_the_best_of_each_row_and_all_ties():
    cells = [cell("s", "rain", [5.04, 5.01, 9.0]), cell("s", "snow", [8.0, 7.0, 6.5])]
    lines = table_formats.text(build_table(results_of("s"), cells)).splitlines()
    assert [line.split() for line in lines[2:6]] == [
        ["s", "Source", "TBN", "TENT†"],
        ["Rain", "5.0*", "5.0*", "9.0"],
        ["Snow", "8.0", "7.0", "6.5*"],
        ["Mean", "6.5", "6.0*", "7.8"],  # 6.52, 6.005, 7.75
    ]
    # The decimal points of a column are under one another.
    assert len({line.index(".") for line in lines[3:6]}) == 1


def test_one_column_has_no_best():
    alone = {"source": "Source"}
    cells = [cell("lasot-c-sample", "snow", [40.0], columns=alone)]
    table = build_table(results_of("lasot-c-sample", columns=alone), cells)
    assert "40.0" in table_formats.text(table)
    assert "*" not in table_formats.text(table)


def test_text_for_a_terminal_is_the_same_but_for_the_bold():
    table = build_table(results_of("imagenet-vid-c"), THREE)
    bold = table_formats.text(table, bold=True)
    assert bold.count("\x1b[1m") == 4
    assert bold.replace("\x1b[1m", "").replace("\x1b[0m", "") == table_formats.text(table)


def test_markdown_has_a_cell_for_every_value():
    lines = table_formats.markdown(build_table(results_of("imagenet-vid-c"), THREE)).splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    assert {line.count("|") for line in lines if line.startswith("|")} == {5}
    assert rows[2] == ["Gaussian noise", "80.0", "93.0", "**76.0**"]
    assert rows[4] == ["difference", "+0.4", "+0.6", "-0.3"]


def test_csv_reads_back_in_full_precision():
    cells = [cell("s", "rain", [100 / 3, 2.0, 3.0], seed=s) for s in (0, 1)]
    text = table_formats.comma_separated(build_table(results_of("s"), cells))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["kind"] for row in rows] == ["ours", "standard deviation"]
    assert float(rows[0]["source"]) == 100 / 3
    assert float(rows[1]["source"]) == 0.0
    assert rows[0]["corruption"] == "rain"
    assert rows[0]["severity"] == "5"


def test_latex_escapes_what_latex_would_take_for_commands():
    columns = {"a": "my_method@bn & 5%", "b": "α-BN"}
    cells = [
        cell("s_1", "rain", errors, seed=seed, columns=columns)
        for seed, errors in enumerate([[1.0, 2.0], [2.0, 3.0]])
    ]
    text = table_formats.latex(build_table(results_of("s_1", columns=columns), cells))
    assert r"my\_method@bn \& 5\%" in text
    assert r"$\alpha$-BN" in text
    assert r"\textbf{1.5 $\pm$ 0.7} & 2.5 $\pm$ 0.7 \\" in text
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert all(line.isascii() for line in body)
    assert {line.count(" & ") for line in body if line.endswith(r"\\")} == {2}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_latex_compiles(tmp_path):
    table = table_formats.latex(build_table(results_of("imagenet-vid-c"), THREE))
    document = rf"\documentclass{{article}}\begin{{document}}{table}\end{{document}}"
    (tmp_path / "t.tex").write_text(document)
    command = ["pdflatex", "-halt-on-error", "t.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


def test_a_limited_run_says_so_on_top():
    whole = results_of("imagenet-vid-c-sample")
    limited = whole | {"limit_frames": 96}
    assert "frames in order" in build_table(whole, THREE).title
    assert "the first 96 frames in order" in build_table(limited, THREE).title


def test_a_changed_protocol_says_so_on_top():
    changes = ["unmix_tns.components=64", "head.map=max", "tent.nesterov=true", "custom.rate=0.5"]
    for name, overrides, told in (
        ("paper", [], "protocol paper;"),
        ("code", ["stream.batch=8"], "protocol code;"),  # the batch has its own place
        (
            "paper",
            changes,
            "protocol paper with head.map=max, unmix_tns.components=64, tent.nesterov=true, "
            "custom.rate=0.5;",
        ),
    ):
        protocol = load_protocol(name, overrides).as_dict()
        results = results_of("imagenet-vid-c") | {"protocol": protocol}
        assert f"; {told} frames in order" in build_table(results, THREE).title
