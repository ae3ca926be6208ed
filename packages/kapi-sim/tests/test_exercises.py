"""The exercises: each wrong kernel is reported as its page says, and each right one is right in any order."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import kapi_sim as kapi

FOLDER = Path(__file__).parents[1] / "examples" / "exercises"
FILES = sorted(FOLDER.glob("ex*.py"))
REPORTS = {
    "ex01_map": (kapi.DataRaceError, "c[0]", "give each element one writer"),
    "ex02_guard": (kapi.OutOfBoundsError, "got 10 in a[10]", "guard the access"),
    "ex03_two_dimensions": (kapi.OutOfBoundsError, "got 3 in a[3]", "guard the access"),
    "ex04_shared_tile": (kapi.DataRaceError, "tile[2]", "`group_barrier` between"),
    "ex05_reduction": (kapi.BarrierDivergenceError, "got 4 at one barrier", "out of the branch"),
    "ex06_scan": (kapi.DataRaceError, "tile[1]", "split its read from its write"),
    "ex07_histogram": (kapi.DataRaceError, "counts[1]", "AtomicRef"),
    "ex08_transpose": (kapi.OutOfBoundsError, "got 4 in b[0, 4]", "guard the access"),
    "ex09_stencil": (kapi.UninitializedReadError, "tile[0]", "write each cell first"),
    "ex10_matmul": (kapi.DataRaceError, "ta[0, 0]", "`group_barrier` after line"),
}


def test_exercises_are_all_listed():
    assert [file.stem for file in FILES] == sorted(REPORTS)
    page = (FOLDER / "README.md").read_text("utf-8")
    assert all(f"]({file.name})" in page for file in FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_exercise_teaches_what_it_says(file):
    exercise = runpy.run_path(str(file))
    error, *words = REPORTS[file.stem]
    with pytest.raises(error) as report:
        exercise["check"](exercise["wrong"])
    assert file.name in str(report.value)
    for word in words:
        assert word in str(report.value)
    for seed in (None, 1, 2):
        with kapi.simulation(seed=seed):
            exercise["check"](exercise["right"])
