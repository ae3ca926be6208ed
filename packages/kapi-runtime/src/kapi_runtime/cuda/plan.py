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
from kapi_runtime.cuda.native.native_functions import NativeFunctions, cu_launch_kernel, native_functions
from kapi_runtime.cuda.native.structures import CudaLaunch
from kapi_runtime.cuda.plan_packing import Packing, packing_of
from kapi_runtime.cuda.programs.program import CudaFunction, CudaKernel
from kapi_runtime.cuda.queues.events import native_events, wait_on_stream
from kapi_runtime.cuda.queues.keep_alive import LOOK_AFTER, PlannedLaunch, Timeline, timeline_of
from kapi_runtime.cuda.queues.native_timeline import knows_events, put_timeline
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.cuda.submission import OTHER_CONTEXT, launched, shared_bytes
from kapi_sim import LocalAccessor
from kapi_sim.errors import KernelLaunchError
from kapi_sim.forks import reinit_after_fork

__all__ = ["GRID", "LIGHT", "LOOK_SELDOM", "CudaPlan", "fill_launch", "make_plan"]

LIGHT, LOOK_SELDOM = 1 << 20, 64
"""Launches of fewer bytes are many where they cost anything; to hold four times as many of them is little."""

GRID = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")

_Events = tuple[PlannedLaunch, PlannedLaunch] | Literal[False]


class CudaPlan:
    """A launch that is ready but for its arguments; `make_plan` makes it.

    - `given_count`: how many arguments there are.
    - `buffer`: the packed argument, into which `packing` writes.
    - `packing`: what packs the arguments.
    - `function`, `grid`, `shared`: what the driver is told.
    - `functions`: native code, if it launches.
    - `look_after`: launches after which those that are done are let go.
    - `launch`, `pack`, `send`: as `LaunchPlan` says.  `launch` is False if another thread uses the plan, or a
      destructor that launches: the packed argument is the plan's own.
    """

    __slots__ = ("_kept", "kernel", "launch", "pack", "packing", "queue", "send")

    def __init__(
        self,
        kernel: CudaKernel,
        queue: CudaQueue,
        given_count: int,
        buffer: Any,
        packing: Packing,
        function: CudaFunction,
        grid: tuple[int, ...],
        shared: int,
        functions: NativeFunctions | None,
        look_after: int,
    ) -> None:
        self.kernel, self.queue, self.packing = kernel, queue, packing
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
        native, parameters, timeline = function.native, ctypes.addressof(pointers), timeline_of(queue)
        self._kept: tuple[Any, ...] = (buffer, pointers)
        self.launch: Callable[[tuple[Any, ...], list[Any]], _Events | None]
        self.pack: Callable[[tuple[Any, ...]], bool]
        self.send: Callable[[Any, list[Any]], _Events]
        if functions is None:
            assert packing.function is not None  # it packs the arrays
            bound = driver.bindings()
            stream = bound.CUstream(queue.handle)
            launch = partial(bound.cuLaunchKernel, native, *grid, shared, stream, parameters, 0)
            self.pack, self.send = packing.function, partial(_sent, queue, launch, timeline, look_after)
            self.launch = partial(_launched, reinit_after_fork(threading.Lock()), self.pack, self.send)
            return
        words = CudaLaunch(function=int(native), shared=shared, **dict(zip(GRID, grid, strict=True)))
        address = ctypes.addressof(words)
        self.launch, self.pack = partial(functions.launch, address), partial(functions.pack, address)
        self.send = partial(functions.send, address)
        words.cupy, words.torch = (each and each.address for each in (packing.cupy, packing.torch))
        self._kept += words, *fill_launch(words, queue, parameters, given_count, packing.function, look_after)

    @property
    def device(self) -> CudaDevice:
        """The device that it launches on."""
        return self.queue.device


def fill_launch(
    words: CudaLaunch,
    queue: CudaQueue,
    parameters: int,
    given_count: int,
    pack: Callable[[tuple[Any, ...]], bool] | None,
    look_after: int,
) -> tuple[Any, ...]:
    """Fill in what native launches on a queue have alike, and return what must be kept.

    - `words`: the launch; `native_functions` has been asked before.
    - `parameters`: where the driver finds the address of the packed argument.
    - `given_count`: how many arguments there are.
    - `pack`: packs what native code does not.
    - `look_after`: as of `CudaPlan`.
    """
    functions = native_functions()
    assert functions is not None
    resend = partial(functions.resend, ctypes.addressof(words))
    wait, resent = partial(_wait, queue), partial(_resent, queue, resend)
    words.cu_launch_kernel, words.stream, words.parameters = cu_launch_kernel(), queue.handle, parameters
    words.given_count, words.none, words.true = given_count, id(None), id(True)
    words.wait, words.resend = id(wait), id(resent)
    words.pack = None if pack is None else id(pack)
    return wait, resent, pack, put_timeline(words, timeline_of(queue), look_after)


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
    accessors = [value for value in given if isinstance(value, LocalAccessor)]
    told = *launched(kernel, global_range, local_range), shared_bytes(kernel, accessors)
    look_after = LOOK_SELDOM if _nbytes(module, given) < LIGHT else LOOK_AFTER
    functions = native_functions() if knows_events() and cu_launch_kernel() else None
    for is_native in (True, False):  # native code reads the arrays of the libraries that it knows
        if is_native and functions is None:
            continue
        buffer = (ctypes.c_char * len(packed)).from_buffer_copy(packed)
        packing = packing_of(module, queue, given, buffer, is_native)
        if packing is None:
            continue
        plan = CudaPlan(kernel, queue, len(given), buffer, packing, *told, functions, look_after)
        for field in module.layout.fields:
            if field.role in ("pointer", "value"):
                ctypes.memset(ctypes.addressof(buffer) + field.offset, 0xA5, struct.calcsize("<" + field.code))
        if plan.pack(given) and bytes(buffer) == packed:
            return plan
    return None


def _launched(
    lock: threading.Lock,
    pack: Callable[[tuple[Any, ...]], bool],
    send: Callable[[Any, list[Any]], _Events],
    given: tuple[Any, ...],
    before: list[Any],
) -> _Events | None:
    """Launch without native code; see `LaunchPlan.launch`."""
    if not lock.acquire(False):
        return False
    try:
        return send(given, before) if pack(given) else None
    finally:
        lock.release()


def _sent(
    queue: CudaQueue,
    launch: Callable[[], tuple[Any]],
    timeline: Timeline,
    look_after: int,
    owners: Any,
    before: list[Any],
) -> _Events:
    """Launch what was packed without native code; see `LaunchPlan.send`."""
    if before and not _wait(queue, before):
        return False
    code = int(launch()[0])
    if code in OTHER_CONTEXT:  # each thread has a context of its own that is current, none at first
        with queue.device.entered():
            code = int(launch()[0])
    if code:
        return False
    event = timeline.add(owners, look_after)
    return event, event


def _resent(queue: CudaQueue, send: Callable[[Any], _Events], owners: Any) -> _Events:
    """Launch in the context of the queue's device, after another one was current."""
    with queue.device.entered():
        return send(owners)


def _wait(queue: CudaQueue, before: list[Any]) -> bool:
    """Let a queue wait for events; False if one is none of CUDA's."""
    try:
        events = native_events(before)
    except KernelLaunchError:
        return False
    for event in events:
        if not isinstance(event, PlannedLaunch) or event.queue != queue:  # a stream keeps its own order
            wait_on_stream(queue.device, queue.handle, event)
    return True


def _nbytes(module: PtxModule, given: tuple[Any, ...]) -> int:
    """Bytes of the arrays of a launch."""
    arrays = [
        cuda_fields(value)
        for parameter, value in zip(module.parameters, given, strict=True)
        if parameter.kind == "array"
    ]
    return sum(prod(fields.shape) * fields.dtype.itemsize for fields in arrays if fields is not None)
