"""Failures of work-items on the device, raised on the host once the kernel has run.

A kernel compiled with `debug` or `boundscheck` has a record in its device's memory for each launch.  The first
work-item that fails fills it; whoever waits for the launch reads it, and raises.
"""

from __future__ import annotations

import linecache
import os
import stat
import sys
import warnings
from typing import Any

import numpy as np

from kapi_lowering import FAILURE_RECORD_SIZE, Failure, FailureRecord, KernelModule
from kapi_runtime.platform.interface import Platform
from kapi_sim import (
    CollectiveMismatchError,
    DivisionByZeroError,
    DriverError,
    KernelAssertionError,
    NdRange,
    OperandError,
    OutOfBoundsError,
    Range,
)
from kapi_sim.checks.bounds import describe_index
from kapi_sim.errors import KapiWarning
from kapi_sim.language.exceptions import made_exception

__all__ = ["FailureWatch"]


class FailureWatch:
    """The record of one launch.

    - `module`: the kernel, whose table of failures is not empty.
    - `space`: what it is launched over.
    - `queue`: the platform's queue that it goes to.
    - `address`: where the kernel writes.
    """

    __slots__ = ("_is_read", "_memory", "_platform", "_queue", "_space", "address", "module")

    def __init__(self, module: KernelModule, space: Range | NdRange, platform: Platform, queue: Any) -> None:
        self.module, self._space, self._platform = module, space, platform
        self._is_read, self._queue = False, queue
        self._memory = platform.allocate(queue, FAILURE_RECORD_SIZE, zeroed=True)
        self.address = self._memory.pointer

    def release(self) -> None:
        """Let go of the launch's arguments, and raise a work-item's failure; for the event that the host waits for."""
        self._platform.release()
        self.check()

    def check_again(self) -> None:
        """Raise the failure of a work-item, if one failed, and watch for the next failure; the kernel has run."""
        try:
            self.check()
        except BaseException:
            self._platform.copy_in(self._queue, self._memory, np.zeros(FAILURE_RECORD_SIZE, np.uint8))
            raise

    def check(self) -> None:
        """Raise the failure of a work-item, if one failed; the kernel has run.

        Raises `KernelAssertionError` if an `assert` failed; `OutOfBoundsError` if an index was outside its axis;
        `CollectiveMismatchError` if a group algorithm was asked for a work-item that the group does not have;
        `DivisionByZeroError` if an integer was divided by zero; `OperandError` if an integer was raised to a negative
        power; `Exception`: what a `raise` names; `DriverError` if the record is not one that the kernel's compiler
        writes.
        """
        self._is_read = True
        record = FailureRecord.read(self._memory.read(FAILURE_RECORD_SIZE))
        if record is None:
            return
        if not 0 <= record.number < len(self.module.failures):
            raise DriverError(
                f"record of failures of kernel `{self.module.name}` must hold a number up to "
                f"{len(self.module.failures)}, got {record.number + 1}: the memory was overwritten, or the module is "
                "none of kapi's",
                code="failure-record",
            )
        failure = self.module.failures[record.number]
        where = f"{self._work_item(record)} of kernel `{self.module.name}`, at {_source_location(failure)}"
        if failure.error == "OutOfBoundsError":
            raise OutOfBoundsError(
                f"{_describe_index(failure, record)}\n  in {where}",
                code="negative-index" if record.details[0] < 0 else "index-out-of-bounds",
            )
        if failure.error == "CollectiveMismatchError":
            word, parameter, kind = failure.args
            location, _, size = record.details
            raise CollectiveMismatchError(
                f"{parameter} of {word} must be from 0 to {size - 1} in this {kind}, got {location}\n  in {where}",
                code="no-such-work-item",
            )
        if failure.error in _OF_OPERANDS:
            code, text = failure.args
            raise _OF_OPERANDS[failure.error](f"{text}\n  in {where}", code=code)
        if failure.error == "AssertionError":
            said = f": {failure.args[0]}" if failure.args else ""
            raise KernelAssertionError(
                f"assert must hold for every work-item, got one that fails{said}\n  in {where}", code="assert-failed"
            )
        error = made_exception(failure.error, failure.args)
        error.add_note(f"in {where}")
        raise error

    def __del__(self) -> None:
        # Held until the kernel has run: what nobody has waited for, nobody would hear of.
        if getattr(self, "_is_read", True) or sys.is_finalizing():
            return
        try:
            self.check()
        except Exception as error:
            warnings.warn(
                f"a launch of kernel `{self.module.name}` failed, and no one waited for its host event: "
                f"{type(error).__name__}: {error}; call `wait()` of the host event, which raises it",
                KapiWarning,
                stacklevel=2,
            )

    def _work_item(self, record: FailureRecord) -> str:
        position = record.global_id[: self._space.ndim]
        if isinstance(self._space, Range):
            return f"work-item global {position}"
        local = self._space.local_range
        group = tuple(i // n for i, n in zip(position, local, strict=True))
        within = tuple(i % n for i, n in zip(position, local, strict=True))
        return f"work-item global {position}, local {within}, group {group}"


_OF_OPERANDS = {each.__name__: each for each in (DivisionByZeroError, OperandError)}


def _describe_index(failure: Failure, record: FailureRecord) -> str:
    index, axis, extent = record.details
    name = f"`{failure.args[0]}`" if failure.args[0] else "an array"
    return describe_index(name, axis, index, extent)


def _source_location(failure: Failure) -> str:
    source = linecache.getline(failure.filename, failure.line).strip() if _is_source(failure.filename) else ""
    return f"{failure.filename}:{failure.line}" + (f"\n    {source}" if source else "")


def _is_source(name: str) -> bool:
    """Whether a line may be read of a file: the name may come from a module file, and be that of a device or a pipe."""
    if name in linecache.cache:
        return True
    if not name.endswith((".py", ".pyw")) or name.startswith(("//", "\\\\")):
        return False
    try:
        return stat.S_ISREG(os.stat(name).st_mode)
    except (OSError, ValueError):
        return False
