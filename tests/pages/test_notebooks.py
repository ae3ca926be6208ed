"""The lessons as notebooks: each is valid, and runs from its first cell to its last."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path

import nbformat
import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))

from kapi_notebooks import notebook  # noqa: E402

LESSONS = sorted((DOCS / "learn").glob("[0-9]*.md"))


@pytest.mark.parametrize("page", LESSONS, ids=[page.stem for page in LESSONS])
def test_notebook_runs(page, capsys):
    made = notebook(page)
    nbformat.validate(made)
    assert [cell["cell_type"] for cell in made["cells"][:2]] == ["markdown", "code"]
    names = {"__name__": "__main__"}
    for number, cell in enumerate(made["cells"]):
        if cell["cell_type"] == "markdown":
            assert "```" not in cell["source"]
        elif not cell["source"].startswith("%pip"):
            file = f"<{page.stem} {number}>"
            linecache.cache[file] = (len(cell["source"]), None, cell["source"].splitlines(True), file)
            exec(compile(cell["source"], file, "exec"), names)
    printed = capsys.readouterr().out
    assert "`wrong` is not right yet" in printed
    assert "`right` is right" in printed
