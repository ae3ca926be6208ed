"""Constant propagation: the values that variables of a kernel always hold, constant indices, and tests of `None`.

`x is None` and `x is not None` are constants in the code for one list of argument types. In `t[0]` and `a[SIZE]` the
index is a part of the statement.
"""

from __future__ import annotations

import operator
from types import ModuleType
from typing import Any

from kapi_sim import Vec
from kapi_sim.language.attributes import MISSING
from kapi_types._numba_compat import FunctionPass, build_definitions, ir, register_pass, types
from kapi_types.kernel_typing.problems.held_values import is_call_of
from kapi_types.kernel_typing.rules.operators import BINARY, INPLACE, UNARY

__all__ = [
    "FoldConstantIndices",
    "SettleNoneTests",
    "axes_from_end",
    "constant_of",
    "definitions_of",
    "folded",
    "is_negative_literal",
    "known_value",
    "made_of",
    "members_of",
]

_MAX_DEPTH = 6  # operations; each has two operands
_MAX_EXPONENT = 64  # bits that a power or a shift may add


def definitions_of(func_ir: Any) -> dict[str, Any]:
    """The value assigned to each variable that is assigned once."""
    found: dict[str, Any] = {}
    for block in func_ir.blocks.values():
        for statement in block.find_insts(ir.Assign):
            name = statement.target.name
            found[name] = None if name in found else statement.value
    return found


def made_of(definitions: dict[str, Any], variable: Any) -> Any:
    """The definition of a variable, or of the one that it is a copy of; None if that is not known."""
    value = definitions.get(variable if isinstance(variable, str) else getattr(variable, "name", ""))
    while isinstance(value, ir.Var):
        value = definitions.get(value.name)
    return value


def constant_of(definitions: dict[str, Any], variable: Any, depth: int = _MAX_DEPTH) -> int | None:
    """The Python int that a variable always holds, or that a constant is; None of anything else.

    - `definitions`: the value assigned to each variable that is assigned once.
    - `depth`: how many operations on constants are folded one after the other.
    """
    value = variable.value if isinstance(variable, ir.Const) else known_value(definitions, variable, depth)
    return value if type(value) is int else None


def known_value(definitions: dict[str, Any], variable: Any, depth: int = _MAX_DEPTH) -> Any:
    """The value that a variable always holds, a constant or the result of operators on constants; else None."""
    value = made_of(definitions, variable)
    if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
        return value.value
    op = getattr(value, "op", None)
    if op == "getattr":
        return _member(definitions, value.value, value.attr)
    if op in ("static_getitem", "getitem"):
        index = value.index if op == "static_getitem" else constant_of(definitions, value.index)
        return _member(definitions, value.value, index)
    if op == "exhaust_iter":
        return known_value(definitions, value.value)
    if op in ("unary", "binop", "inplace_binop") and depth:
        operands = (value.value,) if op == "unary" else (value.lhs, value.rhs)
        return folded(value.fn, *(known_value(definitions, each, depth - 1) for each in operands))
    if op == "call" and depth and not value.kws and value.vararg is None:
        function = known_value(definitions, value.func)
        if getattr(function, "__module__", "") == "math":
            return folded(function, *(known_value(definitions, each, depth - 1) for each in value.args))
    return None


def folded(function: Any, *numbers: Any) -> Any:
    """The result of an operator or function of `math`; None if a number is not known, or it is far beyond 64 bits."""
    operation = INPLACE.get(function, function)
    is_known = operation in (BINARY if len(numbers) == 2 else UNARY) or operation.__module__ == "math"
    if not is_known or not all(type(each) in (int, float, complex) for each in numbers):
        return None
    try:
        if operation in (operator.pow, operator.lshift) and not 0 <= numbers[1] <= _MAX_EXPONENT:
            return None
        return operation(*numbers)
    except (ArithmeticError, TypeError, ValueError):
        return None


def members_of(definitions: dict[str, Any], variable: Any) -> list[Any]:
    """The members of a tuple as it is written, variables and constants; none if that is not known."""
    made = made_of(definitions, variable)
    op = getattr(made, "op", None)
    if op == "build_tuple":
        return list(made.items)
    if op == "exhaust_iter":
        return members_of(definitions, made.value)
    function = known_value(definitions, made.func) if op == "call" else None
    if hasattr(function, "_fields") and function is not Vec:  # whose elements are converted
        return list(made.args) if not made.kws and made.vararg is None else []
    container = known_value(definitions, variable)
    return [ir.Const(each, variable.loc) for each in container] if isinstance(container, tuple) else []


def _member(definitions: dict[str, Any], container: Any, index: Any) -> Any:
    """The value of a tuple's or a module's member, by its position or by its name; None if it is not known."""
    if isinstance(index, str):
        made = made_of(definitions, container)
        owner = known_value(definitions, made.func if getattr(made, "op", None) == "call" else container)
        if isinstance(owner, ModuleType):
            return getattr(owner, index, None)
        fields = getattr(owner, "_fields", ())
        index = fields.index(index) if index in fields else None
    members = members_of(definitions, container)
    if type(index) is not int or not -len(members) <= index < len(members):
        return None
    member = members[index]
    return member.value if isinstance(member, ir.Const) else known_value(definitions, member)


def axes_from_end(definitions: dict[str, Any], index: Any) -> frozenset[int]:
    """The axes along which an index of an array, a number or a tuple of numbers, is a constant below zero."""
    number = constant_of(definitions, index)
    axes = (
        [number] if number is not None else [constant_of(definitions, each) for each in members_of(definitions, index)]
    )
    return frozenset(axis for axis, value in enumerate(axes) if value is not None and value < 0)


def is_negative_literal(func_ir: Any, variable: Any) -> bool:
    """Whether an operand is written as a negative integer literal, and is not a name for one."""
    # A literal is in a variable of the compiler's own.
    if not variable.name.startswith("$"):
        return False
    made = func_ir._definitions.get(variable.name, ())
    return len(made) == 1 and isinstance(made[0], ir.Const) and type(made[0].value) is int and made[0].value < 0


_SOME = "some value"
"""Stands for any value but None, True and False."""

_Known = dict[str, Any]


@register_pass(mutates_CFG=True, analysis_only=False)
class SettleNoneTests(FunctionPass):
    """Makes constants of comparisons with `None`, and removes the branches that are never taken.

    A forward data-flow analysis over the blocks that are reached: of each variable whether it is None, or a truth value
    that a comparison gave. It comes before all passes that find problems, since the others' code has none.
    """

    _name = "kapi_settle_none_tests"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        func_ir, blocks = state.func_ir, state.func_ir.blocks
        if not any(map(_is_test, (each for block in blocks.values() for each in block.find_exprs(op="binop")))):
            return False
        entries: dict[Any, _Known] = {min(blocks): {}}
        pending = [min(blocks)]
        while pending:
            key = pending.pop()
            known = dict(entries[key])
            for statement in blocks[key].find_insts(ir.Assign):
                _note(state, known, statement)
            for target in _targets(known, blocks[key].terminator):
                joined = known if target not in entries else _joined(entries[target], known)
                if joined != entries.get(target):
                    entries[target] = joined
                    pending.append(target)
        for key in set(blocks) - set(entries):
            del blocks[key]
        for key, block in blocks.items():
            known = entries[key]
            for statement in block.find_insts(ir.Assign):
                _note(state, known, statement)
                value = known.get(statement.target.name)
                if isinstance(value, bool) and not isinstance(statement.value, ir.Const):
                    statement.value = ir.Const(value, statement.loc, use_literal_type=False)
            targets = _targets(known, block.terminator)
            if isinstance(block.terminator, ir.Branch) and len(targets) == 1:
                block.body[-1] = ir.Jump(targets[0], block.terminator.loc)
        func_ir._definitions = build_definitions(blocks)
        return True


def _is_test(expression: Any) -> bool:
    return expression.fn in (operator.is_, operator.is_not)


def _note(state: Any, known: _Known, statement: Any) -> None:
    """Note what an assignment says of its variable."""
    found = _value(state, known, statement.value)
    if found is ...:
        known.pop(statement.target.name, None)
    else:
        known[statement.target.name] = found


def _value(state: Any, known: _Known, value: Any) -> Any:
    """None, True, False or `_SOME`; ``...`` if that is not known."""
    if isinstance(value, ir.Arg):
        return None if state.args[value.index] == types.none else _SOME
    if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
        return value.value if value.value is None or isinstance(value.value, bool) else _SOME
    if isinstance(value, ir.Var):
        return known.get(value.name, ...)
    if not isinstance(value, ir.Expr):
        return ...
    if value.op == "binop" and _is_test(value):
        sides = [known.get(each.name, ...) for each in (value.lhs, value.rhs)]
        if None not in sides or ... in sides:
            return ...
        return (sides[0] is sides[1]) == (value.fn is operator.is_)
    if is_call_of(state.func_ir, value, bool) or (value.op == "unary" and value.fn is operator.not_):
        given = known.get((value.args[0] if value.op == "call" else value.value).name, ...)
        return ... if given in (..., _SOME) else bool(given) != (value.op == "unary")
    return ... if value.op == "call" else _SOME


def _targets(known: _Known, last: Any) -> list[Any]:
    """The blocks that may come after the last statement of one."""
    value = known.get(last.cond.name) if isinstance(last, ir.Branch) else None
    return [last.truebr if value else last.falsebr] if isinstance(value, bool) else list(last.get_targets())


def _joined(one: _Known, other: _Known) -> _Known:
    return {name: value for name, value in one.items() if name in other and other[name] is value}


@register_pass(mutates_CFG=False, analysis_only=False)
class FoldConstantIndices(FunctionPass):
    """Makes a constant index a part of its access, as members of tuples and fields need it.

    Numba's own rewrites also look for calls of `print` and raised exceptions, which are settled before, and format a
    message with the source line for each index that is none.
    """

    _name = "kapi_fold_constant_indices"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        definitions = state.func_ir._definitions
        for block in state.func_ir.blocks.values():
            for position, statement in enumerate(block.body):
                if isinstance(statement, ir.SetItem):
                    index = _index_constant(definitions, statement.index)
                    if index is not MISSING:
                        block.body[position] = ir.StaticSetItem(
                            statement.target, index, statement.index, statement.value, statement.loc
                        )
                elif isinstance(statement, ir.Assign) and getattr(statement.value, "op", None) == "getitem":
                    read = statement.value
                    index = _index_constant(definitions, read.index)
                    if index is not MISSING:
                        statement.value = ir.Expr.static_getitem(read.value, index, read.index, read.loc)
        return True


def _index_constant(definitions: dict[str, Any], variable: Any) -> Any:
    """The value of a variable that is assigned one constant, or a tuple or slice of constants; else `MISSING`."""
    value: Any = variable
    while isinstance(value, ir.Var):
        found = definitions.get(value.name, ())
        value = found[0] if len(found) == 1 else None
    if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
        return value.value
    match getattr(value, "op", None):
        case "build_tuple":
            return _index_of(tuple, definitions, value.items)
        case "call" if not value.kws and value.vararg is None and _index_constant(definitions, value.func) is slice:
            return _index_of(lambda given: slice(*given), definitions, value.args)
        case "getattr":
            owner = _index_constant(definitions, value.value)
            return getattr(owner, value.attr, MISSING) if isinstance(owner, (ModuleType, type)) else MISSING
    return MISSING


def _index_of(make: Any, definitions: dict[str, Any], variables: Any) -> Any:
    """A tuple or slice of constants; `MISSING` if one of the variables is none."""
    constants = [_index_constant(definitions, each) for each in variables]
    return MISSING if any(each is MISSING for each in constants) else make(constants)
