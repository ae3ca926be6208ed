"""Functions of `numba.vectorize` in the body of a loop: there they are functions of numbers."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from kapi_numba_offload._numba_compat import DUFunc

__all__ = ["as_scalar_function"]


def as_scalar_function(value: Any) -> Any:
    """A function of `numba.vectorize` as one of numbers; any other value, and what has several loops, as it is."""
    if not isinstance(value, DUFunc):
        return value
    function = numba.njit(value._dispatcher.py_func)
    if not value._frozen:
        return function
    if len(value.types) != 1:
        return value  # which loop it is depends on the numbers
    own, _, made = value.types[0].partition("->")
    names = [f"x{number}" for number in range(len(own))]
    types = {f"t{number}": np.dtype(letter).type for number, letter in enumerate(own)}
    given = ", ".join(f"t{number}({name})" for number, name in enumerate(names))
    scope = {**types, "f": function, "t": np.dtype(made).type}
    exec(f"def {value.__name__}({', '.join(names)}):\n    return t(f({given}))\n", scope)
    return numba.njit(scope[value.__name__])
