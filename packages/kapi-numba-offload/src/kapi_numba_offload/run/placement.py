"""Whether what meets in one expression lives in one place; if not, an error with the names and the line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kapi_runtime.platform.placement import placement_error
from kapi_runtime.sycl.placement import execution_queue
from kapi_sim.errors import ExecutionPlacementError
from kapi_types import array_fields, is_usm_array

__all__ = ["mixed_error", "not_on_device_error", "one_queue"]


def mixed_error(place: Any, usm: str, host: str, *, is_stored: bool = False) -> Exception:
    """The error for a NumPy array that meets a USM array.

    Parameters
    ----------
    place : Place
        Where they meet.
    usm, host : str
        How the USM array and the NumPy array are spelled there.
    is_stored : bool
        Whether the one is stored to the other.
    """
    remedy = (
        f"`({usm}).asnumpy()` copies it to the host"
        if is_stored
        else f"`dpnp.asarray({host})` copies it to the default device"
    )
    return placement_error(
        f"arrays of one expression must be all USM arrays or all NumPy arrays, got USM array `{usm}` and a NumPy array "
        f"as `{host}`: {remedy}\n  {place}: {place.text}",
        "arrays-mixed",
    )


def not_on_device_error(place: Any, name: str, host: str) -> Exception:
    """The error for a NumPy array that one of dpnp's functions is given.

    Parameters
    ----------
    place : Place
        Where it is called.
    name : str
        The function's name.
    host : str
        How the NumPy array is spelled there.
    """
    return placement_error(
        f"arrays that dpnp.{name}() is given must be USM arrays, got a NumPy array as `{host}`: "
        f"`dpnp.asarray({host})` copies it to the default device\n  {place}: {place.text}",
        "arrays-mixed",
    )


def one_queue(place: Any, names: Sequence[str], values: Sequence[Any]) -> Any:
    """The one queue of the arrays among `values`.

    Raises
    ------
    ExecutionPlacementError
        If they have several, or one is a NumPy array.
    """
    arrays = [(name, value) for name, value in zip(names, values, strict=True) if is_usm_array(value)]
    for name, value in zip(names, values, strict=True):
        if isinstance(value, np.ndarray) and arrays:
            raise mixed_error(place, arrays[0][0], name)
    try:
        return execution_queue(place.function, [(name, array_fields(value).owner) for name, value in arrays])
    except ExecutionPlacementError as error:
        raise placement_error(f"{error.message}\n  {place}: {place.text}", error.code) from None
