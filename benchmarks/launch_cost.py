"""Host time of one asynchronous launch, in microseconds, by the number and kind of arguments, against the peers.

Every candidate submits a batch, then the queue is drained, then comes the next one, so that all meet the same machine.
The kernels do next to nothing: what is timed is the host.  The floor's median has two modes, so both numbers are told.
"""

from __future__ import annotations

import linecache
import statistics
import time
from collections.abc import Callable
from typing import Any

import dpctl
import dpctl.program
import dpnp
import numpy as np
from dpctl.utils import SequentialOrderManager
from native_loop import native_loop
from opencl_peer import Peer

import kapi_runtime as kapi

__all__ = ["launch_costs"]

_BATCH = 16  # launches between two waits: dpctl asks for the state of each that is pending, at each launch
_SIZE = 64
_SOURCE = "__kernel void add(__global float *a, __global float *b, __global float *c)"
_SOURCE += "{ int i = get_global_id(0); c[i] = a[i] + b[i]; }"


def _kernel(arrays: int, numbers: int = 0) -> Any:
    """A kernel of so many arguments, of which all are read."""
    names = [f"a{i}" for i in range(arrays)] + [f"n{i}" for i in range(numbers)]
    terms = " + ".join(f"{name}[i]" if name[0] == "a" else name for name in names)
    text = f"def kernel(item, {', '.join(names)}):\n    i = item.get_id(0)\n    a0[i] = {terms}\n"
    filename = f"<launch_cost {arrays} {numbers}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    defined: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), defined)
    return kapi.kernel(defined["kernel"])


def launch_costs(rounds: int) -> dict[str, tuple[float, float]]:
    """Median and fastest batch of each candidate, in microseconds a launch, timed in turn."""
    arrays = [dpnp.ones(_SIZE, dtype="float32") for _ in range(16)]
    space = kapi.Range(_SIZE)
    queue = arrays[0].sycl_queue
    candidates: dict[str, Callable[[], object]] = {}

    def add(name: str, kernel: Any, *args: Any) -> None:
        candidates[name] = lambda: kapi.call_kernel_async(kernel, space, (), *args)

    for count in (1, 3, 8, 16):
        add(f"kapi, {count} arrays", _kernel(count), *arrays[:count])
    for count in (8, 15):
        add(f"kapi, 1 array, {count} numbers", _kernel(1, count), arrays[0], *map(float, range(count)))
    three, sixteen = _kernel(3), _kernel(16)
    bound = three.bind(space, *arrays[:3])
    candidates["kapi bound, 3 arrays"] = bound
    candidates["kapi bound, 16 arrays"] = sixteen.bind(space, *arrays)
    candidates["dpctl submit_async, 3 arrays"] = _submit_async(bound, arrays)
    candidates["dpnp.add(out=)"] = lambda: dpnp.add(arrays[0], arrays[1], out=arrays[2])
    peer = Peer(_SOURCE, contract=True)
    values = [peer.array(np.ones(_SIZE, np.float32)) for _ in range(3)]
    theirs = peer.kernel("add", *values)
    candidates["pyopencl, arguments set, 3 arrays"] = lambda: peer.start(theirs, (_SIZE,))
    batches: dict[str, Callable[[], None]] = {name: _repeated(call) for name, call in candidates.items()}
    batches["kapi, no argument, in device_context"] = _without_arguments(queue)
    floor = native_loop(bound)
    batches["native loop, 3 arrays packed"] = lambda: floor(_BATCH)

    times: dict[str, list[float]] = {name: [] for name in batches}
    for batch in batches.values():
        batch()
    for _ in range(rounds):
        for name, batch in batches.items():
            queue.wait()
            peer.queue.finish()
            start = time.perf_counter()
            batch()
            times[name].append((time.perf_counter() - start) / _BATCH * 1e6)
    queue.wait()
    peer.queue.finish()
    return {name: (statistics.median(each), min(each)) for name, each in times.items()}


def _repeated(call: Callable[[], object]) -> Callable[[], None]:
    def batch() -> None:
        for _ in range(_BATCH):
            call()

    return batch


def _without_arguments(queue: Any) -> Callable[[], None]:
    """Launches that no array places: only a `device_context` does."""

    @kapi.kernel
    def nothing(item):  # type: ignore[no-untyped-def]  # as users write it
        item.get_id(0)

    space = kapi.Range(_SIZE)

    def batch() -> None:
        with kapi.device_context(queue):
            for _ in range(_BATCH):
                kapi.call_kernel_async(nothing, space, ())

    return batch


def _submit_async(bound: Any, arrays: list[Any]) -> Callable[[], object]:
    """The same addition through dpctl's own Python interface, arrays and sizes as arguments of their own.

    It is ordered like kapi's, by the events of the queue.
    """
    queue = arrays[0].sycl_queue
    kernel = dpctl.program.create_program_from_source(queue, _SOURCE).get_sycl_kernel("add")
    memory = [array.get_array().usm_data for array in arrays[:3]]
    done = dpctl.SyclEvent()

    def launch() -> Any:
        order = SequentialOrderManager[queue]
        event = queue.submit_async(kernel, memory, [_SIZE], None, order.submitted_events)
        order.add_event_pair(done, event)
        return event

    return launch
