"""Functions of `numba.vectorize` and `numba.guvectorize` over device arrays: loops over their elements, offloaded.

A function is written out as an `njit` function with one `prange` loop for each axis, so it becomes a kernel as other
loops do, and falls back to the host as they do. Numba says what its results are: it is asked with one element.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numba
import numpy as np

from kapi_numba_offload._numba_compat import are_arrays
from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.libraries.arrays import allocate, is_device_array, library
from kapi_numba_offload.libraries.installed import library_of_queue
from kapi_numba_offload.run.placement import one_queue
from kapi_numba_offload.run.source_warnings import made_of
from kapi_sim.errors import KernelCompilationError

__all__ = ["call_vectorized"]

_loops: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
_AXES = re.compile(r"\(([^)]*)\)")


def call_vectorized(function: Any, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A call with device arrays of what `numba.vectorize` or `numba.guvectorize` made.

    - `args`, `keywords`: its arguments; the one keyword is `out`.

    Raises `KernelCompilationError` for other keywords; `ExecutionPlacementError` if one expression has NumPy and device
    arrays, or arrays of two queues.
    """
    code, name = function._dispatcher.py_func.__code__, function.__name__
    location = StatementLocation.of_function(function._dispatcher.py_func)
    outs = keywords.pop("out", None)
    if keywords:
        raise KernelCompilationError(
            f"vectorized function {name} must be called with `out` as its only keyword for it to be offloaded, got "
            f"{', '.join(sorted(keywords))} at {location}: select with `np.where` and slices",
            code="offload-vectorized-keyword",
        )
    inputs, cores = _cores(function)
    given = [*args, *(outs if isinstance(outs, tuple) else () if outs is None else (outs,))]
    if not inputs <= len(given) <= len(cores):
        raise TypeError(
            f"{name}() takes from {inputs} to {len(cores)} positional arguments but {len(given)} were given"
        )
    parameters = list(code.co_varnames[: code.co_argcount])
    texts = [parameters[number] if number < len(parameters) else "out" for number in range(len(given))]
    queue = one_queue(location, texts, given)
    makes = library_of_queue(queue)
    values = [each if is_device_array(each) or np.ndim(each) == 0 else makes.from_host(np.asarray(each), queue)
              for each in given]  # fmt: skip
    values, results = _typed(function, values, inputs, cores)
    shape = np.broadcast_shapes(*(_outer(each, core) for each, core in zip(values[:inputs], cores, strict=False)))
    lengths = _lengths(values, cores)
    for core, dtype in zip(cores[len(values) :], results[len(values) - inputs :], strict=True):
        values.append(allocate((*shape, *(lengths[axis] for axis in core)), dtype, "device", queue))
    declared = are_arrays(function)
    ones = [any(cores) and not core and (number >= inputs or (number < len(declared) and declared[number]))
            for number, core in enumerate(cores)]  # fmt: skip
    values = [makes.from_host(each, queue) if is_one and not is_device_array(each) else each
              for each, is_one in zip(values, ones, strict=True)]  # fmt: skip
    spread = [_spread(each, core, shape, is_result=number >= inputs, is_one=ones[number])
              for number, (each, core) in enumerate(zip(values, cores, strict=True))]  # fmt: skip
    if shape == ():
        shape = (1,)
        spread = [each[np.newaxis] if is_device_array(each) else each for each in spread]
    _loop(function, len(shape), tuple(map(is_device_array, spread)), inputs, tuple(ones), any(cores))(*spread)
    made = values[inputs:]
    return made[0] if len(made) == 1 else tuple(made)


def _cores(function: Any) -> tuple[int, list[list[str]]]:
    """Number of inputs, and the core axes of each argument."""
    signature = getattr(function, "signature", None)
    if not isinstance(signature, str):
        return function.nin, [[] for _ in range(function.nin + function.nout)]
    before, _, after = signature.replace(" ", "").partition("->")
    inputs = [_axes(each) for each in _AXES.findall(before)]
    return len(inputs), [*inputs, *(_axes(each) for each in _AXES.findall(after))]


def _axes(text: str) -> list[str]:
    return [each for each in text.split(",") if each]


def _outer(value: Any, core: Sequence[str]) -> tuple[int, ...]:
    shape = np.shape(value) if not is_device_array(value) else value.shape
    return tuple(shape[: len(shape) - len(core)])


def _lengths(values: Sequence[Any], cores: Sequence[Sequence[str]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for value, core in zip(values, cores, strict=False):
        own = value.shape[value.ndim - len(core) :] if core else ()
        for axis, length in zip(core, own, strict=True):
            if found.setdefault(axis, length) != length:
                raise ValueError(f"core dimension {axis} must have one length, got {found[axis]} and {length}")
    return found


def _typed(
    function: Any, values: Sequence[Any], inputs: int, cores: Sequence[Sequence[str]]
) -> tuple[list[Any], list[np.dtype[Any]]]:
    """The arguments as the loop that Numba chooses takes them, and the dtypes of its results."""
    dtypes = [each.dtype if is_device_array(each) else np.asarray(each).dtype for each in values]
    # What Numba compiled before is no reason for a type: it depends on which calls came first.
    is_typed = not function.is_dynamic if any(cores) else function._frozen
    known = [each for each in function.types if is_typed and _takes(each, dtypes[:inputs])]
    if is_typed and not known:
        raise TypeError(f"{function.__name__}() has no loop for {', '.join(map(str, dtypes[:inputs]))}")
    if known:
        own, _, made = known[0].partition("->")
        results = [np.dtype(each) for each in made]
        dtypes = [*map(np.dtype, own), *results]
    else:
        results = _results(function._dispatcher.py_func, tuple(dtypes[:inputs]), tuple(map(len, cores)))
    typed = []
    for number, value in enumerate(values):
        if number >= inputs:
            typed.append(value)
        elif is_device_array(value):
            typed.append(value if value.dtype == dtypes[number] else value.astype(dtypes[number]))
        else:
            typed.append(dtypes[number].type(value))
    return typed, results


def _takes(loop: str, dtypes: Sequence[np.dtype[Any]]) -> bool:
    own = loop.partition("->")[0]
    return len(own) == len(dtypes) and all(
        np.can_cast(each, np.dtype(letter)) for each, letter in zip(dtypes, own, strict=True)
    )


@cache
def _results(function: Any, dtypes: tuple[np.dtype[Any], ...], ranks: tuple[int, ...]) -> list[np.dtype[Any]]:
    """The dtypes that Numba gives the results for inputs of these; those of core axes are the caller's."""
    if any(ranks):
        return []
    sample = numba.vectorize(function)
    made = sample(*(np.ones(1, each) for each in dtypes))
    return [made.dtype]


def _spread(value: Any, core: Sequence[str], shape: tuple[int, ...], *, is_result: bool, is_one: bool) -> Any:
    """An argument with all outer axes; numbers as they are. With `is_one`, elements are arrays of one element."""
    if not is_device_array(value):
        return value
    own = value.shape[value.ndim - len(core) :] if core else ()
    if value.shape == (*shape, *own):
        made = value
    elif is_result:
        raise ValueError(f"result must have shape {(*shape, *own)}, got {value.shape}")
    else:
        made = library(value).functions.broadcast_to(value, (*shape, *own))
    return made[..., np.newaxis] if is_one else made


def _loop(
    function: Any, rank: int, arrays: tuple[bool, ...], inputs: int, ones: tuple[bool, ...], is_general: bool
) -> Any:
    """The function as an `njit` function over arrays of `rank` outer axes."""
    known = _loops.setdefault(function, {})
    key = rank, arrays, ones
    if key not in known:
        index = ", ".join(f"i{axis}" for axis in range(rank))
        names = [f"x{number}" for number in range(len(arrays))]
        given = [
            name if not is_array else f"{name}[{index}, :]" if is_one else f"{name}[{index}]"
            for name, is_array, is_one in zip(names, arrays, ones, strict=True)
        ]  # fmt: skip
        lines = [f"def {function.__name__}({', '.join(names)}):"]
        lines += [
            f"{' ' * 4 * (axis + 1)}for i{axis} in kapi_prange({names[-1]}.shape[{axis}]):" for axis in range(rank)
        ]
        call = f"kapi_f({', '.join(given if is_general else given[:inputs])})"
        lines.append(" " * 4 * (rank + 1) + (call if is_general else f"{given[inputs]} = {call}"))
        text = "\n".join(lines) + "\n"
        file = f"<{function.__name__} over {rank} axes, {len(linecache.cache)}>"
        made_of(file, function._dispatcher.py_func)
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        scope = {"kapi_prange": numba.prange, "kapi_f": numba.njit(function._dispatcher.py_func)}
        exec(compile(text, file, "exec"), scope)
        made = numba.njit(scope[function.__name__])
        known[key] = made
    return known[key]
