"""`print` in a kernel: constant texts, numbers, bools and f-strings of these, with the `sep` and `end` of Python's."""

from __future__ import annotations

import builtins
import operator
from dataclasses import dataclass
from typing import Any

from kapi_types._numba_compat import FunctionPass, ir, register_pass, templates, types
from kapi_types.kernel_api import ConstantType
from kapi_types.kernel_typing.problems.held_values import is_call_of
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, problem_at, spell_type
from kapi_types.kernel_typing.problems.unused_values import drop_unused
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.kernel_typing.rules.rule_registry import GenericCallableType

__all__ = ["PRINT", "PrintType", "SettlePrints", "Text"]


@dataclass(frozen=True, slots=True)
class Text:
    """A constant text that is printed; its type, a `ConstantType`, says which."""

    text: str

    def __repr__(self) -> str:
        return repr(self.text)


class _Print:
    def __repr__(self) -> str:
        return "print"


PRINT = _Print()
"""The function that `print` becomes a call of: `sep` and `end` come first, and each constant text is a `Text`."""


class PrintType(GenericCallableType):
    """The type of `PRINT`."""

    def __init__(self) -> None:
        super().__init__("print")

    def get_call_type(self, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call, whose arguments stay as they are."""
        for each in args:
            if not (is_scalar(each) and not isinstance(each, types.Complex)) and not is_text(each):
                raise KernelTypeProblem(
                    "print-value",
                    f"print() in a kernel takes constant strings, numbers and bools, got {spell_type(each)}: "
                    "print its elements or members one by one",
                )
        return templates.signature(types.none, *args)

    def get_impl_key(self, sig: Any) -> Any:
        """The key of the lowering in the registry."""
        return PRINT


def is_text(type_: types.Type) -> bool:
    """Whether a type is that of a constant text."""
    return isinstance(type_, ConstantType) and isinstance(type_.value, Text)


@register_pass(mutates_CFG=False, analysis_only=False)
class SettlePrints(FunctionPass):
    """Turns each call of `print` into one of `PRINT`, or adds a problem."""

    _name = "kapi_settle_prints"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        is_changed = False
        for block in state.func_ir.blocks.values():
            for statement in list(block.find_insts(ir.Assign)):
                if is_call_of(state.func_ir, statement.value, builtins.print):
                    _PrintCall(state, block, statement).settle()
                    is_changed = True
        if is_changed:
            drop_unused(state.func_ir.blocks, lambda value: _is_spent(state.func_ir, value))
        return is_changed


class _PrintCall:
    """One call of `print`."""

    def __init__(self, state: Any, block: Any, statement: Any) -> None:
        self._state, self._block, self._statement = state, block, statement

    def settle(self) -> None:
        """Replace the call by one of `PRINT`."""
        call = self._statement.value
        given = dict(call.kws)
        problem = None
        if call.vararg is not None:
            problem = (
                "print() in a kernel must be given at most 30 values, one by one, got more or *: write them out, in "
                "several calls with end=' '"
            )
        elif unknown := [name for name in given if name not in ("sep", "end")]:
            problem = f"print() in a kernel must have no options but sep and end, got {', '.join(unknown)}"
        words = []
        for name, default in (("sep", " "), ("end", "\n")):
            text = self._constant_of(given[name]) if name in given else default
            if text is None:  # which Python takes for the default
                text = default
            if not isinstance(text, str):
                problem = problem or f"{name} of print() in a kernel must be a constant text"
                text = default
            words.append(self._constant(Text(text)))
        if problem:
            self._state["kapi_problems"].append(problem_at(self._statement.loc, "print-call", problem))
        values = [] if problem else self._values(call.args, words)
        function = self._constant(PRINT)
        self._statement.value = ir.Expr.call(function, [*words, *values], (), call.loc)

    def _constant_of(self, variable: Any) -> Any:
        """The constant that a variable holds; the variable itself if it holds none."""
        try:
            definition = self._state.func_ir.get_definition(variable)
        except KeyError:
            return variable
        return definition.value if isinstance(definition, (ir.Const, ir.Global, ir.FreeVar)) else variable

    def _values(self, args: Any, words: list[Any]) -> list[Any]:
        """The printed values: each argument, or the pieces of a formatted text."""
        pieces = [_pieces_of(self._state.func_ir, each) or [each] for each in args]
        found = [[self._constant(Text(each)) if isinstance(each, str) else each for each in group] for group in pieces]
        if all(len(group) == 1 for group in found):
            return [each for (each,) in found]
        between, words[0] = words[0], self._constant(Text(""))
        spread = [value for group in found for value in (between, *group)]
        return spread[1:]

    def _constant(self, value: Any) -> Any:
        """A new variable that holds a constant, assigned before the call."""
        loc = self._statement.loc
        variable = self._block.scope.redefine("$kapi_print", loc)
        assignment = ir.Assign(ir.Const(value, loc, use_literal_type=False), variable, loc)
        self._block.body.insert(self._block.body.index(self._statement), assignment)
        self._state.func_ir._definitions[variable.name].append(assignment.value)
        return variable


def _pieces_of(func_ir: Any, variable: Any) -> list[Any] | None:
    """The constant texts and the variables that a text is made of, as an f-string is; None of what is no text."""
    try:
        made = func_ir.get_definition(variable)
    except KeyError:
        return None
    if isinstance(made, (ir.Const, ir.Global, ir.FreeVar)):
        return [made.value] if isinstance(made.value, str) else None
    if not isinstance(made, ir.Expr):
        return None
    if is_call_of(func_ir, made, str) and len(made.args) == 1 and not made.kws:
        return _pieces_of(func_ir, made.args[0]) or [made.args[0]]
    if made.op == "binop" and made.fn is operator.add:
        parts = [_pieces_of(func_ir, each) for each in (made.lhs, made.rhs)]
        return None if None in parts else [piece for part in parts for piece in part or ()]
    return None


def _is_spent(func_ir: Any, value: Any) -> bool:
    """Whether this is a constant text, what makes one, or `print` itself."""
    if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
        return isinstance(value.value, str) or any(value.value is each for each in (builtins.print, str))
    if not isinstance(value, ir.Expr):
        return False
    if is_call_of(func_ir, value, str):
        return True
    return value.op == "binop" and value.fn is operator.add and _pieces_of(func_ir, value.lhs) is not None
