"""Protocols: every value named, checked and kept; mistakes told with what to write instead."""

import dataclasses
import tomllib
from pathlib import Path

import pytest

import vidc.eval
from vidc.errors import InputError
from vidc.eval.methods import METHODS
from vidc.eval.normalization import NORMALIZATIONS
from vidc.eval.protocol import NAMES, SECTIONS, load_protocol

FOLDER = Path(vidc.eval.__file__).parent / "protocols"


def test_the_papers_values():
    paper = load_protocol("paper")
    assert paper.stream.batch == 16
    assert paper.settings("unmix_tns") == {
        "components": 256,
        "tau": 0.07,
        "alpha": 0.5,
        "momentum0": 0.1,
        "base_batch": 64,
        "eps": 1e-6,
    }
    assert paper.settings("tent") == {
        "lr": 2.5e-6,
        "momentum": 0.9,
        "nesterov": False,
        "weight_decay": 0.0,
        "steps": 1,
    }
    assert paper.settings("alpha_bn") == {"alpha": 0.1, "unbiased": True}


def test_the_code_differs_from_the_paper_in_three_values():
    paper, code = load_protocol("paper").as_dict(), load_protocol("code").as_dict()
    different = {
        (section, key): value
        for section in SECTIONS
        for key, value in code[section].items()
        if value != paper[section][key]
    }
    assert different == {
        ("unmix_tns", "base_batch"): 16,
        ("unmix_tns", "eps"): 0.0,
        ("tent", "nesterov"): True,
    }


def test_the_papers_file_names_and_comments_every_value():
    text = (FOLDER / "paper.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    for section, kind in SECTIONS.items():
        assert set(tables[section]) == {item.name for item in dataclasses.fields(kind)}
    assert set(tables) == {*SECTIONS, "custom"}
    for line in text.splitlines():
        if "=" in line and not line.startswith("#"):
            assert "#" in line, line


def test_the_whole_protocol_comes_back_as_plain_values():
    protocol = load_protocol("paper", ["custom.rate=0.5"])
    values = protocol.as_dict()
    assert values["name"] == "paper"
    assert values["custom"] == {"rate": 0.5}
    assert set(values) == {"name", "custom", *SECTIONS}


@pytest.mark.parametrize("name", [*METHODS, *NORMALIZATIONS])
def test_every_method_and_layer_can_ask_for_its_settings(name):
    assert isinstance(load_protocol("paper").settings(name), dict)


def test_methods_of_user_files_get_the_custom_settings():
    protocol = load_protocol("paper", ["custom.rate=0.5"])
    assert protocol.settings("folder/mine.py:Mine") == {"rate": 0.5}


def test_overrides_are_read_as_toml_values_or_bare_words():
    protocol = load_protocol(
        "paper",
        ["unmix_tns.components=64", "head.map=max", 'head.multi_label="drop"', "tent.lr=1"],
    )
    assert protocol.unmix_tns.components == 64
    assert protocol.head.map == "max"
    assert protocol.head.multi_label == "drop"
    assert protocol.tent.lr == 1.0
    assert isinstance(protocol.tent.lr, float)


def test_a_file_says_only_what_differs(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('base = "code"\n[tent]\nsteps = 2\n[custom]\nx = [1, 2]\n', "utf-8")
    protocol = load_protocol(file)
    assert protocol.name == "mine"
    assert protocol.tent.steps == 2
    assert protocol.tent.nesterov is True
    assert protocol.custom == {"x": [1, 2]}


def test_a_file_without_a_base_is_over_the_paper(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("[tent]\nlr = 0.1\n", "utf-8")
    assert load_protocol(file).unmix_tns == load_protocol("paper").unmix_tns


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("unmix_tns.component=3", "did you mean 'components'"),
        ("tnet.lr=3", "did you mean 'tent'"),
        ("tent", "write it as section.key=value"),
        ("tent.lr", "write it as section.key=value"),
        ("tent.lr=-1", "tent.lr must be a number from 0 to 1000000"),
        ("tent.lr=inf", "tent.lr must be a number from 0 to 1000000"),
        ("tent.lr=nan", "tent.lr must be a number from 0 to 1000000"),
        ("tent.lr=fast", "tent.lr must be a number from 0 to 1000000"),
        ("tent.steps=1.5", "tent.steps must be a whole number from 1 to 65536"),
        ("tent.steps=true", "tent.steps must be a whole number from 1 to 65536"),
        ("tent.nesterov=1", "tent.nesterov must be true or false"),
        ("unmix_tns.tau=0", "unmix_tns.tau must be a number above 0 and at most 1000000"),
        ("unmix_tns.alpha=1.5", "unmix_tns.alpha must be a number from 0 to 1"),
        ("stream.batch=0", "stream.batch must be a whole number from 1 to 65536"),
        ("unmix_tns.components=9999999999", "components must be a whole number from 1 to 65536"),
        ("tent.lr=1e300", "tent.lr must be a number from 0 to 1000000"),
        ("lame.floor=0", "lame.floor must be a number above 0 and at most 1"),
        ("head.map=mean", "head.map must be one of sum, max, imagenet"),
    ],
)
def test_wrong_overrides_are_told_in_a_sentence(override, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        load_protocol("paper", [override])
    assert override.partition("=")[0].split(".")[0] in str(caught.value)


def test_every_number_has_a_bound_that_a_float32_can_hold():
    """Infinity and NaN are below none."""
    paper = load_protocol("paper").as_dict()
    for section in SECTIONS:
        for key, value in paper[section].items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                for beyond in ("1000001", "1e300", "inf", "nan"):
                    with pytest.raises(InputError, match=f"{section}.{key} must be a"):
                        load_protocol("paper", [f"{section}.{key}={beyond}"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[tent]\nlrr = 1\n", "did you mean 'lr'"),
        ("[lmae]\n", "did you mean 'lame'"),
        ("tent = 3\n", "tent must be a table"),
        ("[tent\n", "is not TOML"),
        ('base = "papr"\n', "did you mean 'paper'"),
        ('[stream]\norder = "random"\n', "stream.order must be one of in-order, shuffled"),
        ("[tent]\nnesterov = true\nmomentum = 0\n", "tent.nesterov needs tent.momentum above 0"),
    ],
)
def test_wrong_files_are_told_in_a_sentence(tmp_path, text, sentence):
    file = tmp_path / "mine.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(InputError, match=sentence):
        load_protocol(file)


def test_missing_files_and_unknown_names(tmp_path):
    with pytest.raises(InputError, match=r"absent\.toml cannot be read"):
        load_protocol(tmp_path / "absent.toml")
    with pytest.raises(InputError, match="did you mean 'paper'"):
        load_protocol("papers")
    assert set(NAMES) == {file.stem for file in FOLDER.glob("*.toml")}
