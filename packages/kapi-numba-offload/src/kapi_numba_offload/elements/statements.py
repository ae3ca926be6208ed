"""Statements of a function that may become part of a kernel, their source locations, and a warning of their integers.

Operations of integer arrays with Python integers keep the array's type, and for Numba have 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kapi_numba_offload.elements.dtype_rules import ArrayType
from kapi_numba_offload.elements.expression import Apply, Node, nodes_of
from kapi_numba_offload.elements.numbers import is_narrow
from kapi_numba_offload.run.source_warnings import ArrayIntegersWarning, warn_at
from kapi_sim.language.source import SourceLocation

__all__ = ["GROWING", "Statement", "StatementLocation", "check_array_integers", "warn_of_integers"]

GROWING = ("add", "subtract", "multiply", "power", "left_shift")
"""Operations whose results may be beyond the type of their operands."""


@dataclass(frozen=True, slots=True)
class StatementLocation(SourceLocation):
    """Source location of a statement, with its function, its text, and the first line of the function."""

    function: str
    text: str
    first_line: int = 0

    @classmethod
    def of_function(cls, function: Callable[..., Any]) -> StatementLocation:
        """The location of a function's definition."""
        code, name = function.__code__, function.__name__
        return cls(code.co_filename, code.co_firstlineno, name, f"def {name}")

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a region.

    - `node`: its value.
    - `target`: the leaf whose elements it is assigned to; None for a new array.
    - `in_place`: the operation of `target op= ...`; `node` is then the entire `target op ...`.
    - `is_output`: whether its value is used after the region.
    """

    node: Node
    target: int | None
    in_place: str | None
    is_output: bool
    location: StatementLocation


def check_array_integers(statement: Statement, values: Mapping[Node, Any]) -> None:
    """Warn if a statement has such an operation whose type counts.

    - `values`: the value of each node, as the type of an array where it is one.
    """
    for node in nodes_of(statement.node):
        # What is stored has the type of the array that it is stored to.
        is_stored = node is statement.node and statement.target is not None
        if not isinstance(node, Apply) or node.name not in GROWING or is_stored:
            continue
        value, operands = values[node], [values[each] for each in node.operands]
        if isinstance(value, ArrayType) and value.ndim and is_narrow(value.dtype) and int in map(type, operands):
            warn_of_integers(statement.location, str(value.dtype))
            return


def warn_of_integers(location: StatementLocation, dtype: str, line: int = 0) -> None:
    """Warn of such an operation: of integers of a dtype, in the statement at `location` or at a line of it."""
    where = f"{location.filename}:{line or location.line}"
    text = (
        f"{where}: an operation of an array and a Python integer gives integers of {dtype}, as NumPy has it, which "
        "wrap where that type ends; for Numba they have 64 bits [array-integers]; convert the array where that counts, "
        "as by `astype(np.int64)`"
    )
    warn_at(ArrayIntegersWarning(text), location.filename, line or location.line)
