"""The types of `math`, `cmath` and NumPy functions in a kernel, read from the intrinsic table.

A function is either a primitive, which a back end lowers under the name that `primitive_key` gives, or it is written
in the kernel language (`library`) and compiled like a device function.
"""

from __future__ import annotations

import cmath
import math
from functools import cache, lru_cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from kapi_sim.language.attributes import attribute_of
from kapi_sim.language.promotion import common_float
from kapi_sim.language.table.intrinsics import Intrinsic, rows
from kapi_sim.language.table.other_names import numpy_names
from kapi_types._numba_compat import templates, types
from kapi_types.kernel_typing.library import complex_functions, number_functions
from kapi_types.kernel_typing.library.parts import ilogb
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, spell_type
from kapi_types.kernel_typing.rules.conversions import complex_of
from kapi_types.kernel_typing.rules.numba_integers import numba_operands
from kapi_types.kernel_typing.rules.promotion import (
    Loop,
    as_operand,
    as_strong,
    from_operand,
    integer_type,
    is_real,
    is_scalar,
    resolve_loop,
)
from kapi_types.kernel_typing.rules.rule_registry import GenericCallableType
from kapi_types.kernel_typing.rules.vectors import elementwise, holds_vector, lengths_differ
from kapi_types.weak import is_weak, weak_bool, weak_int, wide_int

__all__ = ["PRIMITIVES", "TableFunctionType", "primitive_key", "table_function"]

PRIMITIVES = frozenset(
    {
        "sqrt", "cbrt", "fabs", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
        "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "pow", "hypot", "copysign", "fmod",
        "remainder", "nextafter", "fma", "ldexp", "ilogb", "floor", "ceil", "trunc", "rint", "erf", "erfc", "tgamma",
        "lgamma", "degrees", "radians", "isnan", "isinf", "isfinite", "signbit", "same",
    }
)  # fmt: skip
"""Operations that every back end lowers: of floats of one type, but that `ldexp` has an integer after its float, and
`same` is of an integer or bool, converted to the result's type."""

_MODULES = {"math": math, "cmath": cmath, "numpy": np}
_OPERATIONS = {
    "OpIsNan": "isnan", "OpIsInf": "isinf", "OpIsFinite": "isfinite", "OpSignBitSet": "signbit",
}  # fmt: skip
_CLIP: np.ufunc = vars(np._core.umath)["clip"]  # type: ignore[attr-defined]  # what np.clip calls, and has no public name


def primitive_key(operation: str) -> str:
    """The name under which back ends register their code for a primitive."""
    return f"primitive.{operation}"


class _Plan(NamedTuple):
    """The implementation of a call: its loop, and a primitive's name or a function of the kernel language."""

    loop: Loop
    implementation: str | FunctionType


class TableFunctionType(GenericCallableType):
    """A function that the intrinsic table has a row for."""

    def __init__(self, row: Intrinsic) -> None:
        self.row = row
        super().__init__(f"function({row.key})")

    @property
    def key(self) -> str:
        """The row's."""
        return self.row.key

    def get_call_type(self, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call; a function of the library is compiled for it."""
        if self.row.owner == "numpy" and context.has_numba_integers:
            args = (*args[:1], *numba_operands(args[1:])) if self.row.name == "where" else numba_operands(args)
        if holds_vector(args) and not kws:
            signature = elementwise(context, self, args)
            if signature is not None:
                return signature
            if differ := lengths_differ(args):
                raise KernelTypeProblem(*differ)
        plan = None if kws else _plan(self.row, args)
        if plan is None:
            given = ", ".join(map(spell_type, args))
            raise KernelTypeProblem(
                "call-arguments", f"{self.row.key}() does not take these arguments in a kernel: ({given})"
            )
        if isinstance(plan.implementation, FunctionType):
            context.type_device_function(plan.implementation, plan.loop.operands)
        return templates.signature(plan.loop.result, *plan.loop.operands)

    def get_impl_key(self, sig: Any) -> Any:
        """The key of the code in the back end."""
        plan = _plan(self.row, sig.args)
        if plan is None or not isinstance(plan.implementation, FunctionType):
            return primitive_key(str(plan.implementation) if plan else self.row.name)
        return plan.implementation, sig.args

    def __repr__(self) -> str:
        return str(self.row.key)


def table_function(value: Any) -> TableFunctionType | None:
    """The type of a function that the table has; None for anything else."""
    try:
        return _TYPES.get(numpy_names(value))
    except TypeError:  # what cannot be hashed is no function
        return None


@lru_cache(maxsize=4096)
def _plan(row: Intrinsic, args: tuple[types.Type, ...]) -> _Plan | None:
    required = sum(default is None for *_, default in row.parameters)
    if not required <= len(args) <= len(row.parameters) or not all(map(is_scalar, args)):
        return None
    loop = _numpy_loop(row, args) if row.owner == "numpy" else _python_loop(row, args)
    if loop is None:
        return None
    implementation = _implementation(row, loop)
    return None if implementation is None else _Plan(loop, implementation)


# -- types -----------------------------------------------------------------------------------------------


def _numpy_loop(row: Intrinsic, args: tuple[types.Type, ...]) -> Loop | None:
    """NumPy's own answer; `where` has the type of its two values together."""
    if row.name == "clip":
        return _clip_loop(args)
    if row.name in _COMPARISONS:
        if all(map(is_weak, args)):
            args = tuple(map(as_strong, args))  # NumPy compares Python's own numbers as objects
        elif all(isinstance(arg, types.Integer) for arg in args):
            # Exact whatever the types are, as the operators: a Python int need not fit the other's.
            return Loop(args, types.boolean)
        elif wide_int in args and types.boolean in args:
            args = tuple(map(as_strong, args))
    if row.name == "where":
        values = resolve_loop(np.add, args[1:])
        return values and Loop((args[0], *values.operands), values.result)
    return resolve_loop(getattr(np, row.name), args)


def _clip_loop(args: tuple[types.Type, ...]) -> Loop | None:
    """NumPy's clip: the first operand is never weak, and Python's ints as bounds of integers need not fit it."""
    loop = resolve_loop(_CLIP, (as_strong(args[0]), *args[1:]))
    if loop is None or not isinstance(loop.result, types.Integer):
        return loop
    bounds = [arg if arg in (weak_int, wide_int) else to for arg, to in zip(args[1:], loop.operands[1:], strict=True)]
    return Loop((loop.operands[0], *bounds), loop.result)


def _python_loop(row: Intrinsic, args: tuple[types.Type, ...]) -> Loop | None:
    words = [word for _, word, _ in row.parameters][: len(args)]
    floats = [arg for arg, word in zip(args, words, strict=True) if word != "integer"]
    if "integer" in words or row.returns == "weak int":
        integral = [arg for arg, word in zip(args, words, strict=True) if word == "integer"]
        if not all(isinstance(arg, (types.Integer, types.Boolean)) for arg in integral):
            return None
        if not floats or (isinstance(floats[0], (types.Integer, types.Boolean)) and row.returns == "weak int"):
            # Of numbers that weak ints cannot hold, divisors may be ones that they can, and roots are.
            is_exact = row.name in ("gcd", "lcm", "isqrt")
            return Loop(tuple(integer_type(arg) if is_exact else weak_int for arg in args), weak_int)
    is_complex = "complex" in words
    if not is_complex and not all(map(is_real, floats)):
        return None
    real = from_operand(common_float(*map(as_operand, floats)))
    operand = complex_of(real) if is_complex else real
    part = operand.underlying_float if isinstance(operand, types.Complex) else operand
    # An exponent that a weak int cannot hold is a large one, and no negative one.
    operands = tuple(integer_type(arg) if word == "integer" else operand for arg, word in zip(args, words, strict=True))
    result = {
        "argument float": part,
        "argument complex": complex_of(part),
        "weak int": weak_int,
        "bool": weak_bool,
        "argument float, weak int": types.Tuple((part, weak_int)),
        "argument float, argument float": types.Tuple((part, part)),
    }[row.returns]
    return Loop(operands, result)


# -- code ------------------------------------------------------------------------------------------------


def _implementation(row: Intrinsic, loop: Loop) -> str | FunctionType | None:
    """The primitive or the library's function for the operands that the call was resolved to."""
    operation = _OPERATIONS.get(row.spirv, row.spirv.removeprefix("OpenCL.std "))
    name = row.name if operation == "composed" else operation
    if row.owner == "math" and name == "log" and len(loop.operands) == 2:
        name = operation = "log_of_base"
    if row.owner == "math" and name in ("gcd", "lcm"):
        name = f"{name}_of_ints"
    if name == "modf" and is_weak(loop.operands[0]):
        name = "modf_weak"
    if row.owner == "numpy" and name == "frexp":
        name = "frexp_int32"
    if name == "spacing" and loop.operands[0] == types.float16:
        name = "spacing_float16"
    found: Any
    if row.owner == "cmath" or isinstance(loop.operands[-1], types.Complex):
        found = complex_functions.FUNCTIONS.get(name)
    elif isinstance(loop.operands[0], types.Float):
        if operation in PRIMITIVES:
            return name
        found = number_functions.FLOATS.get(name)
    elif name in _INTEGER_IDENTITIES:
        return "same"
    else:
        found = number_functions.INTEGERS.get(name)
    found = found or number_functions.OPERATORS.get(name)
    if found is not None and isinstance(loop.operands[-1], types.Complex) and loop.result == types.boolean:
        return _of_numpy(found) if name.startswith("is") else _as_function(found)
    if found is not None and types.float16 in loop.operands and name in _ROUNDING:
        return _of_half(found)
    return None if found is None else _as_function(found)


def _as_function(found: Any) -> FunctionType:
    if not isinstance(found, FunctionType):
        raise TypeError(f"what the library holds must be a Python function, got {found!r}")
    return found


_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")

_INTEGER_IDENTITIES = ("floor", "ceil", "trunc", "rint")
"""Functions that leave an integer as it is."""

_ROUNDING = ("logaddexp", "logaddexp2", "log_of_base")
"""Functions of the library that would round at every step in float16, which NumPy computes in float32."""


@cache
def _of_numpy(function: FunctionType) -> FunctionType:
    def strong(z: Any) -> Any:
        return np.bool_(function(z))

    return strong  # type: ignore[return-value]


@cache
def _of_half(function: FunctionType) -> FunctionType:
    def narrowed(x: Any, y: Any) -> Any:
        return np.float16(function(np.float32(x), np.float32(y)))

    return narrowed  # type: ignore[return-value]  # a function, whatever else is callable


_TYPES = {attribute_of(_MODULES[owner], row.name): TableFunctionType(row) for owner in _MODULES for row in rows(owner)}
_TYPES[ilogb] = TableFunctionType(
    Intrinsic("ilogb", "math", "library", "function", (("x", "float", None),), "weak int", "binary exponent",
              "4.17.5", "OpenCL.std ilogb")
)  # fmt: skip
