"""The names of what a function takes by position."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.numpy_functions import function_named

__all__ = ["of_function", "of_numpys"]

# Functions written in C tell their signatures in new versions of NumPy only.
_OF_NUMPYS = {
    "arange": "start stop step dtype",
    "array": "object dtype",
    "asarray": "a dtype order",
    "concatenate": "arrays axis out",
    "concat": "arrays axis out",
    "copyto": "dst src casting where",
    "dot": "a b out",
    "empty": "shape dtype order",
    "empty_like": "prototype dtype order subok shape",
    "inner": "a b",
    "putmask": "a mask values",
    "vdot": "a b",
    "where": "condition x y",
    "zeros": "shape dtype order",
}


@cache
def of_numpys(name: str) -> tuple[str, ...]:
    """What the NumPy function of this name takes by position."""
    known = _OF_NUMPYS.get(name)
    return tuple(known.split()) if known else of_function(function_named(name, on_device=False))


def of_function(function: Any) -> tuple[str, ...]:
    """What a function takes by position; of a ufunc its operands alone, and nothing of what does not tell."""
    if isinstance(function, np.ufunc):
        return tuple(f"x{number}" for number in range(1, function.nin + 1))
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(each.name for each in found if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD))
