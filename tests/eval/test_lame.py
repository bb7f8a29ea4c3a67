"""LAME against plain loops that stop early, and where the released code gives NaN."""

import numpy as np
import pytest
import torch

from tests.eval.networks_to_adapt import settings, small_classifier
from tests.reference import lame_loops
from vidc.eval.methods.lame import Lame, laplacian_optimisation, rbf_affinity
from vidc.eval.models import Outputs


def lame(*overrides):
    return Lame(small_classifier(), settings("lame", *overrides))


def outputs(batch, classes=5, features=7, seed=0, dtype=torch.float64, sharpness=2.0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(batch, classes, generator=generator, dtype=dtype) * sharpness
    return Outputs(logits, torch.randn(batch, features, generator=generator, dtype=dtype))


@pytest.mark.parametrize("batch", [2, 4, 5, 16])
@pytest.mark.parametrize("neighbours", [2, 5])
def test_affinity_equals_the_loops(batch, neighbours):
    features = outputs(batch).features
    expected = lame_loops.affinity(features.tolist(), neighbours)
    np.testing.assert_allclose(rbf_affinity(features, neighbours).numpy(), expected, rtol=1e-10)


def test_affinity_by_hand():
    """Unit vectors at 0°, 60° and 180°: the second nearest, self first, is at 1, 1 and √3."""
    features = torch.tensor([[2.0, 0.0], [0.5, 0.75**0.5], [-3.0, 0.0]], dtype=torch.float64)
    width = (1 + 1 + 3**0.5) / 3
    expected = [np.exp(-(d**2) / (2 * width**2)) for d in (0, 1, 2)]
    np.testing.assert_allclose(rbf_affinity(features, 2)[0].numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("batch", [2, 3, 16])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equals_the_loops(batch, seed):
    given = outputs(batch, seed=seed)
    probabilities = given.logits.softmax(1)
    expected, iterations = lame_loops.adjust(probabilities.tolist(), given.features.tolist())
    assert 3 <= iterations < 100  # so the stopping rule has had its say
    np.testing.assert_allclose(lame().refine(given).numpy(), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
def test_stops_where_the_loops_stop(tolerance):
    """With a coarse tolerance the result depends on the very iteration at which it stops."""
    given = outputs(8, seed=4)
    expected, iterations = lame_loops.adjust(
        given.logits.softmax(1).tolist(), given.features.tolist(), tolerance=tolerance
    )
    assert iterations < 100
    found = lame(f"lame.tolerance={tolerance}").refine(given)
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-12)
    longer, _ = lame_loops.adjust(
        given.logits.softmax(1).tolist(), given.features.tolist(), tolerance=0
    )
    if tolerance >= 1e-3:
        assert not np.allclose(found.numpy(), longer, rtol=0, atol=1e-12)


def test_stops_at_the_last_iteration():
    given = outputs(8, seed=5)
    expected, iterations = lame_loops.adjust(
        given.logits.softmax(1).tolist(), given.features.tolist(), iterations=4, tolerance=0
    )
    assert iterations == 4
    found = lame("lame.iterations=4", "lame.tolerance=0").refine(given)
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-12)


def test_float32_is_near_the_loops():
    given = outputs(16, seed=6, dtype=torch.float32)
    expected, _ = lame_loops.adjust(given.logits.softmax(1).tolist(), given.features.tolist())
    np.testing.assert_allclose(lame().refine(given).numpy(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("batch", [1, 2, 16])
@pytest.mark.parametrize("seed", [0, 1])
def test_identical_frames_are_finite_and_keep_their_prediction(batch, seed):
    one = outputs(1, seed=seed, dtype=torch.float32)
    given = Outputs(one.logits.expand(batch, -1), one.features.expand(batch, -1))
    found = lame().refine(given)
    assert torch.isfinite(found).all()
    torch.testing.assert_close(found.sum(1), torch.ones(batch))
    assert torch.equal(found.argmax(1), given.logits.argmax(1))


def test_two_paused_videos_stay_apart():
    """Eight frames of each: the width is zero, and the limit is that only equals are alike."""
    two = outputs(2, seed=3, dtype=torch.float32)
    rows = torch.arange(16) // 8
    affinity = rbf_affinity(two.features[rows], 5)
    assert torch.equal(affinity, (rows[:, None] == rows).float())
    found = lame().refine(Outputs(two.logits[rows], two.features[rows]))
    assert torch.equal(found.argmax(1), two.logits.argmax(1)[rows])


def test_frames_without_features_are_finite():
    given = Outputs(outputs(4, dtype=torch.float32).logits, torch.zeros(4, 7))
    assert torch.isfinite(lame().refine(given)).all()


def test_alike_frames_are_pulled_together():
    """A doubtful frame beside three sure ones with nearly its features takes their side."""
    logits = torch.tensor([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 0.3]])
    near = torch.tensor([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2], [1.0, 0.15]])
    assert lame().refine(Outputs(logits, near)).argmax(1).tolist() == [0, 0, 0, 0]


def test_autocast_does_not_reach_it():
    given = outputs(16, seed=6, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = lame().refine(given)
    assert torch.equal(inside, lame().refine(given))


def test_energy_settles_in_a_mask_and_stays():
    """More iterations allowed after settling change nothing, to the bit; nor does stopping."""
    given = outputs(8, seed=4)
    unary = -given.logits.softmax(1).log()
    affinity = rbf_affinity(given.features, 5)
    short, long = (laplacian_optimisation(unary, affinity, n, 1e-8) for n in (100, 400))
    assert torch.equal(short, long)
    assert torch.equal(short, laplacian_optimisation(unary, affinity, 100, 1e-8, ask=True))
