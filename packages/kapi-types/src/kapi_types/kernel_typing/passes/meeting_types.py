"""Places to which the ways of a kernel give numbers of different types: variables, choices, results, and operations.

A compiled kernel has one type for a variable, and NumPy's rules go on from there. Python goes on from what was
assigned: a weak number stays weak until an operation, and that may give another type than on the other ways. The
simulator tells of types that met; only the compiler knows those of ways that no work-item took.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from kapi_types._numba_compat import FunctionPass, ir, register_pass, types
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType, is_of_library
from kapi_types.kernel_typing.passes.ways import (
    TypedFunction,
    Value,
    Ways,
    as_type,
    function_of,
    incoming,
    mixed_types,
    operands_of,
    shown,
)
from kapi_types.kernel_typing.problems.problems import spell_type
from kapi_types.kernel_typing.rules.operators import COMPARISONS
from kapi_types.kernel_typing.rules.promotion import is_scalar, resolve_loop
from kapi_types.weak import is_weak, weak_bool, weak_float, weak_int

__all__ = ["FindMixedTypes"]

_Note = tuple[str, Any, str]
"""What is called how and where, and what is said of it."""

_EXACT = (operator.neg, operator.pos, abs, min, max, None)
"""Functions whose results are as exact as what they are given; None is any that is not known."""
_WITHIN = (*_EXACT[1:], operator.and_, operator.or_, operator.xor, operator.rshift, operator.mod, operator.floordiv)
"""Functions of integers that hardly leave the type that their operands fit."""
_GROWING = (operator.mul, operator.lshift, operator.pow)
_BELOW_ZERO = (operator.sub, operator.neg, operator.invert)
_ONE_TYPE = "convert the Python number"


@register_pass(mutates_CFG=False, analysis_only=True)
class FindMixedTypes(FunctionPass):
    """Leaves a text, file and line for each variable, choice and result whose ways have different types."""

    _name = "kapi_find_mixed_types"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        if state.typingctx.has_numba_integers:  # what Python's numbers would give is not what the author relies on
            state["kapi_mixed_types"] = []
            return False
        ways = Ways(TypedFunction.of(state), state.typingctx)
        state.typingctx.typed_functions[state.func_id.func, tuple(state.args)] = ways
        found: dict[str, tuple[str, str, int]] = {}  # the first note of a name is the one to tell
        for name, loc, text in (*_meetings(ways.function), *_notes(ways)):
            found.setdefault(name, (text, loc.filename, loc.line))
        state["kapi_mixed_types"] = list(found.values())
        return False


def _meetings(function: TypedFunction) -> Iterator[_Note]:
    """Places where two types meet."""
    returned: list[tuple[Any, types.Type, types.Type]] = []
    for block in function.blocks.values():
        for statement in block.find_insts(ir.Assign):
            value = statement.value
            if not isinstance(value, ir.Expr) or value.op not in ("phi", "cast"):
                continue
            result = function.typemap[statement.target.name]
            if value.op == "cast":
                returned.append((statement.loc, function.typemap[value.value.name], result))
                continue
            loc = next((each.loc for each in block.body if each.loc.line > 0), statement.loc)
            given = [function.typemap[each] for each in incoming(value)]
            yield from _met(shown(statement.target.name), loc, given, result)
    if len(returned) > 1:
        given = [each for _, each, _ in returned]
        yield from _met("what the function returns", returned[-1][0], given, returned[0][2])


def _met(name: str, loc: Any, given: list[types.Type], result: types.Type) -> Iterator[_Note]:
    mixed = mixed_types(given)
    if mixed:
        text = (
            f"{name} is {mixed[0]} on one way and {mixed[1]} on another: on a device it is {spell_type(result)} on "
            "all ways; convert one, or start with the other"
        )
        yield name, loc, text


def _notes(ways: Ways) -> Iterator[_Note]:
    """Operations that Python's numbers give another type or number than a device has."""
    function = ways.function
    for statement, _ in ways.assigned:
        value = statement.value
        if isinstance(value, ir.Expr) and value.op in ("binop", "inplace_binop", "unary", "call"):
            if any(len(ways.of(each).types) > 1 for each in operands_of(value)):
                yield from _of_operation(ways, statement)
    for called in ways.calls.values():
        yield from _notes(called)
    for block in function.blocks.values():
        for statement in block.find_insts((ir.SetItem, ir.StaticSetItem)):
            array = function.typemap[statement.target.name]
            yield from _of_use(ways, statement.value.name, getattr(array, "dtype", array), statement.loc)


def _of_operation(ways: Ways, statement: Any) -> Iterator[_Note]:
    value, loc, target = statement.value, statement.loc, statement.target.name
    type_, result = ways.function.typemap[target], ways.of(target)
    applied = function_of(value, ways.constant)
    if applied in COMPARISONS:
        yield from _of_comparison(ways, value, loc)
        return
    mixed = ways.mixed.get(id(value))
    if mixed is not None:
        first, second = mixed_types(mixed.types) or ("", "")
        text = (
            f"an operation with {mixed.name} gives {first} on one way and {second} on another, for a Python number "
            f"takes the type that it meets: on a device it gives {spell_type(type_)} on all ways; {_ONE_TYPE}"
        )
        yield mixed.name, loc, text
    elif result.is_loose:
        if _is_other_number(applied, result, type_):
            yield _computed(result, type_, loc)
    elif _is_of_library(ways, value):
        # Which functions of Python's numbers are written in the kernel language is nothing that their authors know.
        for operand in operands_of(value):
            narrow, one = ways.function.typemap[operand], ways.of(operand)
            if one.is_loose and 0 < _digits(narrow) < _MOST_DIGITS:
                yield _computed(one, narrow, loc)
    elif id(value) not in ways.calls:
        signature = ways.function.calltypes.get(value)
        taken = signature.args if signature is not None else ()
        for operand, wide in zip(operands_of(value), taken, strict=False):
            is_whole = isinstance(type_, types.Integer) and _digits(wide) > 0
            yield from _of_use(ways, operand, type_ if is_whole or _digits(type_) > _digits(wide) else wide, loc)


def _computed(value: Value, type_: types.Type, loc: Any) -> _Note:
    text = (
        f"an operation with {value.name} is one of Python numbers on one way: on a device it is one of "
        f"{spell_type(type_)} on all ways, which may give another number; {_ONE_TYPE}"
    )
    return value.name, loc, text


def _is_of_library(ways: Ways, value: Any) -> bool:
    """Whether a call is of Python's numbers alone on one way, in a function that is written in the kernel language."""
    function = ways.function.typemap[value.func.name] if value.op == "call" else None
    if not isinstance(function, DeviceFunctionType) or not is_of_library(function.function):
        return False
    return all(any(map(is_weak, ways.of(each).types)) for each in operands_of(value))


def _is_other_number(applied: Any, result: Value, type_: types.Type) -> bool:
    """Whether an operation of Python's numbers may give another number than one of a device's type."""
    is_float = isinstance(type_, (types.Float, types.Complex))
    if result.numbers is not None:
        # What a float is rounded to is told where it is used as a wider one.
        return any(not _same(as_type(ours, type_) if is_float else ours, theirs) for ours, theirs in result.numbers)
    if is_float:
        return _digits(type_) < _MOST_DIGITS and applied not in _EXACT
    if not isinstance(type_, types.Integer):
        return applied not in _EXACT
    if applied in _BELOW_ZERO and not type_.signed:
        return True
    if type_.bitwidth == 64:
        return False
    return applied in _GROWING or (type_.bitwidth < 32 and applied not in _WITHIN)


def _of_comparison(ways: Ways, value: Any, loc: Any) -> Iterator[_Note]:
    operands = operands_of(value)
    values = [ways.of(each) for each in operands]
    strong = [each for one in values for each in one.types if not is_weak(each) and not one.is_loose]
    if strong:
        weak = (each for one in values for each in one.types if is_weak(each))
        loop = resolve_loop(np.add, (next(weak, weak_int), strong[0]))
        if loop is not None:
            for operand in operands:
                yield from _of_use(ways, operand, loop.result, loc)
        return
    numbers = ways.computed(value, weak_bool)
    for operand, one in zip(operands, values, strict=True):
        narrow = ways.function.typemap[operand]
        if not one.is_loose:
            continue
        if numbers is not None:
            is_other = any(ours != theirs for ours, theirs in numbers)
        elif one.numbers is not None:
            is_other = any(not _same(ours, theirs) for ours, theirs in one.numbers)
        else:
            is_other = weak_float in one.types and 0 < _digits(narrow) < _MOST_DIGITS
        if is_other:
            yield _computed(one, narrow, loc)


def _of_use(ways: Ways, operand: str, wide: types.Type, loc: Any) -> Iterator[_Note]:
    """What is told where a number, which a device may have rounded, is used as one of a wider type."""
    value, narrow = ways.of(operand), ways.function.typemap[operand]
    if not value.is_loose or not is_scalar(wide) or not is_scalar(narrow):
        return
    if value.numbers is not None:
        is_other = any(not _same(as_type(ours, wide), as_type(theirs, wide)) for ours, theirs in value.numbers)
    else:
        is_other = 0 < _digits(narrow) < (_digits(wide) or _MOST_DIGITS)
    if is_other:
        text = (
            f"{value.name} is a Python number on one way and {spell_type(narrow)} on another, and is used as "
            f"{spell_type(wide)}: on a device the Python number is rounded to {spell_type(narrow)}; convert one"
        )
        yield value.name, loc, text


_MOST_DIGITS = 64


def _digits(type_: types.Type) -> int:
    """The bits of a type of floats, or of a part of complex numbers; 0 of others."""
    part = type_.underlying_float if isinstance(type_, types.Complex) else type_
    return part.bitwidth if isinstance(part, types.Float) else 0


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) or (one != one and other != other)
