"""What a repeated launch needs, worked out by the first: function, grid, packed argument, and what its arrays must be.

A plan is for arrays of the same classes, types, shapes and strides on the same stream: a launch then writes their
addresses, and the numbers, into the packed argument of the first launch.  What looks at them is a function that is
written for the plan, in Python, since a loop over rows of what is to be checked takes twice as long.  Whatever is not
as it was goes the long way, which raises the errors.

Before a plan is used, it packs the arguments that it was made for, and the bytes must be those of the long way.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import Any, Literal

from kapi_ptx import PtxModule
from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.devices.device import CudaDevice
from kapi_runtime.cuda.memory.arrays import cuda_fields, library_of
from kapi_runtime.cuda.native.cupy_arrays import cupy_reader
from kapi_runtime.cuda.native.structures import CudaLaunch
from kapi_runtime.cuda.native.submission import cu_launch_kernel, native_functions
from kapi_runtime.cuda.programs.program import CudaKernel
from kapi_runtime.cuda.queues.events import wait_on_stream
from kapi_runtime.cuda.queues.keep_alive import LOOK_AFTER, PlannedLaunch, timeline_of
from kapi_runtime.cuda.queues.launch_events import native_events
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.cuda.submission import grid_of, shared_bytes
from kapi_sim import LocalAccessor
from kapi_sim.errors import KernelLaunchError
from kapi_sim.forks import free_in_children
from kapi_sim.language.usm_fields import ArrayFields

__all__ = ["CudaPlan", "make_plan"]

_LIGHT, _LOOK_SELDOM = 1 << 20, 64
"""Launches of fewer bytes are many where they cost anything; to hold four times as many of them is little."""

_NUMBERS = (bool, int, float, complex)
_OTHER_CONTEXT = (201, 400)  # the driver's codes where another context, or none, is current


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
        *(
            "_buffer",
            "_lock",
            "_look_after",
            "_native",
            "_plain",
            "_pointers",
            "_read",
            "_remake",
            "_timeline",
            "_words",
        ),
        *("kernel", "pack", "queue"),
    )

    def __init__(
        self,
        kernel: CudaKernel,
        queue: CudaQueue,
        buffer: Any,
        pack: Callable[[tuple[Any, ...]], bool],
        remake: Callable[[tuple[Any, ...], Callable[..., bool]], Callable[[tuple[Any, ...]], bool] | None],
        grid: tuple[int, ...],
        size: int,
        shared: int,
        at_once: bool,
        look_after: int,
    ) -> None:
        self.kernel, self.queue, self.pack = kernel, queue, pack
        self._remake, self._look_after = remake, look_after
        self._read: Callable[..., bool] | None = None
        self._buffer = buffer
        self._pointers = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
        function, parameters = kernel.function_for(size).native, ctypes.addressof(self._pointers)
        bound = driver.bindings()
        stream = bound.CUstream(queue.handle)
        self._plain = partial(bound.cuLaunchKernel, function, *grid, shared, stream, parameters, 0)
        self._words = CudaLaunch(
            cu_launch_kernel(), int(function), *grid, shared=shared, stream=queue.handle, parameters=parameters
        )
        self._native: Callable[[], int] | None = None
        self._choose(at_once)
        self._lock = free_in_children(threading.Lock())
        self._timeline = timeline_of(queue)

    @property
    def device(self) -> CudaDevice:
        """The device that it launches on."""
        return self.queue.device

    def _launch(self) -> int:
        """Launch what is packed, and return the driver's code."""
        if self._native is not None:
            return self._native()
        (code,) = self._plain()
        self._choose(False)
        return int(code)

    def _choose(self, at_once: bool) -> None:
        """Put native code in the place of cuda.bindings for the launches to come, if it can be had."""
        functions = native_functions(at_once) if self._words.cu_launch_kernel else None
        if functions is not None:
            send, self._read = functions
            self._native = partial(send, ctypes.addressof(self._words))

    def _pack_natively(self, given: tuple[Any, ...]) -> None:
        """Let native code look at the arrays from now on, if it packs what was packed just now."""
        assert self._read is not None
        made, packed = self._remake(given, self._read), bytes(self._buffer)
        self._read = None
        if made is not None and made(given) and bytes(self._buffer) == packed:
            self.pack = made

    def launch(
        self, given: tuple[Any, ...], before: list[Any]
    ) -> tuple[PlannedLaunch, PlannedLaunch] | Literal[False] | None:
        """Launch with these arguments after these events, and return the host event and the device event.

        None if the arguments are not the plan's; False if an event is none of CUDA's, another thread uses the plan, or
        the launch is refused.
        """
        # The packed argument is the plan's own: a second thread, and a destructor that launches, go the long way.
        if not self._lock.acquire(False):
            return False
        try:
            if not self.pack(given):
                return None
            if self._read is not None:
                self._pack_natively(given)
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
        code = self._launch() if self._native is None else self._native()
        if code:
            # Each thread has a context of its own that is current, none at first.
            if code not in _OTHER_CONTEXT:
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
    at_once: bool = False,
) -> CudaPlan | None:
    """Return the plan of a launch that was validated, or None: then each launch like it goes the long way.

    Parameters
    ----------
    kernel : CudaKernel
        What is launched.
    queue : CudaQueue
        Where to.
    given : tuple
        The arguments as the caller gave them.
    packed : bytes
        The packed argument that the long way made of them.
    global_range, local_range : sequence of int
        What is submitted.
    at_once : bool
        Whether the plan is worth the making of native code.
    """
    module = kernel.module
    if module is None or queue.others or not queue.stream.is_lasting or len(given) != len(module.parameters):
        return None
    buffer = (ctypes.c_char * len(packed)).from_buffer_copy(packed)
    pack = _packing(module, queue, given, buffer, None)
    if pack is None:
        return None
    for field in module.layout.fields:
        if field.role in ("pointer", "value"):
            ctypes.memset(ctypes.addressof(buffer) + field.offset, 0xA5, struct.calcsize("<" + field.code))
    if not pack(given) or bytes(buffer) != packed:
        return None
    accessors = [value for value in given if isinstance(value, LocalAccessor)]
    return CudaPlan(
        kernel,
        queue,
        buffer,
        pack,
        lambda its, read: _packing(module, queue, its, buffer, read),
        grid_of(global_range, local_range),
        prod(local_range),
        shared_bytes(kernel, accessors),
        at_once,
        _LOOK_SELDOM if _nbytes(module, given) < _LIGHT else LOOK_AFTER,
    )


def _nbytes(module: PtxModule, given: tuple[Any, ...]) -> int:
    """Bytes of the arrays of a launch."""
    arrays = [
        cuda_fields(value)
        for parameter, value in zip(module.parameters, given, strict=True)
        if parameter.kind == "array"
    ]
    return sum(prod(fields.shape) * fields.dtype.itemsize for fields in arrays if fields is not None)


class _Source:
    """The text of a plan's function, and the values that it names."""

    def __init__(self) -> None:
        self.tests: list[str] = []
        self.stores: list[str] = []
        self.names: dict[str, Any] = {}

    def name(self, value: Any) -> str:
        """A name for a value."""
        made = f"k{len(self.names)}"
        self.names[made] = value
        return made


def _packing(
    module: PtxModule,
    queue: CudaQueue,
    given: tuple[Any, ...],
    buffer: Any,
    read_natively: Callable[..., bool] | None,
) -> Callable[[tuple[Any, ...]], bool] | None:
    """The function that packs arguments like these; with `read_natively`, None where native code reads no array."""
    source = _Source()
    words = memoryview(buffer).cast("B").cast("Q")
    source.names["words"] = words
    arrays: list[tuple[int, ArrayFields, bool]] = []
    places: list[int] = []
    libraries: set[str] = set()
    offsets = {each.name: module.layout.places(each.name) for each in module.parameters}
    for index, (parameter, value) in enumerate(zip(module.parameters, given, strict=True)):
        if parameter.kind == "array":
            read = _READ.get(library_of(value))
            if read is None:
                return None
            fields = cuda_fields(value)
            assert fields is not None  # it was launched with
            libraries.add(library_of(value))
            arrays.append((index, fields, parameter.is_written))
            places.append(offsets[parameter.name][0].offset)
            if read_natively is None:
                read(source, index, value, fields)
                source.stores.append(f"words[{places[-1] // 8}] = p{index}")
        elif parameter.kind == "local":
            source.tests.append(f"a{index} == {source.name(value)}")
        elif not _number(source, index, value, offsets[parameter.name], buffer):
            return None
    if not arrays:
        return None  # where it goes is asked of the `device_context`
    for library in libraries:
        source.tests.append(f"{_stream(source, library, queue.device.ordinal)} == {queue.handle}")
    pairs = list(_pairs(arrays, module.target.reads_apart))
    if read_natively is None:
        _apart(source, pairs)
        return _function(source, len(given))
    if libraries != {"cupy"}:
        return None
    start = ctypes.addressof(buffer)
    order = {index: position for position, (index, _, _) in enumerate(arrays)}
    reader = cupy_reader(
        read_natively,
        [given[index] for index, _, _ in arrays],
        [start + place for place in places],
        [(order[i], order[j], one, other, may_be_one) for i, j, one, other, may_be_one in pairs],
        queue.device.ordinal,
    )
    if reader is None:
        return None
    source.tests.append(f"{source.name(reader)}({', '.join(f'a{index}' for index in order)})")
    return _function(source, len(given))


def _function(source: _Source, count: int) -> Callable[[tuple[Any, ...]], bool]:
    arguments = ", ".join(f"a{index}" for index in range(count))
    lines = [
        "def pack(given):",
        f"    if len(given) != {count}: return False",
        f"    {arguments}, = given",
        "    try:",
        *(f"        if not ({test}): return False" for test in source.tests),
        *(f"        {store}" for store in source.stores),
        "    except (error, OverflowError, AttributeError): return False",
        "    return True",
    ]
    names = {**source.names, "error": struct.error}
    exec("\n".join(lines), names)  # of texts of this module alone; values are named, not written
    pack: Callable[[tuple[Any, ...]], bool] = names["pack"]
    return pack


def _read_cupy(source: _Source, index: int, value: Any, fields: ArrayFields) -> None:
    a = f"a{index}"
    source.tests += [
        f"type({a}) is {source.name(type(value))}",
        f"{a}.shape == {source.name(value.shape)}",
        f"{a}.strides == {source.name(value.strides)}",
        f"{a}.dtype is {source.name(value.dtype)}",
        f"(d{index} := {a}.data).device_id == {fields.owner.ordinal}",
        f"(p{index} := d{index}.ptr) % {fields.dtype.itemsize} == 0",
    ]


def _read_torch(source: _Source, index: int, value: Any, fields: ArrayFields) -> None:
    a = f"a{index}"
    source.tests += [
        f"type({a}) is {source.name(type(value))}",
        f"{a}.shape == {source.name(value.shape)}",
        f"{a}.stride() == {source.name(value.stride())}",
        f"{a}.dtype is {source.name(value.dtype)}",
        f"{a}.get_device() == {fields.owner.ordinal}",
        f"not ({a}.requires_grad or {a}.is_neg(){f' or {a}.is_conj()' if fields.dtype.kind == 'c' else ''})",
        f"(p{index} := {a}.data_ptr()) % {fields.dtype.itemsize} == 0",
    ]


_READ: dict[str, Callable[[_Source, int, Any, ArrayFields], None]] = {"cupy": _read_cupy, "torch": _read_torch}


def _stream(source: _Source, library: str, ordinal: int) -> str:
    """What gives the handle of a library's current stream; 0 is 1 by its other name."""
    if library == "cupy":
        return f"({source.name(sys.modules['cupy'].cuda.get_current_stream)}({ordinal}).ptr or 1)"
    torch = sys.modules["torch"]
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # the handle alone: a tenth of the time
    if raw is not None:
        return f"({source.name(raw)}({ordinal}) or 1)"
    return f"({source.name(torch.cuda.current_stream)}({ordinal}).cuda_stream or 1)"


def _number(source: _Source, index: int, value: Any, places: Sequence[Any], buffer: Any) -> bool:
    """Let a number be stored; False if it is none that is known."""
    is_own = type(value) in _NUMBERS
    if not is_own and not type(value).__module__ == "numpy":
        return False
    source.tests.append(f"type(a{index}) is {source.name(type(value))}")
    number = f"a{index}" if is_own else f"a{index}.item()"
    parts = [f"({number}).real", f"({number}).imag"] if len(places) == 2 else [number]
    for part, place in zip(parts, places, strict=True):
        store = source.name(struct.Struct("<" + place.code).pack_into)
        source.stores.append(f"{store}({source.name(buffer)}, {place.offset}, {part})")
    return True


def _pairs(
    arrays: Sequence[tuple[int, ArrayFields, bool]], reads_apart: bool
) -> Iterator[tuple[int, int, tuple[int, int], tuple[int, int], bool]]:
    """The pairs of arrays that must be one view or apart, since one of them is written; what interlocks is neither.

    Of each pair, the two arguments, from where to where each reaches beyond its own address, and whether they may be
    one view. With `reads_apart`, the module takes for granted that what is only read is no view of what is written.
    """
    for place, (i, one, writes_one) in enumerate(arrays):
        for j, other, writes_other in arrays[place + 1 :]:
            if not (writes_one or writes_other) or 0 in one.shape or 0 in other.shape:
                continue
            reach, other_reach = (
                (fields.span[0] - fields.pointer, fields.span[1] - fields.pointer) for fields in (one, other)
            )
            is_alike = (one.shape, one.strides, one.dtype.itemsize) == (
                other.shape,
                other.strides,
                other.dtype.itemsize,
            )
            yield i, j, reach, other_reach, is_alike and (writes_one == writes_other or not reads_apart)


def _apart(source: _Source, pairs: Sequence[tuple[int, int, tuple[int, int], tuple[int, int], bool]]) -> None:
    """Let the arrays of each pair be as `_pairs` says."""
    for i, j, (low, high), (low_other, high_other), may_be_one in pairs:
        tests = [f"p{i} + {high} <= p{j} + {low_other}", f"p{j} + {high_other} <= p{i} + {low}"]
        if may_be_one:
            tests.append(f"p{i} == p{j}")
        source.tests.append(" or ".join(tests))
