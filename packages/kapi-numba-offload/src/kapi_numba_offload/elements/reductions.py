"""Reduction operators of the intrinsic table, by the names that reductions have here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.numpy_functions import REDUCTIONS
from kapi_numba_offload.elements.spelling import Operand, spelled
from kapi_sim.language.intrinsics import operators

__all__ = ["COMBINATIONS", "FUSED_REDUCTIONS", "Combination", "combine"]


@dataclass(frozen=True, slots=True)
class Combination:
    """An operator that combines values.

    Attributes
    ----------
    function : numpy.ufunc
        What combines two of them, on the host and by its name in kernels.
    row : Operator
        The operator of the kernel language.
    of_bools : Operator
        The operator that is the same for truth values.
    """

    function: np.ufunc
    row: operators.Operator
    of_bools: operators.Operator

    def identity(self, dtype: np.dtype[Any]) -> Any:
        """The value that changes nothing: what each work-item starts with."""
        return operators.identity(self.of_bools if dtype.kind == "b" else self.row, dtype)

    def line(self, value: str, dtype: np.dtype[Any]) -> str:
        """The line of a kernel that combines a value of a dtype with the variable `total`."""
        operands = [Operand("total", dtype), Operand(value, dtype)]
        return f"total = {spelled(self.function.__name__, operands, dtype)}"


def _combination(function: np.ufunc, operator: Any, of_bools: Any = None) -> Combination:
    row, other = operators.operator_row(operator), operators.operator_row(of_bools or operator)
    assert row is not None
    assert other is not None
    return Combination(function, row, other)


COMBINATIONS = {
    "sum": _combination(np.add, operators.plus),
    "prod": _combination(np.multiply, operators.multiplies),
    "min": _combination(np.minimum, operators.minimum, operators.logical_and),
    "max": _combination(np.maximum, operators.maximum, operators.logical_or),
    "and": _combination(np.bitwise_and, operators.bit_and),
    "or": _combination(np.bitwise_or, operators.bit_or),
    "xor": _combination(np.bitwise_xor, operators.bit_xor),
    "any": _combination(np.logical_or, operators.logical_or),
    "all": _combination(np.logical_and, operators.logical_and),
}
"""The operators that combine values, by name."""

FUSED_REDUCTIONS = {
    name: COMBINATIONS["sum" if name == "mean" else name] for name in REDUCTIONS if not name.startswith("arg")
}
"""The reductions that an expression is fused into, by NumPy's names, and how each combines two values."""


def combine(operation: str, initial: Any, partial: np.ndarray[Any, Any]) -> Any:
    """The value of a reduction: the initial value and what each work-item found, in their dtype."""
    dtype, function = partial.dtype, COMBINATIONS[operation].function
    with np.errstate(all="ignore"):  # integers wrap, as on the device
        reduced = function.reduce(partial, dtype=dtype)
        return function(np.asarray(initial).astype(dtype), reduced)[()]
