"""Constants that a kernel takes from outside by attributes, such as `Settings.size`, and numbers written as texts."""

from __future__ import annotations

import enum
from types import ModuleType
from typing import Any

import numpy as np

from kapi_sim.errors import Finding
from kapi_sim.language.attributes import MISSING, attribute_of, has_constants
from kapi_sim.language.integers import as_plain
from kapi_sim.language.unsupported_syntax import no_constant
from kapi_types._numba_compat import FunctionPass, ir, register_pass
from kapi_types.kernel_typing.passes.name_resolution import Unknown
from kapi_types.kernel_typing.problems.problems import problem_at
from kapi_types.kernel_typing.problems.unused_values import drop_unused

__all__ = ["FoldOutsideConstants"]


@register_pass(mutates_CFG=False, analysis_only=False)
class FoldOutsideConstants(FunctionPass):
    """Puts the constants themselves in place of attributes of classes and objects, and of `float("inf")`."""

    _name = "kapi_fold_outside_constants"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        folding = _Folding(state.func_ir)
        assignments = [
            statement for block in state.func_ir.blocks.values() for statement in block.find_insts(ir.Assign)
        ]
        for statement in assignments:
            folding.fold(statement)
        state["kapi_problems"] += folding.problems
        # The names of arguments that follow `*tuple` in a call are left behind as texts.
        has_texts = any(isinstance(each.value, ir.Const) and isinstance(each.value.value, str) for each in assignments)
        if folding.has_folded or has_texts:
            drop_unused(state.func_ir.blocks, folding.is_spent)
        return folding.has_folded or has_texts


class _Folding:
    def __init__(self, func_ir: Any) -> None:
        self._ir = func_ir
        self.problems: list[Any] = []
        self.has_folded = False

    def fold(self, statement: Any) -> None:
        """Make a constant of what is assigned, if it is one."""
        self._write_out(statement)
        value = statement.value
        if not isinstance(value, ir.Expr):
            return
        if value.op == "getattr":
            owner = self._value_of(value.value)
            name, problem = f"{_spelled(owner)}.{value.attr}", no_constant(_spelled(owner), value.attr)
            if _is_enumeration(owner) or (isinstance(owner, enum.Enum) and value.value.name.startswith("$")):
                # A variable may be any member. What has no such attribute is told where types are known.
                found = as_plain(attribute_of(owner, value.attr))
                if isinstance(found, (bool, int, float, complex)):
                    self._put(statement, name, found, problem)
            elif owner is not MISSING and not isinstance(owner, ModuleType) and has_constants(owner):
                self._put(statement, name, attribute_of(owner, value.attr), problem)
        elif value.op == "call" and len(value.args) == 1 and not value.kws and value.vararg is None:
            text, converts = self._value_of(value.args[0]), self._value_of(value.func)
            if isinstance(text, str) and _is_float_type(converts):
                name = f"{converts.__name__}({text!r})"
                problem = Finding("number-text", f"{name} must be given the text of a number in a kernel")
                self._put(statement, name, _number(converts, text), problem)

    def _write_out(self, statement: Any) -> None:
        """Write `getattr(x, "name")` as `x.name`."""
        call = statement.value
        if not (isinstance(call, ir.Expr) and call.op == "call" and len(call.args) == 2) or call.kws or call.vararg:
            return
        if self._value_of(call.func) is not getattr:
            return
        named = self._ir._definitions[call.args[1].name]
        is_constant = len(named) == 1 and isinstance(named[0], (ir.Const, ir.Global, ir.FreeVar))
        name = named[0].value if is_constant else None
        if isinstance(name, str) and name.isidentifier():
            statement.value = ir.Expr.getattr(call.args[0], name, call.loc)
            self._ir._definitions[statement.target.name] = [statement.value]
            self.has_folded = True

    def is_spent(self, value: Any) -> bool:
        """Whether a value that nothing reads may go: it was an owner of constants, or a text."""
        if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
            found = value.value
            is_owner = (has_constants(found) or _is_enumeration(found)) and not isinstance(found, ModuleType)
            return is_owner or isinstance(found, str) or _is_float_type(found) or found is getattr
        if isinstance(value, ir.Expr) and value.op == "getattr":
            return isinstance(self._value_of(value.value), ModuleType)
        return False

    def _put(self, statement: Any, name: str, constant: Any, problem: Finding) -> None:
        if constant is MISSING:
            self.problems.append(problem_at(statement.loc, *problem))
            statement.value = ir.Const(Unknown(), statement.loc, use_literal_type=False)
        else:
            # What the author names, and what Numba has by the value, as that of a closure.
            statement.value = ir.FreeVar(0, name, constant, statement.loc)
        self._ir._definitions[statement.target.name] = [statement.value]
        self.has_folded = True

    def _value_of(self, variable: Any) -> Any:
        """The value that a variable always holds, `MISSING` if that is not known."""
        try:
            made = self._ir.get_definition(variable)
        except KeyError:
            return MISSING
        if isinstance(made, (ir.Const, ir.Global, ir.FreeVar)):
            return made.value
        if isinstance(made, ir.Expr) and made.op == "getattr":
            owner = self._value_of(made.value)
            return MISSING if owner is MISSING else attribute_of(owner, made.attr)
        return MISSING


def _is_enumeration(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, enum.Enum)


def _spelled(owner: Any) -> str:
    return str(getattr(owner, "__name__", type(owner).__name__))


def _is_float_type(value: Any) -> bool:
    return isinstance(value, type) and (value is float or issubclass(value, np.floating))


def _number(type_: type[Any], text: str) -> Any:
    try:
        return type_(text)
    except ValueError:
        return MISSING
