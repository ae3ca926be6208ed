"""The rows of the intrinsic table for functions of numbers: those of `math`, `cmath` and NumPy."""

from __future__ import annotations

from collections.abc import Iterable

from kapi_sim.language.table.complex_functions import COMPLEX_FUNCTIONS
from kapi_sim.language.table.math_functions import MATH_FUNCTIONS
from kapi_sim.language.table.numpy_functions import NUMPY_FUNCTIONS
from kapi_sim.language.table.row import Intrinsic, Parameter

__all__ = ["FUNCTION_ROWS"]


def _rows(owner: str, word: str, table: Iterable[tuple[str, str, str, str, str, float | None]]) -> list[Intrinsic]:
    """The rows of a module's functions, whose parameters are of the type `word` if they name no other."""
    return [
        Intrinsic(
            name,
            "math",
            owner,
            "function",
            tuple(_parameter(parameter, word) for parameter in parameters.split()),
            returns,
            meaning,
            "4.17.5",
            operation if operation.startswith("Op") or operation == "composed" else f"OpenCL.std {operation}",
            ulp,
        )
        for name, parameters, returns, meaning, operation, ulp in table
    ]


def _parameter(text: str, word: str) -> Parameter:
    name, _, own_word = text.partition(":")
    return name.removesuffix("="), own_word or word, "left out" if name.endswith("=") else None


FUNCTION_ROWS: tuple[Intrinsic, ...] = (
    *_rows("math", "float", MATH_FUNCTIONS),
    *_rows("cmath", "complex", ((*row, "composed", None) for row in COMPLEX_FUNCTIONS)),
    *_rows("numpy", "scalar", NUMPY_FUNCTIONS),
)
"""The rows of the functions that this Python and this NumPy have."""
