"""The lessons as notebooks: each is valid, and runs from its first cell to its last."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path

import nbformat
import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))

from kapi_notebooks import buttons, lessons, notebook, with_notebook  # noqa: E402

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


FOLDER = "https://github.com/OWNER/NAME/blob/BRANCH/made"


def test_buttons_open_the_notebook_of_a_folder_on_github():
    assert buttons("01_map.ipynb", "", is_lesson=True) == {}
    assert buttons("01_map.ipynb", FOLDER, is_lesson=True) == {
        "Colab": "https://colab.research.google.com/github/OWNER/NAME/blob/BRANCH/made/01_map.ipynb",
        "JupyterLite": "https://jupyterlite.github.io/demo/lab/index.html?fromURL="
        "https%3A%2F%2Fraw.githubusercontent.com%2FOWNER%2FNAME%2FBRANCH%2Fmade%2F01_map.ipynb",
    }
    assert list(buttons("n_body.ipynb", FOLDER + "/", is_lesson=False)) == ["Colab"]


@pytest.mark.parametrize("folder", ["https://example.org/notebooks", "https://github.com/OWNER/NAME"])
def test_another_address_than_a_folder_on_github_is_refused(folder):
    with pytest.raises(ValueError, match="notebook_base_url"):
        buttons("01_map.ipynb", folder, is_lesson=True)


def test_pages_with_a_notebook_link_it_below_their_title():
    lesson = "# A lesson\n\nText.\n"
    assert with_notebook("learn/races", lesson, FOLDER) == lesson
    assert with_notebook("learn/02_guard", lesson, "").startswith(
        "# A lesson\n\n{download}`Notebook </notebooks/02_guard.ipynb>` ([how to open it](notebooks.md))\n\n"
    )
    opened = with_notebook("learn/02_guard", lesson, FOLDER)
    assert opened.count("[Open in Colab](https://colab.research.google.com/github/OWNER/NAME/") == 1
    assert opened.count("[Open in JupyterLite](https://jupyterlite.github.io/") == 1
    example = with_notebook("gallery/n_body", ".. _label:\n\n\nBodies\n======\nText.\n", FOLDER)
    assert "\n======\n\n:download:`Notebook <n_body.ipynb>`" in example
    assert example.count("`Open in Colab <") == 1
    assert "JupyterLite" not in example


@pytest.mark.parametrize("page", [page.stem for page in LESSONS])
def test_every_lesson_has_its_notebook(page):
    text = (DOCS / "learn" / f"{page}.md").read_text("utf-8")
    assert f"/notebooks/{page}.ipynb" in with_notebook(f"learn/{page}", text, "")
