"""Launches on CUDA devices: the packed argument, the memory of work-groups, and the call of the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.programs.program import CudaFunction, CudaKernel
from kapi_runtime.cuda.queues.events import CudaEvent, recorded_event, wait_on_stream
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.platform.interface import NativeArgument
from kapi_sim import LocalAccessor
from kapi_sim.errors import KernelLaunchError
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["OTHER_CONTEXT", "NativeArguments", "grid_of", "launched", "native_arguments", "shared_bytes", "submit"]

COARSE_BLOCKS_PER_UNIT = 32
"""Blocks for each multiprocessor from which threads run several work-items: then there are enough for all of them."""
COARSE_BLOCKS_ALONG_X = 16
"""Blocks along x from which they do: the last one does less."""

OTHER_CONTEXT = (201, 400)
"""The driver's codes where another context, or none, is current."""

_ALIGNMENT = 16  # of each accessor's part of the shared memory of code that kapi did not compile


@dataclass(frozen=True, slots=True, eq=False)
class NativeArguments:
    """Arguments of a launch as the driver takes them.

    - `pointers`: the address of each argument.
    - `values`: the arguments themselves, kept alive.
    - `accessors`: the local memory asked for.
    """

    pointers: Any
    values: tuple[Any, ...]
    accessors: tuple[LocalAccessor, ...]

    @property
    def address(self) -> int:
        """Address of `pointers`."""
        return ctypes.addressof(self.pointers)


def native_arguments(arguments: Sequence[NativeArgument]) -> NativeArguments:
    """Return what the driver takes; it reads the values when the kernel is launched, and not later."""
    values: list[Any] = []
    for argument in arguments:
        if isinstance(argument, bytes):
            values.append((ctypes.c_char * max(1, len(argument))).from_buffer_copy(argument or b"\0"))
        elif isinstance(argument, ArrayFields):
            values.append(ctypes.c_uint64(argument.pointer))
    accessors = tuple(argument for argument in arguments if isinstance(argument, LocalAccessor))
    pointers = (ctypes.c_void_p * max(1, len(values)))(*map(ctypes.addressof, values))
    return NativeArguments(pointers, tuple(values), accessors)


def shared_bytes(kernel: CudaKernel, accessors: Sequence[LocalAccessor]) -> int:
    """Return the bytes of shared memory that a launch asks for."""
    if kernel.module is not None:
        return kernel.module.dynamic_shared_bytes([prod(accessor.shape) for accessor in accessors])
    return sum(accessor.nbytes + -accessor.nbytes % _ALIGNMENT for accessor in accessors)


def grid_of(global_range: Sequence[int], local_range: Sequence[int]) -> tuple[int, int, int, int, int, int]:
    """Return what the driver is told of an index space: groups along x, y, z, and work-items of a group along them.

    Examples
    --------
    >>> grid_of([12, 64], [3, 32])
    (2, 4, 1, 32, 3, 1)
    """
    groups = [full // size for full, size in zip(global_range, local_range, strict=True)]
    x, y, z = [*reversed(groups), 1, 1][:3]
    wide, high, deep = [*reversed(local_range), 1, 1][:3]
    return x, y, z, wide, high, deep


def launched(
    kernel: CudaKernel, global_range: Sequence[int], local_range: Sequence[int]
) -> tuple[CudaFunction, tuple[int, int, int, int, int, int]]:
    """Return the entry point and the grid of a launch: of a large range, that whose threads run several work-items.

    Raises `LimitError` if the driver finds no code of so few registers.
    """
    grid = grid_of(global_range, local_range)
    x, y, z, *group = grid
    size, coarse = prod(local_range), kernel.coarse
    if (
        coarse is not None
        and size <= coarse.function.max_threads
        and x >= COARSE_BLOCKS_ALONG_X
        and x * y * z >= COARSE_BLOCKS_PER_UNIT * kernel.device.max_compute_units
    ):
        wide, high, deep = group
        return coarse.function, (-(-x // coarse.blocks), y, z, wide, high, deep)
    return kernel.function_for(size), grid


def submit(
    queue: CudaQueue,
    kernel: CudaKernel,
    native: NativeArguments,
    global_range: Sequence[int],
    local_range: Sequence[int],
    before: Sequence[CudaEvent],
) -> CudaEvent:
    """Launch a kernel after these events and all earlier work on the queue; see `Launcher.submit`."""
    device, stream = queue.device, queue.handle
    function, grid = launched(kernel, global_range, local_range)
    shared = shared_bytes(kernel, native.accessors)
    for event in before:
        wait_on_stream(device, stream, event)
    with device.entered():
        code, _ = driver.result("cuLaunchKernel", function.native, *grid, shared, stream, native.address, 0)
    if code:
        raise refusal(code, kernel, shared)
    return recorded_event(device, stream)


def refusal(code: int, kernel: CudaKernel, shared: int) -> Exception:
    """Make the error for what the driver said to a launch."""
    error = driver.error_of("cuLaunchKernel", code, "a launch")
    if "context is lost" in str(error):
        return error
    function = kernel.function
    return KernelLaunchError(
        f"{driver.name_of(code)} ({code}); it has {function.registers} registers for a work-item, "
        f"{function.shared_bytes + shared} bytes of shared memory for a work-group, and takes up to "
        f"{function.max_threads} work-items in one",
        code="launch-refused",
    )
