"""Pipelines of passes: their order, what is left out, what is written of each, and the search for a wrong one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kapi_lowering.emission.bisect import first_wrong, main
from kapi_lowering.emission.llvm_ir import parse_module
from kapi_lowering.emission.pipeline import Pipeline, UnsupportedError, function_pass, module_pass, run_pass
from kapi_sim import environment_variables

TEXT = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n"


@function_pass
def double(function):
    """Add each number to itself.

    More is said here.
    """
    for each in function.instructions():
        if each.opcode == "add":
            each.set_operand(1, each.operands[0])


@module_pass
def rename(module, name="g"):
    """Give functions another name."""
    for function in module.definitions:
        function.ref = f"@{name}"


@module_pass
def refuse(module):
    """Refuse modules without a function of a name."""
    if any(each.name != "h" for each in module.definitions):
        raise UnsupportedError(["a function of another name"])


PIPELINE = Pipeline({"legalize": [rename], "optimize": [double], "workarounds": [rename.with_options(name="h")]})


def test_passes_are_named_and_described_by_their_functions():
    assert (double.name, double.description) == ("double", "Add each number to itself.")
    assert "add i32 %x, %x" in run_pass(double, TEXT)
    assert "@other(" in run_pass(rename, TEXT, name="other")


@pytest.mark.parametrize(
    ("limit", "name", "is_doubled"), [(None, "h", True), (2, "h", True), (1, "g", True), (0, "g", False)]
)
def test_limit_counts_passes_that_may_be_left_out(limit, name, is_doubled):
    module = parse_module(TEXT)
    PIPELINE.run(module, limit=limit)
    assert [each.name for each in module.definitions] == [name]
    assert ("add i32 %x, %x" in str(module)) == is_doubled


def test_ir_is_written_after_each_pass(tmp_path):
    for _ in range(2):
        PIPELINE.run(parse_module(TEXT), dump=str(tmp_path), title="kernel")
    first, second = sorted(tmp_path.iterdir())
    assert (first.name, second.name) == ("kernel.0", "kernel.1")
    names = ["00-input.ll", "01-legalize-rename.ll", "02-optimize-double.ll", "03-workarounds-rename.ll"]
    assert [each.name for each in sorted(first.glob("*.ll"))] == names
    assert "add i32 %x, 1" in (first / names[1]).read_text()
    assert "add i32 %x, %x" in (first / names[2]).read_text()
    listed = json.loads((first / "passes.json").read_text())
    assert listed[1] == {"stage": "optimize", "name": "double", "description": "Add each number to itself."}


def test_what_cannot_be_lowered_is_refused():
    with pytest.raises(UnsupportedError, match="a function of another name") as caught:
        Pipeline({"legalize": [rename, refuse]}).run(parse_module(TEXT))
    assert caught.value.problems == ["a function of another name"]
    Pipeline({"legalize": [rename.with_options(name="h"), refuse]}).run(parse_module(TEXT))


@pytest.mark.parametrize("wrong", [*range(1, 12), None])
def test_search_finds_the_first_wrong_pass(wrong):
    asked = []

    def is_right(limit):
        asked.append(limit)
        return wrong is None or limit < wrong

    assert first_wrong(11, is_right) == wrong
    assert len(asked) <= 6


def test_search_says_what_is_wrong_without_passes():
    assert first_wrong(5, lambda limit: False) == 0


PROGRAM = """
import sys
from pathlib import Path
sys.path[:] = {path!r}
from test_pipeline import PIPELINE, TEXT
from kapi_lowering.emission.llvm_ir import parse_module
from kapi_sim import environment_variables
module = parse_module(TEXT)
limit = environment_variables.PASS_LIMIT.number(-1)
PIPELINE.run(module, limit=None if limit < 0 else limit, dump=environment_variables.DUMP_PASSES.text)
sys.exit({expression})
"""


@pytest.mark.parametrize(
    ("expression", "status", "said"),
    [
        ("'add i32 %x, %x' in str(module)", 0, "fails from optimize/double on: Add each number to itself."),
        ("'@h(' in str(module)", 0, "fails from workarounds/rename on: Give functions another name."),
        ("0", 1, "the command succeeds with all passes"),
        ("3", 1, "the command fails without any pass that may be left out"),
    ],
)
def test_bisection_names_the_pass(capfd, tmp_path, expression, status, said):
    folder = str(Path(__file__).parent)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(path=[folder, *sys.path], expression=expression))
    assert main(["--", sys.executable, str(program)]) == status
    assert said in capfd.readouterr().out


def test_bisection_wants_a_command(capsys):
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err


def test_variables_are_listed():
    assert {environment_variables.DUMP_PASSES, environment_variables.PASS_LIMIT} <= set(environment_variables.VARIABLES)
