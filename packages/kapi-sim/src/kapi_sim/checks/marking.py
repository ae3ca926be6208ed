"""Arrays that the host left uninitialised, as the user marks them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kapi_sim.errors import KernelLaunchError

__all__ = ["Uninitialised", "marked_arrays"]


class Uninitialised:
    """Memory that holds nothing until a kernel writes it.

    Parameters
    ----------
    arrays : list of numpy.ndarray
        Whole arrays, or views.

    Attributes
    ----------
    written : set of int
        Addresses of elements that kernels have written.
    """

    __slots__ = ("_arrays", "written")

    def __init__(self, arrays: list[np.ndarray[Any, Any]]) -> None:
        self._arrays = arrays
        self.written: set[int] = set()

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Tell whether `array` is, or is a view of, what was marked."""
        return any(np.may_share_memory(array, marked) for marked in self._arrays)


def marked_arrays(arrays: Iterable[Any]) -> Uninitialised | None:
    """Return the memory of these arrays, or `None` if there are none.

    Raises
    ------
    KernelLaunchError
        If one is no NumPy array.
    """
    given = [arrays] if isinstance(arrays, np.ndarray) else list(arrays)
    for array in given:
        if not isinstance(array, np.ndarray):
            raise KernelLaunchError(
                f"uninitialised must name NumPy arrays, got {array!r} of type {type(array).__name__}: "
                "unified shared memory is copied for each launch, and cannot be followed"
            )
    return Uninitialised(given) if given else None
