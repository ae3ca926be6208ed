"""The lessons as notebooks: each is valid, and runs from its first cell to its last."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path

import nbformat
import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))

from kapi_notebooks import lessons, notebook  # noqa: E402

LESSONS = lessons(DOCS / "learn")


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
    task, answer = ("solve", "solve") if page.stem == "puzzles" else ("wrong", "right")
    assert f"`{task}` is not right yet" in printed
    assert printed.count(f"`{answer}` is right") == sum(
        "source_hidden" in cell["metadata"].get("jupyter", ()) for cell in made["cells"]
    )
