"""Calls of NumPy's functions, bound by NumPy's own signatures, as dpnp takes them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from kapi_numba_offload.analysis import positional_parameters
from kapi_numba_offload.analysis.numpy_functions import function_named
from kapi_numba_offload.run.usm import MEANINGLESS_PARAMETERS, PARAMETER_NAMES, REQUIRED_PARAMETERS

__all__ = ["as_dpnp_takes_it"]


def as_dpnp_takes_it(
    name: str, args: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments of a call of a NumPy function for dpnp's function of that name.

    Parameters
    ----------
    name : str
        NumPy's name of it.
    args, keywords : sequence, mapping
        As NumPy takes them.

    Raises
    ------
    TypeError
        If NumPy has no such parameter.
    """
    numpys, dpnps, words = _parameters(name)
    if len(args) > len(numpys):
        return args, dict(keywords)  # more than are known; dpnp says what it thinks of them
    same = sum(1 for _ in _same(numpys, dpnps, words))
    missing = REQUIRED_PARAMETERS.get(name, {})
    if len(args) <= same and not keywords and not missing:
        return args, {}
    given = dict(keywords)
    for own, value in zip(numpys[same:], args[same:], strict=False):
        if own in given:
            raise TypeError(f"{name}() got multiple values for argument {own!r}")
        given[own] = value
    first = list(args[:same])
    # Leading parameters may be given by NumPy's names, which dpnp has others for.
    for own in numpys[len(first) : same]:
        if own in words or own not in given:
            break
        first.append(given.pop(own))
    made = {}
    for own, value in given.items():
        if any(value is each for each in MEANINGLESS_PARAMETERS.get(own, ())):
            continue
        made[own if own in words else PARAMETER_NAMES.get(own, own)] = value
    for own, value in missing.items():
        if own not in made and numpys.index(own) >= len(first):
            made[own] = value
    return first, made


def _same(numpys: Sequence[str], dpnps: Sequence[str], words: frozenset[str]) -> Any:
    """The leading parameters that both take by position at the same place."""
    for own, other in zip(numpys, dpnps, strict=False):
        # What dpnp has under another name is the same if dpnp does not use NumPy's name for something else.
        if own != other and own in words:
            return
        yield own


@cache
def _parameters(name: str) -> tuple[tuple[str, ...], tuple[str, ...], frozenset[str]]:
    """Names of what NumPy and dpnp take by position, and of what dpnp takes by name."""
    numpys = positional_parameters.of_numpys(name)
    function = function_named(name, on_device=True)
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # an elementwise function, which both take alike
        return numpys, numpys, frozenset(numpys)
    words = frozenset(each.name for each in found if each.kind is not each.POSITIONAL_ONLY)
    return numpys, positional_parameters.of_function(function), words
