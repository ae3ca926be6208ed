"""The names and constants of a kernel, before types are inferred: what has none at all is reported at once."""

from __future__ import annotations

import builtins
from types import CodeType
from typing import Any

from kapi_sim.errors import Finding, KernelProblem
from kapi_sim.language.integers import as_plain
from kapi_sim.language.local_functions import FUNCTION_PASSED
from kapi_sim.language.other_systems import hint
from kapi_sim.short_repr import short_repr
from kapi_types._numba_compat import FunctionPass, ir, register_pass
from kapi_types.kernel_typing.problems.problems import NoKernelValueError, ProblemsFound, problem_at
from kapi_types.kernel_typing.rules.records import FieldName, names_of_fields

__all__ = ["CheckNames", "Unknown"]

_REFUSED = {
    "build_list": Finding("list-in-kernel", "kernels have no lists: use a tuple, a LocalAccessor or an array argument"),
    "build_map": Finding("dict-in-kernel", "kernels have no dicts: use tuples or arrays"),
    "build_set": Finding("set-in-kernel", "kernels have no sets: use tuples or arrays"),
    "build_string": Finding(
        "text-in-kernel", "kernels have no strings: give print() constant strings and numbers one by one"
    ),
    "make_function": FUNCTION_PASSED,
}
_STATEMENTS: dict[type[Any], Finding] = {
    ir.EnterWith: Finding("with-in-kernel", "kernels have no with statement: enter the context around the launch"),
    ir.Del: Finding("del-in-kernel", "kernels have no del: leave it out"),
    ir.DelAttr: Finding("del-in-kernel", "kernels have no del: leave it out"),
    ir.DelItem: Finding("del-in-kernel", "kernels have no del: leave it out"),
}
_NO_TRY = Finding("try-in-kernel", "kernels have no try: a device catches no exceptions")
_TRY_MARKS = ("mark_try_block", "end_try_block", "exception_check", "exception_match")


@register_pass(mutates_CFG=False, analysis_only=False)
class CheckNames(FunctionPass):
    """Turns number globals into constants of the kernel's own types, and collects what has no type at all."""

    _name = "kapi_check_names"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        problems: list[KernelProblem] = []
        full: list[KernelProblem] = list(state["kapi_problems"])
        fields = frozenset(names_of_fields(state.func_ir))
        for block in state.func_ir.blocks.values():
            statement: Any
            for statement in block.body:
                if isinstance(statement, ir.Assign):
                    made: Any = statement.value
                    if statement.target.name in fields and isinstance(made, ir.Const) and type(made.value) is str:
                        statement.value = ir.Const(FieldName(made.value), statement.loc, use_literal_type=False)
                    self._check(state, statement, problems)
                elif type(statement) in _STATEMENTS:
                    full.append(problem_at(statement.loc, *_STATEMENTS[type(statement)]))
        # What such a line holds, texts above all, is no mistake of its own.
        lines = {problem.line for problem in full}
        problems = full + [problem for problem in problems if problem.line not in lines]
        if any(problem.code == _NO_TRY.code for problem in problems):
            # Of a try block only the first line is the author's; the rest is how Numba spells it.
            problems = [min((each for each in problems if each.code == _NO_TRY.code), key=lambda each: each.line)]
            raise ProblemsFound(problems)
        state["kapi_problems"] = problems
        return True

    def _check(self, state: Any, statement: Any, problems: list[KernelProblem]) -> None:
        value = statement.value
        if isinstance(value, ir.Const):
            # Literal types would bypass the typing context, and with it the weak types.
            value.use_literal_type = False
            if type(value.value) is int and not -(2**63) <= value.value < 2**64:
                problems.append(
                    problem_at(
                        statement.loc, "integer-too-wide", f"a constant must fit 64 bits, got {short_repr(value.value)}"
                    )
                )
            if isinstance(value.value, CodeType):  # of a local function, which is a problem where it is made
                statement.value = ir.Const(Unknown(), value.loc, use_literal_type=False)
                return
            self._check_value(state, statement, value.value, f"constant {short_repr(value.value)}", problems)
        elif isinstance(value, (ir.Global, ir.FreeVar)):
            if isinstance(value.value, (bool, int, float, complex, tuple)):
                statement.value = ir.Const(as_plain(value.value), value.loc, use_literal_type=False)
                if type(value.value) is int and not -(2**63) <= value.value < 2**64:
                    problems.append(
                        problem_at(
                            statement.loc,
                            "integer-too-wide",
                            f"{value.name} must fit 64 bits, got {short_repr(value.value)}",
                        )
                    )
            if value.name in _TRY_MARKS:
                problems.append(problem_at(statement.loc, *_NO_TRY))
            elif value.value is str:  # an f-string has it, too
                problems.append(problem_at(statement.loc, *_REFUSED["build_string"]))
                statement.value = ir.Const(Unknown(), value.loc, use_literal_type=False)
            elif _is_exception(value.value):
                statement.value = ir.Const(Unknown(), value.loc, use_literal_type=False)
            elif not _is_defined(state, value):
                said = f"name {value.name!r} is not defined{hint((value.name,))}"
                problems.append(problem_at(statement.loc, "name-undefined", said))
                statement.value = ir.Const(Unknown(), value.loc, use_literal_type=False)
            else:
                self._check_value(state, statement, value.value, f"{value.name}", problems)
        elif isinstance(value, ir.Yield):
            problems.append(problem_at(statement.loc, "yield-or-await", "kernels cannot yield or await"))
        elif isinstance(value, ir.Expr):
            if value.op in ("binop", "inplace_binop"):
                value.static_lhs = value.static_rhs = ir.UNDEFINED
            if value.op in _REFUSED:
                problems.append(problem_at(statement.loc, *_REFUSED[value.op]))

    @staticmethod
    def _check_value(state: Any, statement: Any, value: Any, name: str, problems: list[KernelProblem]) -> None:
        try:
            state.typingctx.resolve_value_type(value)
        except NoKernelValueError as error:
            problems.append(problem_at(statement.loc, error.finding.code, f"{name} {error}"))
            statement.value = ir.Const(Unknown(), statement.loc, use_literal_type=False)


class Unknown:
    """A value without a type: what uses it is not looked at, so that one mistake is one problem."""

    def __repr__(self) -> str:
        return "unknown"


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _is_defined(state: Any, value: Any) -> bool:
    if isinstance(value, ir.FreeVar):
        return True
    return value.name in state.func_id.func.__globals__ or hasattr(builtins, value.name)
