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
