"""The exercises: each wrong kernel is reported as its page says, and each right one is right in any order."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.exercises import EXERCISES, find, judge
from kapi_sim.testing.reports import raises

REPORTS = {
    "ex01_map": (kapi.DataRaceError, "c[0]", "give each element one writer"),
    "ex02_guard": (kapi.OutOfBoundsError, "index 10 is out of bounds", "guard the access"),
    "ex03_two_dimensions": (kapi.OutOfBoundsError, "index 3 is out of bounds", "guard the access"),
    "ex04_shared_tile": (kapi.DataRaceError, "tile[2]", "`group_barrier` between"),
    "ex05_reduction": (kapi.BarrierDivergenceError, "got 4 at one barrier", "out of the branch"),
    "ex06_scan": (kapi.DataRaceError, "tile[1]", "split its read from its write"),
    "ex07_histogram": (kapi.DataRaceError, "counts[1]", "AtomicRef"),
    "ex08_transpose": (kapi.OutOfBoundsError, "index 4 is out of bounds", "guard the access"),
    "ex09_stencil": (kapi.UninitializedReadError, "tile[0]", "write each cell first"),
    "ex10_matmul": (kapi.DataRaceError, "ta[0, 0]", "`group_barrier` after line"),
}


def test_exercises_are_all_listed():
    assert [exercise.name for exercise in EXERCISES] == sorted(REPORTS)
    assert [exercise.number for exercise in EXERCISES] == list(range(1, len(EXERCISES) + 1))
    page = EXERCISES[0].file.with_name("README.md").read_text("utf-8")
    assert all(f"]({exercise.file.name})" in page for exercise in EXERCISES)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_exercise_teaches_what_it_says(exercise):
    task, answer = (runpy.run_path(str(file)) for file in (exercise.file, exercise.answer))
    error, *words = REPORTS[exercise.name]
    with pytest.raises(error) as report:
        task["check"](task["wrong"])
    assert exercise.file.name in str(report.value)
    for word in words:
        assert word in str(report.value)
    for seed in (None, 1, 2):
        with kapi.simulation(seed=seed):
            task["check"](answer["right"])
    assert "right" not in task


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_verdict_tells_the_wrong_kernel_from_the_right_one(exercise):
    task, answer = (runpy.run_path(str(file)) for file in (exercise.file, exercise.answer))
    verdict = judge(task["check"], task["wrong"])
    assert not verdict.is_right
    assert verdict.startswith(f"`wrong` is not right yet: {REPORTS[exercise.name][0].__name__}: ")
    verdict = judge(task["check"], answer["right"])
    assert verdict.is_right
    assert verdict == "`right` is right: it passed all checks, in 4 orders of its work-items."


@kapi.kernel
def triples(item: kapi.Item, a):
    a[item.get_id(0)] *= 3


@kapi.kernel
def takes_turns(item: kapi.NdItem, turn, a):
    # Right in program order only.
    i = item.get_global_id(0)
    a[i] = kapi.AtomicRef(turn, 0).fetch_add(1)


@kapi.kernel
def divides(item: kapi.Item, a):
    a[0] = 1 // item.get_id(0)


def test_verdict_names_results_orders_and_pythons_own_errors():
    def doubles(kernel):
        a = np.arange(3)
        kernel[3](a)
        np.testing.assert_array_equal(a, [0, 2, 4])

    def counts(kernel):
        a = np.zeros(8, np.int32)
        kernel[8, 1](np.zeros(1, np.int32), a)
        np.testing.assert_array_equal(a, range(8))

    assert "`triples` is not right yet: its results are wrong. Arrays are not equal" in judge(doubles, triples)
    told = judge(counts, takes_turns)
    assert "`takes_turns` is not right yet (in the order that simulation(seed=" in told
    assert "ZeroDivisionError" in judge(lambda kernel: kernel[1](np.zeros(1)), divides)


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "kapi_sim", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def test_command_writes_an_exercise_and_judges_it(tmp_path):
    status, told, _ = run(tmp_path, "exercise", "4")
    file = tmp_path / "ex04_shared_tile.py"
    assert status == 1
    assert told.startswith("ex04_shared_tile.py is here now: mend the kernel `wrong` in it, and run this again\n")
    assert "`wrong` is not right yet: DataRaceError: data race on tile[2]" in told
    lines = file.read_text("utf-8").replace(
        "    tile[k] = a[i]\n", "    tile[k] = a[i]\n    kapi.group_barrier(item.get_group())\n"
    )
    file.write_text(lines, "utf-8")
    assert run(tmp_path, "exercise", "4") == (
        0,
        "`wrong` is right: it passed all checks, in 4 orders of its work-items.\n",
        "",
    )
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "`wrong` is right: it passed all checks, in 4 orders of its work-items.\n"


def test_command_lists_exercises_and_prints_answers(tmp_path):
    status, told, _ = run(tmp_path, "exercise")
    assert (status, len(told.splitlines())) == (0, len(EXERCISES))
    assert told.startswith("Exercise 1, map: ")
    assert run(tmp_path, "exercise", "4", "--answer")[1] == find(4).answer.read_text("utf-8")


@pytest.mark.parametrize("number", ["0", "11"])
def test_command_says_which_exercises_there_are(tmp_path, number):
    status, _, told = run(tmp_path, "exercise", number)
    assert status == 2
    assert f"number of an exercise must be from 1 to 10, got {number}" in told


def test_exercise_that_is_not_there_is_refused():
    with raises(kapi.KernelLaunchError, "exercise-number"):
        find(0)


def test_file_without_the_kernel_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ex01_map.py").write_text("mine = 1\n", "utf-8")
    with raises(kapi.KernelLaunchError, "exercise-kernel"):
        find(1).judge(Path("ex01_map.py"))
    status, _, told = run(tmp_path, "exercise", "1")
    assert status == 2
    assert "file of an exercise must have a kernel `wrong`" in told


PROGRAM = """
import sys
import numpy as np
import kapi_sim as kapi

@kapi.kernel
def shift(item: kapi.Item, a):
    i = item.get_id(0)
    a[i] = a[i + 1]

a = np.arange(5)
if __name__ == "__main__":
    kapi.call_kernel(shift, kapi.Range(int(sys.argv[1])), a)
"""


def test_command_traces_a_program(tmp_path):
    (tmp_path / "shift.py").write_text(PROGRAM, "utf-8")
    status, told, _ = run(tmp_path, "trace", "shift.py", "1")
    assert (status, told) == (0, "trace.html: 1 launch\n")
    assert '"kernel":"shift"' in (tmp_path / "trace.html").read_text("utf-8")


def test_command_shows_the_race_of_a_program(tmp_path):
    (tmp_path / "shift.py").write_text(PROGRAM, "utf-8")
    status, told, reported = run(tmp_path, "trace", "shift.py", "-o", "race.svg", "4")
    assert (status, told) == (1, "race.svg: 1 launch\n")
    assert "kapi_sim.errors.DataRaceError: data race on a[1]" in reported
    assert "<ellipse" in (tmp_path / "race.svg").read_text("utf-8")
    assert run(tmp_path, "trace", "shift.py", "--checks", "none", "-o", "race.svg", "4")[0] == 0
