"""The layout of a kernel's local memory: in the module, or in the piece that a launch asks for."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ALIGNMENT", "SCRATCH_BYTES", "STATIC_BYTES", "dynamic_bytes", "is_static"]

ALIGNMENT = 16
"""Bytes that each parameter's local memory begins at a multiple of."""

SCRATCH_BYTES = 32 * 8
"""The memory of group algorithms: a value of 64 bits for each sub-group."""

STATIC_BYTES = 48 * 1024
"""The most that a module may hold; a launch may ask for more, as far as the device has it."""


def dynamic_bytes(sizes: Sequence[int]) -> int:
    """The bytes of one piece for parts of these sizes, in their order.

    Examples
    --------
    >>> dynamic_bytes([20, 4])
    48
    """
    return sum(size + -size % ALIGNMENT for size in sizes)


def is_static(sizes: Sequence[int | None]) -> bool:
    """Whether local memory of these sizes, None where only the launch knows, lies in the module.

    Examples
    --------
    >>> is_static([1024, 64]), is_static([1024, None]), is_static([49152])
    (True, False, False)
    """
    known = [size for size in sizes if size is not None]
    return len(known) == len(sizes) and dynamic_bytes(known) + SCRATCH_BYTES <= STATIC_BYTES
