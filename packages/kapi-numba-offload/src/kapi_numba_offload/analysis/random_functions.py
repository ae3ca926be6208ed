"""Functions that draw random numbers: those of `numpy.random` and `random` that Numba has, and generators' methods."""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.source import parsed_function, user_function
from kapi_numba_offload.analysis.syntax import nodes_in

__all__ = ["DRAW_IN_PLACE", "METHODS_OF_GENERATORS", "draws", "function_draws", "number_of_axes", "random_name"]

_SIZES: dict[str, int | None] = {
    "beta": 2, "binomial": 2, "chisquare": 1, "choice": 1, "dirichlet": 1, "exponential": 1, "f": 2, "gamma": 2,
    "geometric": 1, "gumbel": 2, "hypergeometric": 3, "laplace": 2, "logistic": 2, "lognormal": 2, "logseries": 1,
    "multinomial": 2, "negative_binomial": 2, "noncentral_chisquare": 2, "normal": 2, "pareto": 1, "permutation": None,
    "poisson": 1, "power": 1, "rand": None, "randint": 2, "randn": None, "random": 0, "random_sample": 0, "ranf": 0,
    "rayleigh": 1, "sample": 0, "seed": None, "shuffle": None, "standard_cauchy": 0, "standard_exponential": 0,
    "standard_gamma": 1, "standard_normal": 0, "standard_t": 1, "triangular": 3, "uniform": 2, "vonmises": 2, "wald": 2,
    "weibull": 1, "zipf": 1,
}  # fmt: skip
"""The functions of `numpy.random` that Numba has, with the position of `size` among their parameters."""

METHODS_OF_GENERATORS: Mapping[str, int | None] = {
    "integers": 2, "noncentral_f": 3, "multivariate_normal": 2, "permuted": None,
    **{name: at for name, at in _SIZES.items() if hasattr(np.random.Generator, name)},
}  # fmt: skip
"""The methods of `numpy.random.Generator` that draw, with the position of `size` among their parameters."""

DRAW_IN_PLACE = ("seed", "shuffle", "permuted")
"""Those that return no array of their own, or none at all."""

_OF_PYTHON = (
    "betavariate expovariate gammavariate gauss getrandbits lognormvariate normalvariate paretovariate randint random "
    "randrange seed shuffle triangular uniform vonmisesvariate weibullvariate"
).split()
"""The functions of Python's `random` that Numba has."""

_NAMES = {getattr(np.random, name): f"numpy.random.{name}" for name in _SIZES} | {
    getattr(random, name): f"random.{name}" for name in _OF_PYTHON
}


def random_name(function: Any) -> str | None:
    """The name of a function that draws as Numba does, such as ``numpy.random.normal``; None for others."""
    try:
        return _NAMES.get(function)
    except TypeError:  # not hashable
        return None


def number_of_axes(name: str, node: ast.Call, ranks: Sequence[int | None]) -> int | None:
    """The rank of what a call draws, 0 for a number; None if that is not known.

    - `name`: what `random_name` says of the function, or a method of a generator.
    - `ranks`: for each argument, those by keyword last, the rank that it asks for as a size: 1 for a number, the length
      of a tuple.
    """
    own = name.rpartition(".")[2]
    if own in DRAW_IN_PLACE or any(isinstance(each, ast.Starred) for each in node.args):
        return None
    if name.startswith("random."):
        return 0
    if own in ("rand", "randn"):
        return len(ranks)
    at = METHODS_OF_GENERATORS.get(own, _SIZES.get(own))
    if at is None:  # `permutation`
        return ranks[0] if ranks else None
    words = [each.arg for each in node.keywords]
    if None in words:
        return None
    if "size" in words:
        size = ranks[len(node.args) + words.index("size")]
    else:
        size = ranks[at] if len(node.args) > at else 0
    return None if size is None else size + (own in ("multinomial", "dirichlet", "multivariate_normal"))


def draws(body: Sequence[ast.stmt], names: Scope, seen: frozenset[FunctionType] = frozenset()) -> bool:
    """Whether a body, or a function of the user's that it names, draws random numbers."""
    values = [names.value(each) for each in nodes_in(body) if isinstance(each, (ast.Name, ast.Attribute))]
    return any(random_name(each) is not None or function_draws(each, seen) for each in values)


def function_draws(value: Any, seen: frozenset[FunctionType] = frozenset()) -> bool:
    """Whether a function of the user's, or one that it names, draws random numbers; those of `seen` are looked at."""
    function = user_function(value)
    if function is None or function in seen:
        return False
    definition = parsed_function(function)
    return definition is not None and draws(definition.body, Scope(function, definition), seen | {function})
