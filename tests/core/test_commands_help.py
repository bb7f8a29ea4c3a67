"""What a person sees first: help that opens with an example, and mistakes told in one sentence."""

import os
import re
import subprocess
import sys

import pytest

from vidc.build import COMMANDS


def run(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, cwd=cwd, check=False
    )


@pytest.mark.parametrize(
    "command",
    [
        "vidc.eval",
        "vidc.eval report",
        "vidc.build",
        *(f"vidc.build {each[0]}" for each in COMMANDS),
    ],
)
def test_help_opens_with_an_example_and_fits_on_a_screen(command):
    shown = run(*command.split(), "--help")
    lines = shown.stdout.splitlines()
    assert shown.returncode == 0
    assert f"python -m {command}" in "\n".join(lines[:4])
    assert len(lines) <= 48
    assert max(map(len, lines)) <= 80
    assert not re.search(r"^  --no-.*default", shown.stdout, re.M)  # "(default: True)" of a --no-


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["vidc.build", "imagnet-vid"], "imagenet-vid"),
        (["vidc.build", "lasot", "--rot", "x"], "did you mean --root?"),
        (["vidc.build", "lasot", "--root", ".", "--out", "x", "--corruptions", "snwo"], "snow"),
        (["vidc.eval", "--columns", "tennt"], "tent"),
        (["vidc.eval", "--protcol=paper"], "did you mean --protocol?"),
        (["vidc.eval", "--protocol", "papre"], "paper"),
    ],
)
def test_an_unknown_word_gets_one_sentence_and_the_nearest_known_one(words, expected, tmp_path):
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_evaluator_says_which_command_makes_the_sample(tmp_path):
    done = run("vidc.eval", cwd=tmp_path)
    assert done.returncode == 2
    assert "python -m vidc.build" in done.stderr
    assert list(tmp_path.iterdir()) == []


SAYS = "from vidc.commandline import run; run(lambda words: print('\\u2020 \\udcff') or 0, 'x')"


def test_output_that_nobody_reads_is_no_success():
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-c", SAYS]
    done = subprocess.run(line, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")  # what a shell says of `yes | head`


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_stream_that_is_closed_is_no_file_s_number(closed, tmp_path):
    code = (
        "import os, subprocess, sys; from vidc.commandline import run, say\n"
        "looks = 'import os; [os.fstat(number) for number in range(3)]'\n"
        "def main(words):\n"
        "    data = open(sys.argv[1], 'wb')\n"
        "    say('said'); os.write(2, b'of a library'); sys.stderr.write('told')\n"
        "    data.write(b'data')\n"
        "    subprocess.run([sys.executable, '-c', looks], check=True)\n"
        "    return 0\n"
        "run(main, 'x')"
    )
    file = tmp_path / "shard"
    line = f'exec "$0" -c "$1" "$2" {closed}'
    done = subprocess.run(["sh", "-c", line, sys.executable, code, file], check=False)
    assert done.returncode == 0
    assert file.read_bytes() == b"data"


def test_a_terminal_that_does_not_know_a_letter_gets_its_number():
    done = subprocess.run(
        [sys.executable, "-c", SAYS],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\\u2020 \\udcff\n", b"")


def test_a_path_that_is_not_text_is_told_before_anything_is_done(tmp_path):
    done = run("vidc.build", "lasot", "--root", tmp_path, "--out", b"x\xff", cwd=tmp_path)
    assert done.returncode == 2
    assert r"b'x\xff' is not UTF-8" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("around", "promise"),
    [
        ("contextlib.nullcontext", "the same command continues where it stopped"),
        ("commandline.from_the_start", "the same command starts again"),
    ],
)
def test_an_interrupted_command_promises_no_more_than_it_keeps(around, promise):
    code = (
        "import contextlib, os, signal\n"
        "from vidc import commandline\n"
        "def main(words):\n"
        f"    with {around}():\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "commandline.run(main, 'it')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, f"it: interrupted; {promise}\n")
