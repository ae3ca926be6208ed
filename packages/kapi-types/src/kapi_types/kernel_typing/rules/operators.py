"""The types of Python's operators in a kernel."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from kapi_types._numba_compat import templates, types
from kapi_types.kernel_typing.library.complex_functions import complex_power
from kapi_types.kernel_typing.rules.numba_integers import numba_loop
from kapi_types.kernel_typing.rules.promotion import (
    Loop,
    is_number,
    is_scalar,
    resolve_loop,
    resolve_weak,
)
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

registry = templates.Registry()


def operator_loop(function: Any, operands: tuple[types.Type, ...]) -> Loop | None:
    """The types of `function`, a function of the module `operator`, on scalar operands.

    Returns
    -------
    Loop or None
        None if there is no such operation.
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


class _OperatorTemplate(templates.AbstractTemplate):
    """Types one operator; the signature it returns says what the operands are converted to."""

    function: Any

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if len(args) != (2 if self.function in BINARY else 1):
            return None
        is_numbas = self.context.has_numba_integers and all(map(is_scalar, args))
        loop = numba_loop(self.function, args) if is_numbas else None
        loop = loop or operator_loop(self.function, args)
        if loop and self.function is operator.pow and isinstance(loop.result, types.Complex):
            self.context.type_device_function(complex_power, loop.operands)
        return templates.signature(loop.result, *loop.operands) if loop else None


def negative_power(base: Any, exponent: Any) -> Any:
    """`base ** exponent` where the exponent is a negative literal: a float of a Python int, as in Python."""
    raise NotImplementedError("this stands for an operator in type inference, and is never called")


@registry.register_global(negative_power)
class _NegativePower(templates.AbstractTemplate):
    key = negative_power

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        base, _ = args
        if base in (weak_int, weak_bool):
            return templates.signature(weak_float, weak_float, weak_float)
        if isinstance(base, (types.Integer, types.Boolean)):
            return None  # integers have no such operation
        return self.context.resolve_function_type(operator.pow, args, kws)


class _ComparisonTemplate(templates.AbstractTemplate):
    function: Any

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        loop = comparison_loop(args, self.function not in (operator.eq, operator.ne))
        return templates.signature(loop.result, *loop.operands) if loop else None


@registry.register_global(operator.not_)
class _Not(templates.AbstractTemplate):
    key = operator.not_

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        (value,) = args
        return templates.signature(weak_bool, value) if is_scalar(value) else None


@registry.register_global(abs)
class _Abs(templates.AbstractTemplate):
    key = abs

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if len(args) != 1 or not is_scalar(args[0]):
            return None
        if args[0] == weak_complex:
            return templates.signature(weak_float, *args)
        loop = resolve_weak("neg", args) if is_weak(args[0]) else resolve_loop(np.absolute, args)
        return templates.signature(loop.result, *loop.operands) if loop else None


class _Extremum(templates.AbstractTemplate):
    """`min` and `max` of scalars: one of the values, so all of them in the type that holds each."""

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        # NumPy's complex numbers have an order, Python's have none.
        if len(args) < 2 or kws or not all(map(is_scalar, args)):
            return None
        shared = args[0]
        for other in args[1:]:
            shared = self.context.unify_numbers(shared, other)
            if shared is None:
                return None
        return None if shared == weak_complex else templates.signature(shared, *[shared] * len(args))


def _register() -> None:
    for function in (*BINARY, *UNARY):
        registry.register_global(function)(_template(_OperatorTemplate, function, function))
    for in_place, function in INPLACE.items():
        registry.register_global(in_place)(_template(_OperatorTemplate, in_place, function))
    for function in COMPARISONS:
        registry.register_global(function)(_template(_ComparisonTemplate, function, function))
    for function in (min, max):
        registry.register_global(function)(_template(_Extremum, function, function))


def _template(base: Any, key: Any, function: Any) -> Any:
    return type(f"{base.__name__}_{key.__name__}", (base,), {"key": key, "function": staticmethod(function)})


_register()
