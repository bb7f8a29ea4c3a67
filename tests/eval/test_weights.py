"""Loading networks and weights, and the sentences for those that do not fit."""

import copy
import dataclasses
import hashlib
import io
import re
import urllib.error
from email.message import Message

import pytest
import torch
import torchvision
from safetensors.torch import save_file
from torch import nn

from tests.eval.networks_to_adapt import THREE, small_network
from vidc.classes import class_list
from vidc.errors import InputError
from vidc.eval.models import Classifier, Preprocessing, load_model, make_classifier
from vidc.eval.weights import (
    INTERPOLATIONS,
    _is_published,
    _of_file,
    _preprocessing,
    weights_sha256,
    wrap,
)

USER = """\
import functools

import torch
from torch import nn
from vidc.eval.models import Preprocessing


def plain():
    torch.manual_seed(0)
    return nn.Sequential(nn.BatchNorm2d(3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 4))


def described():
    network = plain()
    network.wnids = ["n1", "x", "n2", "y"]
    network.preprocessing = Preprocessing(crop=32, resize=None)
    return network


def wrong():
    return 3


def wrongly_described():
    network = plain()
    network.preprocessing = "bilinear"
    return network


no_function = 3
made_already = plain()


def of_a_size(size):
    return nn.Linear(3, size)


def mistaken():
    return of_a_size()


def with_defaults(size=4, *rest, **more):
    return nn.Linear(3, size)


partly = functools.partial(of_a_size, 4)


class Kind(nn.Linear):
    def __init__(self):
        super().__init__(3, 4)
"""


@pytest.fixture
def user(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(USER, "utf-8")
    return file


@pytest.fixture(scope="module")
def squeezed(tmp_path_factory):
    """A torchvision network and a file of its weights."""
    torch.manual_seed(0)
    network = torchvision.models.get_model("shufflenet_v2_x0_5", weights=None).eval()
    file = tmp_path_factory.mktemp("weights") / "weights.pth"
    torch.save(network.state_dict(), file)
    return network, file


def test_a_torchvision_name_with_a_file_of_weights(squeezed):
    network, file = squeezed
    model = load_model("shufflenet_v2_x0_5", str(file))
    x = torch.randn(2, 3, 64, 64)
    assert torch.equal(model.backbone(x), network(x))
    assert model.sha256 == weights_sha256(network.state_dict())
    assert model.outputs is None
    assert model.preprocessing == Preprocessing()
    assert model.describe()["weights"] == str(file)


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("resnet50-0676ba61.pth", "IMAGENET1K_V1"),
        ("resnet50-11ad3fa6.pth", "IMAGENET1K_V2"),
        ("mine.pth", "IMAGENET1K_V1"),
    ],
)
def test_a_file_is_preprocessed_for_as_torchvision_published_it(name, entry):
    entries = torchvision.models.get_model_weights("resnet50")
    assert _of_file(f"some/folder/{name}", entries) is entries[entry]
    shorter = {"IMAGENET1K_V1": 256, "IMAGENET1K_V2": 232}[entry]  # of their published transforms
    assert _preprocessing(_of_file(name, entries)).resize == shorter


def test_a_published_file_is_known_by_its_name_and_its_hash(tmp_path):
    data = b"weights"
    name = f"resnet50-{hashlib.sha256(data).hexdigest()[:8]}.pth"
    (tmp_path / name).write_bytes(data)
    assert _is_published(tmp_path / name, f"https://elsewhere/models/{name}")
    (tmp_path / "mine.pth").write_bytes(data)
    assert not _is_published(tmp_path / "mine.pth", f"https://elsewhere/models/{name}")
    (tmp_path / name).write_bytes(b"others")
    assert not _is_published(tmp_path / name, f"https://elsewhere/models/{name}")
    (tmp_path / "resnet50.pth").write_bytes(data)
    assert not _is_published(tmp_path / "resnet50.pth", "https://elsewhere/models/resnet50.pth")


def test_a_published_file_has_the_name_of_its_weights(squeezed, monkeypatch):
    _, file = squeezed
    monkeypatch.setattr("vidc.eval.weights._is_published", lambda path, url: path == file)
    assert load_model("shufflenet_v2_x0_5", str(file)).weights == "IMAGENET1K_V1"


@pytest.mark.parametrize(
    ("slip", "sentence"),
    [
        ({"interpolation": "cubic"}, "unknown interpolation 'cubic': did you mean 'bicubic'"),
        ({"crop": (32, 32)}, "crop and resize must be whole numbers"),
        ({"resize": 0}, "crop and resize must be whole numbers"),
        ({"mean": (0.5, 0.5)}, "mean and std must be three numbers each"),
        ({"std": (1, 0, 1)}, "std not 0"),
    ],
)
def test_preprocessing_that_cannot_be_done_is_told(slip, sentence):
    with pytest.raises(InputError, match=sentence):
        Preprocessing(**slip)


def test_every_interpolation_of_torchvision_s_is_known():
    modes = torchvision.transforms.InterpolationMode
    assert {mode.value for mode in modes} == set(INTERPOLATIONS)


@pytest.mark.parametrize("wnids", ["3", "'n1'", "[1, 2]"])
def test_wnids_that_are_no_list_of_names_are_told(tmp_path, wnids):
    file = tmp_path / "mine.py"
    lines = ("from torch import nn", "def net():", " made = nn.Linear(3, 2)")
    file.write_text("\n".join((*lines, f" made.wnids = {wnids}", " return made")))
    with pytest.raises(InputError, match="`wnids` must be a list of wnids"):
        load_model(f"{file}:net")


class Gated(nn.Module):
    """Its classifier was made before another linear layer that comes before it."""

    def __init__(self):
        super().__init__()
        self.classifier = nn.Linear(4, 3)
        self.gate = nn.Linear(4, 4)

    def forward(self, x):
        x = x.mean((2, 3))
        x = torch.cat([x, x[:, :1]], 1)
        return self.classifier(x * self.gate(x).sigmoid())


def test_the_classifier_is_the_layer_with_as_many_outputs_as_there_are_names():
    model = wrap(Gated(), "gated", "random", ("n1", "n2", "elsewhere"))
    classifier = make_classifier(model, THREE, "sum")
    x = torch.randn(2, 3, 8, 8)
    outputs = classifier(x)
    gated = classifier.backbone
    torch.testing.assert_close(
        gated.classifier(outputs.features)[:, :2], gated(x)[:, :2], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("name", ["googlenet", "inception_v3"])
def test_a_file_of_published_weights_is_used_as_torchvision_uses_them(name, tmp_path, monkeypatch):
    torch.manual_seed(0)
    state = torchvision.models.get_model(name, weights=None, init_weights=False).state_dict()
    entry = torchvision.models.get_model_weights(name).DEFAULT
    torch.save(state, tmp_path / entry.url.rpartition("/")[2])
    monkeypatch.setattr(type(entry), "get_state_dict", lambda *_, **__: state)
    published = load_model(name, entry.name)
    from_file = load_model(name, str(tmp_path / entry.url.rpartition("/")[2]))
    x = torch.randn(1, 3, 96, 96)
    assert torch.equal(from_file.backbone(x), published.backbone(x))
    assert from_file.sha256 == published.sha256


@pytest.mark.parametrize("wrapper", [None, "state_dict", "model"])
def test_weights_in_the_wrappings_of_training_scripts(squeezed, wrapper, tmp_path):
    network, _ = squeezed
    state = {f"module.{key}": value for key, value in network.state_dict().items()}
    torch.save({wrapper: state, "epoch": 3} if wrapper else state, tmp_path / "w.pt")
    model = load_model("shufflenet_v2_x0_5", str(tmp_path / "w.pt"))
    assert model.sha256 == weights_sha256(network.state_dict())


def test_safetensors(squeezed, tmp_path):
    network, _ = squeezed
    save_file(network.state_dict(), tmp_path / "w.safetensors")
    model = load_model("shufflenet_v2_x0_5", str(tmp_path / "w.safetensors"))
    assert model.sha256 == weights_sha256(network.state_dict())


def test_the_hash_is_of_names_shapes_and_values():
    state = small_network().state_dict()
    same = {key: state[key].clone() for key in reversed(state)}
    assert weights_sha256(same) == weights_sha256(state)
    for change in (
        {"0.weight": state["0.weight"] + 1e-6},
        {"0.weight": state["0.weight"].flatten()},
        {"0.weight": state["0.weight"].bfloat16()},
        {"other": torch.zeros(1)},
    ):
        assert weights_sha256({**state, **change}) != weights_sha256(state)


def test_weights_that_do_not_fit_name_the_keys(squeezed, tmp_path):
    network, _ = squeezed
    state = dict(network.state_dict())
    state["extra.weight"] = torch.zeros(1)
    del state["conv1.0.weight"]
    state["fc.bias"] = torch.zeros(7)
    torch.save(state, tmp_path / "w.pth")
    with pytest.raises(InputError) as caught:
        load_model("shufflenet_v2_x0_5", str(tmp_path / "w.pth"))
    sentence = str(caught.value)
    assert "w.pth do not fit shufflenet_v2_x0_5" in sentence
    assert "1 missing (conv1.0.weight)" in sentence
    assert "1 unexpected (extra.weight)" in sentence
    assert "1 of another shape (fc.bias)" in sentence


def test_many_wrong_keys_are_a_few_and_a_number(squeezed):
    with pytest.raises(InputError, match=r"\d\d missing \((\S+, ){3}…\)"):
        load_model("mobilenet_v3_small", str(squeezed[1]))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("absent.pth", None, "There is no weights file"),
        ("text.pth", b"not a file of weights", "is not a weights file that is safe to load"),
        ("empty.pth", b"", "is not a weights file that is safe to load"),
        ("text.safetensors", b"nothing", "is not a safetensors file"),
    ],
)
def test_files_that_are_no_weights(tmp_path, name, content, sentence):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        load_model("resnet18", str(tmp_path / name))


def test_a_pickle_that_runs_code_is_not_run(tmp_path):
    class Harmful:
        def __reduce__(self):
            return (open, (str(tmp_path / "harmed"), "w"))

    torch.save({"weight": Harmful()}, tmp_path / "w.pth")
    with pytest.raises(InputError, match=r"more than tensors: save the network's state_dict\(\)"):
        load_model("resnet18", str(tmp_path / "w.pth"))
    assert not (tmp_path / "harmed").exists()


def test_a_file_that_holds_no_state_dict(tmp_path):
    torch.save([1, 2], tmp_path / "w.pth")
    with pytest.raises(InputError, match="does not hold a state dict"):
        load_model("resnet18", str(tmp_path / "w.pth"))


LINEAR = """\
from torch import nn


def network():
    return nn.Linear(2, 2)
"""
ODD = {
    "sparse": lambda: torch.eye(2).to_sparse(),
    "of compressed rows": lambda: torch.eye(2).to_sparse_csr(),
    "quantized": lambda: torch.quantize_per_tensor(torch.eye(2), 0.1, 0, torch.qint8),
    "without values": lambda: torch.zeros(2, 2, device="meta"),
    "of packed bits": lambda: torch.zeros(2, 2, dtype=torch.uint8).view(torch.bits8),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.filterwarnings("ignore")  # torch's own, of what it may change one day
def test_tensors_that_no_network_can_take_over(odd, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(LINEAR, "utf-8")
    torch.save({"weight": ODD[odd](), "bias": torch.zeros(2)}, tmp_path / "w.pth")
    with pytest.raises(InputError, match="holds weight sparse, quantized or without values"):
        load_model(f"{file}:network", str(tmp_path / "w.pth"))


def test_no_network_says_what_to_do(monkeypatch, tmp_path):
    def no_network(*_, **__):
        raise urllib.error.URLError("no route to host")

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr("torch.hub.download_url_to_file", no_network)
    with pytest.raises(InputError, match=r"no route to host.*fetch https://.*--weights FILE"):
        load_model("resnet50", "IMAGENET1K_V1")


def test_a_download_that_is_cut_short_says_what_to_do(monkeypatch, tmp_path):
    class Answer(io.BytesIO):
        def info(self):
            return Message()

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr("torch.hub.urlopen", lambda *_, **__: Answer(b"half of it"))
    with pytest.raises(InputError, match=r"invalid hash value.*fetch https://.*--weights FILE"):
        load_model("resnet18", "IMAGENET1K_V1")


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(InputError, match="did you mean resnet50"):
        load_model("resnet5O")
    with pytest.raises(InputError, match="did you mean 'IMAGENET1K_V2'"):
        load_model("resnet50", "IMAGENET1K_V3")


def test_preprocessing_is_the_weights_own():
    """Against torchvision's own transform object, for weights that have none of our defaults."""
    weights = torchvision.models.EfficientNet_V2_L_Weights.IMAGENET1K_V1
    transform, found = weights.transforms(), _preprocessing(weights)
    assert [found.resize] == transform.resize_size
    assert [found.crop] == transform.crop_size
    assert found.interpolation == transform.interpolation.value
    assert list(found.mean) == list(transform.mean)
    assert list(found.std) == list(transform.std)
    ours = dataclasses.asdict(Preprocessing())
    assert all(value != ours[name] for name, value in dataclasses.asdict(found).items())


def test_a_network_by_name_has_the_preprocessing_of_its_weights(monkeypatch):
    monkeypatch.setattr(
        "torchvision.models._api.WeightsEnum.get_state_dict",
        lambda self, *_, **__: torchvision.models.get_model("efficientnet_b1").state_dict(),
    )
    found = load_model("efficientnet_b1").preprocessing
    assert found == Preprocessing(resize=256, crop=240, interpolation="bicubic")
    assert "shorter side to 256 (bicubic), centre crop of 240" in found.describe()


def test_the_samples_classifier_takes_no_other_weights():
    with pytest.raises(InputError, match="has its own weights"):
        load_model("sample", "IMAGENET1K_V1")


def test_a_users_network(user, tmp_path):
    model = load_model(f"{user}:plain")
    assert model.preprocessing == Preprocessing()
    assert model.weights == "as the function made it"
    described = load_model(f"{user}:described")
    assert described.outputs == ("n1", "x", "n2", "y")
    assert described.preprocessing.crop == 32
    classifier = make_classifier(described, THREE, "sum")
    assert classifier(torch.randn(2, 3, 4, 4)).logits.shape == (2, 2)
    state = {key: value + 1 for key, value in model.backbone.state_dict().items()}
    torch.save(state, tmp_path / "w.pth")
    loaded = load_model(f"{user}:plain", str(tmp_path / "w.pth"))
    assert loaded.sha256 == weights_sha256(state)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        ("wrong", "returned int, not a torch.nn.Module"),
        ("wrongly_described", "must be a vidc.eval.models.Preprocessing"),
        ("plane", "did you mean 'plain'"),
        ("no_function", "must be a function that returns the network and needs no argument"),
        ("made_already", "must be a function that returns the network and needs no argument"),
        ("of_a_size", "must be a function that returns the network and needs no argument"),
    ],
)
def test_wrong_user_networks(user, function, sentence):
    with pytest.raises(InputError, match=sentence):
        load_model(f"{user}:{function}")


def test_a_mistake_inside_the_users_function_stays_the_users(user):
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'size'"):
        load_model(f"{user}:mistaken")


@pytest.mark.parametrize("function", ["with_defaults", "partly", "Kind"])
def test_whatever_needs_no_argument_can_make_the_network(user, function):
    assert load_model(f"{user}:{function}").backbone is not None


def test_a_class_list_that_does_not_match_the_outputs(user):
    with pytest.raises(InputError, match="has 4 outputs where 1000 are expected"):
        make_classifier(load_model(f"{user}:plain"), class_list("lasot"), "sum")
    with pytest.raises(InputError, match="knows none of the classes of lasot"):
        make_classifier(load_model(f"{user}:described"), class_list("lasot"), "sum")


def test_the_classifier_is_a_copy_in_eval_mode():
    network = small_network().train()
    model = wrap(network, "small", "drawn", ["n1", "n1", "n2", "a", "b"])
    before = copy.deepcopy(network.state_dict())
    classifier = make_classifier(model, THREE, "sum").train()
    classifier(torch.randn(4, 3, 8, 8))
    assert all(torch.equal(before[key], value) for key, value in network.state_dict().items())
    assert not make_classifier(model, THREE, "sum").backbone.training
    assert not network._forward_pre_hooks


class Scaled(nn.Module):
    """Does something after its last linear layer, and has two of them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(12, 7), nn.Linear(7, 5)

    def forward(self, x):
        return self.second(self.first(x.flatten(1)).relu()) * 3


def test_features_are_the_input_of_the_last_linear_layer():
    network = Scaled()
    classifier = make_classifier(wrap(network, "s", "s", ["n1", "n2", "a", "b", "c"]), THREE, "max")
    x = torch.randn(2, 3, 2, 2)
    outputs = classifier(x)
    torch.testing.assert_close(outputs.features, network.first(x.flatten(1)).relu())
    torch.testing.assert_close(outputs.logits, network(x)[:, :2])
    other = copy.deepcopy(classifier)
    torch.testing.assert_close(other(x + 1).features, network.first((x + 1).flatten(1)).relu())
    assert classifier.backbone.second.last_input is None


def test_resnet_features_equal_torchvisions_extraction():
    from torchvision.models.feature_extraction import create_feature_extractor

    torch.manual_seed(0)
    network = torchvision.models.resnet18(weights=None).eval()
    classifier = make_classifier(wrap(network, "r", "r"), class_list("imagenet-vid"), "sum")
    x = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        expected = create_feature_extractor(network, ["flatten"])(x)["flatten"]
        torch.testing.assert_close(classifier(x).features, expected)


def test_a_network_without_a_linear_layer_gives_its_logits():
    network = nn.Sequential(nn.Conv2d(3, 5, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    classifier = make_classifier(wrap(network, "c", "c", ["n1", "n2", "a", "b", "c"]), THREE, "sum")
    x = torch.randn(2, 3, 4, 4)
    torch.testing.assert_close(classifier(x).features, network(x))


class Pair(Scaled):
    """Returns more than its logits, as networks with a second head do."""

    def forward(self, x):
        return super().forward(x), x


@pytest.mark.parametrize(
    ("network", "found"),
    [
        (Pair(), "returned tuple where logits of (2, 5) are due"),
        (nn.Flatten(), "returned (2, 12) where logits of (2, 5) are due"),
        (nn.Conv2d(3, 5, 1), "returned (2, 5, 2, 2) where logits of (2, 5) are due"),
    ],
)
def test_a_network_that_returns_something_else_is_told(network, found):
    model = wrap(network, "p", "p", ["n1", "n2", "a", "b", "c"])
    with pytest.raises(InputError, match=re.escape(found)):
        make_classifier(model, THREE, "sum")(torch.randn(2, 3, 2, 2))


def test_a_last_linear_layer_that_never_runs_is_told():
    network = Scaled()
    network.unused = nn.Linear(3, 5)
    model = wrap(network, "s", "s", ["n1", "n2", "a", "b", "c"])
    classifier = make_classifier(model, THREE, "sum")
    with pytest.raises(InputError, match="last linear layer, unused, takes no part"):
        classifier(torch.randn(2, 3, 2, 2))


def test_predictions_are_labels_of_the_dataset():
    model = wrap(small_network(), "small", "drawn", ["a", "n2", "b", "n1", "c"])
    classifier = make_classifier(model, THREE, "sum")
    assert isinstance(classifier, Classifier)
    assert classifier.predict(torch.tensor([[0.9, 0.1], [0.2, 0.8]])).tolist() == [0, 1]
    mapped = make_classifier(model, THREE, "imagenet")
    assert mapped.predict(torch.eye(5)).tolist() == [-1, 1, -1, 0, -1]
