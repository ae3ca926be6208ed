"""Plan of repeated launches, worked out by the first: function, grid, packed argument, requirements on its arrays.

A plan is for arrays of the same classes, types, shapes and strides on the same stream: a launch then writes their
addresses, and the numbers, into the packed argument of the first launch.  Whatever differs takes the slow path,
which raises the errors.

Before a plan is used, it packs the arguments that it was made for, and the bytes must be those of the slow path.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, Literal

from kapi_ptx import PtxModule
from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.devices.device import CudaDevice
from kapi_runtime.cuda.memory.arrays import cuda_fields
from kapi_runtime.cuda.native.structures import CudaLaunch
from kapi_runtime.cuda.native.submission import NativeFunctions, cu_launch_kernel, native_functions
from kapi_runtime.cuda.plan_packing import packing_of
from kapi_runtime.cuda.programs.program import CudaFunction, CudaKernel
from kapi_runtime.cuda.queues.events import native_events, wait_on_stream
from kapi_runtime.cuda.queues.keep_alive import LOOK_AFTER, PlannedLaunch, timeline_of
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.cuda.submission import OTHER_CONTEXT, launched, shared_bytes
from kapi_sim import LocalAccessor
from kapi_sim.errors import KernelLaunchError
from kapi_sim.forks import reinit_after_fork

__all__ = ["CudaPlan", "make_plan"]

_LIGHT, _LOOK_SELDOM = 1 << 20, 64
"""Launches of fewer bytes are many where they cost anything; to hold four times as many of them is little."""


class CudaPlan:
    """A launch that is ready but for its arguments; `make_plan` makes it.

    Attributes
    ----------
    queue : CudaQueue
        Where it is submitted.
    kernel : CudaKernel
        What is submitted.
    pack : callable
        Packs the arguments for `send`; False if they are not the plan's.
    """

    __slots__ = (
        *("_buffer", "_launch", "_lock", "_look_after", "_pointers", "_timeline", "_words"),
        *("kernel", "pack", "queue"),
    )

    def __init__(
        self,
        kernel: CudaKernel,
        queue: CudaQueue,
        buffer: Any,
        pack: Callable[[tuple[Any, ...]], bool],
        function: CudaFunction,
        grid: tuple[int, ...],
        shared: int,
        functions: NativeFunctions | None,
        look_after: int,
    ) -> None:
        self.kernel, self.queue, self.pack = kernel, queue, pack
        self._buffer, self._look_after = buffer, look_after
        self._pointers = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
        native, parameters = function.native, ctypes.addressof(self._pointers)
        self._words = CudaLaunch(
            cu_launch_kernel(), int(native), *grid, shared=shared, stream=queue.handle, parameters=parameters
        )
        self._launch: Callable[[], int]
        if functions is not None and self._words.cu_launch_kernel:
            self._launch = partial(functions.send, ctypes.addressof(self._words))
        else:
            bound = driver.bindings()
            stream = bound.CUstream(queue.handle)
            plain = partial(bound.cuLaunchKernel, native, *grid, shared, stream, parameters, 0)
            self._launch = lambda: int(plain()[0])
        self._lock = reinit_after_fork(threading.Lock())
        self._timeline = timeline_of(queue)

    @property
    def device(self) -> CudaDevice:
        """The device that it launches on."""
        return self.queue.device

    def launch(
        self, given: tuple[Any, ...], before: list[Any]
    ) -> tuple[PlannedLaunch, PlannedLaunch] | Literal[False] | None:
        """Launch with these arguments after these events, and return the host event and the device event.

        None if the arguments are not the plan's; False if an event is none of CUDA's, another thread uses the plan, or
        the launch is refused.
        """
        # The packed argument is the plan's own: a second thread, and a destructor that launches, take the slow path.
        if not self._lock.acquire(False):
            return False
        try:
            if not self.pack(given):
                return None
            return self.send(given, before)
        finally:
            self._lock.release()

    def send(self, owners: Any, before: list[Any]) -> tuple[PlannedLaunch, PlannedLaunch] | Literal[False]:
        """Launch with what was packed last, and keep `owners` alive until it has run; False as for `launch`."""
        if before:
            try:
                events = native_events(before)
            except KernelLaunchError:
                return False
            for event in events:
                if not isinstance(event, PlannedLaunch) or event.queue != self.queue:  # a stream keeps its own order
                    wait_on_stream(self.queue.device, self.queue.handle, event)
        code = self._launch()
        if code:
            # Each thread has a context of its own that is current, none at first.
            if code not in OTHER_CONTEXT:
                return False
            with self.queue.device.entered():
                code = self._launch()
            if code:
                return False
        event = self._timeline.add(owners, self._look_after)
        return event, event


def make_plan(
    kernel: CudaKernel,
    queue: CudaQueue,
    given: tuple[Any, ...],
    packed: bytes,
    global_range: Sequence[int],
    local_range: Sequence[int],
) -> CudaPlan | None:
    """Return the plan of a launch that was validated, or None; see `Launcher.make_plan`."""
    module = kernel.module
    if module is None or queue.others or not queue.stream.is_lasting or len(given) != len(module.parameters):
        return None
    buffer = (ctypes.c_char * len(packed)).from_buffer_copy(packed)
    functions = native_functions()
    # Native code reads the arrays of the libraries that it knows.
    pack = None if functions is None else _packing(module, queue, given, buffer, packed, functions)
    pack = pack or _packing(module, queue, given, buffer, packed, None)
    if pack is None:
        return None
    accessors = [value for value in given if isinstance(value, LocalAccessor)]
    return CudaPlan(
        kernel,
        queue,
        buffer,
        pack,
        *launched(kernel, global_range, local_range),
        shared_bytes(kernel, accessors),
        functions,
        _LOOK_SELDOM if _nbytes(module, given) < _LIGHT else LOOK_AFTER,
    )


def _packing(
    module: PtxModule,
    queue: CudaQueue,
    given: tuple[Any, ...],
    buffer: Any,
    packed: bytes,
    readers: NativeFunctions | None,
) -> Callable[[tuple[Any, ...]], bool] | None:
    """The function that packs arguments like these into the buffer, if it packs these to the right bytes."""
    pack = packing_of(module, queue, given, buffer, readers)
    if pack is None:
        return None
    for field in module.layout.fields:
        if field.role in ("pointer", "value"):
            ctypes.memset(ctypes.addressof(buffer) + field.offset, 0xA5, struct.calcsize("<" + field.code))
    return pack if pack(given) and bytes(buffer) == packed else None


def _nbytes(module: PtxModule, given: tuple[Any, ...]) -> int:
    """Bytes of the arrays of a launch."""
    arrays = [
        cuda_fields(value)
        for parameter, value in zip(module.parameters, given, strict=True)
        if parameter.kind == "array"
    ]
    return sum(prod(fields.shape) * fields.dtype.itemsize for fields in arrays if fields is not None)
