"""The exercises and puzzles: wrong kernels are reported in words, and the answers are right in any order."""

from __future__ import annotations

import contextlib
import io
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.__main__ import main
from kapi_sim.exercises import EXERCISES, PUZZLES, expect_at_most, expect_equal, find, judge
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
def test_verdict_distinguishes_the_wrong_kernel_from_the_right_one(exercise):
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
def takes_tickets(item: kapi.NdItem, ticket, a):
    # Right in program order only.
    i = item.get_global_id(0)
    a[i] = kapi.AtomicRef(ticket, 0).fetch_add(1)


@kapi.kernel
def divides(item: kapi.Item, a):
    a[0] = 1 // item.get_id(0)


def test_verdict_names_results_orders_and_errors_of_python():
    def doubles(kernel):
        a = np.arange(3)
        kernel[3](a)
        np.testing.assert_array_equal(a, [0, 2, 4])

    def counts(kernel):
        a = np.zeros(8, np.int32)
        kernel[8, 1](np.zeros(1, np.int32), a)
        np.testing.assert_array_equal(a, range(8))

    assert "`triples` is not right yet: its results are wrong. Arrays are not equal" in judge(doubles, triples)
    printed = judge(counts, takes_tickets)
    assert "`takes_tickets` is not right yet (in the order that simulation(seed=" in printed
    assert "DivisionByZeroError" in judge(lambda kernel: kernel[1](np.zeros(1)), divides)


def run(folder: Path, *arguments: str) -> tuple[object, str, str]:
    """The command's status and what it prints, in this process."""
    printed, complaints = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints):
        try:
            status: object = main(arguments)
        except SystemExit as end:
            status = end.code
    return status, printed.getvalue(), complaints.getvalue()


def run_process(folder: Path, *arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "kapi_sim", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def test_command_writes_an_exercise_and_judges_it(tmp_path):
    status, printed, _ = run(tmp_path, "exercise", "4")
    file = tmp_path / "ex04_shared_tile.py"
    assert status == 1
    assert printed.startswith("ex04_shared_tile.py is here now: mend the kernel `wrong` in it, and run this again\n")
    assert "`wrong` is not right yet: DataRaceError: data race on tile[2]" in printed
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
    status, printed, _ = run(tmp_path, "exercise")
    assert (status, len(printed.splitlines())) == (0, len(EXERCISES))
    assert printed.startswith("Exercise 1, map: ")
    assert run(tmp_path, "exercise", "4", "--answer")[1] == find(4).answer.read_text("utf-8")
    assert run(tmp_path, "exercise", "4", "--hint")[1].startswith("Between the line that writes the tile and the line")
    assert run(tmp_path, "puzzle", "4", "--hint")[1].startswith("Ask for both indices. The element of `c`")


def test_each_exercise_and_puzzle_has_a_hint_that_is_no_code_of_the_answer():
    for exercise in (*EXERCISES, *PUZZLES):
        answer, task = (each.read_text("utf-8").split("@kapi.kernel")[1] for each in (exercise.answer, exercise.file))
        own = {line.strip() for line in answer.splitlines() if line.strip() not in task}
        assert exercise.hint.endswith((".", "?"))
        assert not any(line in exercise.hint for line in own), exercise.name


@pytest.mark.parametrize("number", ["0", "11"])
def test_command_says_which_exercises_there_are(tmp_path, number):
    status, _, printed = run(tmp_path, "exercise", number)
    assert status == 2
    assert f"number of an exercise must be from 1 to {len(EXERCISES)}, got {number}" in printed


def test_exercise_that_is_not_there_is_refused():
    with raises(kapi.KernelLaunchError, "exercise-number"):
        find(0)


def test_file_without_the_kernel_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ex01_map.py").write_text("mine = 1\n", "utf-8")
    with raises(kapi.KernelLaunchError, "exercise-kernel"):
        find(1).judge(Path("ex01_map.py"))
    status, _, printed = run(tmp_path, "exercise", "1")
    assert status == 2
    assert "file of an exercise must have a kernel `wrong`" in printed


def test_puzzles_are_all_listed():
    assert [puzzle.number for puzzle in PUZZLES] == list(range(1, 21))
    assert all(puzzle.title.startswith(f"Puzzle {puzzle.number}, ") for puzzle in PUZZLES)


@pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda puzzle: puzzle.name)
def test_puzzle_is_unsolved_and_its_answer_right(puzzle):
    printed = puzzle.judge()
    assert not printed.is_right
    assert printed.goals == ()
    assert printed.problem.startswith("`")
    assert "; wrong elements: " in printed.problem
    right = puzzle.judge(puzzle.answer)
    assert right.is_right, right
    assert right.count("\n  right: ") == len(right.goals) > 0
    assert right.problem == ""


# By number of the puzzle: what stands in the answer, what stands there instead, and what is then said.
MISTAKES = [
    (2, "a[i] * b[i]", "a[i] * b[i] + a[i] - a[i]", "and at most 2 is asked for: line 15"),
    (3, "i < a.shape[0]", "i <= a.shape[0]", "the guard at line 15, `i <= a.shape[0]`, lets this index through"),
    (5, " and j < b.shape[0]", "", "index 5 is out of bounds"),
    (6, "item.get_id(0), a", "item.get_id(0) + 4, a", "`c[1]` is 0.0, and should be 1.0"),
    (
        7,
        "    kapi.group_barrier(item.get_group())\n",
        "",
        "a `group_barrier` between line 15 and line 16 would order them",
    ),
    (8, "tile[k - back]", "a[k - back]", "reads global memory 3 times, and at most 1 is asked for: lines 15, 19"),
    (9, "if i + 1 < n else 0", "", "index 12 is out of bounds"),
    (10, "        if k < width:", "        if k < width // 1 and width != 4:", "`out[0]` is "),
    (11, "kapi.AtomicRef(total, 0).fetch_add(tile[0])", "total[0] += tile[0]", "change it with an AtomicRef only"),
    (12, "a[row, k], ", "max(a[row, k], a[row, 0]), ", "reads global memory 2 times, and at most 1 is asked for"),
    (14, "kapi.AtomicRef(counts, value).fetch_add(1)", "counts[value] += 1", "data race on counts["),
    (15, "        bins[k] = 0", "        pass", "bins[3] (local memory) is read, and no work-item has written it"),
    (16, "kapi.group_barrier(item.get_group())", "pass", "data race on tile["),
    (17, "c[column + i, row + j] = tile[j, i]", "c[column + j, row + i] = tile[i, j]", "falls into 8 stretches"),
    (19, "sums[sub_group.get_group_id()]", "sums[0]", "data race on sums[0]"),
    (20, "    if is_kept:\n        kept[index] = x", "    kept[index] = x", "data race on kept["),
]


@pytest.mark.parametrize(("number", "old", "new", "printed"), MISTAKES)
def test_verdict_on_a_puzzle_names_the_mistake(tmp_path, number, old, new, printed):
    answer = find(number, "puzzle").answer.read_text("utf-8")
    assert old in answer
    file = tmp_path / "mistaken.py"
    file.write_text(answer.replace(old, new), "utf-8")
    verdict = find(number, "puzzle").judge(file)
    assert not verdict.is_right
    assert "\n  wrong: " in verdict
    assert printed in verdict.problem
    assert verdict.endswith(verdict.problem)


def test_results_are_compared_bitwise():
    expect_equal("a", [1.0, 2.0], np.array([1.0, 2.0 + 1e-9]))
    expect_equal("a", 3, 3)
    with pytest.raises(AssertionError, match=r"^`a\[1, 0\]` is 5, and should be 3; wrong elements: 1 of 4.$"):
        expect_equal("a", [[1, 2], [5, 4]], [[1, 2], [3, 4]])
    with pytest.raises(AssertionError, match="^`a` is nan, and should be 3"):
        expect_equal("a", float("nan"), 3)


def test_accesses_are_counted_for_each_work_item():
    with kapi.trace() as outer, kapi.trace() as trace:
        kapi.call_kernel(triples, kapi.Range(3), np.arange(3))
    assert trace.accesses("read") == trace.accesses("write", "global", 0) == [1, 1, 1]
    assert trace.accesses("atomic") == trace.accesses("read", "local") == [0, 0, 0]
    assert outer.launches == trace.launches
    expect_at_most(trace, 3, "write", together=True)
    with pytest.raises(AssertionError, match="^the launch writes to global memory 3 times, and at most 2 is asked for"):
        expect_at_most(trace, 2, "write", together=True)
    with raises(kapi.KernelLaunchError, "trace-accesses"):
        trace.accesses("load")
    with raises(kapi.KernelLaunchError, "trace-accesses"):
        trace.accesses("read", "constant")
    with kapi.trace(limit=2) as cut:
        kapi.call_kernel(triples, kapi.Range(3), np.arange(3))
    with raises(kapi.KernelLaunchError, "trace-cut"):
        cut.accesses("read")


def test_command_writes_a_puzzle_and_judges_it(tmp_path):
    status, printed, _ = run(tmp_path, "puzzle", "7")
    file = tmp_path / "pz07_reverse.py"
    assert status == 1
    assert printed.startswith("pz07_reverse.py is here now: write the kernel `solve` in it, and run this again\n")
    assert "  wrong: the four elements of each group are reversed\n" in printed
    answer = run(tmp_path, "puzzle", "7", "--answer")[1]
    assert answer == find(7, "puzzle").answer.read_text("utf-8")
    file.write_text(answer, "utf-8")
    status, printed, _ = run(tmp_path, "puzzle", "7")
    assert status == 0
    assert printed.startswith("`solve` is right: ")
    assert len(run(tmp_path, "puzzle")[1].splitlines()) == len(PUZZLES)
    assert "number of a puzzle must be from 1 to 20, got 21" in run(tmp_path, "puzzle", "21")[2]
    (tmp_path / "pz01_map.py").write_text("x = 1\n", "utf-8")
    assert "file of a puzzle must have a kernel `solve`" in run(tmp_path, "puzzle", "1")[2]


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
    status, printed, _ = run_process(tmp_path, "trace", "shift.py", "1")
    assert (status, printed) == (0, "trace.html: 1 launch\n")
    assert '"kernel":"shift"' in (tmp_path / "trace.html").read_text("utf-8")


def test_command_shows_the_race_of_a_program(tmp_path):
    (tmp_path / "shift.py").write_text(PROGRAM, "utf-8")
    status, printed, reported = run_process(tmp_path, "trace", "shift.py", "-o", "race.svg", "4")
    assert (status, printed) == (1, "race.svg: 1 launch\n")
    assert "kapi_sim.errors.DataRaceError: data race on a[1]" in reported
    assert "<ellipse" in (tmp_path / "race.svg").read_text("utf-8")
    assert run_process(tmp_path, "trace", "shift.py", "--checks", "none", "-o", "race.svg", "4")[0] == 0
