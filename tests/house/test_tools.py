"""The scripts on which a green run rests: each reports what is wrong."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from tools import bootstrap, isolation, lanes, mathematics


def test_python_that_lacks_something_is_an_error_that_names_it(tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "version_info", (3, 10, 13))
        assert bootstrap.main(tmp_path / "noxfile.py", []) == 1
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert bootstrap.main(tmp_path / "noxfile.py", []) == 1
    message = capsys.readouterr().err
    assert "Python must be 3.11 or later, got " in message
    assert f"apt-get install python{sys.version_info.major}.{sys.version_info.minor}-venv" in message


def test_lanes_report_a_failure_and_run_the_rest(capfdbinary):
    codes = {"bad": "raise SystemExit(3)", "good": "import os; print(os.environ['LANE_TEST'])"}
    outcomes = lanes.run({name: [sys.executable, "-c", code] for name, code in codes.items()}, {"LANE_TEST": "given"})
    assert [(each.name, each.status) for each in outcomes] == [("bad", 3), ("good", 0)]
    printed = capfdbinary.readouterr().out
    assert b"given" in printed
    assert b"FAILED" in printed


@pytest.mark.parametrize(("module", "arguments"), [("dpctl", ["kapi-spirv"]), ("kapi_lowering", ["kapi-types"])])
def test_environment_that_has_what_a_package_may_not_need_is_refused(tmp_path, monkeypatch, capsys, module, arguments):
    (tmp_path / f"{module}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert isolation.main(arguments) == 1
    assert f"{module} must be absent" in capsys.readouterr().out


def test_coefficients_are_those_that_the_tool_writes():
    assert mathematics.TARGET.read_text("utf-8") == mathematics.text()
