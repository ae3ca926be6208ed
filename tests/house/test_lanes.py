from __future__ import annotations

import sys

from tools import lanes


def python(code):
    return [sys.executable, "-c", code]


def test_lanes_run_everything_and_keep_the_order(capfdbinary):
    """A failure stops nothing, and outcomes come in the order of the commands."""
    outcomes = lanes.run({"bad": python("raise SystemExit(3)"), "good": python("print('said')")}, lanes=2)
    assert [(each.name, each.status) for each in outcomes] == [("bad", 3), ("good", 0)]
    printed = capfdbinary.readouterr().out
    assert b"said" in printed
    assert b"FAILED" in printed


def test_lanes_run_side_by_side(tmp_path):
    """Each of three commands ends when the other two have begun."""
    meet = (
        "import pathlib, sys, time\n"
        "folder, own = pathlib.Path(sys.argv[1]), sys.argv[2]\n"
        "(folder / own).touch()\n"
        "while len(list(folder.iterdir())) < 3: time.sleep(0.01)\n"
    )
    commands = {name: [*python(meet), str(tmp_path), name] for name in "abc"}
    assert [each.status for each in lanes.run(commands, lanes=3)] == [0, 0, 0]


def test_lanes_count_processor_time_of_children_and_report_what_is_over_budget(capfdbinary):
    """A session's work is done in processes that it starts; being over budget fails nothing."""
    work = "import time\nwhile time.process_time() < 0.3: pass"
    child = python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])")
    over, within = lanes.run({"a": child, "b": child}, budgets={"a": 0.2, "b": 1000})
    assert (over.status, over.is_over_budget, within.is_over_budget) == (0, True, False)
    assert over.processor_seconds >= 0.3
    assert b"budget 0 s: OVER BUDGET" in capfdbinary.readouterr().out


def test_lanes_pass_variables(capfdbinary):
    """Variables are added to the environment of each command."""
    (outcome,) = lanes.run({"x": python("import os; print(os.environ['LANE_TEST'])")}, {"LANE_TEST": "given"})
    assert outcome.status == 0
    assert b"given" in capfdbinary.readouterr().out
