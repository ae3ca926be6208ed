"""The page of errors has a section for each class, and each warning in its table."""

from __future__ import annotations

import contextvars
import re
import runpy
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


def test_programs_are_of_codes_that_exist():
    assert len(PROGRAMS) > 270
    assert set(PROGRAMS) <= {code for rows in FAMILIES.values() for code in rows}


@pytest.mark.parametrize("code", PROGRAMS)
def test_program_of_a_code_raises_it(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "program.py"
    script.write_text(PROGRAMS[code], "utf-8")
    with pytest.raises(KapiError) as caught:
        contextvars.copy_context().run(runpy.run_path, str(script))  # what it makes current ends with it
    assert caught.value.code == code


def test_programs_are_completed_by_their_form():
    found = kapi_programs.programs("# A remark.\n\n[one] item\na[0] = math.pi\n\n[two] whole compiled\nkapi.f()\n")
    assert list(found) == ["one", "two"]
    assert found["one"].startswith("import math\n\nimport numpy as np\n\nimport kapi_sim as kapi\n")
    assert "\n    a[0] = math.pi\n\n\nkapi.call_kernel(program, kapi.Range(4), np.zeros(4))\n" in found["one"]
    assert found["two"].endswith("import kapi_runtime as kapi\n\n\nkapi.f()\n")
