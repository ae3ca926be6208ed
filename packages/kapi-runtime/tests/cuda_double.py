"""A double of CUDA's driver and of the libraries whose arrays it serves, for machines without a GPU.

It runs no kernel.  It keeps a record of each call, and answers as a GPU has answered: the table of answers is
``cuda_recorded.json``, which ``nox -s gpu`` compares with the driver of the machine that it runs on.  Memory is the
host's, so that copies are copies.
"""

from __future__ import annotations

import ctypes
import enum
import gc
import itertools
import json
import types
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = json.loads((Path(__file__).parent / "cuda_recorded.json").read_text())

NOT_READY, NOT_FOUND, OUT_OF_MEMORY, INVALID_VALUE, STREAM_CAPTURE_UNSUPPORTED = 600, 500, 2, 1, 900
GIVING = (
    *(
        "cuDevice",
        "cuDriver",
        "cuCtxGet",
        "cuMemAlloc",
        "cuMemHostAlloc",
        "cuMemHostGet",
        "cuMemGetInfo",
        "cuPointerGet",
        "cuModuleLoad",
    ),
    *("cuModuleGet", "cuFuncGet", "cuLinkCreate", "cuLinkComplete", "cuStreamCreate", "cuStreamGet", "cuEventCreate"),
    *("cuEventElapsedTime", "cuStreamEndCapture", "cuGraphInstantiate"),
)
"""Calls that give a value beside their code, and None in its place if they fail."""

_handles = itertools.count(1000, 1 << 16)  # what a test leaves to be destroyed is nothing of the next one's

CUBIN = b"\x7fELF double of a cubin\n"


@dataclass
class Launch:
    """One kernel that was launched."""

    function: int
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    stream: int
    packed: bytes


@dataclass
class Loaded:
    """The double's data of a function."""

    entry: str
    registers: int = 32
    max_threads: int = 1024
    dynamic: int = 0


@dataclass
class Driver:
    """A driver that records, with as many devices as are asked for."""

    devices: int = 1
    calls: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    packed_size: int = 0
    fail: dict[str, Any] = field(default_factory=dict)  # codes of a call: one for all, or a list for the next ones
    registers: int = 32
    log: str = ""
    pending: bool = False
    attributes: dict[str, int] = field(default_factory=dict)
    gives_addresses: bool = True
    memory: dict[int, tuple[Any, int]] = field(default_factory=dict)
    ordinals: dict[int, int] = field(default_factory=dict)  # of what is in `memory`, where it is not device 0's
    current: dict[int, int] = field(default_factory=dict)
    registered: dict[int, tuple[int, int]] = field(default_factory=dict)  # size and flags of what is pinned
    captures: dict[int, dict[int, Any]] = field(default_factory=dict)  # by stream: work by node, in order
    graphs: dict[int, dict[int, Any]] = field(default_factory=dict)  # the same of graphs, and of their executable forms

    def __post_init__(self) -> None:
        self.CUresult = enum.IntEnum(
            "CUresult", {"CUDA_SUCCESS": 0, **{name: int(code) for code, name in RECORDED["errors"].items()}}
        )
        for name, members in RECORDED["enumerations"].items():
            setattr(self, name, enum.IntEnum(name, members))
        self.CUstream = int
        self.CUDA_KERNEL_NODE_PARAMS = types.SimpleNamespace
        self._kept: list[Any] = []
        self._handle = next(_handles)
        self._functions: dict[int, Loaded] = {}
        self._context = 0
        self._states: dict[int, dict[str, Any]] = {}

    # -- what a call does: its name, what it gives

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        answer = getattr(type(self), f"_{name}", None)

        def called(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, arguments))
            failed = self.fail.get(name)
            if isinstance(failed, list):
                failed = failed.pop(0) if failed else 0
            given = self.CUresult(failed) if failed else answer(self, *arguments) if answer is not None else None
            if isinstance(given, enum.IntEnum):
                return (given, None) if name.startswith(GIVING) else (given,)
            return (self.CUresult(0),) if given is None else (self.CUresult(0), *given)

        return called

    def names(self) -> list[str]:
        """The calls so far, without those that only ask."""
        asking = ("Get", "Query")
        return [name for name, _ in self.calls if not any(word in name for word in asking)]

    def _new(self) -> int:
        self._handle += 8
        return self._handle

    def _cuGetErrorName(self, code: int) -> tuple[bytes]:
        return (RECORDED["errors"][str(int(code))].encode(),)

    def _cuGetErrorString(self, code: int) -> tuple[bytes]:
        return (b"what the driver says",)

    def _cuDriverGetVersion(self) -> tuple[int]:
        return (RECORDED["driver_version"],)

    def _cuDeviceGetCount(self) -> tuple[int]:
        return (self.devices,)

    def _cuDeviceGet(self, ordinal: int) -> Any:
        return (ordinal,) if ordinal < self.devices else self.CUresult(101)

    def _cuDeviceGetName(self, size: int, device: int) -> tuple[bytes]:
        return (RECORDED["device"]["name"].encode() + bytes(8),)

    def _cuDeviceGetAttribute(self, attribute: Any, device: int) -> tuple[int]:
        name = attribute.name.removeprefix("CU_DEVICE_ATTRIBUTE_")
        return (self.attributes.get(name, RECORDED["device"].get(name, 0)),)

    def _cuDeviceTotalMem(self, device: int) -> tuple[int]:
        return (1 << 37,)

    def _cuMemGetInfo(self) -> tuple[int, int]:
        return 1 << 36, 1 << 37

    def _cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int]:
        return (0xC0 + device,)

    def _cuCtxGetCurrent(self) -> tuple[int]:
        return (self._context,)

    def _cuCtxSetCurrent(self, context: int) -> None:
        self._context = int(context)

    def _cuCtxGetDevice(self) -> tuple[int]:
        return (self._context - 0xC0,)

    def _cuStreamGetCtx(self, stream: int) -> tuple[int]:
        return (0xC0,)

    def _cuStreamCreate(self, flags: int) -> tuple[int]:
        return (self._new(),)

    def _cuEventCreate(self, flags: int) -> tuple[int]:
        return (self._new(),)

    def _cuEventQuery(self, event: int) -> Any:
        return self.CUresult(NOT_READY) if self.pending else None

    def _cuEventSynchronize(self, event: int) -> None:
        self.pending = False

    def _cuEventElapsedTime(self, start: int, end: int) -> tuple[float]:
        return (0.25,)

    def _cuMemAlloc(self, size: int) -> Any:
        return self._allocated(size)

    def _cuMemAllocManaged(self, size: int, flags: int) -> Any:
        return self._allocated(size)

    def _cuMemHostAlloc(self, size: int, flags: int) -> Any:
        return self._allocated(size)

    def _cuMemHostRegister(self, pointer: int, size: int, flags: int) -> Any:
        if pointer in self.registered:
            return self.CUresult(INVALID_VALUE)
        self.registered[pointer] = size, flags
        return None

    def _cuMemHostUnregister(self, pointer: int) -> None:
        del self.registered[pointer]

    def _cuMemHostGetDevicePointer(self, pointer: int, flags: int) -> Any:
        size, given = self.registered[pointer]
        if not given & 2:
            return self.CUresult(INVALID_VALUE)
        self.memory[pointer] = None, size
        return (pointer,)

    def _allocated(self, size: int) -> Any:
        if size > 1 << 32:
            return self.CUresult(OUT_OF_MEMORY)
        held = (ctypes.c_char * (size + 256))()
        address = -(-ctypes.addressof(held) // 256) * 256
        self.memory[address] = held, size
        return (address,)

    def adopt(self, array: np.ndarray[Any, Any], ordinal: int = 0) -> None:
        """Take an array of the host for memory of a device."""
        self.memory[array.ctypes.data] = array, max(1, array.nbytes)
        self.ordinals[array.ctypes.data] = ordinal

    def _cuMemFree(self, address: int) -> None:
        del self.memory[int(address)]

    _cuMemFreeHost = _cuMemFree

    def _holding(self, pointer: int) -> int | None:
        for address, (_, size) in self.memory.items():
            if address <= pointer < address + size:
                return address
        return None

    def _cuPointerGetAttribute(self, attribute: Any, pointer: int) -> Any:
        """Device 0, as cuda.bindings answers for every device."""
        return self.CUresult(INVALID_VALUE) if self._holding(pointer) is None else (0,)

    def _cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: int) -> None:
        if self._is_captured(stream, (target, source, size)) is None:
            ctypes.memmove(target, source, size)

    # -- graphs: what is submitted to a stream that is captured becomes a node

    def _is_captured(self, stream: int, work: Any) -> int | None:
        nodes = self.captures.get(int(stream))
        if nodes is None:
            return None
        node = self._new()
        nodes[node] = work
        return node

    def _cuStreamBeginCapture(self, stream: int, mode: Any) -> Any:
        if stream == 1:
            return self.CUresult(STREAM_CAPTURE_UNSUPPORTED)
        self.captures[int(stream)] = {}
        return None

    def _cuStreamGetCaptureInfo(self, stream: int) -> tuple[Any, ...]:
        nodes = self.captures[int(stream)]
        last = list(nodes)[-1:]
        return 1, 1, 0, last, len(last)

    def _cuStreamEndCapture(self, stream: int) -> tuple[int]:
        graph = self._new()
        self.graphs[graph] = self.captures.pop(int(stream))
        return (graph,)

    def _cuGraphInstantiate(self, graph: int, flags: int) -> tuple[int]:
        executable = self._new()
        self.graphs[executable] = dict(self.graphs[graph])
        return (executable,)

    def _cuGraphExecKernelNodeSetParams(self, executable: int, node: int, node_parameters: Any) -> None:
        grid, block = (
            (node_parameters.gridDimX, node_parameters.gridDimY, node_parameters.gridDimZ),
            (node_parameters.blockDimX, node_parameters.blockDimY, node_parameters.blockDimZ),
        )
        assert isinstance(self.graphs[executable][node], Launch)
        self.graphs[executable][node] = self._launch_of(
            node_parameters.func, grid, block, node_parameters.sharedMemBytes, 0, node_parameters.kernelParams
        )

    def _cuGraphLaunch(self, executable: int, stream: int) -> None:
        for work in self.graphs[executable].values():
            if isinstance(work, Launch):
                self.launches.append(replace(work, stream=int(stream)))
            else:
                ctypes.memmove(*work)

    def _cuGraphDestroy(self, graph: int) -> None:
        del self.graphs[graph]

    _cuGraphExecDestroy = _cuGraphDestroy

    _cuMemcpyDtoHAsync = _cuMemcpyAsync = _cuMemcpyHtoDAsync

    def _cuMemcpyDtoH(self, target: int, source: int, size: int) -> None:
        ctypes.memmove(target, source, size)

    def _cuMemsetD8Async(self, target: int, value: int, size: int, stream: int) -> None:
        ctypes.memset(target, value, size)

    def _cuLinkCreate(self, count: int, options: list[Any], values: list[Any]) -> tuple[int]:
        state = self._new()
        self._states[state] = {option.name: value for option, value in zip(options, values, strict=True)}
        return (state,)

    def _cuLinkAddData(
        self, state: int, kind: Any, data: bytes, size: int, name: bytes, count: int, options: Any, values: Any
    ) -> Any:
        assert size == len(data)
        assert data.endswith(b"\0")
        if self.log:
            state_options = self.log.encode() + b"\0"
            self._states[state]["CU_JIT_ERROR_LOG_BUFFER"][: len(state_options)] = state_options
            return self.CUresult(218)
        self._states[state]["ptx"] = data
        return None

    def _cuLinkComplete(self, state: int) -> tuple[int, int]:
        state_options = self._states[state]
        image = (
            CUBIN
            + json.dumps({"most": state_options.get("CU_JIT_MAX_REGISTERS")}).encode()
            + b"\n"
            + state_options["ptx"]
        )
        held = ctypes.create_string_buffer(image, len(image))
        state_options["cubin"] = held
        return ctypes.addressof(held), len(image)

    def _cuLinkDestroy(self, state: int) -> None:
        del self._states[state]

    def _cuModuleLoadData(self, image: bytes) -> Any:
        if not image.startswith(CUBIN):
            return self.CUresult(200)
        module = self._new()
        self._functions[module] = Loaded(image.decode(), self._registers(image))
        return (module,)

    def _registers(self, image: bytes) -> int:
        most = json.loads(image[len(CUBIN) :].split(b"\n", 1)[0])["most"]
        return self.registers if most is None else min(self.registers, most)

    def _cuModuleGetFunction(self, module: int, name: bytes) -> Any:
        image = self._functions[module]
        if f".entry {name.decode()}(" not in image.entry:
            return self.CUresult(NOT_FOUND)
        function = self._new()
        threads = min(1024, 65536 // image.registers // 32 * 32)
        self._functions[function] = Loaded(name.decode(), image.registers, threads)
        return (function,)

    def _cuFuncGetAttribute(self, attribute: Any, function: int) -> tuple[int]:
        loaded = self._functions[function]
        return (
            {"MAX_THREADS_PER_BLOCK": loaded.max_threads, "NUM_REGS": loaded.registers}.get(
                attribute.name.removeprefix("CU_FUNC_ATTRIBUTE_"), 0
            ),
        )

    def _cuFuncSetAttribute(self, function: int, attribute: Any, value: int) -> None:
        self._functions[function].dynamic = value

    def _cuGetProcAddress(self, name: bytes, version: int, flags: int) -> tuple[Any, ...]:
        """The address of a function that does as the driver's: native code calls it without Python's part."""
        if not self.gives_addresses:
            return None, None
        kind, function = {
            b"cuLaunchKernel": (
                ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3),
                self._launched_natively,
            ),
            b"cuPointerGetAttribute": (
                ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64),
                self._native_device_attribute,
            ),
        }[name]
        self._kept.append(kind(function))
        return ctypes.cast(self._kept[-1], ctypes.c_void_p).value, 0

    def _launched_natively(self, function: int, *launch: Any) -> int:
        *sizes, stream, parameters, extra = launch
        return int(self.cuLaunchKernel(function, *sizes, stream or 0, parameters, extra or 0)[0])

    def _native_device_attribute(self, into: int, attribute: int, pointer: int) -> int:
        assert attribute == self.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        address = self._holding(pointer)
        if address is None:
            return INVALID_VALUE
        ctypes.c_int.from_address(into).value = self.ordinals.get(address, 0)
        return 0

    def _cuLaunchKernel(self, function: int, *launch: Any) -> Any:
        grid, block, (shared, stream, parameters, _) = launch[:3], launch[3:6], launch[6:]
        loaded = self._functions[function]
        most = RECORDED["device"]
        limits = (most["MAX_GRID_DIM_X"], most["MAX_GRID_DIM_Y"], most["MAX_GRID_DIM_Z"])
        if any(count > limit for count, limit in zip(grid, limits, strict=True)) or shared > max(49152, loaded.dynamic):
            return self.CUresult(INVALID_VALUE)
        if block[0] * block[1] * block[2] > loaded.max_threads:
            return self.CUresult(701)
        launch = self._launch_of(function, grid, block, shared, int(stream), parameters)
        if self._is_captured(stream, launch) is None:
            self.launches.append(launch)
        return None

    def _launch_of(self, function: int, grid: Any, block: Any, shared: int, stream: int, parameters: int) -> Launch:
        address = ctypes.c_void_p.from_address(parameters).value
        packed = ctypes.string_at(address, self.packed_size) if address and self.packed_size else b""
        return Launch(function, self._functions[function].entry, grid, block, shared, stream, packed)


@contextmanager
def driver_double(monkeypatch: Any, **fields: Any) -> Iterator[Driver]:
    """Put a driver in place of CUDA's, and forget what is known of devices, before and after."""
    from kapi_runtime.cuda.devices import device as devices
    from kapi_runtime.cuda.devices import driver
    from kapi_runtime.cuda.programs import program as programs
    from kapi_runtime.cuda.queues import events, keep_alive, timing
    from kapi_runtime.cuda.queues import queue as queues
    from kapi_runtime.platform import device_caches

    made = Driver(**fields)
    caches: list[Any] = [devices._devices, programs._kernels, queues._defaults, events._pools, timing._references]
    for cache in caches:
        cache.clear()
    monkeypatch.setattr(driver, "_loaded", made)
    try:
        yield made
    finally:
        made.fail.clear()
        made.pending = False
        keep_alive.finish()
        for ordinal in range(made.devices):
            device_caches.forget(devices.device_at(ordinal))  # plans of kernels would call this driver later
        for cache in caches:
            cache.clear()


class Pointer:
    """CuPy's memory pointer."""

    def __init__(self, pointer: int, ordinal: int) -> None:
        self.ptr, self.device_id = pointer, ordinal


class InMemory:
    """An object whose memory a test writes, as CuPy's classes keep theirs: its words begin behind the head."""

    __slots__ = tuple(f"word{k}" for k in range(14))

    def __init__(self) -> None:
        _UNTRACK(self)  # its words are no objects, which the garbage collector would take them for
        self.write(0, [0] * 14)

    def write(self, first: int, values: list[int]) -> None:
        (ctypes.c_uint64 * len(values)).from_address(id(self) + 16 + 8 * first)[:] = [each % 2**64 for each in values]

    def __del__(self) -> None:
        gc.disable()  # it is tracked again for this
        self.write(0, [0] * 14)
        gc.enable()


_UNTRACK = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("PyObject_GC_UnTrack", ctypes.pythonapi))


def libraries(monkeypatch: Any, driver: Driver) -> types.SimpleNamespace:
    """Modules ``cupy`` and ``torch`` with arrays in the double's memory, and streams that a test may set."""
    import sys

    cupy, torch = types.ModuleType("cupy"), types.ModuleType("torch")
    state = types.SimpleNamespace(cupy=0, torch=0, allocators=[])

    class ndarray:
        def __init__(self, host: np.ndarray[Any, Any], ordinal: int = 0) -> None:
            driver.adopt(host)
            self.host, self.ordinal = host, ordinal

        @property
        def data(self) -> Pointer:
            return Pointer(self.host.ctypes.data, self.ordinal)

        shape = property(lambda self: self.host.shape)
        strides = property(lambda self: self.host.strides)
        dtype = property(lambda self: self.host.dtype)

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            interface = self.host.__array_interface__
            return {**interface, "data": (self.host.ctypes.data, False), "version": 3, "stream": 1}

    class Tensor:
        requires_grad = conj = neg = False
        is_cuda = True
        layout = "torch.strided"
        device = "cpu"

        def __init__(self, host: np.ndarray[Any, Any], ordinal: int = 0) -> None:
            driver.adopt(host)
            self.host, self.ordinal = host, ordinal
            self.dtype = _dtype_of_torch(host.dtype)

        def data_ptr(self) -> int:
            return self.host.ctypes.data

        shape = property(lambda self: self.host.shape)

        def stride(self) -> tuple[int, ...]:
            return tuple(stride // self.host.itemsize for stride in self.host.strides)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, self.ordinal) if self.is_cuda else (1, 0)

        def get_device(self) -> int:
            return self.ordinal

        def is_conj(self) -> bool:
            return self.conj

        def is_neg(self) -> bool:
            return self.neg

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {**self.host.__array_interface__, "data": (self.data_ptr(), False), "version": 2}

    for module, made in ((cupy, ndarray), (torch, Tensor)):
        made.__module__ = module.__name__
        setattr(module, made.__name__, made)
        monkeypatch.setitem(sys.modules, module.__name__, module)

    @contextmanager
    def current(library: str, handle: int) -> Iterator[None]:
        before = getattr(state, library)
        setattr(state, library, handle)
        try:
            yield
        finally:
            setattr(state, library, before)

    @contextmanager
    def allocating(malloc: Any) -> Iterator[None]:
        state.allocators.append(malloc)
        try:
            yield
        finally:
            state.allocators.pop()

    cupy.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        get_current_stream=lambda device_id=-1: types.SimpleNamespace(ptr=state.cupy),
        Device=lambda ordinal: nullcontext(),
        ExternalStream=lambda handle, ordinal: current("cupy", handle),
        MemoryPool=lambda: types.SimpleNamespace(malloc="a pool's"),
        using_allocator=allocating,
    )
    torch.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        current_stream=lambda device=None: types.SimpleNamespace(cuda_stream=state.torch),
        is_available=lambda: True,
        ExternalStream=lambda handle, device: handle,
        stream=lambda handle: current("torch", handle),
        MemPool=lambda: "PyTorch's pool",
        use_mem_pool=allocating,
    )
    torch.device = lambda kind, ordinal: ordinal  # type: ignore[attr-defined]
    torch._C = types.SimpleNamespace()  # type: ignore[attr-defined]
    return types.SimpleNamespace(cupy=cupy, torch=torch, streams=state, array=ndarray, tensor=Tensor)


class _Dtype:
    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"torch.{self.name}"


_dtypes: dict[str, _Dtype] = {}


def _dtype_of_torch(dtype: np.dtype[Any]) -> _Dtype:
    return _dtypes.setdefault(dtype.name, _Dtype(dtype.name))
