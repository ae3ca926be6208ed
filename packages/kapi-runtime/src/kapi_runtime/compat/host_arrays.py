"""Arrays that the host reads, in memory that devices use as well, by numba.cuda's names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kapi_runtime.compat.array_forms import Form, form_like, form_of
from kapi_runtime.compat.device_arrays import platform_for
from kapi_runtime.compat.streams import queue_of_stream
from kapi_runtime.platform.interface import MemoryKind
from kapi_runtime.platform.interface.numba_cuda import lacking
from kapi_runtime.platform.numba_cuda_arrays import HostReadableArray

__all__ = [
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "pinned",
    "pinned_array",
    "pinned_array_like",
]


def pinned_array(
    shape: int | tuple[int, ...], dtype: Any = np.float64, strides: Any = None, order: str = "C"
) -> np.ndarray[Any, Any]:
    """Return a new NumPy array in pinned memory of the host, from and to which copies overlap with other work.

    Parameters
    ----------
    shape, dtype, strides, order
        As `device_array` has them.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    UsmAllocationError
        If there is not so much memory.
    """
    return _new(form_of(shape, dtype, strides, order), "host", 0).view(np.ndarray)


def pinned_array_like(ary: Any) -> np.ndarray[Any, Any]:
    """Return a new `pinned_array` of an array's shape, type, and order of axes in memory.

    Parameters
    ----------
    ary : array
        An array of the host or a device.

    Returns
    -------
    numpy.ndarray
    """
    return _new(form_like(ary), "host", 0).view(np.ndarray)


def mapped_array(
    shape: int | tuple[int, ...],
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    portable: bool = False,
    wc: bool = False,
) -> HostReadableArray:
    """Return a new NumPy array in pinned memory of the host, which kernels take and use in place.

    Parameters
    ----------
    shape, dtype, strides, order
        As `device_array` has them.
    stream : Queue or 0
        The queue that it belongs to; 0 is the default queue.
    portable : bool
        Whether all devices of the platform may use it, as they may always.
    wc : bool
        Whether the host only writes it; True is refused, since no platform has such memory here.

    Returns
    -------
    HostReadableArray

    Raises
    ------
    LimitError
        If `wc` is True.
    UsmAllocationError
        If there is not so much memory.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> import kapi_runtime.compat as cuda
    >>> @kapi.kernel
    ... def double(item: kapi.Item, a):
    ...     a[item.get_id(0)] *= 2
    >>> values = cuda.mapped_array(3, "int32")
    >>> values[:] = [1, 2, 3]
    >>> double[kapi.Range(3)](values)
    >>> values.sum()
    np.int64(12)
    """
    _require_no_write_combining(wc)
    return _new(form_of(shape, dtype, strides, order), "host", stream)


def mapped_array_like(ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False) -> HostReadableArray:
    """Return a new `mapped_array` of an array's shape, type, and order of axes in memory.

    Parameters
    ----------
    ary : array
        An array of the host or a device.
    stream, portable, wc
        As `mapped_array` has them.

    Returns
    -------
    HostReadableArray
    """
    _require_no_write_combining(wc)
    return _new(form_like(ary), "host", stream)


def managed_array(
    shape: int | tuple[int, ...],
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    attach_global: bool = True,
) -> HostReadableArray:
    """Return a new NumPy array in memory that moves between host and device, which kernels take and use in place.

    Parameters
    ----------
    shape, dtype, strides, order
        As `device_array` has them.
    stream : Queue or 0
        The queue that it belongs to; 0 is the default queue.
    attach_global : bool
        Whether all queues may use it; False is refused, since no platform attaches memory to one here.

    Returns
    -------
    HostReadableArray

    Raises
    ------
    LimitError
        If `attach_global` is False, or the device has no such memory.
    UsmAllocationError
        If there is not so much memory.
    """
    if not attach_global:
        raise lacking("managed_array(attach_global=False)", "leave attach_global out: all queues may use it")
    return _new(form_of(shape, dtype, strides, order), "shared", stream)


@contextmanager
def pinned(*arylist: np.ndarray[Any, Any]) -> Iterator[None]:
    """Pin NumPy arrays in a ``with`` block, so that copies from and to them overlap with other work.

    Parameters
    ----------
    *arylist : numpy.ndarray
        The arrays.

    Raises
    ------
    LimitError
        If the platform of the current device cannot, as SYCL: `pinned_array` makes such arrays.
    """
    with platform_for(None).numba_cuda.pinned(arylist, False, None):
        yield


@contextmanager
def mapped(*arylist: np.ndarray[Any, Any], **kws: Any) -> Iterator[Any]:
    """Let kernels use NumPy arrays in place in a ``with`` block, which gets the arrays that kernels take.

    Parameters
    ----------
    *arylist : numpy.ndarray
        The arrays.
    **kws
        `stream` alone: the queue that they belong to; 0 is the default queue.

    Yields
    ------
    array or list of array
        One array for one, a list for several.

    Raises
    ------
    LimitError
        If the platform of the current device cannot, as SYCL: `mapped_array` makes such arrays.
    """
    queue = queue_of_stream(kws.pop("stream", 0))
    if kws:
        raise TypeError(f"mapped must be given no keyword but stream, got {', '.join(kws)}")
    with platform_for(queue).numba_cuda.pinned(arylist, True, queue) as arrays:
        yield arrays[0] if len(arrays) == 1 else arrays


def _require_no_write_combining(wc: bool) -> None:
    if wc:
        raise lacking("mapped_array(wc=True)", "leave wc out: the host reads the memory, too")


def _new(form: Form, kind: MemoryKind, stream: Any) -> HostReadableArray:
    queue = queue_of_stream(stream)
    flat: Any = platform_for(queue).numba_cuda.host_readable(form.nbytes, kind, queue)
    if 0 in form.shape:
        return flat[:0].view(form.dtype).reshape(form.shape)  # type: ignore[no-any-return]
    return np.lib.stride_tricks.as_strided(  # type: ignore[return-value]
        flat.view(form.dtype), form.shape, form.byte_strides, subok=True
    )
