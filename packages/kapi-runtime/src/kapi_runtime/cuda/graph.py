"""Graphs on CUDA devices: a capture of the queue's stream, which is instantiated and launched as one.

The stream is captured, so that what CuPy and PyTorch submit to it is recorded as well.  The legacy default stream
cannot be captured; a new stream stands for it inside of the block.  CuPy and PyTorch use the captured stream there,
whatever theirs is outside, and take memory from pools that the graph keeps: a replay writes to the same addresses.

References
----------
CUDA driver API: stream management (``cuStreamBeginCapture``), graph management.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.memory.allocations import copy_call
from kapi_runtime.cuda.programs.program import CudaKernel
from kapi_runtime.cuda.queues import keep_alive
from kapi_runtime.cuda.queues.events import CudaEvent, recorded_event, wait_on_stream
from kapi_runtime.cuda.queues.keep_alive import Timeline, timeline_of
from kapi_runtime.cuda.queues.queue import CudaQueue, new_queue
from kapi_runtime.cuda.queues.streams import LEGACY, PER_THREAD
from kapi_runtime.cuda.submission import OTHER_CONTEXT, launched, native_arguments, refusal, shared_bytes
from kapi_runtime.platform.interface import BuiltKernel, NativeArgument, NativeGraph, Platform
from kapi_runtime.platform.placement_errors import own_kernel
from kapi_sim.errors import KernelLaunchError
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["CudaGraph"]

_ours = partial(own_kernel, CudaKernel, "a CUDA device")


class CudaGraph(NativeGraph):
    """A CUDA graph; see `NativeGraph`.

    - `queue`: whose work is recorded, and where it is submitted.
    - `is_named`: whether the program has named the queue.
    """

    def __init__(self, platform: Platform, queue: CudaQueue, is_named: bool) -> None:
        super().__init__(platform, queue)
        self._is_named = is_named
        self._captured = queue
        self._block = ExitStack()
        self._kept: list[Any] = []  # memory pools
        self._handles: _Handles | None = None
        self._replay: Callable[[], Any]
        self._timeline: Timeline | None = None

    def begin(self) -> None:
        if not self._is_named:
            raise KernelLaunchError(
                "a graph of a CUDA device must be given its queue, got none: `kapi.graph(kapi.default_queue('cuda'))`, "
                "or a stream of CuPy's or PyTorch's; their work before the first launch would not be recorded",
                code="graph-queue",
            )
        device = self.queue.device
        if self.queue.handle in (LEGACY, PER_THREAD):
            self._captured = new_queue(device)
        self._block.enter_context(_libraries_on(self._captured, self._kept))
        try:
            with device.entered():
                mode = driver.bindings().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
                driver.call("cuStreamBeginCapture", self._captured.handle, mode)
        except BaseException:
            self._block.close()
            raise

    def end(self) -> None:
        try:
            graph = self._ended()
        finally:
            self._block.close()
        with self.queue.device.entered():
            try:
                executable = driver.call("cuGraphInstantiate", graph, 0)
            except BaseException:
                driver.quietly("cuGraphDestroy", graph)
                raise
            self._handles = _Handles(graph, executable)
            bindings = driver.bindings()
            self._replay = partial(bindings.cuGraphLaunch, executable, bindings.CUstream(self.queue.handle))
            if self.queue.stream.is_lasting:
                self._timeline = timeline_of(self.queue)
            driver.call("cuGraphUpload", executable, self._captured.handle)  # the first replay takes no longer then

    def abandon(self) -> None:
        try:
            driver.quietly("cuGraphDestroy", self._ended())
        except Exception:  # what broke the capture was reported where it was found
            pass
        finally:
            self._block.close()

    def is_for(self, queue: Any) -> bool:
        own = {self.queue.handle, self._captured.handle}
        return (
            isinstance(queue, CudaQueue)
            and queue.device == self.queue.device
            and own.issuperset((queue.handle, *(other.handle for other in queue.others)))
        )

    def add_launch(
        self,
        kernel: BuiltKernel,
        arguments: Sequence[NativeArgument],
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
    ) -> Any:
        assert local_range is not None  # `submitted_range` chose one
        made, native = _ours(kernel), native_arguments(arguments)
        function, grid = launched(made, global_range, local_range)
        shared, stream = shared_bytes(made, native.accessors), self._captured.handle
        with self.queue.device.entered():
            code, _ = driver.result("cuLaunchKernel", function.native, *grid, shared, stream, native.address, 0)
            if code:
                raise refusal(code, made, shared)
            # The stream goes on after the node that was added.
            _, _, _, nodes, *_ = driver.call("cuStreamGetCaptureInfo", stream)
        return nodes[0]

    def change_launch(
        self,
        node: Any,
        kernel: BuiltKernel,
        arguments: Sequence[NativeArgument],
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
    ) -> None:
        assert local_range is not None  # `submitted_range` chose one
        assert self._handles is not None  # it has ended
        made, native = _ours(kernel), native_arguments(arguments)
        function, grid = launched(made, global_range, local_range)
        node_parameters = driver.bindings().CUDA_KERNEL_NODE_PARAMS()
        node_parameters.func, node_parameters.kernelParams = function.native, native.address
        (
            node_parameters.gridDimX,
            node_parameters.gridDimY,
            node_parameters.gridDimZ,
            node_parameters.blockDimX,
            node_parameters.blockDimY,
            node_parameters.blockDimZ,
        ) = grid
        node_parameters.sharedMemBytes = shared_bytes(made, native.accessors)
        with self.queue.device.entered():
            driver.call("cuGraphExecKernelNodeSetParams", self._handles.executable, node, node_parameters)

    def add_copy(self, target: ArrayFields, source: ArrayFields, nbytes: int) -> None:
        with self.queue.device.entered():
            driver.call(copy_call(target, source), target.pointer, source.pointer, nbytes, self._captured.handle)

    def submit(self, queue: CudaQueue, before: Sequence[CudaEvent], owners: Any) -> CudaEvent:
        device, stream = queue.device, queue.handle
        for event in before:
            wait_on_stream(device, stream, event)
        code = int(self._replay()[0])
        if code in OTHER_CONTEXT:  # each thread has a context of its own that is current, none at first
            with device.entered():
                code = int(self._replay()[0])
        if code:
            raise driver.error_of("cuGraphLaunch", code, "a replay of a graph")
        if self._timeline is not None:
            return self._timeline.add(owners)
        event = recorded_event(device, stream)
        keep_alive.keep(queue, event, owners)
        return event

    def _ended(self) -> Any:
        """The graph of the capture."""
        with self.queue.device.entered():
            return driver.call("cuStreamEndCapture", self._captured.handle)


class _TorchPool:
    """A memory pool of PyTorch's, which may be let go of only while nothing is captured: see `_retired`."""

    __slots__ = ("pool",)

    def __init__(self, pool: Any) -> None:
        self.pool = pool

    def __del__(self) -> None:
        try:
            _retired.append(self.pool)
        except NameError:  # at exit this module's names are gone
            return


_retired: list[Any] = []
"""Pools of PyTorch's that no graph has any more, until the next recording: PyTorch ends the process if one is destroyed
while it captures, and a graph may be dropped at any time."""


class _Handles:
    """A graph of the driver's and its executable form, destroyed with this object."""

    __slots__ = ("executable", "graph")

    def __init__(self, graph: Any, executable: Any) -> None:
        self.graph, self.executable = graph, executable

    def __del__(self) -> None:
        try:
            driver.quietly("cuGraphExecDestroy", self.executable)  # a replay in flight runs to its end
            driver.quietly("cuGraphDestroy", self.graph)
        except (AttributeError, TypeError):  # at exit this module's names are gone
            return


@contextmanager
def _libraries_on(queue: CudaQueue, kept: list[Any]) -> Iterator[None]:
    """Have CuPy and PyTorch use a queue's stream, and memory of pools that `kept` holds, inside of a ``with`` block."""
    ordinal = queue.device.ordinal
    with ExitStack() as block:
        cupy = sys.modules.get("cupy")
        if cupy is not None:
            pool = cupy.cuda.MemoryPool()
            block.enter_context(cupy.cuda.Device(ordinal))
            block.enter_context(cupy.cuda.ExternalStream(queue.handle, ordinal))
            block.enter_context(cupy.cuda.using_allocator(pool.malloc))
            kept.append(pool)
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            stream = torch.cuda.ExternalStream(queue.handle, torch.device("cuda", ordinal))
            block.enter_context(torch.cuda.stream(stream))
            pools = getattr(torch.cuda, "MemPool", None)
            if pools is not None:  # from version 2.5 on
                _retired.clear()
                held = _TorchPool(pools())
                block.enter_context(torch.cuda.use_mem_pool(held.pool))
                kept.append(held)
            kept.append(stream)
        yield
