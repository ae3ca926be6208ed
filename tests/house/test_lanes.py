from __future__ import annotations

import sys
import time

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


def test_lanes_run_side_by_side():
    """Two commands that wait for each other's time take the time of one."""
    sleep = python("import time; time.sleep(1)")
    start = time.monotonic()
    lanes.run({"a": sleep, "b": sleep, "c": sleep}, lanes=3)
    assert time.monotonic() - start < 2.5


def test_lanes_pass_variables(capfdbinary):
    """Variables are added to the environment of each command."""
    (outcome,) = lanes.run({"x": python("import os; print(os.environ['LANE_TEST'])")}, {"LANE_TEST": "given"})
    assert outcome.status == 0
    assert b"given" in capfdbinary.readouterr().out
