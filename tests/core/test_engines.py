"""Every engine gives what a plain loop gives, whatever happens to its workers."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.core import engine_tasks
from vidc import processes
from vidc.engines import Engine, run
from vidc.errors import InputError

ROOT = Path(__file__).parents[2]
TASKS = [5, 0, 3, 8, 1, 2, 7, 4, 6]
ENGINES = [
    Engine("serial"),
    *(Engine("processes", workers=workers) for workers in (1, 2, 7)),
]


SLEEPERS = (
    "from tests.core.engine_tasks import main\n"
    "from vidc.commandline import run\n"
    "run(main, 'sleepers')"
)


def named(engine):
    return f"{engine.name}{engine.workers or ''}"


@pytest.fixture(scope="module")
def local_ray():
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # "local": another test may be running a cluster of its own at the same time.
        ray.init("local", num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False)
        yield Engine("ray")
        ray.shutdown()


def check_results_and_progress(engine):
    totals = []
    results = dict(run(engine, engine_tasks.square, TASKS, totals.append))
    assert results == {index: task * task for index, task in enumerate(TASKS)}
    assert totals[-1] == sum(TASKS)
    assert totals == sorted(totals)


@pytest.mark.parametrize("engine", ENGINES, ids=named)
def test_results_and_progress_are_those_of_a_loop(engine):
    check_results_and_progress(engine)


@pytest.mark.parametrize("engine", ENGINES, ids=named)
def test_no_task_no_result(engine):
    assert list(run(engine, engine_tasks.square, [])) == []


@pytest.mark.parametrize("engine", ENGINES[:3], ids=named)
def test_a_mistake_in_a_task_arrives_as_it_is(engine):
    with pytest.raises(InputError, match=r"^three is broken: mend it$"):
        list(run(engine, engine_tasks.fail_at_three, [1, 2, 3, 4]))


def test_a_worker_does_not_run_the_callers_script(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.core.engine_tasks import square\n"
        "from vidc.engines import Engine, run\n"
        "print('script')\n"
        "print(sorted(dict(run(Engine(workers=2), square, [1, 2, 3])).values()))\n"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "json.py").write_text("raise SystemExit('the wrong json')")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=elsewhere, capture_output=True, text=True, check=True
    )
    assert done.stdout == "script\n[1, 4, 9]\n"


def test_work_that_no_worker_can_import_is_told_at_once():
    code = (
        "from vidc.engines import Engine, run\n"
        "def work(task, advance): return task\n"
        "list(run(Engine(workers=1), work, [1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 1
    assert "Can't get attribute 'work'" in done.stderr


def test_a_bug_in_a_worker_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError) as caught:
        list(run(Engine(workers=1), engine_tasks.divide_by, [0]))
    assert "in divide_by" in "".join(caught.value.__notes__)


def test_an_end_of_file_in_the_work_is_not_the_end_of_the_worker():
    with pytest.raises(EOFError, match="Ran out of input"):
        list(run(Engine(workers=1), engine_tasks.read_an_empty_file, [0]))


def test_a_broken_pipe_in_the_work_is_not_the_end_of_the_worker():
    with pytest.raises(BrokenPipeError, match="of the work's own"):
        list(run(Engine(workers=1), engine_tasks.lose_a_connection, [0]))


@pytest.mark.parametrize("work", [engine_tasks.square, engine_tasks.divide_by])
def test_a_worker_with_a_result_or_an_error_for_nobody_ends_without_a_word(work, monkeypatch):
    # The watch over the parent may be a moment late; here it never comes.
    monkeypatch.setattr(processes, "_end_with_parent", lambda descriptor: None)
    ours, theirs = multiprocessing.Pipe()
    ours.send(work)
    ours.send(0)
    ours.close()
    processes.serve(os.dup(theirs.fileno()))


def test_an_exception_that_cannot_travel_is_told_in_text():
    with pytest.raises(RuntimeError, match="Stubborn: lost"):
        list(run(Engine(workers=1), engine_tasks.raise_stubborn, [0]))


def test_the_task_of_a_killed_worker_is_done_again(tmp_path):
    totals = []
    tasks = [(number, str(tmp_path)) for number in range(6)]
    results = dict(run(Engine(workers=2), engine_tasks.die_once, tasks, totals.append))
    assert results == {number: number for number in range(6)}
    attempts = [len((tmp_path / str(number)).read_text()) for number in range(6)]
    assert attempts == [1, 2, 1, 2, 1, 2]
    assert totals[-1] == 6 * 5  # the lost attempts' units do not count


def test_a_task_that_kills_every_worker_is_given_up(tmp_path):
    with pytest.raises(InputError, match=r"lost its worker 3 times .*exit code -9"):
        list(run(Engine(workers=1, retries=2), engine_tasks.die_always, [str(tmp_path)]))
    assert (tmp_path / "attempts").read_text() == "xxx"


def test_leaving_the_loop_ends_the_workers(tmp_path):
    results = run(Engine(workers=2), engine_tasks.sleep_if_told, [str(tmp_path), None])
    assert next(results) == (1, None)
    _wait_until(lambda: list(tmp_path.iterdir()))
    results.close()
    (sleeper,) = tmp_path.iterdir()
    assert not psutil.pid_exists(int(sleeper.name))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_its_parent(number, tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", SLEEPERS, str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=ROOT,
    )
    _wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
    if number == signal.SIGKILL:
        parent.kill()
    else:  # as a terminal and a scheduler do it: to the whole group
        os.killpg(parent.pid, number)
    _, told = parent.communicate()
    _wait_until(lambda: all(map(_is_gone, tmp_path.iterdir())))
    if number == signal.SIGKILL:
        assert told == ""
    else:
        assert parent.returncode == 130
        assert told == "sleepers: interrupted; the same command continues where it stopped\n"


def _is_gone(file):
    """Whether the process that a file is named after has ended; its parent may not know yet."""
    try:
        return psutil.Process(int(file.name)).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _wait_until(condition):
    while not condition():
        time.sleep(0.02)


def test_unknown_names_and_numbers_are_refused():
    with pytest.raises(InputError, match="did you mean 'processes'"):
        Engine("proceses")
    with pytest.raises(InputError, match="--workers is 0"):
        Engine(workers=0)


@pytest.mark.slow
def test_ray_gives_the_same(local_ray):
    check_results_and_progress(local_ray)


@pytest.mark.slow
def test_ray_passes_on_a_mistake(local_ray):
    with pytest.raises(InputError, match=r"^three is broken: mend it$"):
        list(run(local_ray, engine_tasks.fail_at_three, [1, 2, 3, 4]))


@pytest.mark.slow
def test_ray_does_a_killed_workers_task_again(local_ray, tmp_path):
    tasks = [(number, str(tmp_path)) for number in range(4)]
    assert dict(run(local_ray, engine_tasks.die_once, tasks)) == {n: n for n in range(4)}
    assert [len((tmp_path / str(n)).read_text()) for n in range(4)] == [1, 2, 1, 2]


@pytest.mark.slow
def test_ray_gives_a_task_its_part_of_a_gpu(local_ray):
    engine = Engine("ray", num_gpus=0.5)
    assert dict(run(engine, engine_tasks.gpu_share, [0, 1])) == {0: ["0"], 1: ["0"]}


@pytest.mark.slow
def test_a_mistake_stops_the_other_tasks_of_the_callers_ray(local_ray, tmp_path):
    with pytest.raises(InputError, match="broken beside a sleeper"):
        list(run(local_ray, engine_tasks.fail_beside_a_sleeper, [(tmp_path, 1), (tmp_path, 0)]))
    (sleeper,) = tmp_path.iterdir()
    _wait_until(lambda: _is_gone(sleeper))


@pytest.mark.slow
def test_ray_ends_a_worker_that_had_a_gpu(local_ray):
    """Else it would hold the memory of that GPU, and use it where Ray means another."""
    workers = dict(run(Engine("ray", num_gpus=1), engine_tasks.tell_pid, range(3)))
    assert len(set(workers.values())) == 3


def test_no_cluster_at_an_address_is_one_sentence():
    pytest.importorskip("ray")
    code = (
        "from vidc.engines import Engine, run\n"
        "from tests.core.engine_tasks import square\n"
        "from vidc.commandline import run as run_command\n"
        "run_command(lambda words: len(dict(run(Engine('ray', ray_address='127.0.0.1:1'), "
        "square, [1]))), 'program')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"RAY_AUTH_MODE": "disabled"},
    )
    assert done.returncode == 2
    assert "--ray-address" in done.stderr
    assert len(done.stderr.splitlines()) == 1
