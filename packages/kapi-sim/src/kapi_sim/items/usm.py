"""Arrays in unified shared memory, copied in and out by their own methods.

The library that made them is never imported: an array that can copy itself to the host (`asnumpy`)
and be assigned to (``array[...] = values``) is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError
from kapi_sim.language.usm_protocol import is_usm_array, protocol_fields

__all__ = ["HostCopy", "copy_in", "copy_out_changed", "element_addresses", "is_usm_array", "memory_span"]


def memory_span(value: Any) -> tuple[int, int]:
    """Return the lowest address that the array uses, and the end of the highest, in bytes."""
    return protocol_fields(value).span


def element_addresses(value: Any) -> list[int]:
    """Return the address of each element of the array, in bytes, the last axis the fastest."""
    fields = protocol_fields(value)
    addresses = np.full(fields.shape, fields.pointer, np.int64)
    for axis, (extent, stride) in enumerate(zip(fields.shape, fields.strides, strict=True)):
        steps = np.arange(extent) * (stride * fields.dtype.itemsize)
        addresses += steps.reshape(-1, *[1] * (len(fields.shape) - axis - 1))
    return [int(address) for address in addresses.flat]


def copy_in(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Return a copy of the array on the host.

    Raises `DtypeError` if the array cannot copy itself to the host.
    """
    copier = getattr(value, "asnumpy", None)
    if not callable(copier):
        raise DtypeError(
            f"argument `{name}` must be able to copy itself to the host, got {type(value).__name__} without "
            "`asnumpy`: pass a NumPy copy of it",
            code="no-host-copy",
        )
    return np.array(copier())


@dataclass(frozen=True, slots=True)
class HostCopy:
    """An array in unified shared memory, and its copy that the kernel works on.

    - `name`: the kernel's name for it.
    - `host`, `before`: the copy, and what it held at first.
    """

    name: str
    array: Any
    host: np.ndarray[Any, Any]
    before: np.ndarray[Any, Any]

    def has_changed(self) -> bool:
        """Whether the kernel changed the copy."""
        return self.host.tobytes() != self.before.tobytes()


def copy_out_changed(copies: list[HostCopy]) -> None:
    """Write the copies that a kernel changed back to their arrays.

    Raises `DtypeError` if a changed array shares memory with another argument: each was a copy of its own, so the
    kernel did not see what it would see on a device.
    """
    changed = [copy for copy in copies if copy.has_changed()]
    for copy in changed:
        low, high = memory_span(copy.array)
        for other in copies:
            start, end = memory_span(other.array)
            if other is not copy and low < end and start < high:
                raise DtypeError(
                    f"argument `{copy.name}` must not share unified shared memory with `{other.name}` if the kernel "
                    "writes it in the simulator, which works on copies, got two views of one buffer: pass NumPy arrays",
                    code="copies-share-memory",
                )
    for copy in changed:
        copy.array[...] = copy.host
