"""Failures of work-items, which the launch raises afterwards: numbered at compile time, recorded on the device.

The device knows an exception by its number only. The first work-item that fails claims the launch's record, 64 bytes of
global memory that the host has zeroed, by compare-exchange; the host reads it when the kernel has run.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

__all__ = ["FAILURE_RECORD_SIZE", "Failure", "FailureRecord", "FailureTable"]

_RECORD = struct.Struct("<q3q3qq")

FAILURE_RECORD_SIZE = _RECORD.size
"""Bytes of a record: the failure's number, the work-item's global id, three details, and one word of padding."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of a work-item at one source location.

    Attributes
    ----------
    error : str
        Name of one of Python's own exceptions; "OutOfBoundsError" for an index outside its axis,
        "CollectiveMismatchError" for a member that a group does not have; "DivisionByZeroError" or "OperandError" for
        operands without a result.
    args : tuple
        Its constant arguments; for an index, the name of the array; for a member, the group algorithm, its parameter,
        and the kind of group; for operands, the code and the text.
    filename, line : str, int
        Where.
    """

    error: str
    args: tuple[Any, ...]
    filename: str
    line: int


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """The record of the first failing work-item.

    Attributes
    ----------
    number : int
        Index into `SpirvModule.failures`.
    global_id : tuple of int
        The work-item, in the kernel's order of dimensions, with zeros for those that the kernel does not have.
    details : tuple of int
        For an index: the index, the axis, and its extent; for a member of a group: its number, 0, and their number.
    """

    number: int
    global_id: tuple[int, int, int]
    details: tuple[int, int, int]

    @classmethod
    def read(cls, memory: bytes) -> FailureRecord | None:
        """The record in `memory`; None if no work-item has failed.

        Examples
        --------
        >>> FailureRecord.read(bytes(FAILURE_RECORD_SIZE)) is None
        True
        """
        code, x, y, z, *details, _ = _RECORD.unpack(memory)
        if code == 0:
            return None
        return cls(code - 1, (x, y, z), (details[0], details[1], details[2]))


class FailureTable:
    """The failures of one module, in the order in which they are found."""

    def __init__(self) -> None:
        self._codes: dict[Failure, int] = {}

    def code(self, failure: Failure) -> int:
        """The number on the device, from 1."""
        return self._codes.setdefault(failure, len(self._codes) + 1)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """All that have a number, in its order."""
        return tuple(self._codes)
