"""Submission of a launch: run by the caller who waits for it, or by the queue's thread."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from kapi_runtime.cpu.execution.launch import shape_of
from kapi_runtime.cpu.programs.program import CpuKernel
from kapi_runtime.cpu.queues.events import CpuEvent
from kapi_runtime.cpu.queues.queue import CpuQueue
from kapi_runtime.platform.current import caller
from kapi_runtime.platform.interface import NativeArgument
from kapi_sim import LocalAccessor

__all__ = ["NativeArguments", "flush_native", "flush_python", "native_arguments", "submit"]


@dataclass(frozen=True, slots=True)
class NativeArguments:
    """The arguments of a launch, as compiled code takes them.

    - `counts`: the number of elements of each local memory.
    """

    packed: Any
    counts: tuple[int, ...]


def native_arguments(arguments: Sequence[NativeArgument]) -> NativeArguments:
    """Return the arguments as compiled code takes them: the packed arguments come first, local memory after them."""
    packed, *accessors = arguments
    assert isinstance(packed, bytes)  # kernels of others there are none
    padded = packed or b"\0"
    counts = tuple(prod(each.shape) for each in accessors if isinstance(each, LocalAccessor))
    return NativeArguments((ctypes.c_char * len(padded)).from_buffer_copy(padded), counts)


def submit(
    queue: CpuQueue,
    kernel: CpuKernel,
    native: NativeArguments,
    global_range: Sequence[int],
    local_range: Sequence[int],
    before: Sequence[CpuEvent],
    owners: Any,
) -> CpuEvent:
    """Launch a kernel after these events and all earlier work on the queue, and return its event.

    Where Ctrl-C ends the caller's wait, `owners` are held until the launch is done.
    """
    shape, packed = shape_of(kernel, global_range, local_range, native.counts), ctypes.addressof(native.packed)
    if kernel.prints:
        flush_python()

    def work(held: Any = None) -> None:
        shape.run(packed, queue, (native, held))
        if kernel.prints:
            flush_native()

    if caller.waits and not before and queue.is_idle:
        event = CpuEvent()
        event.started = event.submitted
        work(owners)
        event.finish()
        return event

    return queue.enqueue(work, before)


def flush_python() -> None:
    """Have all be seen that Python has printed, before kernels print."""
    if sys.stdout is not None:
        sys.stdout.flush()


def flush_native() -> None:
    """Have all be seen that kernels have printed."""
    _c_library().fflush(None)


@cache
def _c_library() -> Any:
    """The C library of this process, whose buffers `print` in kernels writes to."""
    return ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
