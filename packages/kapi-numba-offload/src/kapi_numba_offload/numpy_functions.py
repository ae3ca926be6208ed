"""What becomes of each NumPy function when a function with USM arrays calls it: one table, printed in the docs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np

from kapi_numba_offload.functions import ELEMENTWISE

__all__ = ["CREATION", "REDUCTIONS", "STATUSES", "NumpyFunction", "function_named", "numpy_name", "status"]

REDUCTIONS = ("sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax")
"""Reductions by NumPy's names; `amin` and `amax` are other names of two of them."""

CREATION = {
    "arange": 0, "array": 0, "asarray": 0, "empty": 2, "eye": 0, "full": 3, "identity": 2, "linspace": 0,
    "logspace": 0, "geomspace": 0, "ones": 2, "tri": 0, "zeros": 2,
}  # fmt: skip
"""Functions that make arrays of no array."""

STATUSES = {
    "offloaded": "part of a kernel, fused with what stands around it",
    "dpnp's kernel": "dpnp's function of that name, on the device",
    "host": "NumPy's function on a copy, with an `OffloadFallbackWarning`; arrays that it returns are copied back",
    "refused": "an error: files, texts, and settings of NumPy are no work for a device",
}
"""The statuses, and what each means."""

_REFUSED = frozenset(
    "array2string array_repr array_str asarray_chkfinite base_repr binary_repr busday_count busday_offset "
    "datetime_as_string datetime_data format_float_positional format_float_scientific frombuffer fromfile fromiter "
    "fromregex fromstring genfromtxt get_include get_printoptions getbufsize geterr geterrcall info is_busday load "
    "loadtxt memmap printoptions put putmask place copyto putmask save savetxt savez savez_compressed "
    "set_printoptions setbufsize seterr seterrcall show_config show_runtime test nditer nested_iters "
    "may_share_memory shares_memory einsum_path frompyfunc vectorize apply_along_axis apply_over_axes piecewise "
    "fromfunction typename mintypecode isfortran iterable ndenumerate ndindex from_dlpack require "
    "broadcast_arrays packbits unpackbits lookfor bmat asmatrix fill_diagonal".split()
) - {"fill_diagonal", "broadcast_arrays", "copyto", "put", "putmask", "place", "apply_along_axis", "apply_over_axes",
     "from_dlpack", "piecewise"}  # fmt: skip

NumpyFunction = Callable[..., Any]


def _numpy_names() -> dict[Any, str]:
    """NumPy's and dpnp's functions by identity, with the name that NumPy's documentation uses first."""
    found: dict[Any, str] = {}
    for module in (dpnp, np):
        for name in dir(module):
            function = getattr(module, name)
            if name.startswith("_") or not callable(function) or isinstance(function, type):
                continue
            found.setdefault(function, name)
    for name in (*ELEMENTWISE, *REDUCTIONS, *CREATION):
        for module in (dpnp, np):
            if hasattr(module, name):
                found[getattr(module, name)] = name
    return found


_NAMES = _numpy_names()


def numpy_name(function: Any) -> str | None:
    """NumPy's name for one of its functions or of dpnp's; None for anything else."""
    try:
        return _NAMES.get(function)
    except TypeError:  # not hashable
        return None


def function_named(name: str, *, on_device: bool) -> NumpyFunction:
    """Dpnp's or NumPy's function of that name."""
    found: NumpyFunction = getattr(dpnp if on_device else np, name)
    return found


def status(name: str) -> str:
    """The status of the NumPy function `name`, a key of `STATUSES`."""
    if name in _REFUSED:
        return "refused"
    if name in ELEMENTWISE or name in REDUCTIONS:
        return "offloaded"
    if numpy_name(getattr(np, name)) in (*ELEMENTWISE, *REDUCTIONS):  # another name of one of them
        return "offloaded"
    return "dpnp's kernel" if hasattr(dpnp, name) else "host"
