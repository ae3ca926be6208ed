"""Type promotion: NumPy's own answer for strong operands, Python's for weak ones.

For strong operands NumPy itself is asked (`ufunc.resolve_dtypes`), so its promotion tables stand nowhere else.

References
----------
NEP 50, "Promotion rules for Python scalars".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from kapi_sim.language.promotion import Operand, unify
from kapi_types._numba_compat import as_dtype, from_dtype, types
from kapi_types.weak import (
    WeakBool,
    WeakComplex,
    WeakFloat,
    WeakInt,
    WideInt,
    weak_bool,
    weak_complex,
    weak_float,
    weak_int,
    wide_int,
)

__all__ = [
    "Loop",
    "as_operand",
    "as_strong",
    "from_operand",
    "is_number",
    "is_real",
    "is_scalar",
    "resolve_loop",
    "resolve_weak",
    "unify_scalars",
    "integer_type",
]

_PYTHON_TYPE = {WeakInt: int, WideInt: int, WeakFloat: float, WeakComplex: complex, WeakBool: bool}
_WEAK_TYPE = {int: weak_int, float: weak_float, complex: weak_complex, bool: weak_bool}


class Loop(NamedTuple):
    """The types that an operation converts its operands to, and the type that it returns."""

    operands: tuple[types.Type, ...]
    result: types.Type


def is_scalar(type_: types.Type) -> bool:
    """Whether values of the type are single numbers or bools, weak or strong; literals of Numba's own are not."""
    return isinstance(type_, (types.Number, types.Boolean)) and not isinstance(type_, types.Literal)


def integer_type(type_: types.Type) -> types.Type:
    """The type of 64 bits that holds an integer or a bool: a Python integer, or uint64 if only that holds it."""
    return types.uint64 if type_ in (types.uint64, wide_int) else weak_int


def is_number(type_: types.Type) -> bool:
    """Whether values of the type are numbers, not bools."""
    return is_scalar(type_) and isinstance(type_, types.Number)


def is_real(type_: types.Type) -> bool:
    """Whether values of the type are single numbers or bools, and none of them complex."""
    return is_scalar(type_) and not isinstance(type_, types.Complex)


def as_strong(type_: types.Type) -> types.Type:
    """The NumPy type of a weak value that no strong one has converted; strong types stay as they are."""
    if isinstance(type_, WeakInt):
        return types.int64
    if isinstance(type_, WideInt):
        return types.uint64
    if isinstance(type_, WeakFloat):
        return types.float64
    if isinstance(type_, WeakComplex):
        return types.complex128
    if isinstance(type_, WeakBool):
        return types.boolean
    return type_


@lru_cache(maxsize=4096)
def resolve_loop(ufunc: np.ufunc, operands: tuple[types.Type, ...]) -> Loop | None:
    """The inner loop that NumPy would choose for `ufunc` on these operands, at least one of them strong.

    Returns None where NumPy has no such loop, as for a shift of floats; of two results, `Loop` has a tuple's type.
    """
    given: list[Any] = [_numpy_operand(operand) for operand in operands]
    try:
        resolved = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
    except TypeError:
        return None
    inputs = tuple(from_dtype(dtype) for dtype in resolved[: ufunc.nin])
    results = tuple(from_dtype(dtype) for dtype in resolved[ufunc.nin :])
    return Loop(inputs, results[0] if ufunc.nout == 1 else types.Tuple(results))


def as_operand(type_: types.Type) -> Operand:
    """The operand of the number rules that a scalar type stands for."""
    return _PYTHON_TYPE.get(type(type_)) or as_dtype(type_)


def from_operand(operand: Operand) -> types.Type:
    """The scalar type of an operand of the number rules."""
    return from_dtype(operand) if isinstance(operand, np.dtype) else _WEAK_TYPE[operand]


def _numpy_operand(type_: types.Type) -> Any:
    # NumPy takes the classes int, float and complex for weak operands; a Python bool is NumPy's bool to it.
    operand = as_operand(type_)
    return np.dtype(np.bool_) if operand is bool else operand


def resolve_weak(name: str, operands: tuple[types.Type, ...]) -> Loop | None:
    """The types of an operator on Python numbers only, named as in the module `operator`.

    Returns None where Python has no such operation, as for a shift of floats.
    """
    count = len(operands)
    all_bool = all(isinstance(operand, WeakBool) for operand in operands)
    any_float = any(isinstance(operand, (WeakFloat, WeakComplex)) for operand in operands)
    if any(isinstance(operand, WeakComplex) for operand in operands):
        has_it = name in ("add", "sub", "mul", "truediv", "pow", "neg", "pos")
        return Loop((weak_complex,) * count, weak_complex) if has_it else None
    integral = wide_int if wide_int in operands else weak_int
    if name in ("and_", "or_", "xor"):
        if any_float:
            return None
        shared = weak_bool if all_bool else integral
        return Loop((shared,) * count, shared)
    if name in ("lshift", "rshift", "invert"):
        return None if any_float else Loop((integral,) * count, integral)
    if name == "truediv":
        return Loop((weak_float,) * count, weak_float)
    shared = weak_float if any_float else integral
    return Loop((shared,) * count, shared)


def unify_scalars(first: types.Type, second: types.Type) -> types.Type | None:
    """The one type of a variable that is assigned both: a weak start takes the strong type.

    Returns None if no type holds both.
    """
    try:
        shared = from_operand(unify(as_operand(first), as_operand(second)))
    except TypeError:
        return None
    return wide_int if shared == weak_int and wide_int in (first, second) else shared
