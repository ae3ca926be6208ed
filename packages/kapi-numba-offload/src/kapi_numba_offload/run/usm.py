"""The array library, dpnp: its functions, its arrays in hand, and new ones as cheap as they can be had.

No other module imports it: the others have its arrays, its functions by name, and how it differs from NumPy, from here.
A second array library is a second module like this one, and a choice between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from types import ModuleType
from typing import Any

import dpnp
import numpy as np
from dpnp.dpnp_array import dpnp_array

from kapi_numba_offload.run.buffer_pool import KINDS, memory_for
from kapi_runtime.launch.overlaps import shares_memory
from kapi_sim.finishing import finish
from kapi_sim.language.array_memory import may_share
from kapi_types import array_fields, is_usm_array

__all__ = [
    "LIBRARY",
    "MEANINGLESS_PARAMETERS",
    "PARAMETER_NAMES",
    "REQUIRED_PARAMETERS",
    "DpnpArray",
    "allocate",
    "allocator",
    "as_bytes",
    "as_dpnp",
    "as_dpnp_array",
    "flat_view",
    "has_host_memory",
    "host_bytes",
    "host_copy",
    "host_view_at",
    "host_views",
    "is_dpnp_array",
    "is_reachable",
    "is_same_view",
    "like",
    "may_overlap",
    "may_share_memory",
    "memory_kind",
    "store_elements",
    "view_of",
]

LIBRARY: ModuleType = dpnp
"""The module with the library's functions, by NumPy's names for them."""

DpnpArray = dpnp_array
"""The class of its arrays."""

PARAMETER_NAMES = {"a_min": "min", "a_max": "max", "v": "values"}
"""Its names of parameters, by NumPy's, where they differ."""

REQUIRED_PARAMETERS: dict[str, dict[str, Any]] = {"linspace": {"num": 50}}
"""By the names of functions, parameters that have a default in NumPy alone, with that."""

MEANINGLESS_PARAMETERS = {"subok": (True, False), "like": (None,), "device": (None, "cpu"), "out": (None,)}
"""Values of parameters that dpnp's functions need not be given."""

_UsmNdarray = dpnp.tensor.usm_ndarray
_BYTE = np.dtype(np.uint8)
_wrap = dpnp_array._create_from_usm_ndarray
memory_kind = KINDS
"""The USM kind by the class of an array's memory, which is faster to read than the array's own word for it."""


def is_dpnp_array(value: object) -> bool:
    """Whether `value` is one of dpnp's arrays."""
    return isinstance(value, dpnp_array)


def as_dpnp_array(value: Any, queue: Any, kind: str = "device") -> Any:
    """A copy of a NumPy array or number as a dpnp array.

    Parameters
    ----------
    value : numpy.ndarray or number
        What is copied.
    queue : dpctl.SyclQueue
        Where to.
    kind : {"device", "shared", "host"}
        USM kind of the memory.
    """
    return dpnp.asarray(value, sycl_queue=queue, usm_type=kind)


def allocate(shape: tuple[int, ...], dtype: np.dtype[Any], kind: str, queue: Any) -> Any:
    """A new C-contiguous dpnp array, its values undefined.

    `dpnp.empty` does the same in twice the time.

    Parameters
    ----------
    shape : tuple of int
        Elements along each axis.
    dtype : numpy.dtype
        Type of one element.
    kind : {"device", "shared", "host"}
        USM kind of the memory.
    queue : dpctl.SyclQueue
        Whose device and context it belongs to.
    """
    # An array without elements has memory, too: SYCL allocates no zero bytes.
    memory = memory_for(max(1, prod(shape)) * dtype.itemsize, kind, queue)
    return _wrap(_UsmNdarray(shape, dtype=dtype.str, buffer=memory, array_namespace=dpnp))


def allocator(shape: tuple[int, ...], dtype: np.dtype[Any], kind: str) -> Callable[[Any], Any]:
    """`allocate` for one shape, dtype and kind: a function of the queue, for calls that are made often."""
    size, text = max(1, prod(shape)) * dtype.itemsize, dtype.str

    def make(queue: Any) -> Any:
        return _wrap(_UsmNdarray(shape, dtype=text, buffer=memory_for(size, kind, queue), array_namespace=dpnp))

    return make


def flat_view(array: Any) -> Any:
    """A C-contiguous dpnp array's elements along one axis, in the same memory."""
    inner = array.get_array()
    return _wrap(
        _UsmNdarray(
            (inner.size,), dtype=inner.dtype.str, buffer=inner.usm_data, offset=inner._element_offset,
            array_namespace=dpnp,
        )
    )  # fmt: skip


def as_bytes(owner: Any, low: int, high: int) -> Any:
    """The memory from one address to another, as an array of bytes; it belongs to the dpnp array `owner`."""
    memory = owner._array_obj.usm_data
    offset = low - memory._pointer
    return _wrap(_UsmNdarray((high - low,), dtype="|u1", buffer=memory, offset=offset, array_namespace=dpnp))


def is_reachable(array: Any) -> bool:
    """Whether the host can read and write a dpnp array's memory where it lies."""
    if array.usm_type != "device":
        return True
    return has_host_memory(array.sycl_device)


def has_host_memory(device: Any) -> bool:
    """Whether a device's own memory is the host's: a processor takes any memory of the host as its own."""
    return bool(device.is_cpu and device.has_aspect_usm_system_allocations)


class _ArrayInterface:
    """Elements at an address as NumPy sees memory, with what keeps them."""

    def __init__(
        self, owner: Any, low: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, readonly: bool = False
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (low, readonly),
            "shape": shape,
            "strides": strides,
            "typestr": dtype.str,
            "version": 3,
        }


def host_bytes(owner: Any, low: int, high: int) -> np.ndarray[Any, Any]:
    """The memory from one address to another as a NumPy array of bytes; a copy if the host cannot reach it.

    It waits for all that the queue of the dpnp array `owner` has been given.
    """
    if not is_reachable(owner):
        copy: np.ndarray[Any, Any] = as_bytes(owner, low, high).asnumpy()
        return copy
    finish(owner.sycl_queue)
    return np.asarray(_ArrayInterface(owner, low, (high - low,), (1,), _BYTE))


def host_copy(array: Any) -> np.ndarray[Any, Any]:
    """A dpnp array's elements in the host's memory, after all that its queue has been given."""
    if array.size == 0 or not is_reachable(array):
        copy: np.ndarray[Any, Any] = array.asnumpy()
        return copy
    (view,) = host_views(array.sycl_queue, (array,))
    return np.array(view)


def host_views(queue: Any, arrays: Iterable[Any]) -> list[np.ndarray[Any, Any]]:
    """Arrays whose memory the host reaches, as NumPy arrays in that memory, after what their queue has been given."""
    finish(queue)
    return list(map(_host_view, arrays))


def _host_view(array: Any) -> np.ndarray[Any, Any]:
    fields = array_fields(array)
    steps = tuple(stride * fields.dtype.itemsize for stride in fields.strides)
    return np.asarray(_ArrayInterface(array, fields.pointer, fields.shape, steps, fields.dtype))


def store_elements(array: Any, values: np.ndarray[Any, Any]) -> None:
    """Store into each element of a dpnp array what the NumPy array has there that lies in memory as it does."""
    if not array.size:
        return
    if is_reachable(array):
        np.copyto(host_views(array.sycl_queue, (array,))[0], values)
    else:  # an element that has several indices is stored once
        once = tuple(slice(None) if stride else slice(1) for stride in values.strides)
        array[once] = values[once]


def host_view_at(owner: np.ndarray[Any, Any], address: int, like: Any, *, is_writeable: bool) -> np.ndarray[Any, Any]:
    """The NumPy array at an address of `owner`'s memory that lies there as the dpnp array `like` lies in its own."""
    fields = array_fields(like)
    steps = tuple(stride * fields.dtype.itemsize for stride in fields.strides)
    return np.asarray(_ArrayInterface(owner, address, fields.shape, steps, fields.dtype, not is_writeable))


def as_dpnp(value: Any, seen: dict[int, tuple[Any, Any]]) -> Any:
    """A value whose USM arrays, those in tuples and lists included, are dpnp arrays over the same memory.

    Parameters
    ----------
    value : object
        Any value.
    seen : dict
        Gets each array that another one stands for, with that one, by the identity of the latter.
    """
    if isinstance(value, (tuple, list)):
        return like(value, [as_dpnp(each, seen) for each in value])
    if type(value) is dpnp_array or not is_usm_array(value):
        return value
    for original, view in seen.values():
        if original is value:
            return view
    view = _wrap(dpnp.tensor.asarray(value, copy=False))
    seen[id(view)] = value, view
    return view


def like(value: Any, items: Iterable[Any]) -> Any:
    """A tuple or list of other items; a named tuple stays one."""
    return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)


def view_of(owner: Any, address: int, like: np.ndarray[Any, Any], *, writable: bool = True) -> Any:
    """The dpnp array at an address of `owner`'s memory that lies there as the NumPy array `like` lies in its own."""
    memory = owner._array_obj.usm_data
    size = like.itemsize
    # Offsets are in elements, so the start of memory is in bytes.
    start = (address - memory._pointer) % size
    if start:
        memory = type(memory)(as_bytes(owner, memory._pointer + start, memory._pointer + memory.nbytes))
    made = _UsmNdarray(
        like.shape, dtype=like.dtype.str, buffer=memory, strides=tuple(stride // size for stride in like.strides),
        offset=(address - memory._pointer) // size, array_namespace=dpnp,
    )  # fmt: skip
    made.flags.writable = writable
    return _wrap(made)


def is_same_view(first: Any, second: Any) -> bool:
    """Whether an index means the same element, of the same dtype, in both dpnp arrays."""
    one, other = first._array_obj, second._array_obj
    return bool(
        one._pointer == other._pointer
        and one.shape == other.shape
        and one.strides == other.strides
        and one.dtype == other.dtype
    )


def may_share_memory(first: Any, second: Any) -> bool:
    """Whether two dpnp arrays share memory, as the same view or otherwise."""
    return is_same_view(first, second) or may_overlap(first, second)


def may_overlap(first: Any, second: Any) -> bool:
    """Whether two dpnp arrays share memory without being the same view of it.

    Views that lie between each other, as columns of one matrix do, share none. Where that is too hard to tell, they do.
    """
    if is_same_view(first, second):
        return False
    one, other = first._array_obj, second._array_obj
    if not (one.size and other.size and may_share(*one._byte_bounds, *other._byte_bounds)):
        return False
    return shares_memory(array_fields(first), array_fields(second))
