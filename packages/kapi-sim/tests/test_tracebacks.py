"""Tracebacks where a launch returns have the user's frames alone, in terminals, notebooks and pytest."""

from __future__ import annotations

import json
import linecache
import os
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim import numba_cuda as cuda

KERNEL = """
import numpy as np
import kapi_sim as kapi

@kapi.kernel
def reverse(item: kapi.NdItem, a, tile):
    k = item.get_local_id(0)
    tile[k] = a[k]
    a[k] = tile[item.get_local_range(0) - 1 - k]
"""
LAUNCH = "kapi.call_kernel(reverse, kapi.NdRange(4, 4), np.arange(4.0), kapi.LocalAccessor(4, np.float64))"
TEMPLATE = f"{KERNEL}\n{LAUNCH}\n"


def run(folder: Path, script: str, **variables: str) -> str:
    """Return what a script, which must fail, prints to standard error."""
    path = folder / "kernels.py"
    path.write_text(script, "utf-8")
    env = {name: value for name, value in os.environ.items() if name != "KAPI_FULL_TRACEBACK"} | variables
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 1
    return done.stderr


def functions_of(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


@kapi.kernel
def divide(item: kapi.Item, a):
    a[0] = int(a[0]) // item.get_id(0)


@kapi.kernel
def shift(item: kapi.Item, a):
    i = item.get_id(0)
    a[i] = a[i + 1]


def test_terminal_shows_the_users_frames_and_the_report(tmp_path):
    lines = run(tmp_path, TEMPLATE).splitlines()
    frames = [line for line in lines if line.startswith("  File ")]
    assert [frame.rpartition(", in ")[2] for frame in frames] == ["<module>", "reverse"]
    assert all('kernels.py"' in frame for frame in frames)
    assert len(lines) <= 13


def test_terminal_shows_all_frames_where_they_are_asked_for(tmp_path):
    text = run(tmp_path, TEMPLATE, KAPI_FULL_TRACEBACK="1")
    assert "in call_kernel" in text
    assert "in _fail" in text
    assert "in call_kernel" not in run(tmp_path, TEMPLATE, KAPI_FULL_TRACEBACK="0")


@pytest.mark.parametrize(
    "launch",
    [
        lambda a: kapi.call_kernel(shift, kapi.Range(3), a),
        lambda a: kapi.call_kernel_async(shift, kapi.Range(3), [], a),
        lambda a: shift[3](a),
        lambda a: shift.bind(kapi.Range(3), a)(),
    ],
    ids=["call_kernel", "call_kernel_async", "brackets", "bind"],
)
def test_each_form_of_a_launch_leaves_its_frames_out(launch, monkeypatch):
    monkeypatch.delenv("KAPI_FULL_TRACEBACK", raising=False)
    with pytest.raises(kapi.DataRaceError) as caught:
        launch(np.zeros(4))
    functions = functions_of(caught.value)
    assert functions[-2:] == ["<lambda>", "shift"]
    assert len(functions) == 3


def test_launch_of_a_cuda_kernel_leaves_its_frames_out(monkeypatch):
    @cuda.jit
    def move(a):
        i = cuda.threadIdx.x
        a[i] = a[i + 1]

    monkeypatch.delenv("KAPI_FULL_TRACEBACK", raising=False)
    with pytest.raises(kapi.DataRaceError) as caught:
        move[1, 4](np.zeros(5))
    assert functions_of(caught.value)[-2:] == ["test_launch_of_a_cuda_kernel_leaves_its_frames_out", "move"]
    assert len(functions_of(caught.value)) == 2


@pytest.mark.parametrize(
    "make",
    [lambda: shift.bind(kapi.Range(3)), lambda: shift[0.5], lambda: kapi.call_kernel(shift, 3, np.zeros(4))],
    ids=["bind", "index space", "no index space"],
)
def test_launch_that_cannot_be_made_ends_at_the_users_line(make, monkeypatch):
    monkeypatch.delenv("KAPI_FULL_TRACEBACK", raising=False)
    with pytest.raises(kapi.KapiError) as caught:
        make()
    assert functions_of(caught.value)[-1] == "<lambda>"


def test_error_of_python_ends_at_the_kernels_line(monkeypatch):
    monkeypatch.delenv("KAPI_FULL_TRACEBACK", raising=False)
    with pytest.raises(ZeroDivisionError) as caught:
        divide[1](np.ones(1))
    assert functions_of(caught.value)[-1] == "divide"


def test_mistake_in_the_simulator_keeps_its_location(monkeypatch):
    def broken(bound):
        raise TypeError("a mistake of the simulator's own")

    broken_here = type(broken)(broken.__code__, {**globals(), "__name__": "kapi_sim.run.group_run"})
    monkeypatch.delenv("KAPI_FULL_TRACEBACK", raising=False)
    monkeypatch.setattr("kapi_sim.run.schedule.end_phase", broken_here)
    with pytest.raises(TypeError) as caught:
        shift[1](np.zeros(2))
    assert functions_of(caught.value)[-1] == "broken"


def test_traceback_of_the_cause_is_short_too(monkeypatch):
    @kapi.kernel
    def overflow(item: kapi.Item, a):
        a[0] = np.int8(1) + 1000

    monkeypatch.delenv("KAPI_FULL_TRACEBACK", raising=False)
    with pytest.raises(kapi.DtypeError) as caught:
        overflow[1](np.zeros(1, np.int8))
    cause = caught.value.__cause__
    assert isinstance(cause, OverflowError)
    assert functions_of(cause) == ["overflow"]


def test_pytest_shows_no_frame_of_the_simulator(tmp_path):
    (tmp_path / "test_reverse.py").write_text(f"{KERNEL}\ndef test_reverse():\n    {LAUNCH}\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    env = {name: value for name, value in os.environ.items() if name != "KAPI_FULL_TRACEBACK"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=env)
    assert "DataRaceError" in done.stdout
    assert "def reverse(" in done.stdout
    assert not [line for line in done.stdout.splitlines() if "kapi_sim/" in line.replace("\\", "/")]


LATE = """
import numpy as np
import kapi_sim as kapi

AN_OTHER_LINE = 1


@kapi.kernel
def unwritten(item: kapi.NdItem, a, tile):
    a[item.get_global_id(0)] = tile[0]


def launches():
    unwritten[kapi.NdRange(4, 4)](np.zeros(4), kapi.LocalAccessor(4, float))


def test_end_of_phase():
    launches()


def test_plain_call():
    unwritten(np.zeros(4))


def test_range():
    kapi.NdRange(10, 4)


def test_accessor():
    kapi.LocalAccessor((2, -1), float)


def test_dimensions():
    kapi.Range(1, 1, 1, 1)
"""


def test_pytest_shows_the_function_of_what_is_found_late(tmp_path):
    (tmp_path / "test_late.py").write_text(LATE, "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    env = {name: value for name, value in os.environ.items() if name != "KAPI_FULL_TRACEBACK"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=env)
    assert "5 failed" in done.stdout
    assert "def unwritten(" in done.stdout
    assert "AN_OTHER_LINE" not in done.stdout
    assert not [line for line in done.stdout.splitlines() if "kapi_sim/" in line.replace("\\", "/")]


@pytest.mark.parametrize(
    ("statement", "marked"),
    [
        ("a[item.get_global_id(0)] = tile[0]", "tile[0]"),
        ("a[0] = 1.0 + tile[item.get_local_id(0)]", "tile[item.get_local_id(0)]"),
    ],
)
def test_terminal_marks_the_columns_of_what_is_found_late(tmp_path, statement, marked):
    body = LATE.partition("def launches")[0].replace("a[item.get_global_id(0)] = tile[0]", statement)
    text = run(tmp_path, f"{body}\nunwritten[kapi.NdRange(4, 4)](np.zeros(4), kapi.LocalAccessor(4, float))\n")
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip() == statement)
    marks, first = lines[at + 1], lines[at].index(marked)
    assert (len(marks) - len(marks.lstrip()), len(marks)) == (first, first + len(marked))


NOTEBOOK = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in json.load(open(sys.argv[1], encoding="utf-8")):
    shell.run_cell(cell, store_history=True)
"""


def run_notebook(folder: Path, *cells: str, **variables: str) -> str:
    """Return what a notebook of these cells shows."""
    (folder / "cells.json").write_text(json.dumps(cells), "utf-8")
    env = {name: value for name, value in os.environ.items() if name != "KAPI_FULL_TRACEBACK"}
    env |= {"IPYTHONDIR": str(folder), "NO_COLOR": "1", **variables}
    command = [sys.executable, "-c", NOTEBOOK, str(folder / "cells.json")]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=True, cwd=folder).stdout


def test_notebook_names_the_cells(tmp_path):
    shown = run_notebook(tmp_path, KERNEL, LAUNCH)
    assert "  Cell In[2], line 1, in <module>\n" in shown
    assert "  Cell In[1], line 7, in reverse\n" in shown
    assert "read tile[2] at Cell In[1], line 8: `a[k] = tile[item.get_local_range(0) - 1 - k]`\n" in shown
    assert "launch.py" not in shown
    assert len(shown.splitlines()) <= 13


def test_notebook_names_the_cell_of_what_is_no_kernel(tmp_path):
    shown = run_notebook(
        tmp_path, KERNEL, "@kapi.kernel\ndef bad(item: kapi.Item, a):\n    a[0] = [1]\nbad[1](np.zeros(1))"
    )
    assert "  Cell In[2], line 3: kernels have no lists" in shown


def test_notebook_shows_all_frames_where_they_are_asked_for(tmp_path):
    assert "launch.py" in run_notebook(tmp_path, KERNEL, LAUNCH, KAPI_FULL_TRACEBACK="1")


def test_page_of_a_notebooks_kernel_names_the_cell(tmp_path):
    space = "kapi.NdRange(1, 1), np.zeros(1), kapi.LocalAccessor(1, np.float64)"
    launch = f"with kapi.trace() as t:\n    kapi.call_kernel(reverse, {space})"
    shown = run_notebook(tmp_path, KERNEL, launch, "print('Cell In[1]' in t.html())")
    assert shown.endswith("True\n")


def test_rendered_error_without_a_notebook_names_the_file():
    file = "kernels_of_mine.py"
    source = "def fail(error):\n    raise error\n"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict[str, object] = {}
    exec(compile(source, file, "exec"), names)
    with pytest.raises(kapi.KapiError) as caught:
        names["fail"](kapi.LimitError("too much"))  # type: ignore[operator]
    lines = caught.value._render_traceback_()
    assert lines[0] == "Traceback (most recent call last):"
    assert f'  File "{file}", line 2, in fail' in lines
    assert lines[-1] == "kapi_sim.errors.LimitError: too much"
