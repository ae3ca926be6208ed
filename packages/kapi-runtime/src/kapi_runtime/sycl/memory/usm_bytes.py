"""The memory of an array as dpctl knows memory: a `dpctl.memory` object of the bytes between its ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from dpctl.memory import as_usm_memory

from kapi_sim.errors import DtypeError
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["memory_at", "require_memory"]

_BYTE = np.dtype(np.uint8)


@dataclass(frozen=True, slots=True)
class _Bytes:
    """The memory of an array, from its lowest byte, by the protocol of USM arrays; keeps its owner."""

    __sycl_usm_array_interface__: dict[str, Any]
    owner: Any


def memory_at(fields: ArrayFields, owner: Any = None) -> Any:
    """Return the memory from the lowest element to the end of the highest; waits for nothing.

    - `fields`: where an array that has elements is.
    - `owner`: what keeps the memory; by default, somebody else does.

    Raises `ValueError` if the driver does not know the memory.
    """
    low, high = fields.span
    interface = {"data": (low, False), "shape": (max(1, high - low),), "typestr": "|u1", "strides": None}
    return as_usm_memory(_Bytes({**interface, "version": 1, "syclobj": fields.owner}, owner))


def require_memory(fields: ArrayFields) -> None:
    """Raise unless what an object tells of its array begins and ends in unified shared memory of its queue's context.

    Raises `DtypeError` if the driver does not know the memory.
    """
    low, high = fields.span
    if low == high:
        return
    for address in (low, high - 1):
        end = ArrayFields(address, (1,), (1,), _BYTE, False, fields.owner)
        try:
            memory_at(end)
        except ValueError as error:
            raise DtypeError(
                f"an array must be in unified shared memory of its queue's context, got address {address:#x}, which "
                "the driver does not know: make it by dpnp or dpctl",
                code="usm-array-interface",
            ) from error
