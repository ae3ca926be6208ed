"""Calls that a partitioned function makes of NumPy's functions, each sent to where its arrays are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dpnp
import numpy as np

from kapi_numba_offload.analysis.numpy_functions import function_named, status
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.reasons import Refusal, fall_back
from kapi_numba_offload.run.usm import is_dpnp_array
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
        NumPy's name of it, or another name of a function that runs on the host.
    function : callable
        NumPy's function.
    place : Place
        Where it is called.
    options : OffloadOptions
        Those of the function that calls it.
    """

    def __init__(self, name: str, function: Any, place: Any, options: OffloadOptions) -> None:
        self._name, self._function, self._place, self._options = name, function, place, options
        self._status = status(name)
        self._on_device = function_named(name, on_device=True)
        self._spelled = name if function_named(name, on_device=False) is None else f"numpy.{name}"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if not any(_has_usm(each) for each in (*args, *keywords.values())):
            return self._function(*args, **keywords)
        if self._status == "refused":
            raise KernelCompilationError(
                f"function with USM arrays must not call numpy.{self._name} with one of them, got it at {self._place}: "
                f"copy to the host first, with `asnumpy()`\n  {self._place}: {self._place.text}",
                code="offload-host-call",
            )
        if self._status == "host":
            return self._on_host(args, keywords)
        return self._on_device(*args, **keywords)

    def _on_host(self, args: Any, keywords: dict[str, Any]) -> Any:
        """NumPy's function on copies; arrays that it returns are copied to the queue of those that it was given."""
        detail = f"{self._spelled} at {self._place}: {self._place.text}"
        fall_back(
            self._place, Refusal("host-function", self._place.line, self._name, detail), self._options.may_fall_back
        )
        result = self._function(*map(_on_host, args), **{name: _on_host(each) for name, each in keywords.items()})
        array = next(each for each in _arrays((*args, *keywords.values())))
        return _back(result, array.sycl_queue, array.usm_type)


def element(value: Any) -> Any:
    """One element of an array as a number: an ordered copy to the host."""
    return value.asnumpy()[()] if is_dpnp_array(value) and value.ndim == 0 else value


def _has_usm(value: Any) -> bool:
    return any(True for _ in _arrays((value,)))


def _arrays(values: Any) -> Iterator[Any]:
    for each in values:
        if is_dpnp_array(each):
            yield each
        elif isinstance(each, (tuple, list)):
            yield from _arrays(each)


def _on_host(value: Any) -> Any:
    if is_dpnp_array(value):
        return value.asnumpy()
    return type(value)(map(_on_host, value)) if isinstance(value, (tuple, list)) else value


def _back(value: Any, queue: Any, kind: str) -> Any:
    if isinstance(value, np.ndarray):
        return dpnp.asarray(value, sycl_queue=queue, usm_type=kind)
    return tuple(_back(each, queue, kind) for each in value) if isinstance(value, tuple) else value
