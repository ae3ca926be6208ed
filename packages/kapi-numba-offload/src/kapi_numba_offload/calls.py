"""Calls that a partitioned function makes of NumPy's functions, each sent to where its arrays are."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np

from kapi_numba_offload.numpy_functions import status
from kapi_numba_offload.usm import is_dpnp_array
from kapi_sim.errors import KernelCompilationError

__all__ = ["Creation", "NumpyCall", "element"]


class Creation:
    """A function that makes an array, on the queue of the function's own arrays.

    Parameters
    ----------
    name : str
        dpnp's name of it.
    """

    def __init__(self, name: str) -> None:
        self._function = getattr(dpnp, name)

    def __call__(self, queue: Any, *args: Any, **keywords: Any) -> Any:
        if keywords.get("device") is None and keywords.get("sycl_queue") is None:
            keywords["sycl_queue"] = queue
        return self._function(*args, **keywords)


class NumpyCall:
    """A NumPy function: dpnp's of that name where it is given a dpnp array.

    Parameters
    ----------
    name : str
        NumPy's name of it.
    function : callable
        NumPy's function.
    place : Place
        Where it is called.
    """

    def __init__(self, name: str, function: Any, place: Any) -> None:
        self._name, self._function, self._place = name, function, place
        self._status = status(name) if hasattr(np, name) else "host"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if not any(_has_usm(each) for each in (*args, *keywords.values())):
            return self._function(*args, **keywords)
        if self._status == "refused":
            raise KernelCompilationError(
                f"function with USM arrays must not call numpy.{self._name} with one of them, got it at {self._place}: "
                f"copy to the host first, with `asnumpy()`\n  {self._place}: {self._place.text}"
            )
        return getattr(dpnp, self._name)(*args, **keywords)


def element(value: Any) -> Any:
    """One element of an array as a number: an ordered copy to the host."""
    return value.asnumpy()[()] if is_dpnp_array(value) and value.ndim == 0 else value


def _has_usm(value: Any) -> bool:
    return is_dpnp_array(value) or (isinstance(value, (tuple, list)) and any(map(_has_usm, value)))
