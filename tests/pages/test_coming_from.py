"""The tables of what is called how: each of kapi's names on them exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kapi_runtime

PAGES = sorted((Path(__file__).parents[2] / "docs" / "coming_from").glob("*.md"))
ROW = re.compile(r"^\|.*\|(?P<here>[^|]*)\|$", re.MULTILINE)
NAME = re.compile(r"\bkapi\.(\w+(?:\.\w+)*)")


def test_there_are_pages():
    assert len(PAGES) > 4


WITH_ROWS = [page for page in PAGES if ROW.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", WITH_ROWS, ids=lambda page: page.stem)
def test_names_in_the_table_exist(page):
    names = {name for row in ROW.finditer(page.read_text("utf-8")) for name in NAME.findall(row["here"])}
    assert names
    missing = [name for name in sorted(names) if not resolves(name)]
    assert missing == []


def resolves(name: str) -> bool:
    found = kapi_runtime
    for part in name.split("."):
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True
