"""Return of arrays from compiled code to Python: the object for memory of an array that was passed in."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_types.device_arrays.views import elements_of, host_numbers, is_all_of
from kapi_types.usm.queue_waits import queue_of
from kapi_types.usm.usm_array import array_fields

__all__ = ["UsmView", "host_fields", "view_of"]


class UsmView:
    """Part of another array's memory, for libraries that know no views: it speaks the protocol and keeps its owner.

    Parameters
    ----------
    owner : object
        The array whose memory it is.
    interface : dict
        What `__sycl_usm_array_interface__` shall say.

    Attributes
    ----------
    owner : object
    __sycl_usm_array_interface__ : dict
    """

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__sycl_usm_array_interface__ = interface

    @property
    def usm_type(self) -> str | None:
        """The owner's USM kind."""
        kind: str | None = getattr(self.owner, "usm_type", None)
        return kind

    @property
    def sycl_queue(self) -> Any:
        """The owner's queue."""
        return queue_of(self.owner)


def view_of(owner: Any, dtype: np.dtype[Any], address: int, *steps: int) -> Any:
    """The array of `owner`'s memory that begins at `address`: `owner` itself if it is the same.

    - `owner`: an array with the protocol.
    - `dtype`: type of one element.
    - `address`: where element (0, ..., 0) is.
    - `*steps`: lengths of all axes, then the strides of all axes in bytes.

    Returns a dpnp array if `owner` is one, else a `UsmView`. Raises `TypeError` if there is no owner, or the strides
    are no multiple of the elements' size.
    """
    shape, strides = elements_of(owner, dtype, steps)
    fields = array_fields(owner)
    if is_all_of(fields, dtype, address, shape, strides):
        return owner
    # Memory is known by its allocation, so a view is described from where its owner's begins.
    base = owner.__sycl_usm_array_interface__["data"][0]
    offset, misaligned = divmod(address - base, dtype.itemsize)
    if misaligned:
        base, offset = address, 0
    elif hasattr(owner, "get_array"):
        return _view_of_dpnp(owner, shape, dtype, strides, offset)
    interface = {
        "data": (base, fields.readonly),
        "shape": shape,
        "strides": strides,
        "offset": offset,
        "typestr": dtype.str,
        "version": 1,
        "syclobj": fields.owner,
    }
    return UsmView(owner, interface)


def _view_of_dpnp(
    owner: Any, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...], offset: int
) -> Any:
    """A dpnp array of the same allocation, by the constructors that dpnp's own slicing uses."""
    inner = owner.get_array()
    view = type(inner)(shape, dtype=dtype, buffer=inner.usm_data, strides=strides, offset=offset)
    if not inner.flags.writable:
        view.flags.writable = False
    return type(owner)._create_from_usm_ndarray(view)


def host_fields(array: Any, rank: int) -> tuple[int, ...]:
    """The fields of an array that compiled code reads by its protocol; see `host_numbers`."""
    return host_numbers(array_fields(array), rank)
