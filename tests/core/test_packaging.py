"""The wheel and the sdist, installed in a fresh environment, beside files of the user's own."""

import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return out


@pytest.fixture(scope="module", params=["*.whl", "*.tar.gz"], ids=["wheel", "sdist"])
def python(request, archives, tmp_path_factory):
    """An interpreter with this archive installed, and the dependencies of the running one."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    site = next(folder.glob("lib/python*/site-packages"))
    # A plain path in a .pth file lends the dependencies without the editable install beside them.
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    (archive,) = archives.glob(request.param)
    subprocess.run(
        [folder / "bin/pip", "install", "--no-deps", "--no-build-isolation", str(archive)],
        check=True,
        capture_output=True,
    )
    return folder / "bin/python"


@pytest.mark.slow
def test_both_commands_run_beside_the_users_own_eval_and_builders(python, tmp_path):
    (tmp_path / "eval.py").write_text("raise SystemExit('the wrong eval')")
    (tmp_path / "builders").mkdir()
    (tmp_path / "builders/__init__.py").write_text("raise SystemExit('the wrong builders')")
    where = "import vidc.builders, vidc.eval, vidc; print(vidc.__file__, vidc.builders.__file__)"
    shown = subprocess.run(
        [python, "-c", where], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert str(ROOT) not in shown.stdout
    for command in ("vidc.build", "vidc.eval"):
        done = subprocess.run(
            [python, "-m", command, "--help"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    build = subprocess.run(
        [python, "-m", "vidc.build"], cwd=tmp_path, capture_output=True, text=True
    )
    assert build.returncode == 0, build.stderr
    table = subprocess.run(
        [python, "-m", "vidc.eval", "--columns", "source", "--corruptions", "clean", "--no-report"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert table.returncode == 0, table.stderr
    assert "Source" in table.stdout


def test_the_archives_hold_the_linked_folders_and_their_data(archives):
    (wheel,) = archives.glob("*.whl")
    (sdist,) = archives.glob("*.tar.gz")
    inside = set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(sdist) as tar:
        source = {name.partition("/")[2] for name in tar.getnames()}
    for path in ("vidc/builders/shards.py", "vidc/eval/runner.py", "vidc/classes/lasot.json"):
        assert path in inside
        assert path in source
    assert any(name.endswith("weights.safetensors") for name in inside)
    assert any(name.endswith("protocols/paper.toml") for name in inside)
    assert any(name.endswith("DATASET_CARD.md") for name in inside)
