"""No file is able to make vidc run code, but the one that a user names as code."""

import ast
import base64
import json
import pickle
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from tests.core import folders
from tests.report.generated import Shape, write_run
from vidc.errors import InputError
from vidc.eval import checkpoint, report
from vidc.eval.weights import load_weights
from vidc.reading import load

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    file for folder in ("vidc", "builders", "eval") for file in (ROOT / folder).rglob("*.py")
)
# What goes through a pipe to a process of our own making, and back, comes from no file.
SPEAK_TO_CHILDREN = ("processes.py",)
EVIL = "from pathlib import Path\n\nPath({mark!r}).touch()\n\n\ndef network():\n    pass\n"


class Harmful:
    """Unpickled, it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


@pytest.fixture
def mark(tmp_path):
    """A file that is there as soon as the harmful pickle has run."""
    made = tmp_path / "mark"
    pickle.loads(pickle.dumps(Harmful(made)))  # noqa: S301 - shows that the attack is one
    assert made.exists()
    made.unlink()
    return made


@pytest.mark.parametrize("name", ["w.pth", "w.pt", "w.bin", "w.safetensors"])
@pytest.mark.parametrize("protocol", [2, 4])
def test_a_pickle_for_weights(tmp_path, mark, name, protocol):
    (tmp_path / name).write_bytes(pickle.dumps(Harmful(mark), protocol))
    with pytest.raises(InputError):
        load_weights(torch.nn.Linear(1, 1), tmp_path / name, "mine")
    assert not mark.exists()


def test_a_whole_network_for_weights(tmp_path, mark):
    network = torch.nn.Linear(1, 1)
    network.harmful = Harmful(mark)
    torch.save(network, tmp_path / "w.pth")
    with pytest.raises(InputError):
        load_weights(torch.nn.Linear(1, 1), tmp_path / "w.pth", "mine")
    assert not mark.exists()


def test_a_pickle_for_a_checkpoint(tmp_path, mark):
    (tmp_path / "cell.safetensors").write_bytes(pickle.dumps(Harmful(mark)))
    with pytest.raises(InputError):
        checkpoint.load(tmp_path / "cell.safetensors")
    assert not mark.exists()


def test_a_pickle_in_the_types_of_a_shard(tmp_path, mark):
    """Old versions of Arrow made a column's type by unpickling what the file said of it."""
    shape = folders.Shape(videos=1, frames=1, size=8, configs=("clean",))
    folder = folders.write_folder(tmp_path / "data", shape)
    name = "data/clean/val-00000-of-00001.parquet"
    table = pq.read_table(folder / name)
    harmful = pickle.dumps(Harmful(mark))
    metadata = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": harmful,
    }
    at = table.schema.get_field_index("video")
    field = table.schema.field(at).with_metadata(metadata)
    table = table.cast(table.schema.set(at, field))
    pq.write_table(table, folder / name)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["shards"][name] = folders.record(folder / name, 1)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    types = base64.b64decode(pq.read_metadata(folder / name).metadata[b"ARROW:schema"])
    assert b"arrow.py_extension_type" in types
    assert harmful in types
    assert [frame.video for frame in load(folder, "clean")] == ["val_000"]
    assert not mark.exists()


def test_code_that_only_a_results_file_names(tmp_path, monkeypatch):
    mark = tmp_path / "mark"
    (tmp_path / "evil.py").write_text(EVIL.format(mark=str(mark)))
    run = write_run(tmp_path / "run", Shape(videos=2, frames=20, columns=("source", "unmix_tns")))
    results = json.loads((run / "results.json").read_text())
    results["model"]["name"] = "evil.py:network"
    results["columns"][0]["pair"] = "evil.py:network@bn"
    results["datasets"] = {
        name: dataset | {"path": "evil.py"} for name, dataset in results["datasets"].items()
    }
    (run / "results.json").write_text(json.dumps(results))
    monkeypatch.chdir(tmp_path)
    report.write([run], tmp_path / "out", figures=False)
    assert not mark.exists()
    assert "evil.py:network" in (tmp_path / "out" / "report.html").read_text()


def test_the_table_for_latex_holds_no_command_of_others(tmp_path):
    run = write_run(tmp_path / "run", Shape(videos=2, frames=20, columns=("source",)))
    results = json.loads((run / "results.json").read_text())
    results["model"]["name"] = "net\n\\input{/etc/passwd}"
    results["columns"][0]["name"] = "\\input{/etc/passwd}"
    (run / "results.json").write_text(json.dumps(results))
    report.write([run], tmp_path / "out")
    lines = (tmp_path / "out" / "figures" / "table.tex").read_text().splitlines()
    assert not [line for line in lines if "\\input{" in line and not line.startswith("%")]


# What gives whoever wrote a file the last word. Ruff looks for most of it, but not for all.
BUILTINS = ("eval", "exec", "compile")  # also names of ours, which are never called
FORBIDDEN = (
    *("builtins.eval", "builtins.exec", "os.system", "os.popen", "numpy.load", "joblib.load"),
    *("torch.hub.load", "torch.jit.load", "pandas.read_pickle", "yaml.load", "yaml.unsafe_load"),
)
LOADERS = ("torch.load", "torch.serialization.load")  # safe when told so
PICKLES = ("pickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle")
HARMLESS = ("pickle.UnpicklingError",)


def dangers(source, *, may_pickle=False):
    """What is dangerous in a source, by the names that its imports stand for."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    names = imported(nodes)
    calls = {node.func: node for node in nodes if isinstance(node, ast.Call)}
    found = [node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg == "shell"]
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute):
            head, dot, rest = ast.unparse(node).partition(".")
            name = names.get(head, head) + dot + rest
            if is_dangerous(name, calls.get(node), may_pickle):
                found.append(f"{name} in line {node.lineno}")
    return found


def imported(nodes):
    """What the names that a source imports stand for."""
    names = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {each.asname: each.name for each in node.names if each.asname}
        elif isinstance(node, ast.ImportFrom):
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return names


def is_dangerous(name, call, may_pickle):
    if name in BUILTINS:
        return call is not None
    if name in LOADERS:
        options = {each.arg: ast.unparse(each.value) for each in call.keywords} if call else {}
        return options.get("weights_only") != "True"
    pickles = name.partition(".")[0] in PICKLES and name not in (*PICKLES, *HARMLESS)
    return name in FORBIDDEN or (pickles and not may_pickle)


def test_the_source_asks_nowhere_for_what_is_dangerous():
    for file in SOURCES:
        may_pickle = file.name in SPEAK_TO_CHILDREN
        assert dangers(file.read_text("utf-8"), may_pickle=may_pickle) == [], file


@pytest.mark.parametrize(
    "source",
    [
        "eval(x)",
        "import builtins; builtins.exec(x)",
        "import numpy; numpy.load(x)",
        "import numpy as np; np.load(x)",
        "from numpy import load; load(x)",
        "from pickle import loads; loads(x)",
        "from pickle import Unpickler as Reader; Reader(x)",
        "import pickle as p; map(p.loads, x)",
        "import torch; torch.load(x)",
        "import torch; torch.load(x, weights_only=False)",
        "import torch; partial(torch.load, weights_only=False)",
        "from torch import load as read; read(x)",
        "from torch.serialization import load; load(x)",
        "from os import system as run; run(x)",
        "subprocess.run(x, shell=True)",
    ],
)
def test_whatever_it_is_called(source):
    assert dangers(source)
