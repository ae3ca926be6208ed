"""An array expression as one kernel: the function itself, applied to the elements at each index."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Sequence
from typing import Any

import dpnp
import numpy as np

import kapi_runtime
from kapi_numba_offload.arrays import broadcast, empty_result, result_dtype
from kapi_runtime.placement import execution_queue, placement_error
from kapi_types import array_fields, is_usm_array

__all__ = ["ArrayExpression"]

_MOST_DIMENSIONS = 3  # of an index space


class ArrayExpression:
    """A function of arrays and scalars that is evaluated element by element, fused into one kernel.

    Parameters
    ----------
    function : function
        One expression of its parameters, made of operators; see `eligibility`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.names = list(inspect.signature(function).parameters)
        self._kernels: dict[tuple[int, tuple[bool, ...]], kapi_runtime.Kernel] = {}

    def __call__(self, *args: Any) -> Any:
        """Evaluate on the device that holds the arrays.

        Parameters
        ----------
        *args : USM array or number
            One for each parameter of the function, at least one array.

        Returns
        -------
        dpnp.ndarray
            On the arrays' queue, with the dtype that NumPy's rules give and the arrays' common shape.

        Raises
        ------
        ExecutionPlacementError
            If the arrays do not share one queue, or one of them is a NumPy array.
        ValueError
            If their shapes do not fit each other.
        """
        is_array = tuple(is_usm_array(arg) for arg in args)
        for name, arg in zip(self.names, args, strict=True):
            if isinstance(arg, np.ndarray):
                raise placement_error(
                    f"arguments of {self.function.__name__} must be all USM arrays or all NumPy arrays, got a "
                    f"NumPy array as `{name}`: `dpnp.asarray({name})` copies it to the default device"
                )
        arrays = [arg for arg, array in zip(args, is_array, strict=True) if array]
        owners = [
            (name, array_fields(arg).queue)
            for name, arg, array in zip(self.names, args, is_array, strict=True)
            if array
        ]
        queue = execution_queue(self.function.__name__, owners)
        dtype = result_dtype(self.function, args)
        views = broadcast(arrays)
        shape = views[0].shape
        result = empty_result(arrays, shape, dtype, queue)
        if len(shape) > _MOST_DIMENSIONS:
            views = [dpnp.reshape(view, -1) for view in views]
        target = result.reshape(-1) if len(shape) > _MOST_DIMENSIONS else result
        remaining = iter(views)
        operands = [next(remaining) if array else arg for arg, array in zip(args, is_array, strict=True)]
        space = kapi_runtime.Range(*(target.shape or (1,)))
        kapi_runtime.call_kernel_async(self._kernel(target.ndim, is_array), space, (), target, *operands)
        return result

    def _kernel(self, ndim: int, is_array: tuple[bool, ...]) -> kapi_runtime.Kernel:
        key = (ndim, is_array)
        if key not in self._kernels:
            self._kernels[key] = _elementwise_kernel(self.function, ndim, self.names, is_array)
        return self._kernels[key]


def _elementwise_kernel(
    function: Callable[..., Any], ndim: int, names: Sequence[str], is_array: Sequence[bool]
) -> kapi_runtime.Kernel:
    """The kernel that stores `function` of the elements at each index of its first argument."""
    name = function.__name__ if function.__name__.isidentifier() else "expression"  # not so for a lambda
    index = ", ".join(f"item.get_id({axis})" for axis in range(ndim)) or "()"
    operands = [f"{name}[at]" if array else name for name, array in zip(names, is_array, strict=True)]
    source = (
        f"def {name}(item, result, {', '.join(names)}):\n"
        f"    at = {index}\n"
        f"    result[at] = function({', '.join(operands)})\n"
    )
    filename = f"<kapi kernel of {function.__qualname__}, rank {ndim}, {is_array}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"function": function}
    exec(compile(source, filename, "exec"), namespace)
    return kapi_runtime.kernel(namespace[name])
