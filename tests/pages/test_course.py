"""The course of the page on grading: its tests tell the submissions apart, and its table is the page's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COURSE = ROOT / "packages" / "kapi-sim" / "examples" / "course"
FAILED = {"ada": 0, "bob": 1, "eve": 6}


def test_all_submissions_are_graded():
    assert [file.stem for file in sorted((COURSE / "submissions").glob("*.py"))] == list(FAILED)


@pytest.mark.parametrize("name", FAILED)
def test_tests_of_the_course_distinguish_submissions(name):
    submission = COURSE / "submissions" / f"{name}.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", f"--rootdir={COURSE}"]
    done = subprocess.run(
        [*command, f"--submission={submission}", str(COURSE)], capture_output=True, text=True, check=False
    )
    assert f"{6 - FAILED[name]} passed" in done.stdout or FAILED[name] == 6, done.stdout
    assert (f"{FAILED[name]} failed" in done.stdout) == (FAILED[name] > 0), done.stdout
    assert done.returncode == (FAILED[name] > 0)


def test_page_shows_the_table_of_points():
    done = subprocess.run([sys.executable, str(COURSE / "grade.py")], capture_output=True, text=True, check=True)
    assert done.stdout in (ROOT / "docs" / "learn" / "grading.md").read_text("utf-8")
    assert done.stdout.count("\n") == 1 + len(FAILED)


def test_file_that_does_not_run_gets_no_point(tmp_path):
    (tmp_path / "zoe.py").write_text("import kapi_sim as kapi\nstencil = kapi.kernel(\n", "utf-8")
    command = [sys.executable, str(COURSE / "grade.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("name,points,remark\nzoe,0,\"SyntaxError: '(' was never closed")
