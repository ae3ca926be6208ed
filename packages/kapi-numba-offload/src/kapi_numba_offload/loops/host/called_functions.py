"""User functions that a loop on the host calls: compiled for it, with what NumPy arrays ask for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numba
import numpy as np

from kapi_numba_offload.analysis.numpy_functions import numpy_function, numpy_name
from kapi_numba_offload.libraries.installed import imported_libraries
from kapi_numba_offload.loops.loop_syntax import variables_of

__all__ = ["CalledFunction", "as_host_has_it"]


@dataclass(frozen=True, slots=True)
class CalledFunction:
    """A function that a loop calls by name.

    - `function`: as written, without a closure.
    - `options`: options for `numba.njit` that are its own.
    - `called`: those that it calls itself.
    - `dispatcher`: what is called as it is, where the function has signatures, or types of its variables.
    """

    name: str
    function: FunctionType
    definition: ast.FunctionDef
    options: Mapping[str, Any]
    called: tuple[CalledFunction, ...]
    dispatcher: Any = None

    def compiled(self, options: Mapping[str, Any]) -> Callable[..., Any]:
        """The function as Numba compiles it for a loop with these options, where it has none of its own."""
        if self.dispatcher is not None:
            return self.dispatcher  # type: ignore[no-any-return]  # a callable
        own = self.function
        named = variables_of(self.definition.body, ast.Load)
        outside = as_host_has_it(dict(own.__globals__), named)
        outside.update({each.name: each.compiled(options) for each in self.called})
        copy = FunctionType(own.__code__, outside, own.__name__, own.__defaults__)
        copy.__kwdefaults__ = own.__kwdefaults__
        made: Callable[..., Any] = numba.njit(**{**options, **self.options})(copy)
        return made


def as_host_has_it(outside: dict[str, Any], named: Iterable[str]) -> dict[str, Any]:
    """Globals with NumPy instead of array libraries, and its functions instead of theirs: arrays are NumPy's there."""
    libraries = list(imported_libraries())
    for name in named:
        value = outside.get(name)
        if any(value is each.functions for each in libraries):
            outside[name] = np
        elif (own := numpy_name(value)) is not None and any(each.function(own) is value for each in libraries):
            outside[name] = numpy_function(own) or value
    return outside
