"""Functions that array libraries lack, or have slower or with other results: products, quantiles, counts, extrema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.numpy_functions import as_library_takes_it
from kapi_numba_offload.elements.dtype_rules import coerced_kind
from kapi_numba_offload.libraries.arrays import (
    allocate,
    device_facts,
    host_copy,
    is_device_array,
    kind_of,
    library,
    queue_of,
)

__all__ = ["bincount", "extremum_position", "product", "quantiles"]

_DTYPES = frozenset(("float32", "float64", "complex64", "complex128"))
"""Of these NumPy's products are those of its library of linear algebra."""


def product(_: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any | None:
    """The product of two arrays of one or two dimensions, as `numpy.matmul` and `numpy.dot` give it.

    It waits for what the arrays' queue has been given. dpnp takes from 0.15 ms for two vectors up to 10 ms for a row
    and a matrix of 1800 x 900 that is a part of another one, for which NumPy takes 0.3 ms.

    Returns None where dpnp does what is asked, or tells what is wrong with it.
    """
    if keywords or len(args) != 2 or not all(map(is_device_array, args)):
        return None
    one, other = args
    queue = queue_of(one)
    if (
        not device_facts(queue).has_host_memory
        or queue_of(other) != queue
        or one.dtype != other.dtype
        or one.dtype.name not in _DTYPES
        or not (1 <= one.ndim <= 2 and 1 <= other.ndim <= 2)
        or one.shape[-1] != other.shape[0]
        or not (one.size and other.size)
    ):
        return None
    kind = coerced_kind((kind_of(one), kind_of(other)))
    result = allocate((*one.shape[:-1], *other.shape[1:]), one.dtype, kind, queue)
    left, right, out = library(result).host_views(queue, (one, other, result))
    np.matmul(left, right, out=out)
    return result


def extremum_position(name: str, _: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any | None:
    """The result of `numpy.argmax` or `numpy.argmin` for these arguments, as `product` gives its own."""
    array = args[0] if args else keywords.get("a")
    if not is_device_array(array) or array.dtype.kind not in "fc":
        return None
    own = library(array)
    if name not in own.mended:
        return None
    given, words = as_library_takes_it(own, name, args, keywords)
    words.pop("a", None)
    words |= dict(zip(("axis", "out"), given[1:], strict=False))
    out = words.pop("out", None)
    nans = own.functions.isnan(array)
    has_nan, first_nan = own.functions.any(nans, **words), own.functions.argmax(nans, **words)
    found = own.functions.where(has_nan, first_nan, own.function(name)(array, **words))
    if out is None:
        return found
    out[...] = found
    return out


def quantiles(name: str, _: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any | None:
    """The result of one of `QUANTILES` of all elements of an array, as `product` gives its own.

    The library sorts, and NumPy interpolates between two neighbours at each of the positions.
    """
    given = {**dict(zip("aq", args, strict=False)), **keywords}
    array = given.get("a")
    if len(args) > 2 or len(given) != len(args) + len(keywords) or given.keys() != {"a", "q"}:
        return None
    if not is_device_array(array) or library(array).is_host:
        return None
    own, queue, kind = library(array), queue_of(array), kind_of(array)
    q: Any = given["q"]
    q = host_copy(q)[()] if is_device_array(q) else q
    sample = np.zeros(min(array.size, 2), array.dtype)
    result = np.array(getattr(np, name)(sample, q))  # its shape and dtype, or NumPy's error
    if array.dtype.kind not in "iuf":
        return None
    if not array.size:
        return own.from_host(result, queue, kind)
    ordered, last = own.functions.sort(own.functions.ravel(array)), array.size - 1
    nans = int(own.functions.count_nonzero(own.functions.isnan(ordered))) if array.dtype.kind == "f" else 0
    if name.startswith("nan"):
        last, nans = max(last - nans, 0), 0
    virtual = last * (np.true_divide(q, 100) if name.endswith("percentile") else np.asarray(q))
    lower = np.floor(virtual).astype(np.int64)
    weights = np.ravel(virtual - lower)
    at = np.ravel([lower, np.minimum(lower + 1, last)])
    ends = host_copy(ordered[own.from_host(np.full_like(at, last) if nans else at, queue, kind)]) if at.size else at
    is_weak = type(q) in (int, float)  # NumPy tells Python's numbers from its own
    with np.errstate(all="ignore"):
        for number, pair in enumerate(ends.reshape(2, -1).T):
            weight = weights[number].item() if is_weak else weights[number]
            result.reshape(-1)[number] = np.quantile(pair, weight)
    return own.from_host(result, queue, kind)


def bincount(_: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any | None:
    """The result of `numpy.bincount` of no elements, of which libraries seek the largest, as `product` gives one."""
    given = {**dict(zip(("x", "weights", "minlength"), args, strict=False)), **keywords}
    array, weights, length = given.get("x"), given.get("weights"), given.get("minlength", 0)
    if not is_device_array(array) or array.shape != (0,) or array.dtype.kind not in "biu" or library(array).is_host:
        return None
    if not isinstance(length, (int, np.integer)) or length < 0 or getattr(weights, "shape", (0,)) != (0,):
        return None
    return library(array).from_host(np.zeros(length, np.int64), queue_of(array), kind_of(array))
