"""Arrays in the host's memory, as launches read them: NumPy's, and others by DLPack or ``__array_interface__``."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_runtime.platform import dlpack
from kapi_sim.errors import DtypeError
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["fields_of", "numpy_of"]


def numpy_of(value: Any) -> np.ndarray[Any, Any] | None:
    """Return NumPy's array of the memory of an array of the host, or None if it is none; copies nothing.

    - `value`: an array of NumPy, or of a library that offers DLPack or ``__array_interface__``.

    Raises `DtypeError` if it is a tensor of PyTorch whose values are not those in memory, or of which a gradient is
    recorded; its elements are of a type that NumPy does not have; or its interface is none that NumPy takes.
    """
    if isinstance(value, np.ndarray):
        return value
    if type(value).__module__.partition(".")[0] == "torch":
        return _of_torch(value)
    if dlpack.known_device_kind(value) == dlpack.CPU:
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError) as error:
            raise DtypeError(
                f"an array of the host must be readable by DLPack, got a {type(value).__name__}: {error}",
                code="argument-array-class",
            ) from error
    if isinstance(getattr(value, "__array_interface__", None), dict):
        try:
            return np.asarray(value)
        except (AttributeError, BufferError, OverflowError, TypeError, ValueError) as error:
            raise DtypeError(
                "an array of the host must have an `__array_interface__` that NumPy takes, got a "
                f"{type(value).__name__} with another",
                code="argument-array-class",
            ) from error
    return None


def fields_of(value: Any, owner: Any) -> ArrayFields | None:
    """Read an array of the host in place; None if it is none.

    - `value`: the array.
    - `owner`: the queue that it is launched on.

    Raises `DtypeError` if its elements are in another byte order than the processor's, or are not where elements of
    their size may be.
    """
    array = numpy_of(value)
    if array is None:
        return None
    dtype = array.dtype
    if not dtype.isnative and dtype.names is None:  # of records, the field is told that is not
        raise DtypeError(
            f"an array must be in the processor's byte order, got {dtype.str}: pass "
            "`array.astype(array.dtype.newbyteorder('='))`, and copy the result back",
            code="argument-dtype",
        )
    size = dtype.itemsize
    strides = array.strides
    if not size or not array.flags.aligned or any(stride % size for stride in strides):
        if not size:
            raise DtypeError(f"elements of an array must have a size, got {dtype}", code="argument-dtype")
        if array.size:  # without elements, nothing is read
            raise DtypeError(
                f"elements of an array must be at multiples of their size, got {dtype} at "
                f"{array.__array_interface__['data'][0]:#x} with steps of {strides} bytes: pass a copy",
                code="array-misaligned",
            )
        strides = tuple(0 for _ in strides)
    pointer = array.__array_interface__["data"][0]
    elements = tuple(stride // size for stride in strides)
    return ArrayFields(pointer, array.shape, elements, dtype, not array.flags.writeable, owner)


def _of_torch(value: Any) -> np.ndarray[Any, Any] | None:
    if not hasattr(value, "data_ptr"):
        return None
    if value.requires_grad:
        raise DtypeError(
            "a tensor must be without requires_grad, since kernels record nothing for its gradient, got one with it: "
            "pass `tensor.detach()`",
            code="tensor-form",
        )
    if value.is_conj() or value.is_neg():
        raise DtypeError(
            "a tensor must hold its values, got one that is conjugated or negated when it is read: pass "
            "`tensor.resolve_conj().resolve_neg()`",
            code="tensor-form",
        )
    try:
        array: np.ndarray[Any, Any] = value.numpy()
    except (TypeError, RuntimeError) as error:
        raise DtypeError(
            f"a tensor must be dense, and of elements that NumPy has, got one of {value.dtype}: {error}",
            code="tensor-form",
        ) from error
    return array
