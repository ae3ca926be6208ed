"""The page of errors has a section for each class, and each warning in its table."""

from __future__ import annotations

import contextvars
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import kapi_numba_offload  # noqa: F401  (its warning is a subclass)
from kapi_sim.codes import FAMILIES
from kapi_sim.errors import ERRORS, KapiError, KapiWarning

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))

import kapi_programs  # noqa: E402

PAGE = (DOCS / "model" / "errors.md").read_text("utf-8")
PROGRAMS = kapi_programs.programs(kapi_programs.FILE.read_text("utf-8"))


def test_each_error_is_raised_in_a_section_of_its_own():
    sections = re.split(r"^### ", PAGE.partition("## Warnings")[0], flags=re.MULTILINE)[1:]
    raised = {text.split()[0]: set(re.findall(r"(?:raised\(|except )kapi\.(\w+)", text)) for text in sections}
    assert raised == {row.error.__name__: {row.error.__name__} for row in ERRORS}


def test_each_warning_is_in_the_table():
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Warnings")[2], re.MULTILINE)
    assert sorted(listed) == sorted(each.__name__ for each in KapiWarning.__subclasses__())


def run_in_process(program: str, folder: Path) -> str:
    script = folder / "program.py"
    script.write_text(program, "utf-8")
    with pytest.raises(KapiError) as caught:
        contextvars.copy_context().run(runpy.run_path, str(script))  # what it makes current ends with it
    return caught.value.code


def run_alone(program: str, folder: Path, *module: str) -> str:
    """Run a program in a process of its own, and return the code that its output ends a message with."""
    script = folder / "test_program.py"
    script.write_text(program, "utf-8")
    done = subprocess.run(
        [sys.executable, *module, script], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    said = re.findall(r"\[([a-z0-9-]+)\]$", done.stdout + done.stderr, re.MULTILINE)
    assert said, done.stdout + done.stderr
    return str(said[-1])


RUNS = {
    None: run_in_process,
    "a process of its own": run_alone,
    "pytest": lambda program, folder: run_alone(program, folder, "-m", "pytest", "-p", "no:cacheprovider"),
}
if sys.version_info >= (3, 12):
    RUNS["Python 3.12"] = run_in_process
ELSEWHERE = {
    "Python 3.12",
    kapi_programs.GPU,  # run by tests/gpu/pages.py
    "Pyodide",
    "a SYCL device without profiling",
    "a machine with NVIDIA's driver and no GPU",
    "a machine with a driver for CUDA 11",
    "a machine whose driver and kernel module are of different versions",
    "a machine without NVIDIA's driver",
    "an environment without kapi-numba-offload",
}


def test_each_code_has_a_program_or_a_sentence():
    assert list(PROGRAMS) == [code for rows in FAMILIES.values() for code in rows]
    assert {each.needs for each in PROGRAMS.values()} <= RUNS.keys() | ELSEWHERE
    assert sum(each.is_sentence for each in PROGRAMS.values()) < 10


@pytest.mark.parametrize(
    "code", [code for code, each in PROGRAMS.items() if each.needs in RUNS and not each.is_sentence]
)
def test_program_of_a_code_raises_it(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert RUNS[PROGRAMS[code].needs](PROGRAMS[code].text, tmp_path) == code


def test_programs_are_completed_by_their_form():
    one, two = "[one] item on a Tuesday\na[0] = math.pi\n\n", "[two] whole compiled\nkapi.f()\n\n"
    found = kapi_programs.programs(f"# A remark.\n\n{one}{two}[three] words\nNone\nis.\n")
    assert list(found) == ["one", "two", "three"]
    assert found["one"].text.startswith("import math\n\nimport numpy as np\n\nimport kapi_sim as kapi\n")
    assert "\n    a[0] = math.pi\n\n\nkapi.call_kernel(program, kapi.Range(4), np.zeros(4))\n" in found["one"].text
    assert found["one"].needs == "a Tuesday"
    assert found["two"] == kapi_programs.Program("import numpy as np\n\nimport kapi_runtime as kapi\n\n\nkapi.f()\n")
    assert found["three"] == kapi_programs.Program("None is.", is_sentence=True)
