"""Updates of arrays in place on the host: NumPy refuses those whose result is of another kind, and Numba casts it."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from numba.extending import overload

from kapi_numba_offload._numba_compat import NumbaTypeError, as_dtype, types
from kapi_numba_offload.analysis.effects import HELD

__all__ = ["HELPERS", "held"]


def held(made: ast.expr, before: ast.expr) -> ast.expr:
    """The value `made` of an update of the array `before`, with a check that `before` may hold it."""
    return ast.Call(ast.Name(HELD, ast.Load()), [made, before], [])


def _held(made: Any, before: Any) -> Any:
    if isinstance(before, np.ndarray) and not np.can_cast(made.dtype, before.dtype, "same_kind"):
        raise TypeError(_text(made.dtype, before.dtype))
    return made


@overload(_held, inline="always")
def _held_by_numba(made, before):  # type: ignore[no-untyped-def]  # Numba compares it with the lambda
    if isinstance(before, types.Array):
        type_ = made.dtype if isinstance(made, types.Array) else made
        ours, other = as_dtype(before.dtype), as_dtype(type_)
        # Numba widens integers, so that those of NumPy may be narrower.
        is_wider = ours.kind in "iu" and other.kind in "iu"
        if not is_wider and not np.can_cast(other, ours, "same_kind"):
            raise NumbaTypeError(_text(other, ours))
    return lambda made, before: made


def _text(made: np.dtype[Any], before: np.dtype[Any]) -> str:
    return f"{made} must be of the same kind as the array that it is stored to, {before}"


HELPERS = {HELD: _held}
"""Functions that loops on the host call besides the user's."""
