"""Columns as pairs, the paper's eight, and methods of the user's own."""

import subprocess
import sys

import pytest
import torch

from tests.eval.networks_to_adapt import settings, small_classifier
from tests.eval.one_cell import run, settings_of
from vidc.errors import InputError
from vidc.eval.methods import (
    COLUMNS,
    METHODS,
    Column,
    method_class,
    method_settings,
    parse_columns,
)
from vidc.eval.methods.base import Method
from vidc.eval.methods.tent import Tent
from vidc.eval.normalization import NORMALIZATIONS, with_normalization
from vidc.eval.protocol import load_protocol

MINE = """\
from vidc.eval.methods.base import Method


class Doubtful(Method):
    def refine(self, outputs):
        return (outputs.logits / self.settings["temperature"]).softmax(1)


class NotOne:
    pass
"""


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MINE, "utf-8")
    return file


def test_the_papers_eight_in_its_order():
    assert [(column.name, column.pair) for column in COLUMNS.values()] == [
        ("Source", "source@bn"),
        ("TBN", "source@tbn"),
        ("α-BN", "source@alpha_bn"),
        ("UnMix-TNS", "source@unmix_tns"),
        ("TENT", "tent@tbn"),
        ("TENT†", "tent@unmix_tns"),
        ("LAME", "lame@bn"),
        ("LAME†", "lame@unmix_tns"),
    ]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_every_pair_can_be_asked_for_and_gives_probabilities(method, normalization):
    (column,) = parse_columns([f"{method}@{normalization}"])
    assert column.pair == f"{method}@{normalization}"
    network = with_normalization(
        small_classifier(), normalization, settings(normalization, "unmix_tns.components=4"), 0
    )
    running = method_class(method)(network, settings(method))
    for batch in (4, 1):
        scores = running.step(torch.randn(batch, 3, 8, 8))
        assert scores.shape == (batch, 3)
        torch.testing.assert_close(scores.sum(1), torch.ones(batch))


def test_a_named_pair_is_its_column():
    assert parse_columns(["tent@tbn", "lame"]) == [COLUMNS["tent"], COLUMNS["lame"]]


def test_a_users_method(mine):
    name = f"{mine}:Doubtful"
    columns = parse_columns(["source", f"{name}@unmix_tns", name])
    assert columns[1] == Column("Doubtful@unmix_tns", "Doubtful@unmix_tns", name, "unmix_tns")
    assert columns[2].normalization == "bn"
    method = method_class(name)(small_classifier(), {"temperature": 2.0})
    x = torch.randn(4, 3, 8, 8)
    expected = (small_classifier()(x).logits / 2).softmax(1)
    torch.testing.assert_close(method.step(x), expected)


def test_a_method_that_extends_a_shipped_one_has_its_settings(tmp_path):
    """Unchanged it answers as TENT does; with its own learning rate of zero, as TBN does."""
    file = tmp_path / "mine.py"
    file.write_text("from vidc.eval.methods.tent import Tent\n\n\nclass Mine(Tent):\n    pass\n")
    columns = parse_columns(["tbn", "tent", f"{file}:Mine@tbn"])
    found = {}
    for name, overrides in (("inherited", ()), ("own", ("custom.lr=0.0",))):
        _, answers = run(tmp_path / name, settings_of(columns, overrides))
        found[name] = {c.id: answers[f"{c.id}_confidence"].to_pylist() for c in columns}
    assert found["inherited"]["Mine@tbn"] == found["inherited"]["tent"]
    assert found["own"]["Mine@tbn"] != found["own"]["tent"]
    assert found["own"]["Mine@tbn"] == pytest.approx(found["own"]["tbn"], rel=1e-5)


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["custom.lr=fast"], "custom.lr .*: tent.lr must be a number from 0 to"),
        (["custom.lr=-1"], "custom.lr .*: tent.lr must be a number from 0 to"),
        (["custom.steps=true"], "custom.steps .*: tent.steps must be a whole number"),
        (["custom.nesterov=true", "custom.momentum=0"], "tent.nesterov needs tent.momentum above"),
    ],
)
def test_what_a_method_changes_of_a_shipped_one_is_checked_as_that_ones(
    overrides, sentence, mine, tmp_path
):
    protocol = load_protocol("paper", overrides)
    with pytest.raises(InputError, match=sentence):
        method_settings(f"{tmp_path}/x.py:Mine", type("Mine", (Tent,), {}), protocol)
    assert method_settings("tent", Tent, protocol) == protocol.settings("tent")
    own = method_settings(f"{mine}:Doubtful", method_class(f"{mine}:Doubtful"), protocol)
    assert own == protocol.custom


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["tnt"], "unknown column 'tnt': did you mean 'tent'"),
        (["tnt@tbn"], "unknown method 'tnt': did you mean 'tent'"),
        (["tent@tbm"], "normalization in tent@tbm 'tbm': did you mean 'tbn'"),
        (["tent", "tent@tbn"], "The column tent is asked for twice"),
        (["absent.py:Mine@tbn"], "There is no file absent.py"),
    ],
)
def test_wrong_columns_are_told_in_a_sentence(names, sentence):
    with pytest.raises(InputError, match=sentence):
        parse_columns(names)


def test_two_files_with_a_class_of_the_same_name_are_told_apart(mine, tmp_path):
    other = tmp_path / "other.py"
    other.write_text(MINE, "utf-8")
    with pytest.raises(InputError, match=r"mine\.py:Doubtful and .*other\.py:Doubtful would both"):
        parse_columns([f"{mine}:Doubtful@bn", f"{other}:Doubtful@bn"])
    with pytest.raises(InputError, match="Doubtful@bn is asked for twice"):
        parse_columns([f"{mine}:Doubtful@bn"] * 2)


def test_wrong_user_files_are_told_in_a_sentence(mine, tmp_path):
    with pytest.raises(InputError, match="did you mean 'Doubtful'"):
        method_class(f"{mine}:Doubtfull")
    with pytest.raises(InputError, match="is not a subclass of"):
        method_class(f"{mine}:NotOne")
    broken = tmp_path / "broken.py"
    broken.write_text("def (:\n", "utf-8")
    with pytest.raises(InputError, match=r"broken\.py cannot be imported"):
        method_class(f"{broken}:Mine")
    broken.write_text("import no_such_module_anywhere\n", "utf-8")
    with pytest.raises(InputError, match="no_such_module_anywhere"):
        method_class(f"{broken}:Mine")
    with pytest.raises(InputError, match="unknown method"):
        method_class("mine")


class Restless(Method):
    """Adapts anything, and keeps an optimiser and a tensor of its own."""

    adapts = True

    def setup(self):
        self.classifier.requires_grad_(True)
        self.optimizer = torch.optim.Adam(self.classifier.parameters(), lr=0.01)
        self.seen = torch.zeros(3)

    def step(self, images):
        scores = self.classifier(images).logits.softmax(1)
        self.optimizer.zero_grad()
        scores.square().sum().backward()
        self.optimizer.step()
        self.seen += scores.detach().sum(0)
        return (scores + self.seen).detach().softmax(1)

    def state(self):
        return super().state() | {"seen": self.seen.clone()}

    def load_state(self, state):
        super().load_state(state)
        self.seen.copy_(state["seen"])


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_any_adapting_method_is_reset_and_continued_exactly(normalization):
    def fresh():
        values = settings(normalization, "unmix_tns.components=4")
        return Restless(with_normalization(small_classifier(), normalization, values, 0), {})

    stream = [torch.randn(4, 3, 8, 8) for _ in range(4)]
    method = fresh()
    whole = [method.step(images) for images in stream]
    method.reset()
    again = [method.step(images) for images in stream[:2]]
    continued = fresh()
    continued.load_state(method.state())
    again += [continued.step(images) for images in stream[2:]]
    assert all(torch.equal(a, b) for a, b in zip(whole, again, strict=True))
    assert not torch.equal(whole[0], whole[1])


class Forgetful(Method):
    """Changes its network in a step of its own, and does not say that it adapts."""

    def step(self, images):
        with torch.no_grad():
            self.classifier.backbone[-1].weight.add_(0.1)
        return super().step(images)


def test_a_step_of_its_own_is_reset_too():
    method = Forgetful(small_classifier(), {})
    images = torch.randn(4, 3, 8, 8)
    first, second = method.step(images), method.step(images)
    assert not torch.equal(first, second)
    method.reset()
    assert torch.equal(method.step(images), first)


def test_names_and_protocols_need_no_torch():
    code = (
        "import sys; from vidc.eval.methods import parse_columns; "
        "from vidc.eval.protocol import load_protocol; "
        "parse_columns(['tent']); load_protocol(); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
