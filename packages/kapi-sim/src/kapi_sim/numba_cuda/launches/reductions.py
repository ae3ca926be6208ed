"""``@cuda.reduce``: a function of two numbers as a reduction of arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce as fold
from typing import Any

from kapi_sim.errors import KernelLaunchError
from kapi_sim.numba_cuda.host.device_arrays import DeviceArray, as_host_array
from kapi_sim.numba_cuda.host.streams import synchronize
from kapi_sim.settings.simulation_settings import current_settings

__all__ = ["Reduce", "note_call", "reduce"]


def note_call(name: str, elements: int) -> None:
    """Add the call of a function of elements to the report, if one is kept."""
    report = current_settings().report
    if report is not None:
        report.note_unchecked(name, elements)


class Reduce:
    """A reduction.

    Parameters
    ----------
    functor : function
        Takes two numbers and returns one.
    """

    def __init__(self, functor: Callable[[Any, Any], Any]) -> None:
        self._functor = getattr(functor, "py_func", functor)

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0) -> Any:
        """Return the reduction of an array.

        Parameters
        ----------
        arr : array
            Of one axis.
        size : int, optional
            How many of its elements.
        res : array, optional
            Takes the result as its first element; nothing is returned then.
        init : number
            What the reduction starts with.
        stream : object
            All streams are waited for.
        """
        host = as_host_array(arr)
        if host.ndim != 1:
            raise KernelLaunchError(
                f"an array must have one axis to be reduced, got {host.ndim}: ravel it", code="cuda-shape"
            )
        part = host if size is None else host[:size]
        result = fold(self._functor, part, host.dtype.type(init) if part.size == 0 else init)
        note_call(getattr(self._functor, "__name__", "reduce"), part.size)
        synchronize()
        if res is None:
            return host.dtype.type(result)
        if isinstance(res, DeviceArray):
            res.setitem(0, result)
        else:
            as_host_array(res)[0] = result
        return None


reduce = Reduce
