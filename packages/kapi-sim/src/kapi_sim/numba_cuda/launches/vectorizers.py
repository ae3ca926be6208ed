"""``@cuda.vectorize`` and ``@cuda.guvectorize``: functions of elements and of parts of arrays."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce as fold
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, KernelLaunchError
from kapi_sim.numba_cuda.host.device_arrays import DeviceArray, as_host_array
from kapi_sim.numba_cuda.host.streams import synchronize
from kapi_sim.numba_cuda.launches.dispatcher import Dispatcher
from kapi_sim.numba_cuda.launches.launch_signatures import declared_signature
from kapi_sim.numba_cuda.launches.reductions import note_call
from kapi_sim.numba_cuda.static_types.kinds import Array, Kind, Number
from kapi_sim.numba_cuda.values.dtypes import conversion_of

__all__ = ["GUfunc", "Ufunc", "guvectorize", "vectorize"]


class Ufunc:
    """A function of numbers that is called with arrays.

    Parameters
    ----------
    function : function
        Takes numbers and returns one.
    signatures : list
        Types, of which the first that takes the arguments without loss is used.
    """

    def __init__(self, function: Callable[..., Any], signatures: list[Any]) -> None:
        self.py_func = function
        self.__name__ = function.__name__
        self._types = [types for types in map(_result_and_parameters, signatures) if types is not None]

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Return the function's results for all elements, on the device if any argument is there.

        Parameters
        ----------
        *args
            Arrays and numbers, of shapes that broadcast.
        out : array, optional
            Takes the results.
        stream : object
            All streams are waited for.
        """
        count = self.py_func.__code__.co_argcount
        if len(args) == count + 1 and out is None:
            *args, out = args  # type: ignore[assignment]
        if len(args) != count:
            raise KernelLaunchError(
                f"`{self.__name__}` must be called with {count} arguments, got {len(args)}", code="argument-count"
            )
        arrays = [np.asarray(as_host_array(each)) for each in args]
        result, kinds = self._chosen(arrays)
        converted = [array.astype(kind) for array, kind in zip(arrays, kinds, strict=True)]
        # Integers of fewer than 64 bits are computed with in 64, as in kernels.
        values = [
            map(conversion_of(kind.type) or kind.type, each.flat)
            for kind, each in zip(kinds, np.broadcast_arrays(*converted), strict=True)
        ]
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        with np.errstate(all="ignore"):
            found = [self.py_func(*each) for each in zip(*values, strict=True)]
        made = np.array(found, result).reshape(shape) if result is not None else np.array(found).reshape(shape)
        note_call(self.__name__, made.size)
        synchronize()
        if out is not None:
            if isinstance(out, DeviceArray):
                out.setitem(Ellipsis, made)
            else:
                out[...] = made
            return out
        if any(isinstance(each, DeviceArray) for each in args):
            return DeviceArray.of(made)
        return made if made.ndim else made[()]

    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """Return the function's reduction of an array of one axis."""
        host = as_host_array(arg)
        if host.ndim != 1:
            raise KernelLaunchError(f"an array must have one axis to be reduced, got {host.ndim}", code="cuda-shape")
        if not len(host):
            raise DtypeError("an array must have elements to be reduced, got none", code="cuda-shape")
        note_call(self.__name__, host.size)
        synchronize()
        return fold(self.py_func, host)

    def _chosen(self, arrays: list[np.ndarray[Any, Any]]) -> tuple[np.dtype[Any] | None, list[np.dtype[Any]]]:
        for result, kinds in self._types:
            if all(np.can_cast(array.dtype, kind, "safe") for array, kind in zip(arrays, kinds, strict=True)):
                return result, kinds
        for result, kinds in self._types:
            if all(np.can_cast(array.dtype, kind, "same_kind") for array, kind in zip(arrays, kinds, strict=True)):
                return result, kinds
        if self._types:
            raise DtypeError(
                f"arguments of `{self.__name__}` must be of types that a signature takes, got "
                f"{', '.join(str(array.dtype) for array in arrays)}: convert them with astype",
                code="argument-type",
            )
        return None, [array.dtype for array in arrays]

    def __repr__(self) -> str:
        return f"<cuda.vectorize function {self.__name__}>"


def _result_and_parameters(signature: Any) -> tuple[np.dtype[Any] | None, list[np.dtype[Any]]] | None:
    declared = declared_signature(signature)
    kinds = [kind for kind in map(_number, declared.parameters) if kind is not None]
    return (_number(declared.result), kinds) if len(kinds) == len(declared.parameters) else None


def _number(kind: Kind | None) -> np.dtype[Any] | None:
    return kind.dtype if isinstance(kind, Number) else None


class GUfunc:
    """A function of parts of arrays, each call of which is a launch of one thread, with all checks.

    Parameters
    ----------
    function : function
        Takes arrays, and writes to those that stand last.
    signatures : list
        Types of the parameters.
    layout : str
        Their axes: ``"(m,n),(n,p)->(m,p)"``.
    """

    def __init__(self, function: Callable[..., Any], signatures: list[Any], layout: str) -> None:
        self.py_func = function
        self.__name__ = function.__name__
        self._kernel = Dispatcher(function, (), {})
        inputs, _, outputs = layout.partition("->")
        self._inputs, self._outputs = _axes(inputs), _axes(outputs)
        self._kinds = [_element_types(signature) for signature in signatures]

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Call the function for all indices of the axes that the layout does not name.

        Parameters
        ----------
        *args
            Inputs, then outputs if wanted.
        out : array, optional
            Takes the result.
        stream : object
            All streams are waited for.
        """
        count = len(self._inputs)
        given, targets = args[:count], [*args[count:], *([] if out is None else [out])]
        if len(given) < count:
            raise KernelLaunchError(
                f"`{self.__name__}` must be called with {count} inputs, got {len(given)}", code="argument-count"
            )
        arrays = [np.asarray(as_host_array(each)) for each in given]
        kinds = self._chosen(arrays)
        arrays = [array.astype(kind, copy=False) for array, (kind, _) in zip(arrays, kinds, strict=False)]
        extents: dict[str, int] = {}
        for array, axes in zip(arrays, self._inputs, strict=True):
            if array.ndim < len(axes):
                raise KernelLaunchError(
                    f"an input of `{self.__name__}` must have at least {len(axes)} axes, got {array.ndim}",
                    code="cuda-shape",
                )
            for name, extent in zip(axes, array.shape[array.ndim - len(axes) :], strict=True):
                if extents.setdefault(name, extent) != extent:
                    raise KernelLaunchError(
                        f"axis {name} of `{self.__name__}` must have one extent, got {extents[name]} and {extent}",
                        code="cuda-shape",
                    )
        loops = np.broadcast_shapes(
            *(a.shape[: a.ndim - len(axes)] for a, axes in zip(arrays, self._inputs, strict=True))
        )
        results = []
        for i, (axes, (kind, _)) in enumerate(zip(self._outputs, kinds[count:], strict=True)):
            shape = (*loops, *(extents[name] for name in axes))
            target = as_host_array(targets[i]) if i < len(targets) else np.zeros(shape, kind)
            if target.shape != shape:
                raise KernelLaunchError(
                    f"an output of `{self.__name__}` must be of shape {shape}, got {target.shape}", code="cuda-shape"
                )
            results.append(target)
        self._run(arrays, results, loops, kinds)
        synchronize()
        if targets:
            return targets[0]
        made = [DeviceArray.of(r) if any(isinstance(a, DeviceArray) for a in args) else r for r in results]
        return made[0] if len(made) == 1 else tuple(made)

    def _run(
        self, arrays: list[Any], results: list[Any], loops: tuple[int, ...], kinds: list[tuple[Any, bool]]
    ) -> None:
        full = [
            np.broadcast_to(a, (*loops, *a.shape[a.ndim - len(axes) :]))
            for a, axes in zip(arrays, self._inputs, strict=True)
        ]
        layouts = [*self._inputs, *self._outputs]
        for index in np.ndindex(*loops):
            parts: list[Any] = []
            for array, axes, (_, is_array) in zip([*full, *results], layouts, kinds, strict=True):
                part = array[(*index, ...)]
                parts.append(part if axes else part.reshape(1) if is_array else part[()])
            self._kernel.launched((1, 1, 1), (1, 1, 1), 0, tuple(parts))

    def _chosen(self, arrays: list[np.ndarray[Any, Any]]) -> list[tuple[np.dtype[Any], bool]]:
        for casting in ("safe", "same_kind"):
            for kinds in self._kinds:
                if all(np.can_cast(a.dtype, kind, casting) for a, (kind, _) in zip(arrays, kinds, strict=False)):
                    return kinds
        raise DtypeError(
            f"arguments of `{self.__name__}` must be of types that a signature takes, got "
            f"{', '.join(str(array.dtype) for array in arrays)}: convert them with astype",
            code="argument-type",
        )

    def __repr__(self) -> str:
        return f"<cuda.guvectorize function {self.__name__}>"


def _axes(text: str) -> list[tuple[str, ...]]:
    return [tuple(re.findall(r"\w+", part)) for part in re.findall(r"\(([^)]*)\)", text)]


def _element_types(signature: Any) -> list[tuple[np.dtype[Any], bool]]:
    """Return each parameter's type of elements, and whether it is an array."""
    return [
        ((each.dtype if isinstance(each, (Array, Number)) else None) or np.dtype(np.float64), isinstance(each, Array))
        for each in declared_signature(signature).parameters
    ]


def vectorize(ftylist_or_function: Any = (), **options: Any) -> Any:
    """Make a function of arrays of a function of numbers.

    Parameters
    ----------
    ftylist_or_function : list of signatures, or function
        The types, or what is decorated.
    **options
        For the compiler.
    """
    if hasattr(ftylist_or_function, "__code__"):
        return Ufunc(ftylist_or_function, [])
    signatures = [ftylist_or_function] if isinstance(ftylist_or_function, str) else list(ftylist_or_function)
    return lambda function: Ufunc(function, signatures)


def guvectorize(ftylist: Any, signature: str, **options: Any) -> Any:
    """Make a function of arrays of a function of parts of them.

    Parameters
    ----------
    ftylist : list of signatures
        The types.
    signature : str
        The axes of the parameters: ``"(m,n),(n,p)->(m,p)"``.
    **options
        For the compiler.
    """
    signatures = [ftylist] if isinstance(ftylist, str) else list(ftylist)
    return lambda function: GUfunc(function, signatures, signature)
