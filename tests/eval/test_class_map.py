"""The class-map head and the choice of frames, against loops over classes and frames."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.eval.networks_to_adapt import THREE
from vidc.classes import LISTS, class_list
from vidc.errors import InputError
from vidc.eval.head import ClassMap, groups, select_frames
from vidc.eval.scores import right
from vidc.frames import FrameLabels


def logits(batch, outputs, seed=0, scale=3.0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, outputs, generator=generator, dtype=torch.float64) * scale


@st.composite
def maps(draw):
    """Disjoint groups of outputs, some classes with none."""
    outputs = draw(st.integers(2, 12))
    owner = draw(st.lists(st.integers(-1, 4), min_size=outputs, max_size=outputs))
    members = tuple(tuple(i for i, o in enumerate(owner) if o == label) for label in range(5))
    return (outputs, members) if any(members) else (outputs, ((0,), *members[1:]))


@hypothesis_settings(max_examples=60, deadline=None)
@given(maps(), st.integers(0, 99), st.sampled_from([0.1, 3.0, 200.0]))
def test_sum_adds_probabilities_and_renormalises(case, seed, scale):
    outputs, members = case
    rows = logits(3, outputs, seed, scale)
    head = ClassMap("sum", members, outputs)
    found = head(rows).softmax(1)
    candidates = [group for group in members if group]
    for row, ours in zip(rows.tolist(), found.tolist(), strict=True):
        top = max(row[i] for group in candidates for i in group)
        sums = [sum(math.exp(row[i] - top) for i in group) for group in candidates]
        np.testing.assert_allclose(ours, [each / sum(sums) for each in sums], atol=1e-12)
    labels = [label for label, group in enumerate(members) if group]
    assert head.predict(found).tolist() == [labels[row.argmax()] for row in found.numpy()]


@hypothesis_settings(max_examples=40, deadline=None)
@given(maps(), st.integers(0, 99))
def test_max_takes_the_largest_logit_of_a_group(case, seed):
    outputs, members = case
    rows = logits(3, outputs, seed)
    found = ClassMap("max", members, outputs)(rows)
    expected = [[max(row[i] for i in group) for group in members if group] for row in rows.tolist()]
    assert found.tolist() == expected


@hypothesis_settings(max_examples=40, deadline=None)
@given(maps(), st.integers(0, 99))
def test_imagenet_maps_only_the_prediction(case, seed):
    outputs, members = case
    rows = logits(3, outputs, seed)
    head = ClassMap("imagenet", members, outputs)
    assert torch.equal(head(rows), rows)
    owner = {i: label for label, group in enumerate(members) for i in group}
    expected = [owner.get(int(np.argmax(row)), -1) for row in rows.numpy()]
    assert head.predict(head(rows)).tolist() == expected


def test_the_three_maps_differ_by_hand():
    """Two weak outputs of a class outweigh a stronger one; one outside the map is strongest."""
    rows = torch.log(torch.tensor([[0.2, 0.2, 0.25, 0.35]]))
    members = ((0, 1), (2,))
    predicted = {
        name: ClassMap(name, members, 4).predict(ClassMap(name, members, 4)(rows)).item()
        for name in ("sum", "max", "imagenet")
    }
    assert predicted == {"sum": 0, "max": 1, "imagenet": -1}
    probabilities = ClassMap("sum", members, 4)(rows).softmax(1)
    torch.testing.assert_close(probabilities, torch.tensor([[0.4 / 0.65, 0.25 / 0.65]]))


@pytest.mark.parametrize("name", ["sum", "max"])
def test_gradients_are_finite_and_reach_only_the_groups(name):
    rows = logits(2, 5).requires_grad_()
    ClassMap(name, ((0, 1), (3,)), 5)(rows).sum().backward()
    assert torch.isfinite(rows.grad).all()
    assert (rows.grad[:, [2, 4]] == 0).all()
    if name == "sum":
        assert torch.autograd.gradcheck(ClassMap(name, ((0, 1), (3,)), 5), (rows,))


def test_half_precision_is_widened():
    assert ClassMap("sum", ((0,), (1,)), 2)(logits(2, 2).bfloat16()).dtype == torch.float32


@pytest.mark.parametrize("name", LISTS)
def test_no_imagenet_index_counts_as_two_classes(name):
    indices = [index for group in groups(class_list(name)) for index in group]
    assert len(indices) == len(set(indices))
    assert 0 <= min(indices) <= max(indices) < 1000
    head = ClassMap("sum", groups(class_list(name)), 1000)
    assert head(torch.randn(2, 1000)).shape == (2, sum(bool(g) for g in groups(class_list(name))))


def test_outputs_with_wnids_are_matched_by_wnid():
    assert groups(THREE, ["n2", "other", "n1"]) == ((2,), (0,), ())
    assert groups(THREE) == ((0, 1), (2,), ())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("sun", ((0,),), 1), "did you mean 'sum'"),
        (("sum", ((), ()), 3), "None of the dataset's classes"),
        (("sum", ((0,), (7,)), 3), "needs output 7, but the network has only 3"),
    ],
)
def test_maps_that_cannot_be_are_refused(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        ClassMap(*arguments)


def stream(label, labels):
    count = len(label)
    return FrameLabels(
        np.array(["v"] * count), np.arange(count, dtype=np.int32), np.array(label), tuple(labels)
    )


@pytest.mark.parametrize("rule", ["any", "drop"])
def test_frames_are_selected_as_a_loop_would(rule):
    generator = np.random.default_rng(0)
    labels = [
        tuple(sorted(set(generator.integers(0, 3, generator.integers(0, 4)).tolist())))
        for _ in range(200)
    ]
    label = [each[0] if each else -1 for each in labels]
    members = groups(THREE)
    kept, why = [], {"unlabelled": 0, "no_counterpart": 0, "several_classes": 0}
    for position, (first, every) in enumerate(zip(label, labels, strict=True)):
        if first == -1:
            why["unlabelled"] += 1
        elif not members[first]:
            why["no_counterpart"] += 1
        elif rule == "drop" and len(every) > 1:
            why["several_classes"] += 1
        else:
            kept.append(position)
    found = select_frames(stream(label, labels), members, rule)
    assert found.positions.tolist() == kept
    assert found.left_out() == why
    assert why["unlabelled"] > 0
    assert why["no_counterpart"] > 0
    assert (why["several_classes"] > 0) == (rule == "drop")


def test_any_counts_each_class_of_a_frame_as_right():
    labels = [(0, 1), (0, 1), (1,)]
    chosen = select_frames(stream([0, 0, 1], labels), groups(THREE), "any").positions
    answers = right(np.array([1, 0, 0], np.int32), [labels[i] for i in chosen])
    assert answers.tolist() == [True, True, False]


def test_unknown_rule_is_refused():
    with pytest.raises(InputError, match="unknown multi-label rule 'all'"):
        select_frames(stream([0], [(0,)]), groups(THREE), "all")
