"""Networks and their weights: the sample's, torchvision's, or the user's own."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import io
import struct
import urllib.error
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vidc.errors import InputError, unknown
from vidc.eval.usercode import is_user_code, load_user_code

SAMPLE = "sample"
PAPER_WEIGHTS = "IMAGENET1K_V1"
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
# The values of torchvision's InterpolationMode, which takes a second to import.
INTERPOLATIONS = ("nearest", "nearest-exact", "bilinear", "bicubic", "box", "hamming", "lanczos")
SHOWN_KEYS = 3
_ARCHIVE = b"PK\3\4"  # what torch takes for an archive begins so
# What torchvision builds these two with when it has weights for them, and without them does not.
_FOR_WEIGHTS = {
    "googlenet": {"transform_input": True, "aux_logits": True, "init_weights": False},
    "inception_v3": {"transform_input": True, "init_weights": False},
}


@dataclass(frozen=True)
class Preprocessing:
    """What the weights want of an image, from 8-bit RGB pixels on."""

    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD
    resize: int | None = 256  # the shorter side, before the crop; None: no resize
    crop: int = 224
    interpolation: str = "bilinear"

    def __post_init__(self) -> None:
        sizes = (self.crop, self.crop if self.resize is None else self.resize)
        if not all(isinstance(size, int) and size > 0 for size in sizes):
            raise InputError("Preprocessing: crop and resize must be whole numbers of pixels.")
        if not (len(self.mean) == len(self.std) == 3 and all(self.std)):
            raise InputError("Preprocessing: mean and std must be three numbers each, std not 0.")
        if self.interpolation not in INTERPOLATIONS:
            raise unknown("interpolation", self.interpolation, INTERPOLATIONS)

    def describe(self) -> str:
        """One sentence for the user.

        >>> Preprocessing().describe()[:63]
        'shorter side to 256 (bilinear), centre crop of 224, then (x/255'
        """
        size = f"shorter side to {self.resize} ({self.interpolation}), " if self.resize else ""
        mean = ", ".join(f"{value:g}" for value in self.mean)
        std = ", ".join(f"{value:g}" for value in self.std)
        return f"{size}centre crop of {self.crop}, then (x/255 - [{mean}]) / [{std}]"


@dataclass(frozen=True)
class LoadedModel:
    """A network with its weights, and what is needed to use and to name it."""

    name: str
    weights: str
    sha256: str
    backbone: nn.Module
    outputs: tuple[str, ...] | None  # the wnid of each output; None: ImageNet-1k's own order
    preprocessing: Preprocessing

    def describe(self) -> dict[str, str]:
        """What a result file says about the model."""
        return {
            "name": self.name,
            "weights": self.weights,
            "sha256": self.sha256,
            "preprocessing": self.preprocessing.describe(),
        }


def load_model(name: str, weights: str | None = None) -> LoadedModel:
    """A network by name: ``sample``, a torchvision name, or ``path/file.py:function``.

    ``weights`` is a name of torchvision's or a file; without it, torchvision's IMAGENET1K_V1,
    or the weights the user's function leaves in the network.
    """
    if name == SAMPLE:
        return _sample(weights)
    if is_user_code(name):
        return _user(name, weights)
    return _torchvision(name, weights)


def wrap(
    network: nn.Module,
    name: str,
    weights: str,
    outputs: Sequence[str] | None = None,
    preprocessing: Preprocessing | None = None,
) -> LoadedModel:
    """A network in memory as a loaded model."""
    return LoadedModel(
        name=name,
        weights=weights,
        sha256=weights_sha256(network.state_dict()),
        backbone=network.eval(),
        outputs=None if outputs is None else tuple(outputs),
        preprocessing=preprocessing or Preprocessing(),
    )


def weights_sha256(state: Mapping[str, Tensor]) -> str:
    """One hash of all weights, whatever file they came from."""
    digest = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name].detach().cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _sample(weights: str | None) -> LoadedModel:
    from vidc.eval import sample_classifier

    if weights is not None:
        raise InputError("--weights: the sample classifier has its own weights; leave it out.")
    network, metadata = sample_classifier.load()
    wanted = metadata["preprocessing"]
    preprocessing = Preprocessing(
        mean=tuple(wanted["mean"]),
        std=tuple(wanted["std"]),
        resize=wanted["resize"],
        crop=wanted["crop"],
        interpolation=wanted["interpolation"],
    )
    return wrap(network, SAMPLE, "shipped with vidc", metadata["wnids"], preprocessing)


def _user(name: str, weights: str | None) -> LoadedModel:
    function = load_user_code(name)
    if not _needs_no_argument(function):
        raise InputError(
            f"--model {name} must be a function that returns the network and needs no argument."
        )
    network = function()
    if not isinstance(network, nn.Module):
        raise InputError(f"{name} returned {type(network).__name__}, not a torch.nn.Module.")
    if weights is not None:
        load_weights(network, Path(weights), name)
    preprocessing = getattr(network, "preprocessing", None)
    if preprocessing is not None and not isinstance(preprocessing, Preprocessing):
        raise InputError(
            f"{name}: the network's attribute `preprocessing` must be a "
            "vidc.eval.models.Preprocessing."
        )
    outputs = getattr(network, "wnids", None)
    if outputs is not None and not _is_list_of_names(outputs):
        raise InputError(f"{name}: the network's attribute `wnids` must be a list of wnids.")
    return wrap(network, name, weights or "as the function made it", outputs, preprocessing)


def _is_list_of_names(value: Any) -> bool:
    """Whether it is several texts; one text alone is a list of letters."""
    several = isinstance(value, Iterable) and not isinstance(value, str)
    return several and all(isinstance(each, str) for each in value)


def _needs_no_argument(function: Any) -> bool:
    """Whether it can be called: one that is called wrongly would look like a mistake inside it."""
    if not callable(function) or isinstance(function, nn.Module):
        return False
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:  # written in C, it may not tell
        return True
    return True


def _torchvision(name: str, weights: str | None) -> LoadedModel:
    from torchvision import models

    known = models.list_models(module=models)
    if name not in known:
        near = difflib.get_close_matches(name, (SAMPLE, *known), n=1, cutoff=0.5)
        hint = f" did you mean {near[0]}?" if near else ""
        raise InputError(
            f"unknown model '{name}':{hint} Give {SAMPLE}, a name from "
            "torchvision.models.list_models(), or path/file.py:function."
        )
    entries = models.get_model_weights(name)
    if weights is not None and Path(weights).suffix:
        network = models.get_model(name, weights=None, **_FOR_WEIGHTS.get(name, {}))
        load_weights(network, Path(weights), name)
        if name == "googlenet":  # whose published weights hold two heads that only training uses
            network.register_module("aux1", None)
            network.register_module("aux2", None)
        published = _of_file(weights, entries)
        title = published.name if _is_published(Path(weights), published.url) else weights
        return wrap(network, name, title, preprocessing=_preprocessing(published))
    if weights is None:
        weights = _first_choice(entries).name
    if weights not in entries.__members__:
        raise unknown(f"weights of {name} (a file has a suffix)", weights, entries.__members__)
    entry = entries[weights]
    try:
        network = models.get_model(name, weights=entry)
    except (urllib.error.URLError, TimeoutError, ConnectionError, RuntimeError) as mistake:
        # A download that was cut short is a RuntimeError of torch's: its hash is another.
        raise InputError(
            f"The weights {weights} of {name} cannot be downloaded ({mistake}): fetch {entry.url} "
            "elsewhere and give the file with --weights FILE."
        ) from None
    return wrap(network, name, entry.name, preprocessing=_preprocessing(entry))


def _first_choice(entries: Any) -> Any:
    """The weights that are meant where none are named: the paper's kind, or torchvision's own."""
    return entries.__members__.get(PAPER_WEIGHTS, entries.DEFAULT)


def _of_file(file: str, entries: Any) -> Any:
    """The weights that a file holds, by the name it was published under."""
    named = [entry for entry in entries if entry.url.rpartition("/")[2] == Path(file).name]
    return named[0] if named else _first_choice(entries)


def _is_published(file: Path, url: str) -> bool:
    """Whether a file is the published one: its name there ends in the first digits of its hash."""
    published = url.rpartition("/")[2]
    digits = Path(published).stem.rpartition("-")[2]
    return file.name == published and hashlib.sha256(file.read_bytes()).hexdigest().startswith(
        digits
    )


def _preprocessing(entry: Any) -> Preprocessing:
    """The weights' own evaluation transform."""
    transform = entry.transforms()
    return Preprocessing(
        mean=tuple(transform.mean),
        std=tuple(transform.std),
        resize=transform.resize_size[0],
        crop=transform.crop_size[0],
        interpolation=transform.interpolation.value,
    )


def load_weights(network: nn.Module, file: Path, name: str) -> None:
    """Load a weights file into a network, or say which keys do not fit."""
    state = _read_weights(file)
    wanted = network.state_dict()
    missing = [
        key for key in wanted if key not in state and not key.endswith("num_batches_tracked")
    ]
    unexpected = [key for key in state if key not in wanted]
    shapes = [key for key in wanted if key in state and state[key].shape != wanted[key].shape]
    problems = {"missing": missing, "unexpected": unexpected, "of another shape": shapes}
    told = [f"{len(keys)} {what} ({_few(keys)})" for what, keys in problems.items() if keys]
    if told:
        raise InputError(f"The weights {file} do not fit {name}: keys {', '.join(told)}.")
    network.load_state_dict(state, strict=False)


def _read_weights(file: Path) -> dict[str, Tensor]:
    try:
        there = file.is_file()
    except OSError as error:
        raise InputError(f"The weights {file} cannot be read: {error.strerror}.") from None
    if not there:
        raise InputError(f"There is no weights file {file}.")
    state = _read_safetensors(file) if file.suffix == ".safetensors" else _read_torch(file)
    for wrapper in ("state_dict", "model"):  # what training scripts put around the weights
        if isinstance(state, dict) and isinstance(state.get(wrapper), dict):
            state = state[wrapper]
    if not isinstance(state, dict) or not all(isinstance(each, Tensor) for each in state.values()):
        raise InputError(f"{file} does not hold a state dict of tensors.")
    odd = [str(key) for key, value in state.items() if not _is_plain(value)]
    if odd:
        raise InputError(
            f"{file} holds {_few(odd)} sparse, quantized or without values: save the network's "
            "state_dict() of plain tensors."
        )
    return {str(key).removeprefix("module."): value for key, value in state.items()}


def _is_plain(tensor: Tensor) -> bool:
    """Whether a network's own tensor can take over its values."""
    try:
        torch.empty(1, dtype=tensor.dtype).to(torch.complex128)
    except RuntimeError:  # torch can store numbers that it cannot read, such as quantized ones
        return False
    return tensor.layout is torch.strided and tensor.device.type == "cpu"


def _read_safetensors(file: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(file)
    except (SafetensorError, OSError) as mistake:
        raise InputError(f"{file} is not a safetensors file: {mistake}.") from None


def _read_torch(file: Path) -> Any:
    import pickle

    # A damaged file makes torch's own reader stumble in all these ways.
    refused = (pickle.UnpicklingError, struct.error, RuntimeError, OSError, EOFError, ValueError)
    stumbled = (LookupError, TypeError, AttributeError, ArithmeticError, AssertionError)
    try:
        # From memory: of a file, torch would make room for as many letters as a name says it has.
        data = file.read_bytes()
        _refuse_bomb(data)
        return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except (*refused, *stumbled, zipfile.BadZipFile):
        # Torch's own words advise to load the file without the safety.
        raise InputError(
            f"{file} is not a weights file that is safe to load, being damaged or more than "
            "tensors: save the network's state_dict() alone."
        ) from None


def _refuse_bomb(data: bytes) -> None:
    """Torch stores the parts of its archives as they are: together they are never larger."""
    if data.startswith(_ARCHIVE):
        _check_layout(data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(part.file_size for part in archive.infolist()) > len(data):
                raise ValueError("it unpacks to more than it is")


def _check_layout(data: bytes) -> None:
    """The directory ends where the end record begins, and that is the end of the file.

    Python looks for a directory there and torch where the record says that it begins: of an archive
    that has two, each would read another.
    """
    end = len(data) - 22
    signature, size, offset, comment = struct.unpack_from("<4s8xIIH", data, end)
    if data[end - 20 : end - 16] == b"PK\6\7":  # of large archives, which torch writes for all
        (large,) = struct.unpack_from("<8xQ", data, end - 20)
        end -= 76
        size, offset = struct.unpack_from("<40xQQ", data, end)
        if large != end or data[end : end + 4] != b"PK\6\6":
            raise ValueError("its end records are apart")
    if signature != b"PK\5\6" or comment or offset + size != end:
        raise ValueError("its directory is not at its end")


def _few(keys: Sequence[str]) -> str:
    shown = ", ".join(keys[:SHOWN_KEYS])
    return f"{shown}, …" if len(keys) > SHOWN_KEYS else shown
