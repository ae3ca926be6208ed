"""The types of Python's operators in a kernel."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from kapi_types._numba_compat import templates, types
from kapi_types.kernel_typing.library.complex_functions import complex_power
from kapi_types.kernel_typing.rules.numba_integers import numba_loop
from kapi_types.kernel_typing.rules.promotion import Loop, is_number, is_scalar, resolve_loop, resolve_weak
from kapi_types.kernel_typing.rules.rule_registry import RuleRegistry
from kapi_types.weak import is_weak, weak_bool, weak_complex, weak_float, weak_int, wide_int

__all__ = [
    "BINARY",
    "COMPARISONS",
    "INPLACE",
    "UNARY",
    "comparison_loop",
    "negative_power",
    "operator_loop",
    "registry",
]

BINARY = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.pow: np.power,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.lshift: np.left_shift,
    operator.rshift: np.right_shift,
}
"""Operator to the ufunc that NumPy applies for it."""

INPLACE = {
    operator.iadd: operator.add,
    operator.isub: operator.sub,
    operator.imul: operator.mul,
    operator.itruediv: operator.truediv,
    operator.ifloordiv: operator.floordiv,
    operator.imod: operator.mod,
    operator.ipow: operator.pow,
    operator.iand: operator.and_,
    operator.ior: operator.or_,
    operator.ixor: operator.xor,
    operator.ilshift: operator.lshift,
    operator.irshift: operator.rshift,
}
"""In-place operator to the operator that it is for numbers, which never change in place."""

UNARY = {operator.neg: np.negative, operator.pos: np.positive, operator.invert: np.invert}

COMPARISONS = {
    operator.eq: "==",
    operator.ne: "!=",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
}

registry = RuleRegistry()


def operator_loop(function: Any, operands: tuple[types.Type, ...]) -> Loop | None:
    """The types of `function`, a function of the module `operator`, on scalar operands.

    Returns None if there is no such operation.
    """
    if not all(is_scalar(operand) for operand in operands):
        return None
    if all(is_weak(operand) for operand in operands):
        return resolve_weak(function.__name__, operands)
    return resolve_loop((BINARY if len(operands) == 2 else UNARY)[function], operands)


def comparison_loop(operands: tuple[types.Type, ...], has_order: bool = True) -> Loop | None:
    """The types in which two scalars are compared: integers exactly, whatever their widths and signs.

    With `has_order`, None for two Python numbers of which one is complex; NumPy's own complex numbers have an order.
    """
    left, right = operands
    if not (is_scalar(left) and is_scalar(right)):
        return None
    result = weak_bool if is_weak(left) and is_weak(right) else types.boolean
    if isinstance(left, types.Integer) and isinstance(right, types.Integer):
        return Loop(operands, result)
    if wide_int in operands and any(isinstance(each, types.Boolean) for each in operands):
        return Loop((wide_int, wide_int), result)
    if is_weak(left) and is_weak(right):
        numbers = is_number(left) or is_number(right)
        floats = isinstance(left, types.Float) or isinstance(right, types.Float)
        if isinstance(left, types.Complex) or isinstance(right, types.Complex):
            return None if has_order else Loop((weak_complex, weak_complex), result)
        shared = weak_float if floats else weak_int if numbers else weak_bool
        return Loop((shared, shared), result)
    common = resolve_loop(np.add, operands)
    return Loop(common.operands, result) if common else None


@registry.shared_rule(*BINARY, *UNARY, *INPLACE)
def _operator(function: Any, context: Any, *operands: types.Type) -> Any:
    """The signature says what the operands are converted to."""
    function = INPLACE.get(function, function)
    if len(operands) != (2 if function in BINARY else 1):
        return None
    has_rules_of_numba = context.has_numba_integers and all(map(is_scalar, operands))
    loop = numba_loop(function, operands) if has_rules_of_numba else None
    loop = loop or operator_loop(function, operands)
    if loop and function is operator.pow and isinstance(loop.result, types.Complex):
        context.type_device_function(complex_power, loop.operands)
    return _signature_of(loop)


def _signature_of(loop: Loop | None) -> Any:
    return templates.signature(loop.result, *loop.operands) if loop else None


def negative_power(base: Any, exponent: Any) -> Any:
    """`base ** exponent` where the exponent is a negative literal: a float of a Python int, as in Python."""
    raise NotImplementedError("this stands for an operator in type inference, and is never called")


@registry.rule(negative_power)
def _negative_power(context: Any, base: types.Type, exponent: types.Type) -> Any:
    if base in (weak_int, weak_bool):
        return templates.signature(weak_float, weak_float, weak_float)
    if not is_scalar(base) or isinstance(base, (types.Integer, types.Boolean)):
        return None  # integers have no such operation
    return context.resolve_function_type(operator.pow, (base, exponent), {})


@registry.shared_rule(*COMPARISONS)
def _comparison(function: Any, context: Any, left: types.Type, right: types.Type) -> Any:
    return _signature_of(comparison_loop((left, right), function not in (operator.eq, operator.ne)))


@registry.rule(operator.not_)
def _not(context: Any, value: types.Type) -> Any:
    return templates.signature(weak_bool, value) if is_scalar(value) else None


@registry.rule(abs)
def _abs(context: Any, value: types.Type) -> Any:
    if not is_scalar(value):
        return None
    if value == weak_complex:
        return templates.signature(weak_float, value)
    return _signature_of(resolve_weak("neg", (value,)) if is_weak(value) else resolve_loop(np.absolute, (value,)))


@registry.rule(min, max)
def _extremum(context: Any, *values: types.Type) -> Any:
    """One of the values, so all of them in the type that holds each."""
    # NumPy's complex numbers have an order, Python's have none.
    if len(values) < 2 or not all(map(is_scalar, values)):
        return None
    shared = values[0]
    for other in values[1:]:
        shared = context.unify_numbers(shared, other)
        if shared is None:
            return None
    return None if shared == weak_complex else templates.signature(shared, *[shared] * len(values))
