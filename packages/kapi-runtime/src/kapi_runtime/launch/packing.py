"""The packed argument: one structure with all pointers, shapes, strides and numbers that a kernel is submitted with.

Repeated launches are packed by their plan, which each platform has its own code for.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from kapi_lowering import KernelModule
from kapi_runtime.launch.arguments import Arguments
from kapi_sim import DtypeError

__all__ = ["packed_arguments", "with_address"]


def packed_arguments(module: KernelModule, extents: Sequence[int], arguments: Arguments) -> bytes:
    """Return the packed argument that is submitted with a kernel; where it has a record, its address is 0.

    - `extents`: what it says of the index space.

    Raises `DtypeError` if a number does not fit its type in the kernel.
    """
    try:
        return module.packed(extents, arguments.read)
    except (struct.error, OverflowError) as error:
        raise DtypeError(
            f"arguments of kernel `{module.name}` must fit their types, got {arguments.describe()}: {error}",
            code="number-unfit",
        ) from error


def with_address(packed: bytes, module: KernelModule, address: int) -> bytes:
    """Return the packed argument with the address of the launch's record as its last field."""
    changed = bytearray(packed)
    struct.pack_into("<Q", changed, module.layout.fields[-1].offset, address)
    return bytes(changed)
