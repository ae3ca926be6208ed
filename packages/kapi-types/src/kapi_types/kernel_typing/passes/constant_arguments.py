"""Arguments that must be known when a kernel is compiled, such as a private array's shape, made part of the types.

References
----------
The words for such parameters stand in `kapi_types.kernel_typing.calls.intrinsic_types.CONSTANT_WORDS`.
"""

from __future__ import annotations

import operator
from types import ModuleType
from typing import Any

from kapi_sim import Vec
from kapi_types._numba_compat import FunctionPass, ir, register_pass
from kapi_types.kernel_api import ConstantType
from kapi_types.kernel_typing.calls.intrinsic_calls import LanguageFunctionType
from kapi_types.kernel_typing.calls.intrinsic_types import CONSTANT_WORDS

__all__ = ["FindConstantArguments"]

_ARITHMETIC = (
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod),
    *(operator.lshift, operator.rshift),
)


class _NotConstant(Exception):
    """Raised for what is not known when the kernel is compiled."""


@register_pass(mutates_CFG=False, analysis_only=False)
class FindConstantArguments(FunctionPass):
    """Puts constants, whose types say what they are, in place of arguments that must be known.

    What is not known stays as it is, and type inference reports its line.
    """

    _name = "kapi_constant_arguments"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        self._values = _Values(state.func_ir)
        self._context = state.typingctx
        changed = False
        for block in state.func_ir.blocks.values():
            body: list[Any] = []
            for statement in block.body:
                if isinstance(statement, ir.Assign) and getattr(statement.value, "op", None) == "call":
                    added = self._constants_of(statement.value, block.scope)
                    changed |= bool(added)
                    body += added
                body.append(statement)
            block.body = body
        return changed

    def _constants_of(self, call: Any, scope: Any) -> list[Any]:
        """New assignments of constants, which the call now names."""
        function = self._function(call.func)
        if function is None:
            return []
        words = {name: word for name, word, _default in function.row.parameters}
        names, added = list(function.parameters.parameters), []

        def constant(name: str, variable: Any) -> Any:
            if words.get(name) not in CONSTANT_WORDS:
                return variable
            try:
                value = self._values.of(variable)
            except _NotConstant:
                return variable
            target = scope.make_temp(call.loc)
            added.append(ir.Assign(ir.Const(ConstantType(value), call.loc, use_literal_type=False), target, call.loc))
            return target

        call.args = [constant(name, each) for name, each in zip(names, call.args, strict=False)] + list(
            call.args[len(names) :]
        )
        call.kws = tuple((name, constant(name, each)) for name, each in call.kws)
        return added

    def _function(self, variable: Any) -> LanguageFunctionType | None:
        try:
            found = self._context.resolve_value_type(self._values.of(variable))
        except (_NotConstant, ValueError):
            return None
        return found if isinstance(found, LanguageFunctionType) else None


class _Values:
    """Values of the variables of a function, known from its source alone."""

    def __init__(self, func_ir: Any) -> None:
        self._ir = func_ir

    def of(self, variable: Any) -> Any:
        """The Python value of a variable; raises `_NotConstant` if it has none that is always the same."""
        try:
            made = self._ir.get_definition(variable)
        except KeyError:
            raise _NotConstant from None
        if isinstance(made, (ir.Const, ir.Global, ir.FreeVar)):
            return made.value
        if isinstance(made, ir.Expr):
            return self._of_expression(made)
        raise _NotConstant

    def _of_expression(self, made: Any) -> Any:
        if made.op == "build_tuple":
            return tuple(self.of(each) for each in made.items)
        if made.op == "getattr":
            owner = self.of(made.value)
            if (isinstance(owner, ModuleType) or owner is Vec) and hasattr(owner, made.attr):
                return getattr(owner, made.attr)
        if made.op in ("static_getitem", "getitem"):
            sequence = self.of(made.value)
            index = made.index if made.op == "static_getitem" else self.of(made.index)
            if isinstance(sequence, tuple) and type(index) is int and -len(sequence) <= index < len(sequence):
                return sequence[index]
        if made.op == "unary" and made.fn in (operator.neg, "-"):
            value = self.of(made.value)
            if type(value) is int:
                return -value
        if made.op == "binop" and made.fn in _ARITHMETIC:
            left, right = self.of(made.lhs), self.of(made.rhs)
            if type(left) is tuple and type(right) is tuple and made.fn is operator.add:
                return left + right
            if type(left) is int and type(right) is int:
                try:
                    return made.fn(left, right)
                except (ValueError, ZeroDivisionError):
                    raise _NotConstant from None
        raise _NotConstant
