from __future__ import annotations

import sys

from tools import lanes


def python(code):
    return [sys.executable, "-c", code]


def test_lanes_run_everything_and_keep_the_order(capfdbinary):
    """A failure stops nothing, and outcomes come in the order of the commands."""
    commands = {"bad": python("raise SystemExit(3)"), "good": python("import os; print(os.environ['LANE_TEST'])")}
    outcomes = lanes.run(commands, {"LANE_TEST": "given"}, lanes=2)
    assert [(each.name, each.status) for each in outcomes] == [("bad", 3), ("good", 0)]
    printed = capfdbinary.readouterr().out
    assert b"given" in printed
    assert b"FAILED" in printed


def test_a_command_that_never_ends_is_ended(capfdbinary):
    """With the processes that it started; what it printed is shown."""
    child = (
        "import subprocess, sys; print('begun', flush=True); subprocess.run([sys.executable, '-c', 'while True: pass'])"
    )
    (outcome,) = lanes.run({"endless": python(child)}, limit=1.0)
    assert outcome.status != 0
    printed = capfdbinary.readouterr().out
    assert b"begun" in printed
    assert b"endless: TIME LIMIT" in printed


def test_what_a_command_left_running_holds_nothing_up():
    left = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    (outcome,) = lanes.run({"leaves": python(left)})
    assert outcome.status == 0
    assert outcome.seconds < 300
