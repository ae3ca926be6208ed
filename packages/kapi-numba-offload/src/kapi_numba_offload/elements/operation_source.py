"""Kernel source of one element of an operation, given the dtype that dpnp gives its result."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.operations import ELEMENTWISE, OPERATORS

__all__ = ["Operand", "cast", "spelled", "syntax_of"]

_SYNTAX = {name: syntax for syntax, name in OPERATORS.items()}


@dataclass(frozen=True, slots=True)
class Operand:
    """A value in a kernel's source.

    - `source`: a Python expression, parenthesised where it needs it.
    - `dtype`: its dtype; None for Python's own numbers, which take the type of the other operand.
    - `value`: the number itself if it is a literal, else None.
    """

    source: str
    dtype: np.dtype[Any] | None
    value: Any = None


def cast(operand: Operand, dtype: np.dtype[Any]) -> str:
    """The source of `operand` converted to `dtype`."""
    if operand.dtype == dtype:
        return operand.source
    return f"np.{'bool_' if dtype.kind == 'b' else dtype.name}({operand.source})"


def spelled(name: str, operands: Sequence[Operand], dtype: np.dtype[Any]) -> str:
    """The source of one element of an operation.

    - `name`: a key of `ELEMENTWISE`.
    """
    if name == "where":
        condition, left, right = operands
        return f"({cast(left, dtype)} if {condition.source} else {cast(right, dtype)})"
    if name == "power":
        return _power(operands, dtype)
    # What gives truth values takes operands as they are, and so does the absolute value of complex numbers; all else
    # is done in the type of its result.
    is_plain = ELEMENTWISE[name].gives_truth or name == "absolute"
    given = [each.source if is_plain else cast(each, dtype) for each in operands]
    syntax = _SYNTAX.get(name)
    # Python's operators of bools are those of integers; NumPy's are logical.
    if syntax is None or (dtype.kind == "b" and not issubclass(syntax, ast.cmpop)):
        return _as_result(name, f"np.{name}({', '.join(given)})", dtype)
    return f"({ast.unparse(syntax_of(name, [ast.Name(f'({each})') for each in given]))})"


def syntax_of(name: str, operands: Sequence[ast.expr], *, has_numpy_integers: bool = False) -> ast.expr:
    """An element of an operation as syntax, in the types of its operands; `kapi_np` is NumPy there.

    - `name`: a key of `ELEMENTWISE`, or "round", of a number and its decimals: `kapi_round` is Python's there.
    - `has_numpy_integers`: whether integers have NumPy's types, where those of Python's operators have Numba's:
      `kapi_array_add` and its like are the operations of arrays there.
    """
    if name == "where":
        return ast.IfExp(*operands)
    if name == "round":  # Python's rounds a NumPy number as NumPy does
        number = ast.Call(ast.Attribute(ast.Name("kapi_np", ast.Load()), "positive", ast.Load()), [operands[0]], [])
        return ast.Call(ast.Name("kapi_round", ast.Load()), [number, *operands[1:]], [])
    operation: Any = _SYNTAX[name]() if name in _SYNTAX else None
    if isinstance(operation, ast.cmpop):
        return ast.Compare(operands[0], [operation], [operands[1]])
    if has_numpy_integers and operation is not None:
        return ast.Call(ast.Name(f"kapi_array_{name}", ast.Load()), list(operands), [])
    if isinstance(operation, ast.operator):
        return ast.BinOp(operands[0], operation, operands[1])
    if isinstance(operation, ast.unaryop):
        return ast.UnaryOp(operation, operands[0])
    return ast.Call(ast.Attribute(ast.Name("kapi_np", ast.Load()), name, ast.Load()), list(operands), [])


def _power(operands: Sequence[Operand], dtype: np.dtype[Any]) -> str:
    base, exponent = operands
    if isinstance(exponent.value, int) and 1 <= exponent.value <= 4 and dtype.kind in "iuf":
        return "(" + " * ".join([cast(base, dtype)] * exponent.value) + ")"
    if exponent.value == 0.5 and dtype.kind == "f":
        return f"np.sqrt({cast(base, dtype)})"
    return f"({cast(base, dtype)} ** {cast(exponent, dtype)})"


def _as_result(name: str, source: str, dtype: np.dtype[Any]) -> str:
    """The source, converted where NumPy's function has another type for operands of `dtype` than dpnp's has."""
    function = getattr(np, name)
    if ELEMENTWISE[name].gives_truth or not isinstance(function, np.ufunc):
        return source
    try:
        own = function.resolve_dtypes((*[dtype] * function.nin, None))[-1]
    except TypeError:  # NumPy refuses what the kernel's compiler will refuse in its own words
        return source
    return cast(Operand(source, own), dtype)
