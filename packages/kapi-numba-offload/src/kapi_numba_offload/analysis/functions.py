"""The elementwise operations that kernels are made of: their names, and how each is spelled in a kernel.

A row says how an operation is written for one element, given the dtype that dpnp gives its result. Python's operators
and NumPy's functions share the rows: `a + b` is `add`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["ELEMENTWISE", "IN_PLACE", "OPERATORS", "Elementwise", "Operand", "cast"]


@dataclass(frozen=True, slots=True)
class Operand:
    """A value in a kernel's source.

    Attributes
    ----------
    source : str
        A Python expression, parenthesised where it needs it.
    dtype : numpy.dtype or None
        Its dtype; None for Python's own numbers, which take the type that they meet.
    value : object
        The number itself if it is a literal, else None.
    """

    source: str
    dtype: np.dtype[Any] | None
    value: Any = None


Emit = Callable[[Sequence[Operand], "np.dtype[Any]"], str]


@dataclass(frozen=True, slots=True)
class Elementwise:
    """One operation.

    Attributes
    ----------
    name : str
        Its name in NumPy and dpnp.
    arity : int
        How many operands it has.
    emit : callable
        The source of one element from the operands and the dtype of the result.
    apply : callable or None
        Python's operator for whole arrays; None where it is dpnp's function of that name.
    """

    name: str
    arity: int
    emit: Emit
    apply: Callable[..., Any] | None = None


def cast(operand: Operand, dtype: np.dtype[Any]) -> str:
    """The source of `operand` converted to `dtype`."""
    if operand.dtype == dtype:
        return operand.source
    return f"np.{'bool_' if dtype.kind == 'b' else dtype.name}({operand.source})"


def _infix(symbol: str, of_bools: str | None = None) -> Emit:
    def emit(operands: Sequence[Operand], dtype: np.dtype[Any]) -> str:
        left, right = (cast(each, dtype) for each in operands)
        return f"({left} {of_bools if of_bools and dtype.kind == 'b' else symbol} {right})"

    return emit


def _comparison(symbol: str) -> Emit:
    return lambda operands, dtype: f"({operands[0].source} {symbol} {operands[1].source})"


def _template(text: str) -> Emit:
    """`{0}`, `{1}`: the operands as they are; `{x}`, `{y}`: converted to the dtype of the result, `{t}`."""

    def emit(operands: Sequence[Operand], dtype: np.dtype[Any]) -> str:
        converted = dict(zip("xyz", (cast(each, dtype) for each in operands), strict=False))
        return text.format(*(each.source for each in operands), t=f"np.{dtype.name}", **converted)

    return emit


def _rounding(name: str) -> Emit:
    # From 2**52 on each float64 is whole, and so are the other floats there; the language's rounding gives 64-bit ints.
    with_fraction = f"({{t}}(math.{name}({{x}})) if abs({{x}}) < 4503599627370496.0 else {{x}})"
    of_floats = _template(with_fraction)
    return lambda operands, dtype: of_floats(operands, dtype) if dtype.kind == "f" else cast(operands[0], dtype)


def _power(operands: Sequence[Operand], dtype: np.dtype[Any]) -> str:
    base, exponent = operands
    if isinstance(exponent.value, int) and 1 <= exponent.value <= 4 and dtype.kind in "iuf":
        return "(" + " * ".join([cast(base, dtype)] * exponent.value) + ")"
    if exponent.value == 0.5 and dtype.kind == "f":
        return f"math.sqrt({cast(base, dtype)})"
    return f"({cast(base, dtype)} ** {cast(exponent, dtype)})"


def _where(operands: Sequence[Operand], dtype: np.dtype[Any]) -> str:
    condition, left, right = operands
    return f"({cast(left, dtype)} if {condition.source} else {cast(right, dtype)})"


def _extremum(symbol: str, *, keeps_nan: bool) -> Emit:
    nan = "or {x} != {x}" if keeps_nan else "or {y} != {y}"
    of_floats, of_others = (
        _template(f"({{x}} if {{x}} {symbol} {{y}} {nan} else {{y}})"),
        _template(f"({{x}} if {{x}} {symbol} {{y}} else {{y}})"),
    )
    return lambda operands, dtype: (of_floats if dtype.kind == "f" else of_others)(operands, dtype)


def _fmod(operands: Sequence[Operand], dtype: np.dtype[Any]) -> str:
    # Python's remainder has the sign of the divisor, C's that of the dividend.
    of_ints = "({x} % {y} if ({x} < 0) == ({y} < 0) or {x} % {y} == 0 else {x} % {y} - {y})"
    return _template("math.fmod({x}, {y})" if dtype.kind == "f" else of_ints)(operands, dtype)


def _absolute(operands: Sequence[Operand], dtype: np.dtype[Any]) -> str:
    return cast(operands[0], dtype) if dtype.kind == "b" else f"abs({cast(operands[0], dtype)})"


def _sign(operands: Sequence[Operand], dtype: np.dtype[Any]) -> str:
    number = "({t}(1) if {x} > 0 else ({t}(-1) if {x} < 0 else {x}))" if dtype.kind != "u" else "{t}({x} > 0)"
    return _template(number)(operands, dtype)


def _classify(name: str) -> Emit:
    def emit(operands: Sequence[Operand], dtype: np.dtype[Any]) -> str:
        given = operands[0].dtype
        if given is not None and given.kind != "f":
            return "True" if name == "isfinite" else "False"
        return f"math.{name}({operands[0].source})"

    return emit


def _table() -> dict[str, Elementwise]:
    rows = [
        Elementwise("add", 2, _infix("+", "or"), operator.add),
        Elementwise("subtract", 2, _infix("-"), operator.sub),
        Elementwise("multiply", 2, _infix("*", "and"), operator.mul),
        Elementwise("true_divide", 2, _infix("/"), operator.truediv),
        Elementwise("floor_divide", 2, _infix("//"), operator.floordiv),
        Elementwise("remainder", 2, _infix("%"), operator.mod),
        Elementwise("power", 2, _power, operator.pow),
        Elementwise("bitwise_and", 2, _infix("&"), operator.and_),
        Elementwise("bitwise_or", 2, _infix("|"), operator.or_),
        Elementwise("bitwise_xor", 2, _infix("^"), operator.xor),
        Elementwise("left_shift", 2, _infix("<<"), operator.lshift),
        Elementwise("right_shift", 2, _infix(">>"), operator.rshift),
        Elementwise("negative", 1, _template("(-{x})"), operator.neg),
        Elementwise("positive", 1, _template("{x}"), operator.pos),
        Elementwise(
            "invert",
            1,
            lambda operands, dtype: _template("(not {0})" if dtype.kind == "b" else "(~{x})")(operands, dtype),
            operator.invert,
        ),
        Elementwise("equal", 2, _comparison("=="), operator.eq),
        Elementwise("not_equal", 2, _comparison("!="), operator.ne),
        Elementwise("less", 2, _comparison("<"), operator.lt),
        Elementwise("less_equal", 2, _comparison("<="), operator.le),
        Elementwise("greater", 2, _comparison(">"), operator.gt),
        Elementwise("greater_equal", 2, _comparison(">="), operator.ge),
        Elementwise("absolute", 1, _absolute, operator.abs),
        Elementwise("square", 1, _template("({x} * {x})")),
        Elementwise("reciprocal", 1, _template("({t}(1) / {x})")),
        Elementwise("sign", 1, _sign),
        Elementwise("where", 3, _where),
        Elementwise("maximum", 2, _extremum(">", keeps_nan=True)),
        Elementwise("minimum", 2, _extremum("<", keeps_nan=True)),
        Elementwise("fmax", 2, _extremum(">=", keeps_nan=False)),
        Elementwise("fmin", 2, _extremum("<=", keeps_nan=False)),
        Elementwise("logical_and", 2, _template("(({0} != 0) and ({1} != 0))")),
        Elementwise("logical_or", 2, _template("(({0} != 0) or ({1} != 0))")),
        Elementwise("logical_xor", 2, _template("(({0} != 0) != ({1} != 0))")),
        Elementwise("logical_not", 1, _template("({0} == 0)")),
        Elementwise("floor", 1, _rounding("floor")),
        Elementwise("ceil", 1, _rounding("ceil")),
        Elementwise("trunc", 1, _rounding("trunc")),
        Elementwise("deg2rad", 1, _template("math.radians({x})")),
        Elementwise("rad2deg", 1, _template("math.degrees({x})")),
    ]
    rows += [Elementwise(name, 1, _classify(name)) for name in ("isnan", "isinf", "isfinite")]
    same = ("sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh")
    spelled = {name: name for name in same}
    spelled |= {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
    spelled |= {name: name for name in ("fabs", "exp2", "degrees", "radians")}
    rows += [Elementwise(name, 1, _template(f"math.{word}({{x}})")) for name, word in spelled.items()]
    pairs = {"arctan2": "atan2", "hypot": "hypot", "copysign": "copysign"}
    rows += [Elementwise(name, 2, _template(f"math.{word}({{x}}, {{y}})")) for name, word in pairs.items()]
    rows.append(Elementwise("fmod", 2, _fmod))
    return {row.name: row for row in rows}


ELEMENTWISE = _table()
"""The operations by NumPy's names for them."""

OPERATORS: dict[type[Any], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "true_divide", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.Pow: "power", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor", ast.LShift: "left_shift", ast.RShift: "right_shift",
    ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert",
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater",
    ast.GtE: "greater_equal",
}  # fmt: skip
"""Python's operators by the class of their syntax."""

IN_PLACE: dict[str, Callable[..., Any]] = {
    "add": operator.iadd, "subtract": operator.isub, "multiply": operator.imul, "true_divide": operator.itruediv,
    "floor_divide": operator.ifloordiv, "remainder": operator.imod, "power": operator.ipow,
    "bitwise_and": operator.iand, "bitwise_or": operator.ior, "bitwise_xor": operator.ixor,
    "left_shift": operator.ilshift, "right_shift": operator.irshift,
}  # fmt: skip
"""The in-place operators by the name of the operation."""
