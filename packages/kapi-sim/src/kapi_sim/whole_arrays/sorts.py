"""`sort`, `stable_sort` and `sort_by_key`: elements in order, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.errors import KernelLaunchError
from kapi_sim.whole_arrays.in_numpy import sort_in_numpy
from kapi_sim.whole_arrays.merge_sort import complex_less, merge_sort
from kapi_sim.whole_arrays.onesweep import RADIX_KINDS
from kapi_sim.whole_arrays.radix_sort import radix_sort
from kapi_sim.whole_arrays.world import World, one_dimensional, require_own, same_length

__all__ = ["Sorts"]


class Sorts:
    """`sort`, `stable_sort` and `sort_by_key` in a world.

    - `world`: where kernels run.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def sort(self, array: Any, less: Callable[[Any, Any], Any] | None = None, *, descending: bool = False) -> None:
        """Sort an array in place.

        Parameters
        ----------
        array : array of shape (n,)
            Of any platform, with any stride.
        less : function, optional
            A `device_func` of two elements: whether the first comes before the second, a strict weak order. By default
            the order of numbers: not-a-number comes last, as in NumPy, and -0.0 equals 0.0; complex numbers by real
            part, then imaginary part. Records need one.
        descending : bool
            Reverse the order; elements that are equal stay in theirs.

        Raises
        ------
        DtypeError
            If `array` is no array of rank 1, or of records without `less`.
        KernelLaunchError
            If `less` is no function for kernels, or `array` is read-only.

        Notes
        -----
        Numbers in their own order take a radix sort, and NumPy's own one in NumPy arrays; all else takes a merge sort.
        All are stable and deterministic. Scratch memory is as large as the array, of the pool of its library; a radix
        sort also takes 256 counts for each work-group, on NVIDIA GPUs 512 for each tile of at most 5888 elements. On a
        device the sort is not waited for.

        References
        ----------
        C++, [sort] and [stable.sort]; oneDPL, `oneapi::dpl::sort`.
        """
        self._sort(array, None, less, descending)

    def stable_sort(
        self, array: Any, less: Callable[[Any, Any], Any] | None = None, *, descending: bool = False
    ) -> None:
        """Sort an array in place, as `sort` does, which is stable.

        Parameters and errors are those of `sort`.
        """
        self._sort(array, None, less, descending)

    def sort_by_key(
        self, keys: Any, values: Any, less: Callable[[Any, Any], Any] | None = None, *, descending: bool = False
    ) -> None:
        """Sort keys in place, and move the value of each key with it.

        Parameters
        ----------
        keys : array of shape (n,)
            As for `sort`.
        values : array of shape (n,)
            Of any dtype.
        less, descending
            As for `sort`, of two keys.

        Raises
        ------
        DtypeError
            As by `sort`, of either array.
        KernelLaunchError
            As by `sort`; also if the arrays differ in length.

        Notes
        -----
        As of `sort`. Scratch memory is as large as both arrays.

        References
        ----------
        oneDPL, `oneapi::dpl::sort_by_key`.
        """
        one_dimensional(self._world, "values", values)
        one_dimensional(self._world, "keys", keys)
        same_length("values", values, "keys", keys)
        self._sort(keys, values, less, descending)

    def _sort(self, keys: Any, values: Any, less: Any, descending: bool) -> None:
        dtype = one_dimensional(self._world, "array" if values is None else "keys", keys)
        require_own("sorted", "less", dtype, is_own=less is not None)
        _require_writable("array" if values is None else "keys", keys)
        _require_writable("values", values)
        if keys.shape[0] < 2:
            return
        if less is None and self._world.has_done(
            lambda: sort_in_numpy(keys, values, descending), keys, *(() if values is None else (values,))
        ):
            return
        if less is None and dtype.kind in RADIX_KINDS:
            radix_sort(self._world, keys, values, dtype, descending)
        else:
            merge_sort(self._world, keys, values, dtype, complex_less if less is None else less, descending)


def _require_writable(name: str, array: Any) -> None:
    """Raise KernelLaunchError if a NumPy array is read-only."""
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        raise KernelLaunchError(
            f"{name} must be writable, since it is sorted in place, got a read-only array: pass a copy",
            code="argument-read-only",
        )
