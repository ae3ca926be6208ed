"""The array that an expression of arrays gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dpnp
import numpy as np

from kapi_types import is_usm_array

__all__ = ["broadcast", "empty_result", "result_dtype"]


def result_dtype(function: Callable[..., Any], args: Sequence[Any]) -> np.dtype[Any]:
    """The dtype of an array expression: NumPy is asked, with empty arrays of the same dtypes and ranks.

    Raises
    ------
    TypeError
        Where NumPy refuses the operands.
    """
    stand_ins = [np.empty((0,) * max(1, len(arg.shape)), arg.dtype) if is_usm_array(arg) else arg for arg in args]
    return np.asarray(function(*stand_ins)).dtype


def broadcast(arrays: Sequence[Any]) -> list[Any]:
    """Views of the arrays with their common shape.

    Raises
    ------
    ValueError
        If the shapes do not fit each other.
    """
    shapes = {array.shape for array in arrays}
    if len(shapes) == 1:
        return list(arrays)
    shape = np.broadcast_shapes(*shapes)
    return [dpnp.broadcast_to(dpnp.asarray(array), shape) for array in arrays]


def empty_result(arrays: Sequence[Any], shape: tuple[int, ...], dtype: np.dtype[Any], queue: Any) -> Any:
    """An array for the result, on the queue of the operands and of the USM kind that dpnp would choose."""
    kind = dpnp.tensor.get_coerced_usm_type([array.usm_type for array in arrays])
    return dpnp.empty(shape, dtype=dtype, usm_type=kind, sycl_queue=queue)
