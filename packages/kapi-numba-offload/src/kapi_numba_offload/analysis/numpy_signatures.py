"""NumPy's signatures: parameters by position, and calls bound for an array library's functions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.numpy_functions import numpy_function
from kapi_numba_offload.libraries.interface import ArrayLibrary

__all__ = ["as_library_takes_it", "numpy_parameters", "positional_parameters"]

# Functions written in C have signatures in new versions of NumPy only.
_NUMPY_PARAMETERS = {
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
def numpy_parameters(name: str) -> tuple[str, ...]:
    """The names of what the NumPy function of this name takes by position."""
    known = _NUMPY_PARAMETERS.get(name)
    return tuple(known.split()) if known else positional_parameters(numpy_function(name))


def positional_parameters(function: Any) -> tuple[str, ...]:
    """The names of positional parameters; of a ufunc those of its operands, and none where there is no signature."""
    if isinstance(function, np.ufunc):
        return tuple(f"x{number}" for number in range(1, function.nin + 1))
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(each.name for each in found if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD))


def as_library_takes_it(
    library: ArrayLibrary, name: str, args: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments of a call of a NumPy function for an array library's function of that name.

    Raises
    ------
    TypeError
        If NumPy has no such parameter.
    """
    own_names, words, same, is_same = _parameters(library, name)
    if library.has_numpy_signatures and (is_same or len(args) <= same):
        meaningless = library.meaningless_parameters
        return args, {
            own: value for own, value in keywords.items() if not any(value is each for each in meaningless.get(own, ()))
        }
    if len(args) > len(own_names):
        return args, dict(keywords)  # more than are known; the library raises its own error
    missing = library.required_parameters.get(name, {})
    if len(args) <= same and not keywords and not missing:
        return args, {}
    given = dict(keywords)
    for own, value in zip(own_names[same:], args[same:], strict=False):
        if own in given:
            raise TypeError(f"{name}() got multiple values for argument {own!r}")
        given[own] = value
    first = list(args[:same])
    # Leading parameters may be given by NumPy's names, which the library has others for.
    for own in own_names[len(first) : same]:
        if own in words or own not in given:
            break
        first.append(given.pop(own))
    made = {}
    for own, value in given.items():
        if any(value is each for each in library.meaningless_parameters.get(own, ())):
            continue
        made[own if own in words else library.parameter_names.get(own, own)] = value
    for own, value in missing.items():
        if own not in made and own_names.index(own) >= len(first):
            made[own] = value
    return first, made


def _same(own_names: Sequence[str], library_names: Sequence[str], words: frozenset[str]) -> Any:
    """The leading parameters that both take by position at the same position."""
    for own, other in zip(own_names, library_names, strict=False):
        # What the library has under another name is the same if it does not use NumPy's name for something else.
        if own != other and own in words:
            return
        yield own


@cache
def _parameters(library: ArrayLibrary, name: str) -> tuple[tuple[str, ...], frozenset[str], int, bool]:
    """Names that NumPy takes by position, those that the library takes, and how many both have at the same position.

    The last says that the library has none of NumPy's at another one.
    """
    own_names = numpy_parameters(name)
    function = library.function(name)
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # an elementwise function, which both take alike
        return own_names, frozenset(own_names), len(own_names), True
    words = frozenset(each.name for each in found if each.kind is not each.POSITIONAL_ONLY)
    library_names = positional_parameters(function)
    same = sum(1 for _ in _same(own_names, library_names, words))
    return own_names, words, same, same >= min(len(own_names), len(library_names))
