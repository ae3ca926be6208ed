"""The lessons as notebooks: prose and programs become cells, and an exercise a cell that judges its kernel.

Each lesson and each page of the gallery has a line below its title with its notebook.  Where the setting
``notebook_base_url`` names a folder of a repository on GitHub that holds the notebooks, the line also opens them in
Colab and, if `kapi_sim` alone runs them, in JupyterLite.  The build writes all notebooks to the folder ``notebooks``.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx.application import Sphinx
from sphinx.errors import ConfigError

from kapi_sim.exercises import Exercise, find

__all__ = ["buttons", "lessons", "notebook", "setup", "with_notebook"]

_FENCE = re.compile(r"^```(?P<language>\S+)(?: (?P<argument>\S+))?\n(?P<code>.*?)^```$\n?", re.MULTILINE | re.DOTALL)
_NEEDS = "%pip install --quiet kapi-sim"
_FOLDER = re.compile(r"https://github\.com/(?P<repository>[^/]+/[^/]+)/blob/(?P<path>.+?)/?")
_COLAB = "https://colab.research.google.com/github"
_JUPYTERLITE = "https://jupyterlite.github.io/demo/lab/index.html?fromURL="


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


def buttons(name: str, folder: str, *, is_lesson: bool) -> dict[str, str]:
    """Return the addresses that open a notebook, by the name of the site.

    Parameters
    ----------
    name : str
        Its file's name.
    folder : str
        The folder of the notebooks as GitHub shows it; empty for none.
    is_lesson : bool
        Whether `kapi_sim` alone runs it: JupyterLite has no compiler.

    Raises
    ------
    ValueError
        If the folder has another form of address.
    """
    if not folder:
        return {}
    found = _FOLDER.fullmatch(folder)
    if found is None:
        raise ValueError(
            f"notebook_base_url must be https://github.com/OWNER/NAME/blob/BRANCH or a folder below, got {folder!r}"
        )
    addresses = {"Colab": f"{_COLAB}/{found['repository']}/blob/{found['path']}/{name}"}
    if is_lesson:
        raw = f"https://raw.githubusercontent.com/{found['repository']}/{found['path']}/{name}"
        addresses["JupyterLite"] = _JUPYTERLITE + quote(raw, safe="")
    return addresses


def with_notebook(docname: str, text: str, folder: str) -> str:
    """Return a page's source with the line of its notebook below the title; pages without one as they are.

    Parameters
    ----------
    docname, text : str
        Name and source of the page.
    folder : str
        The setting ``notebook_base_url``.
    """
    room, _, name = docname.partition("/")
    if room == "gallery" and name != "index":
        title = re.search(r"^\S[^\n]*\n=+\n", text, re.MULTILINE)
        line = f":download:`Notebook <{name}.ipynb>` (:doc:`how to open it </learn/notebooks>`)"
        link = " · `Open in {} <{}>`__"
    elif room == "learn" and (name == "puzzles" or name[:2].isdigit()):
        title = re.search(r"^# [^\n]*\n", text, re.MULTILINE)
        line = f"{{download}}`Notebook </notebooks/{name}.ipynb>` ([how to open it](notebooks.md))"
        link = " · [Open in {}]({})"
    else:
        return text
    if title is None:
        raise ValueError(f"page {docname} must have a title")
    line += "".join(link.format(*each) for each in buttons(f"{name}.ipynb", folder, is_lesson=room == "learn").items())
    return f"{text[: title.end()]}\n{line}\n\n{text[title.end() :]}"


def _add_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    try:
        source[0] = with_notebook(docname, source[0], app.config.notebook_base_url)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _hand_out(app: Sphinx, failure: Exception | None) -> None:
    """Copy all notebooks to one folder of the pages, for the branch that the buttons read."""
    if failure is None and app.builder.format == "html":
        target = Path(app.outdir, "notebooks")
        target.mkdir(exist_ok=True)
        for room in ("notebooks", "gallery"):
            for file in Path(app.srcdir, room).glob("*.ipynb"):
                shutil.copy(file, target)


def _write_all(app: Sphinx) -> None:
    folder = Path(app.srcdir, "notebooks")
    folder.mkdir(exist_ok=True)
    for page in lessons(Path(app.srcdir, "learn")):
        nbformat.write(notebook(page), folder / f"{page.stem}.ipynb")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the notebooks before pages that link to them are read."""
    app.add_config_value("notebook_base_url", "", "env", str)
    app.connect("builder-inited", _write_all)
    app.connect("source-read", _add_notebook, priority=600)  # above the picture of a page of the gallery
    app.connect("build-finished", _hand_out)
    return {"parallel_read_safe": False}
