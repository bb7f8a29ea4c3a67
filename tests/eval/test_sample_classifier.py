"""The sample's classifier: what is shipped is what is written down, and training is repeatable."""

from __future__ import annotations

import hashlib
import json

import pytest
import torch
from torch import nn

from vidc.builders import sample
from vidc.classes import class_list
from vidc.eval.models import load_model, make_classifier
from vidc.eval.sample_classifier import FOLDER, METADATA, WEIGHTS, load
from vidc.eval.sample_classifier import train as training
from vidc.eval.sample_classifier.augment import Augmentation, augmented, normalised
from vidc.eval.sample_classifier.train import Frames, Training, accuracy, train, write

PLAIN = Augmentation(contrast=(1.0, 1.0), brightness=0.0, grey=0.0, patches=0)


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def two_colours(count, seed=0):
    """Noisy frames, reddish or bluish: a task that a few steps are enough for."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 120, (count, 3, 32, 32), generator=generator, dtype=torch.uint8)
    images[0::2, 0] += 100
    images[1::2, 2] += 100
    return Frames(images, ("red", "blue") * (count // 2))


def test_the_weights_are_those_written_down():
    data = (FOLDER / WEIGHTS).read_bytes()
    metadata = json.loads((FOLDER / METADATA).read_text())
    assert len(data) <= 2 * 2**20
    assert metadata["sha256"] == hashlib.sha256(data).hexdigest()
    assert metadata["command"] == training.PROGRAM
    assert set(metadata["clean_accuracy"]) == {"imagenet-vid", "lasot"}


def test_the_recorded_training_is_the_scripts():
    recorded = json.loads((FOLDER / METADATA).read_text())["training"]
    assert recorded == json.loads(json.dumps(training.asdict(Training())))


def test_the_network_is_residual_with_batch_norm_and_a_linear_over_the_pool():
    network, metadata = load()
    assert not any(module.training for module in network.modules())
    assert sum(isinstance(module, nn.BatchNorm2d) for module in network.modules()) >= 5
    pooled = torch.zeros(1, network.fc.in_features)
    assert network.fc(pooled).shape == (1, len(metadata["wnids"]))
    with torch.no_grad():
        features = network.pool(network.blocks(network.stem(torch.randn(2, 3, 112, 112))))
    assert features.shape == (2, network.fc.in_features)


@pytest.mark.parametrize("name", ["imagenet-vid", "lasot"])
def test_every_output_is_a_candidate_in_both_datasets(name):
    model = load_model("sample", None)
    classifier = make_classifier(model, class_list(name), "sum")
    assert model.preprocessing.crop == sample.SIZE == training.SIZE
    wnids = class_list(name).wnids
    assert set(model.outputs) <= set(wnids)
    with torch.no_grad():
        logits = classifier(torch.zeros(1, 3, 112, 112)).logits
    assert logits.shape == (1, len(model.outputs))
    answers = classifier.predict(torch.eye(len(model.outputs)))
    assert [wnids[label] for label in answers] == [wnid for wnid in wnids if wnid in model.outputs]


def test_training_is_repeatable_and_the_seed_matters():
    frames = two_colours(64)
    settings = Training(epochs=2, batch=16)
    one, again = (train(frames, ["blue", "red"], settings).state_dict() for _ in range(2))
    other = train(frames, ["blue", "red"], Training(seed=1, epochs=2, batch=16)).state_dict()
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not torch.equal(one["fc.weight"], other["fc.weight"])


def test_training_learns_and_what_is_written_is_what_was_trained(tmp_path):
    settings = Training(epochs=8, batch=16, augmentation=PLAIN)
    network = train(two_colours(64), ["blue", "red"], settings)
    unseen = two_colours(64, seed=1)
    assert accuracy(network, unseen, ["blue", "red"]) == 100
    assert accuracy(network, unseen, ["red", "blue"]) == 0
    write(tmp_path, network, {"wnids": ["blue", "red"]})
    loaded, metadata = load(tmp_path)
    trained = network.state_dict()
    assert loaded.state_dict().keys() == trained.keys()
    assert all(torch.equal(tensor, trained[name]) for name, tensor in loaded.state_dict().items())
    assert metadata["sha256"] == hashlib.sha256((tmp_path / WEIGHTS).read_bytes()).hexdigest()


def test_without_augmentation_a_frame_is_itself_or_its_mirror_image():
    torch.manual_seed(0)
    images = torch.randint(0, 256, (40, 3, 8, 8), dtype=torch.uint8)
    out = augmented(images, PLAIN)
    same = torch.isclose(out, normalised(images), atol=1e-5).flatten(1).all(1)
    mirrored = torch.isclose(out, normalised(images.flip(3)), atol=1e-5).flatten(1).all(1)
    assert bool((same ^ mirrored).all())
    assert 5 < int(same.sum()) < 35


def test_augmented_frames_stay_frames():
    torch.manual_seed(0)
    images = torch.randint(0, 256, (40, 3, 64, 64), dtype=torch.uint8)
    out = augmented(images, Augmentation())
    black, white = normalised(torch.tensor([0, 255])).tolist()
    assert out.shape == images.shape
    assert black <= out.min()
    assert out.max() <= white


def test_patches_are_of_one_colour_and_of_the_size_asked_for():
    torch.manual_seed(0)
    images = torch.zeros(30, 3, 64, 64, dtype=torch.uint8)
    one = Augmentation((1.0, 1.0), 0.0, 0.0, patches=1, patch=(8, 16))
    for image in augmented(images, one):
        covered = image != image.min(dim=2).values.min(dim=1).values[:, None, None]
        assert len(image[covered].unique()) == 3
        rows, columns = covered.any(0).any(1).sum(), covered.any(0).any(0).sum()
        assert 8 <= rows <= 16
        assert 8 <= columns <= 16
        assert covered.any(0).sum() == rows * columns
