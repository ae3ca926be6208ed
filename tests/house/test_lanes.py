from __future__ import annotations

import sys
import threading
import time

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


def test_a_command_that_never_ends_is_ended(capfdbinary, monkeypatch, tmp_path):
    """With the processes that it started; what it printed is shown."""
    begun = tmp_path / "begun"

    class Timer(threading.Thread):
        """Ends a command once it has begun: a busy machine may take seconds until then."""

        def __init__(self, _, end, args):
            super().__init__(daemon=True)
            self.end = lambda: end(*args)

        def run(self):
            while not begun.exists():
                time.sleep(0.01)
            self.end()

        def cancel(self):
            pass

    monkeypatch.setattr(lanes.threading, "Timer", Timer)
    child = (
        f"import pathlib, subprocess, sys; print('begun', flush=True); pathlib.Path({str(begun)!r}).touch();"
        "subprocess.run([sys.executable, '-c', 'while True: pass'])"
    )
    (outcome,) = lanes.run({"endless": python(child)}, limit=0.0)
    assert outcome.status != 0
    printed = capfdbinary.readouterr().out
    assert b"begun" in printed
    assert b"endless: TIME LIMIT" in printed


def test_what_a_command_left_running_holds_nothing_up():
    left = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    (outcome,) = lanes.run({"leaves": python(left)})
    assert outcome.status == 0
    assert outcome.seconds < 300
