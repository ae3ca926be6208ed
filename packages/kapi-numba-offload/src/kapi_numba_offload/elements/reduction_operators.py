"""Reduction operators of the intrinsic table, by the names that reductions have here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.numpy_functions import REDUCTIONS
from kapi_numba_offload.elements.operation_source import Operand, spelled
from kapi_sim.language.intrinsics import operators

__all__ = ["COMBINATIONS", "FUSED_REDUCTIONS", "POSITIONS", "Accumulator", "Combination", "as_dtype", "combine"]

_BEYOND = np.iinfo(np.int64).max
"""The place of no element."""


@dataclass(frozen=True, slots=True)
class Combination:
    """An operator that combines values.

    - `function`: what combines two of them, on the host and by its name in kernels.
    - `row`: the operator of the kernel language.
    - `of_bools`: the operator that is the same for truth values.
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

POSITIONS = {"argmin": "min", "argmax": "max"}
"""The extremum whose position is the result of a reduction."""

FUSED_REDUCTIONS = {name: COMBINATIONS[POSITIONS.get(name, "sum" if name == "mean" else name)] for name in REDUCTIONS}
"""The reductions that an expression is fused into, by NumPy's names, and how each combines two values."""


@dataclass(frozen=True, slots=True)
class Accumulator:
    """The variables of a kernel that reduces: the combined value, and for positions of extrema where it is.

    Of equal values, and of those that are not numbers, the first one is kept, as NumPy has it.

    - `name`: a key of `FUSED_REDUCTIONS`, or of `COMBINATIONS`.
    - `dtype`: the combined value's.
    - `result`: the result's, if another one: float16 is summed in float32, as in NumPy.
    """

    name: str
    dtype: np.dtype[Any]
    result: np.dtype[Any] | None = None

    @property
    def is_position(self) -> bool:
        """Whether the result is a position."""
        return self.name in POSITIONS

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables."""
        return ("total", "place") if self.is_position else ("total",)

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        """Dtypes of the variables."""
        return (self.dtype, np.dtype(np.int64)) if self.is_position else (self.dtype,)

    @property
    def start(self) -> list[str]:
        """The lines that give the variables their first values."""
        return ["total = identity", f"place = np.int64({_BEYOND})"] if self.is_position else ["total = identity"]

    @property
    def identity(self) -> Any:
        """The value of `identity`: it changes nothing."""
        if self.is_position and self.dtype.kind == "c":
            most = -np.inf if self.name == "argmax" else np.inf
            return self.dtype.type(complex(most, most))
        return self._combination.identity(self.dtype)

    @property
    def _combination(self) -> Combination:
        return FUSED_REDUCTIONS[self.name] if self.name in FUSED_REDUCTIONS else COMBINATIONS[self.name]

    def arrays(self, name: str) -> list[str]:
        """The names of arrays of such variables."""
        return [name, f"{name}_places"] if self.is_position else [name]

    def taken(self, value: str, position: str) -> list[str]:
        """The lines that combine a value, the name of a variable or an element, that is at a position."""
        if not self.is_position:
            return [self._combination.line(value, self.dtype)]
        return [
            f"if {self._precedes(value, position)}:",
            f"    total = {value}",
            f"    place = np.int64({position})",
        ]

    def start_at(self, position: str, end: str) -> list[str]:
        """The lines that give the variables their first values, for values in order from a position on."""
        if not self._is_ordered:
            return self.start
        return [*self.start, f"if {position} < {end}:", f"    place = np.int64({position})"]

    def taken_in_order(self, value: str, position: str) -> list[str]:
        """The lines that combine a value at a later position than those before, after `start_at`."""
        if not self._is_ordered:
            return self.taken(value, position)
        if self.dtype.kind == "b":
            is_further = f"{value} and not total" if self.name == "argmax" else f"total and not {value}"
        elif self.dtype.kind in "iu":
            is_further = f"{value} {'>' if self.name == 'argmax' else '<'} total"
        else:  # one that is not a number is further than all others
            is_further = f"not {value} {'<=' if self.name == 'argmax' else '>='} total and total == total"
        return [f"if {is_further}:", f"    total = {value}", f"    place = np.int64({position})"]

    @property
    def _is_ordered(self) -> bool:
        """Whether a place needs no comparison where values come in order."""
        return self.is_position and self.dtype.kind != "c"

    def taken_from(self, array: str, index: str) -> list[str]:
        """The lines that combine the variables that are elements of arrays."""
        if not self.is_position:
            return self.taken(f"{array}[{index}]", "")
        value, position = self.arrays(array)
        return [f"value = {value}[{index}]", f"other = {position}[{index}]", *self.taken("value", "other")]

    def stored(self, array: str, index: str) -> list[str]:
        """The lines that store the variables to elements of arrays."""
        return [f"{each}[{index}] = {name}" for each, name in zip(self.arrays(array), self.variables, strict=True)]

    def value(self, *, is_mean: bool = False) -> str:
        """The source of the result; a mean is divided by `count`."""
        value = f"total / np.{self.dtype.name}(count)" if is_mean else self.variables[-1]
        return value if self.result is None else f"np.{self.result.name}({value})"

    def _precedes(self, value: str, position: str) -> str:
        """The condition that a value at a position comes before the total."""
        sign, is_first = ">" if self.name == "argmax" else "<", f"{position} < place"
        if self.dtype.kind == "b":
            further = f"({value} and not total)" if sign == ">" else f"(total and not {value})"
            return f"{further} or ({value} == total and {is_first})"
        if self.dtype.kind in "iu":
            return f"{value} {sign} total or ({value} == total and {is_first})"
        parts = ("",) if self.dtype.kind == "f" else (".real", ".imag")
        is_nan, was_nan = (
            "(" + " or ".join(f"{each}{part} != {each}{part}" for part in parts) + ")" for each in (value, "total")
        )
        *_, last = parts
        same = " and ".join(f"{value}{part} == total{part}" for part in parts)
        further = f"{value}{last} {sign} total{last}"
        if last:  # the real parts decide, and between equal ones the imaginary parts
            further = f"{value}.real {sign} total.real or ({value}.real == total.real and {further})"
        ordered = f"not {was_nan} and ({further} or ({same} and {is_first}))"
        return f"(not {was_nan} or {is_first}) if {is_nan} else ({ordered})"


def combine(operations: Iterable[str], initial: Iterable[Any], partial: Iterable[np.ndarray[Any, Any]]) -> list[Any]:
    """The values of reductions: each the initial value and what each work-item found, in their dtype."""
    found = []
    with np.errstate(all="ignore"):  # integers wrap, as on the device
        for operation, value, each in zip(operations, initial, partial, strict=True):
            dtype, function = each.dtype, COMBINATIONS[operation].function
            found.append(function(as_dtype(value, dtype), function.reduce(each, dtype=dtype)))
    return found


def as_dtype(number: Any, dtype: np.dtype[Any]) -> Any:
    """A number as one of NumPy's of a dtype; integers wrap."""
    return number if number.__class__ is dtype.type else np.asarray(number).astype(dtype)[()]
