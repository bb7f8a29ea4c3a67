"""report.html as a file: its numbers, its escaping, and that it needs nothing but itself."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.report.generated import Shape, Stream, write_run
from vidc.eval.report import write
from vidc.eval.report.page import pictures_a_cell

EVIL = "<script>alert(1)</script>"
SMALL = Shape(videos=6, frames=240, columns=("source", "tbn", "unmix_tns"))


class Page(HTMLParser):
    """Tags with their attributes, and tables as rows of texts."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.rows = [], []
        self._open = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, text):
        if {"td", "th"} & set(self._open) and self.rows and self.rows[-1]:
            self.rows[-1][-1] += text


def make(tmp_path, *shapes):
    runs = [write_run(tmp_path / f"run{i}", shape) for i, shape in enumerate(shapes)]
    html = write(runs, tmp_path / "out", figures=False).read_text("utf-8")
    return html, [json.loads((run / "results.json").read_text()) for run in runs]


def payload(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])


def line(page, label):
    return next(row for row in page.rows if row and row[0].strip() == label)


def test_the_table_holds_the_errors_of_the_results(tmp_path):
    html, (results,) = make(tmp_path, SMALL)
    page = Page(html)
    for cell in results["cells"]:
        label = {"gaussian_noise": "Gaussian noise", "rain": "Rain", "snow": "Snow"}
        shown = line(page, label[cell["corruption"]])[1:]
        errors = [cell["columns"][column]["error"] for column in SMALL.columns]
        assert [float(re.match(r"[\d.]+", text)[0]) for text in shown] == [
            round(error, 1) for error in errors
        ]
        best = [float(text.split()[0]) for text in shown if "lowest" in text]
        assert best == [round(min(errors), 1)]
    means = [
        sum(cell["columns"][column]["error"] for cell in results["cells"]) / 3
        for column in SMALL.columns
    ]
    shown = [float(re.match(r"[\d.]+", text)[0]) for text in line(page, "Mean")[1:]]
    assert shown == pytest.approx(means, abs=0.051)


def assert_same(shown, exact):
    """To two decimals, and never so that the one decimal which is printed becomes another."""
    assert abs(shown - exact) <= 0.005 + 1e-9
    assert f"{shown:.1f}" == f"{exact:.1f}"


def test_the_charts_hold_exact_numbers_of_the_results(tmp_path):
    html, (results,) = make(tmp_path, SMALL)
    data = payload(html)
    for view, cell in zip(data["views"], results["cells"], strict=True):
        (shown,) = view["cells"]
        for place, column in enumerate(SMALL.columns):
            given = cell["columns"][column]
            assert_same(shown["curves"]["soFar"][column][-1], given["error"])
            assert_same(shown["error"][column], given["error"])
            for kind in ("classes", "videos"):
                assert shown[kind]["of"] == len(given[kind])
                for row in shown[kind]["rows"]:
                    part = given[kind][data["names"][row["name"]]]
                    assert_same(row["errors"][place], part["error"])
                    assert row["frames"] == part["frames"]
        spreads = [max(row["errors"]) - min(row["errors"]) for row in shown["videos"]["rows"]]
        assert spreads == sorted(spreads, reverse=True)


def test_the_papers_numbers_stand_beside_ours_for_a_real_dataset_only(tmp_path):
    real, _ = make(tmp_path / "a", Shape(**{**SMALL.__dict__, "datasets": ("imagenet-vid-c",)}))
    sample, _ = make(tmp_path / "b", SMALL)
    snow = line(Page(real), "Snow")
    assert "49.2" in snow[1]  # the paper's Source under snow
    ours = float(re.match(r"[\d.]+", snow[1])[0])
    difference = float(re.search(r"[+−][\d.]+$", snow[1])[0].replace("−", "-"))
    assert difference == pytest.approx(ours - 49.2, abs=0.101)
    assert "paper has" not in sample
    assert not re.search(r'class="paper"', sample)


def test_the_page_needs_nothing_but_itself(tmp_path):
    html, _ = make(tmp_path, SMALL)
    page = Page(html)
    for tag, attributes in page.tags:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:")), (tag, target)
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", html)


def test_the_policy_allows_this_script_and_style_alone(tmp_path):
    html, _ = make(tmp_path, SMALL)
    policy = next(
        attributes["content"]
        for tag, attributes in Page(html).tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_names_from_other_peoples_files_stay_text(tmp_path):
    shape = Shape(
        name=EVIL,
        datasets=(EVIL,),
        videos=5,
        frames=100,
        columns=("source", "unmix_tns", EVIL),
        classes=(EVIL, f'"{EVIL}', f"'{EVIL}"),
        video_name=EVIL + "{}",
        protocol=EVIL,
    )
    html, _ = make(tmp_path, shape)
    scripts = [attributes for tag, attributes in Page(html).tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "data"}, {}]
    assert EVIL not in html
    assert f"{EVIL}0" in payload(html)["names"]


def test_the_same_results_give_the_same_page(tmp_path):
    run = write_run(tmp_path / "run", SMALL)
    first = write([run], tmp_path / "one", figures=False).read_bytes()
    assert first == write([run], tmp_path / "two", figures=False).read_bytes()


def test_runs_stand_side_by_side_and_what_they_differ_in_is_said(tmp_path):
    shuffled = Shape(
        name="shuffled", order="shuffled", components=64, videos=6, frames=240,
        columns=("source", "lame"),
    )  # fmt: skip
    html, _ = make(tmp_path, SMALL, shuffled)
    page = Page(html)
    snow = [row for row in page.rows if row and row[0].strip() == "Snow"]
    assert [row[1].strip() for row in snow] == ["generated", "shuffled"]
    assert [text.strip() for text in snow[1][3:5]] == ["–", "–"]  # no TBN, no UnMix-TNS there
    assert line(page, "protocol.unmix_tns.components") == [
        "protocol.unmix_tns.components", "256", "64",
    ]  # fmt: skip
    data = payload(html)
    assert [column["id"] for column in data["columns"]] == ["source", "tbn", "unmix_tns", "lame"]
    (one, other) = data["views"][0]["cells"]
    assert one["stretches"] is not None
    assert other["stretches"] is None


def test_rows_keep_their_order_where_runs_hold_different_ones(tmp_path):
    one = Shape(**{**SMALL.__dict__, "name": "one", "corruptions": ("rain", "snow")})
    two = Shape(**{**SMALL.__dict__, "name": "two", "corruptions": ("clean", "gaussian_noise")})
    html, _ = make(tmp_path, one, two)
    labels = dict.fromkeys(row[0].strip() for row in Page(html).rows if row)
    wanted = ["Clean", "Gaussian noise", "Rain", "Snow", "Mean"]
    assert [label for label in labels if label in wanted] == wanted


def test_runs_of_other_frames_are_told_apart(tmp_path):
    whole = Shape(**{**SMALL.__dict__, "name": "whole", "datasets": ("lasot-c",)})
    part = Shape(**{**whole.__dict__, "name": "part", "complete": False})
    part = Shape(**{**part.__dict__, "fingerprints": {"lasot-c": "cd" * 32}})
    runs = [write_run(tmp_path / shape.name, shape) for shape in (whole, part)]
    results = json.loads((runs[1] / "results.json").read_text())
    (runs[1] / "results.json").write_text(json.dumps({**results, "limit_frames": 240}))
    html = write(runs, tmp_path / "out", figures=False).read_text("utf-8")
    page = Page(html)
    assert line(page, "limit_frames") == ["limit_frames", "–", "240"]
    name = "datasets.lasot-c.fingerprint"
    assert line(page, name) == [name, "ab" * 32, "cd" * 32]
    heading = next(row[0] for row in page.rows if row and row[0].startswith("lasot-c "))
    assert "part: Not every frame of the split" in heading
    assert "whole: The paper does not say" in heading


def test_seeds_do_not_multiply_the_frames(tmp_path):
    shape = Shape(
        videos=1, frames=240, columns=("source",), corruptions=("rain", "snow"), seeds=(0, 1, 2)
    )
    html, _ = make(tmp_path, shape)
    assert "480 frames of 1 video, in order" in html


def test_changed_settings_and_a_limit_are_said_on_top(tmp_path):
    shape = Shape(videos=1, frames=20, columns=("source",), corruptions=("rain",), components=64)
    run = write_run(tmp_path / "run", shape)
    results = json.loads((run / "results.json").read_text())
    (run / "results.json").write_text(json.dumps({**results, "limit_frames": 20}))
    html = write([run], tmp_path / "out", figures=False).read_text("utf-8")
    assert "the first 20 of each stream in order, batches of 16" in html
    assert "protocol paper with unmix_tns.components=64</p>" in html


def test_the_cells_to_choose_from_are_in_the_table_s_order(tmp_path):
    some = Shape(videos=1, frames=4, columns=("source",), datasets=("a-c", "b-c"))
    some = replace(some, corruptions=("snow",))
    others = replace(some, datasets=("a-c",), corruptions=("snow", "clean", "gaussian_noise"))
    html, _ = make(tmp_path, some, others)
    options = re.findall(r"<option[^>]*>(.*?)</option>", html)
    assert options == ["Clean", "Gaussian noise", "Snow", "Snow"]


def test_a_frame_of_two_classes_is_shown_with_both(tmp_path):
    classes = ("cat", "dog", "fox")
    one = np.zeros(1, int)
    stream = Stream(one, ["v"], one, one, second=one + 1)
    shape = Shape(
        frames=1,
        columns=("source", "unmix_tns"),
        corruptions=("snow",),
        classes=classes,
        streams={"imagenet-vid-c-sample": stream},
    )
    run = write_run(tmp_path / "run", shape)
    table = pq.read_table(run / "predictions.parquet")
    for column, answer in (("source", 2), ("unmix_tns", 1)):
        at = table.column_names.index(f"{column}_prediction")
        table = table.set_column(at, table.field(at), pa.array([answer], pa.int32()))
    pq.write_table(table, run / "predictions.parquet")
    html = write([run], tmp_path / "out", figures=False).read_text("utf-8")
    assert '<p class="truth">cat, dog</p>' in html


def test_two_runs_of_one_name_are_told_apart(tmp_path):
    html, _ = make(tmp_path, SMALL, SMALL)
    assert [run["label"] for run in payload(html)["runs"]] == ["generated (1)", "generated (2)"]


@pytest.mark.parametrize(
    ("corruptions", "opened"),
    [
        ([("clean", "rain", "snow")], "Rain"),
        ([("clean", "rain", "snow"), ("clean", "snow")], "Snow"),  # rain is in one run only
        ([("clean", "rain"), ("clean", "snow")], "Rain"),  # clean is in both, but not corrupted
        ([("clean",), ("clean",)], "Clean"),
    ],
)
def test_the_page_opens_at_a_corruption_that_most_runs_hold(tmp_path, corruptions, opened):
    shapes = [
        Shape(videos=2, frames=20, columns=("source",), corruptions=names) for names in corruptions
    ]
    html, _ = make(tmp_path, *shapes)
    assert re.findall(r"<option[^>]* selected>(.*?)</option>", html) == [opened]


@pytest.mark.parametrize(
    ("cells", "pictures"), [([1], 12), ([4], 12), ([3, 2], 9), ([40, 8], 1), ([60, 60], 1)]
)
def test_the_cells_of_all_runs_share_48_pictures(cells, pictures):
    runs = [SimpleNamespace(cells=range(number)) for number in cells]
    assert pictures_a_cell(runs) == pictures


def test_a_run_of_one_frame_and_one_column_has_a_page(tmp_path):
    shape = Shape(videos=1, frames=1, columns=("source",), corruptions=("snow",))
    html, _ = make(tmp_path, shape)
    assert "does not hold both columns" in html


def test_many_cells_share_the_room_of_the_page(tmp_path):
    corruptions = tuple(f"corruption_{i}" for i in range(30))
    shape = Shape(corruptions=corruptions, seeds=(0, 1), videos=40, frames=300)
    html, _ = make(tmp_path, shape)
    data = payload(html)
    assert len(data["views"]) == 60
    assert len(html) < 5_000_000
    # 260,000 values, over two curves of each of 60 cells and 8 columns: 270 points a curve.
    assert {len(view["cells"][0]["curves"]["positions"]) for view in data["views"]} == {270}


def test_videos_are_marked_as_far_as_the_page_has_room(tmp_path, monkeypatch):
    shape = Shape(corruptions=("rain", "snow"), videos=40, frames=400, columns=("source",))
    monkeypatch.setattr("vidc.eval.report.payload.STRETCHES", 80)
    marked = payload(make(tmp_path / "marked", shape)[0])["views"]
    assert [len(view["cells"][0]["stretches"]) for view in marked] == [40, 40]
    monkeypatch.setattr("vidc.eval.report.payload.STRETCHES", 79)
    unmarked = payload(make(tmp_path / "unmarked", shape)[0])["views"]
    assert [view["cells"][0]["stretches"] for view in unmarked] == [None, None]
