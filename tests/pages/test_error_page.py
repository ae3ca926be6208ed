"""The page of errors has a section for each class, and each warning in its table."""

from __future__ import annotations

import re
from pathlib import Path

import kapi_numba_offload  # noqa: F401  (its warning is a subclass)
from kapi_sim.errors import ERRORS, KapiWarning

PAGE = (Path(__file__).parents[2] / "docs" / "model" / "errors.md").read_text("utf-8")


def test_each_error_is_raised_in_a_section_of_its_own():
    sections = re.split(r"^### ", PAGE.partition("## Warnings")[0], flags=re.MULTILINE)[1:]
    raised = {text.split()[0]: set(re.findall(r"(?:raised\(|except )kapi\.(\w+)", text)) for text in sections}
    assert raised == {row.error.__name__: {row.error.__name__} for row in ERRORS}


def test_each_warning_is_in_the_table():
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Warnings")[2], re.MULTILINE)
    assert sorted(listed) == sorted(each.__name__ for each in KapiWarning.__subclasses__())
