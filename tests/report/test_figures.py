"""Figures and table.tex for a paper: every format, the same bytes, readable without colour."""

import itertools
import os
import re
import shutil
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from contextlib import contextmanager
from dataclasses import replace

import matplotlib as mpl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from PIL import Image

from tests.report.contrast import contrast
from tests.report.generated import COLUMNS, Shape, write_run
from vidc.eval.report import analysis, figures, write
from vidc.eval.report.error_table import all_columns
from vidc.eval.report.palette import looks
from vidc.eval.report.runs import Column, read_run

SHAPE = Shape(datasets=("lasot-c",), corruptions=("rain", "snow"), videos=5, frames=200)
KINDS = ("stream", "since-change", "reliability", "classes")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("figures")
    run = write_run(root / "run", SHAPE)
    write([run], root / "out")
    return run, root / "out" / "figures"


def group_of(run):
    """The figures' one group of a run of one dataset."""
    (group,) = figures._groups(run, "", list(analysis.views(run, 40, 1)), looks(run.columns))
    return group


def test_a_column_looks_the_same_in_the_figures_of_every_run(tmp_path, monkeypatch):
    small = replace(SHAPE, corruptions=("snow",), frames=40)
    runs = []
    for name, columns in (("a", ("source", "mine@bn")), ("b", ("source", "other@bn", "mine@bn"))):
        monkeypatch.setitem(COLUMNS, "mine@bn", ("mine@bn", "mine.py:M@bn", 60.0, 0.0, 0.5))
        monkeypatch.setitem(COLUMNS, "other@bn", ("other@bn", "o.py:O@bn", 60.0, 0.0, 0.5))
        runs.append(read_run(write_run(tmp_path / name, replace(small, columns=columns))))
    drawn = []
    monkeypatch.setattr(figures, "KINDS", {"seen": lambda group: drawn.append(group.looks)})
    monkeypatch.setattr(figures, "_save", lambda figure, stem: [])
    views = [(at, view) for at, run in enumerate(runs) for view in analysis.views(run, 40, 1)]
    figures.write_figures(runs, ["a", "b"], views, tmp_path / "out")
    first, second = drawn
    assert first["mine@bn"] == second["mine@bn"] == looks(all_columns(runs))["mine@bn"]
    assert len({str(look) for look in second.values()}) == 3


def test_every_plot_is_there_in_three_formats(made):
    _, figures = made
    names = {file.name for file in figures.iterdir()}
    stems = {f"{kind}-lasot-c" for kind in KINDS}
    expected = {f"{stem}.{kind}" for stem in stems for kind in ("pdf", "svg", "png")}
    assert names == expected | {"table.tex"}
    for stem in stems:
        assert (figures / f"{stem}.pdf").read_bytes().startswith(b"%PDF-")
        svg = ET.parse(figures / f"{stem}.svg").getroot()  # noqa: S314 (our own file)
        assert svg.tag.endswith("svg")
        with Image.open(figures / f"{stem}.png") as image:
            image.load()
            assert image.width == 1400


@pytest.mark.slow
def test_another_process_and_matplotlibrc_give_the_same_bytes(made, tmp_path):
    run, figures = made
    (tmp_path / "matplotlibrc").write_text("axes.facecolor: red\ntext.color: blue\n")
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "MATPLOTLIBRC": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-m", "vidc.eval", "report", str(run), "--out", str(tmp_path)],
        check=True,
        env=environment,
    )
    for file in figures.iterdir():
        assert file.read_bytes() == (tmp_path / "figures" / file.name).read_bytes(), file.name


def test_pdf_fonts_are_not_type_3(made):
    _, figures = made
    for file in figures.glob("*.pdf"):
        assert b"/Type3" not in file.read_bytes()
        assert b"/CIDFontType2" in file.read_bytes()


def test_lines_can_be_told_apart_without_colour():
    ids = ["source", "tbn", "alpha_bn", "unmix_tns", "tent", "tent_unmix", "lame", "lame_unmix"]
    own = [f"mine.py:{letter}@bn" for letter in "ABCDEFGHI"]
    drawn = looks([Column(id, id, id) for id in (*ids, *own)])
    assert len({(look.marker, look.dash) for look in drawn.values()}) == len(drawn)
    assert len({(look.light, look.dash) for look in drawn.values()}) == len(drawn)


def test_every_line_stands_out_from_its_ground(request):
    style = (request.config.rootpath / "eval/report/style.css").read_text()
    light, dark = re.findall(r"--paper: (#\w{6})", style)
    ids = ["source", "tbn", "alpha_bn", "unmix_tns", "tent", "lame", "mine"]
    for id, look in looks([Column(id, id, id) for id in ids]).items():
        # WCAG asks 3:1 of what is not text.
        assert contrast(to_rgb(look.light), to_rgb(light)) >= 3.0, id
        assert contrast(to_rgb(look.dark), to_rgb(dark)) >= 3.0, id


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no pdflatex on this machine")
@pytest.mark.slow
def test_the_table_compiles(made, tmp_path):
    _, figures = made
    shutil.copy(figures / "table.tex", tmp_path)
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\\begin{document}\\input{table.tex}\\end{document}\n"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 1000


def test_names_that_are_no_file_names_are_made_so(tmp_path):
    shape = Shape(
        datasets=("../odd name/α",), corruptions=("snow",), videos=3, frames=40,
        columns=("source",),
    )  # fmt: skip
    write([write_run(tmp_path / "run", shape)], tmp_path / "out")
    files = {file.name for file in (tmp_path / "out" / "figures").iterdir()}
    assert "stream-odd-name.pdf" in files
    assert {file.name for file in tmp_path.iterdir()} == {"run", "out"}


def test_datasets_whose_names_are_spelled_alike_each_have_their_figures(tmp_path):
    shape = Shape(
        datasets=("a.b", "a-b", "a_b"), corruptions=("snow",), videos=3, frames=40,
        columns=("source",),
    )  # fmt: skip
    write([write_run(tmp_path / "run", shape)], tmp_path / "out")
    files = {file.name for file in (tmp_path / "out" / "figures").glob("stream-*.svg")}
    assert files == {"stream-a-b.svg", "stream-a-b-2.svg", "stream-a-b-3.svg"}


@contextmanager
def drawing():
    """The settings that figures are drawn with, whatever this machine's matplotlibrc says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(figures.SETTINGS)
        yield


@pytest.mark.filterwarnings("error")
def test_a_class_name_is_no_formula_and_leaves_room_for_the_picture(tmp_path):
    shape = Shape(
        corruptions=("snow",), videos=12, frames=120, columns=("source", "tbn"),
        classes=("$\\evil$", "a$_b$", "long " * 500),
    )  # fmt: skip
    run = read_run(write_run(tmp_path / "run", shape))
    group = group_of(run)
    with drawing():
        figure = figures._classes(group)
        figure.draw_without_rendering()
    names = {text.get_text(): text for text in figure.axes[0].get_yticklabels()}
    assert {"$\\evil$", "a$_b$"} <= set(names)
    assert not any(text.get_parse_math() for text in names.values())
    assert figure.axes[0].get_window_extent().width > 0.4 * figure.bbox.width


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("corruptions", [1, 4, 5])
def test_words_do_not_lie_over_one_another(tmp_path, kind, corruptions):
    names = ("gaussian_noise", "rain", "snow", "fog", "frost")[:corruptions]
    shape = Shape(corruptions=names, videos=4, frames=160)
    run = read_run(write_run(tmp_path / "run", shape))
    group = group_of(run)
    with drawing():
        figure = figures.KINDS[kind](group)
        figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    assert len(boxes) > 8
    for (one, first), (other, second) in itertools.combinations(boxes, 2):
        # A line's height leaves room for accents, so boxes of two lines may just touch.
        width = min(first.x1, second.x1) - max(first.x0, second.x0)
        height = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert width <= 1 or height <= 0.3 * min(first.height, second.height), (one, other)


def test_one_class_and_long_names_leave_the_panel_its_place(tmp_path):
    shape = Shape(corruptions=("snow",), videos=1, frames=40)
    run = read_run(write_run(tmp_path / "run", shape))
    group = group_of(run)
    named = [replace(column, name="MyMethod@unmix_tns") for column in group.columns]
    with drawing(), warnings.catch_warnings():
        warnings.simplefilter("error")  # "axes sizes collapsed to zero"
        figure = figures.KINDS["classes"](replace(group, columns=named))
        figure.draw_without_rendering()
    assert figure.axes[0].get_window_extent().height >= 0.1 * figure.dpi
