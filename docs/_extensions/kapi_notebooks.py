"""The lessons as notebooks: prose and programs become cells, and an exercise a cell that judges its kernel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx.application import Sphinx

from kapi_sim.exercises import Exercise, find

__all__ = ["lessons", "notebook", "setup"]

_FENCE = re.compile(r"^```(?P<language>\S+)(?: (?P<argument>\S+))?\n(?P<code>.*?)^```$\n?", re.MULTILINE | re.DOTALL)
_NEEDS = "%pip install --quiet kapi-sim"


def notebook(page: Path) -> nbformat.NotebookNode:
    """Make a notebook of a lesson.

    Parameters
    ----------
    page : Path
        Its Markdown file.
    """
    cells: list[nbformat.NotebookNode] = []
    text, end = page.read_text("utf-8"), 0
    for fence in _FENCE.finditer(text):
        _add_prose(cells, text[end : fence.start()])
        end = fence.end()
        if fence["language"] == "python":
            cells.append(new_code_cell(fence["code"].rstrip()))
        elif fence["language"] == "{kapi-exercise}":
            cells += _exercise(find(int(fence["argument"][2:4])))
        elif fence["language"] == "{kapi-puzzle}":
            puzzle = find(int(fence["argument"][2:4]), "puzzle")
            _add_prose(cells, puzzle.file.read_text("utf-8").split('"""')[1].partition(": ")[2])
            cells += _exercise(puzzle)
        # What a program prints, the notebook prints as well.
    _add_prose(cells, text[end:])
    cells.insert(1, new_code_cell(_NEEDS))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # the same in each build
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": python, "language_info": {"name": "python"}})


def _add_prose(cells: list[nbformat.NotebookNode], text: str) -> None:
    text = re.sub("<!--.*?-->", "", text, flags=re.DOTALL).strip()
    if text:
        cells.append(new_markdown_cell(text))


def _exercise(exercise: Exercise) -> list[nbformat.NotebookNode]:
    """The task, and the answer folded away; both are judged by the task's own check."""
    task, answer = exercise.file.read_text("utf-8"), exercise.answer.read_text("utf-8")
    imports, rest = task[task.index("import numpy") :].split("@kapi.kernel", 1)
    kernel, check = rest.split("def check(", 1)
    check = check.split("\nif __name__", 1)[0]
    folded = {"jupyter": {"source_hidden": True}}
    verb, solved = ("Mend", "right") if exercise.kind == "exercise" else ("Write", "solve")
    hint = f"<details><summary>A hint</summary>\n\n{exercise.hint}\n\n</details>"
    return [
        new_code_cell(f"{imports}def check({check}".rstrip()),
        new_code_cell(f"@kapi.kernel{kernel.rstrip()}\n\n\nprint(judge(check, {exercise.kernel}))"),
        new_markdown_cell(hint),
        new_markdown_cell(f"{verb} `{exercise.kernel}` and run the cell again. The next cell is the answer."),
        new_code_cell(
            answer[answer.index("@kapi.kernel") :].rstrip() + f"\n\n\nprint(judge(check, {solved}))", metadata=folded
        ),
    ]


def lessons(folder: Path) -> list[Path]:
    """Return the pages that are notebooks as well."""
    return [*sorted(folder.glob("[0-9]*.md")), folder / "puzzles.md"]


def _write_all(app: Sphinx) -> None:
    folder = Path(app.srcdir, "notebooks")
    folder.mkdir(exist_ok=True)
    for page in lessons(Path(app.srcdir, "learn")):
        nbformat.write(notebook(page), folder / f"{page.stem}.ipynb")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the notebooks before pages that link to them are read."""
    app.connect("builder-inited", _write_all)
    return {"parallel_read_safe": False}
