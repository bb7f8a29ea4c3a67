"""Importing vidc costs nothing: the heavy libraries wait until they are used."""

import subprocess
import sys

import pytest

HEAVY = {
    "torch",
    "datasets",
    "torchvision",
    "pyarrow",
    "ray",
    "cv2",
    "matplotlib",
    "scipy",
    "numba",
    "skimage",
    "imagecorruptions",
    "PIL",
}


def modules_after(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after ``statement``."""
    code = (
        f"{statement}\nimport sys; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "statement",
    [
        "import vidc",
        "import vidc.frames, vidc.classes, vidc.corruptions, vidc.reading",
        "import vidc.build, vidc.engines",
        "import vidc.eval",
    ],
)
def test_no_heavy_import(statement):
    assert modules_after(statement) & HEAVY == set()


@pytest.mark.parametrize("module", ["vidc.build", "vidc.eval"])
def test_help_imports_nothing_heavy(module):
    code = (
        "import runpy, sys, contextlib, io\n"
        f"sys.argv = ['{module}', '--help']\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        f"    runpy.run_module('{module}', run_name='__main__', alter_sys=True)"
    )
    assert modules_after(code) & (HEAVY | {"numpy"}) == set()
