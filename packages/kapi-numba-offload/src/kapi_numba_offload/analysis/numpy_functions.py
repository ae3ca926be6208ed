"""NumPy's functions: the table of those that a function with USM arrays may call, and their signatures."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.operations import ELEMENTWISE, operator_operands
from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.libraries.installed import default_library, imported_libraries, library_name, library_named
from kapi_numba_offload.libraries.interface import ArrayLibrary, function_named

__all__ = [
    "CREATION",
    "QUANTILES",
    "REDUCTIONS",
    "STATUSES",
    "as_library_takes_it",
    "elementwise",
    "numpy_function",
    "numpy_functions",
    "numpy_name",
    "numpy_parameters",
    "positional_parameters",
    "status",
]

REDUCTIONS = ("sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax")
"""Reductions by NumPy's names; `amin` and `amax` are other names of two of them."""

QUANTILES = ("percentile", "quantile", "nanpercentile", "nanquantile")
"""Functions that are a library's `sort`, and a few elements of its result."""

WINDOWS = ("bartlett", "blackman", "hamming", "hanning", "kaiser")
FREQUENCIES = ("fft.fftfreq", "fft.rfftfreq")
MAKES_PAIRS = ("tril_indices", "triu_indices", "diag_indices")

CREATION = frozenset((
    "arange", "array", "asarray", "empty", "eye", "full", "identity", "linspace", "logspace", "geomspace", "indices",
    "ones", "tri", "zeros", *WINDOWS, *FREQUENCIES, *MAKES_PAIRS,
))  # fmt: skip
"""Functions that make arrays of no array; `MAKES_PAIRS` make two."""

STATUSES = {
    "offloaded": "part of a kernel, fused with what stands around it",
    "array library": "the array library's functions, on the device",
    "host": "NumPy's function on a copy, with an `OffloadFallbackWarning`; arrays that it returns are copied back",
    "refused": "an error: files, texts, and settings of NumPy are no work for a device",
}
"""The statuses, and what each means."""

_REFUSED = frozenset(
    "array2string array_repr array_str asarray_chkfinite asmatrix base_repr binary_repr bmat busday_count "
    "busday_offset datetime_as_string datetime_data einsum_path format_float_positional format_float_scientific "
    "frombuffer fromfile fromfunction fromiter frompyfunc fromregex fromstring genfromtxt get_include "
    "get_printoptions getbufsize geterr geterrcall info is_busday isfortran iterable load loadtxt may_share_memory "
    "mintypecode nested_iters packbits printoptions require save savetxt savez savez_compressed set_printoptions "
    "setbufsize seterr seterrcall shares_memory show_config show_runtime test typename unpackbits".split()
)
_SUBMODULES = ("linalg", "fft")


def _public(module: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name in dir(module):
        value = getattr(module, name)
        if not name.startswith("_") and callable(value) and not isinstance(value, type):
            yield prefix + name, value


@cache
def _names(module: Any) -> dict[Any, str]:
    """A library's functions by identity, with the name that NumPy's documentation uses first."""
    found: dict[Any, str] = {}
    for name, function in _public(module):
        found.setdefault(function, name)
    for submodule in _SUBMODULES:
        for name, function in _public(getattr(module, submodule), f"{submodule}."):
            found.setdefault(function, name)
    for name in (*ELEMENTWISE, *REDUCTIONS, *(each for each in CREATION if "." not in each)):
        if hasattr(module, name):
            found[getattr(module, name)] = name
    return found


def numpy_name(function: Any) -> str | None:
    """NumPy's name for one of its functions or of an array library's; None for anything else."""
    try:
        name = _names(np).get(function)
    except TypeError:  # not hashable
        return None
    own = library_name(function)
    if name is not None or own is None:
        return name
    return next((_names(each.functions).get(function) for each in imported_libraries() if each.name == own), None)


def numpy_function(name: str) -> Any:
    """NumPy's function of a name such as `sum` or `linalg.norm`; None if it has none."""
    return function_named(np, name)


def numpy_functions() -> list[str]:
    """The names of NumPy's public functions, those of `linalg` and `fft` included, classes left out, sorted."""
    names = [name for name, _ in _public(np) if name in np.__all__]
    for submodule in _SUBMODULES:
        module = getattr(np, submodule)
        names += [f"{submodule}.{name}" for name, _ in _public(module) if name in module.__all__]
    return sorted(names)


def status(name: str, library: ArrayLibrary | None = None) -> str:
    """The status of the NumPy function `name`, a key of `STATUSES`, for arrays of a library; by default dpnp's."""
    return _status(name, library or default_library() or library_named("dpnp"))


@cache
def _status(name: str, library: ArrayLibrary) -> str:
    if name in _REFUSED:
        return "refused"
    if name in ELEMENTWISE or name in REDUCTIONS:
        return "offloaded"
    if numpy_name(numpy_function(name)) in (*ELEMENTWISE, *REDUCTIONS):  # another name of one of them
        return "offloaded"
    return "host" if library.function("sort" if name in QUANTILES else name) is None else "array library"


def elementwise(node: ast.expr, names: Scope) -> tuple[str, list[ast.expr]] | None:
    """Name and operands of an elementwise operation, an operator or a function; None for anything else."""
    if not isinstance(node, ast.Call):
        return operator_operands(node)
    function = names.value(node.func)
    if function is UNKNOWN or node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
        return None
    name = "absolute" if function is abs else numpy_name(function)
    return (name, node.args) if name in ELEMENTWISE and len(node.args) == ELEMENTWISE[name].arity else None


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

    Raises `TypeError` if NumPy has no such parameter.
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
