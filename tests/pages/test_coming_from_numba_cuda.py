"""The table of numba.cuda's host side: each row's code runs, and does what the row says."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import dpnp
import numpy as np
import pytest
from numba import int64

import kapi_runtime as kapi
import kapi_spirv

PAGE = Path(__file__).parents[2] / "docs" / "coming_from" / "numba_cuda.md"
ROW = re.compile(r"^\| (?P<theirs>.*?) \|(?P<note>[^|]*)\| `(?P<ours>.*)` \|$", re.MULTILINE)
ROWS = {row["theirs"].replace("`", ""): row["ours"] for row in ROW.finditer(PAGE.read_text("utf-8"))}

SOURCE = "kernel void one(global int *x) { x[get_global_id(0)] = 1; }"


def add_one(item: kapi.Item, values):
    i = item.get_id(0)
    values[i] += 1


class DlPack:
    """An array of a library that offers DLPack alone."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def twice(x):
    return x * 2


class Bench:
    """Namespace of the rows' code, and the evaluation of a row's code."""

    def __init__(self):
        self.device = kapi.devices[0]
        self.queue = kapi.queue(in_order=True)
        self.array = dpnp.zeros(8, sycl_queue=self.queue)
        self.kernel = kapi.kernel(add_one)
        self.kernel[8](dpnp.zeros(8))
        self.context = kapi.current_context()
        self.start, self.end, self.event = kapi.Event(), kapi.Event(), kapi.Event()
        self.start.record()
        self.end.record()
        self.values, self.target = np.arange(8.0), dpnp.zeros(8)
        self.called = []
        self.names = {
            **vars(self),
            "kapi": kapi,
            "kapi_spirv": kapi_spirv,
            "asyncio": asyncio,
            "function": add_one,
            "pointer": self.queue.addressof_ref(),
            "dlpack": DlPack(dpnp.arange(8)),
            "callback": lambda queue, status, arg: self.called.append(arg),
            "waits": self.waits,
            "types": (int64,),
            "source": SOURCE,
        }

    async def waits(self):
        return await self.queue.async_done()

    def run(self, code):
        """Value of an expression, or of the first name that a statement assigns."""
        try:
            return eval(code, self.names)
        except SyntaxError:
            before = set(self.names)
            exec(code, self.names)
            made = [name for name in self.names if name not in before]
            return self.names[made[0]]


@pytest.fixture
def bench():
    yield Bench()
    kapi.close()


def is_array(array, kind):
    return isinstance(array, dpnp.ndarray) and array.usm_type == kind


def compiled(result):
    return result[0][:4] == b"\x03\x02\x23\x07"


def one_each(result):
    return len(result) == 1 and all(result.values())


# For each row what must hold of what its code gives.
HOLDS = {
    "cuda.is_available()": lambda b, r: r is True,
    "cuda.detect()": lambda b, r: r is True,
    "numba -s": lambda b, r: r is True,
    "cuda.gpus": lambda b, r: list(r) == [b.device, *list(r)[1:]],
    "cuda.gpus[0]": lambda b, r: r == kapi.default_device(),
    "cuda.gpus.current": lambda b, r: r == kapi.default_device(),
    "with cuda.gpus[0]:": lambda b, r: r == b.device,
    "cuda.list_devices()": lambda b, r: r == list(kapi.devices) and b.device in r,
    "cuda.select_device(0)": lambda b, r: r == kapi.devices.current == b.device,
    "cuda.get_current_device()": lambda b, r: r == b.device,
    "device.name": lambda b, r: r == dpnp.zeros(1).sycl_device.name,
    "device.MULTIPROCESSOR_COUNT": lambda b, r: r >= 1,
    "device.MAX_THREADS_PER_BLOCK": lambda b, r: r >= 1,
    "device.WARP_SIZE": lambda b, r: 16 in r,
    "device.MAX_SHARED_MEMORY_PER_BLOCK": lambda b, r: r >= 1024,
    "device.id": lambda b, r: kapi.devices[r] == b.device,
    "device.compute_capability": lambda b, r: r is True,
    "cuda.is_float16_supported()": lambda b, r: r == b.device.has_aspect_fp16,
    "device.uuid": lambda b, r: r == "opencl:cpu:0",
    "cuda.Device attributes": lambda b, r: r["global_mem_size"] == b.device.global_mem_size,
    "MIG instances": lambda b, r: r[0].max_compute_units == 1 and r[0].parent_device == b.device,
    "device.can_access_peer(other)": lambda b, r: r is False,
    "device.reset()": lambda b, r: b.kernel[8](dpnp.zeros(8)) is None,
    "cuda.close()": lambda b, r: kapi.devices.current == kapi.default_device(),
    "cuda.current_context()": lambda b, r: r.device == b.device,
    "cuda.require_context": lambda b, r: r.__name__ == "add_one",
    "context.get_memory_info()": lambda b, r: r.total == b.device.global_mem_size,
    "context.push()": lambda b, r: b.context.pop() is None,
    "context.pop()": lambda b, r: kapi.devices.current == kapi.default_device(),
    "cuda.synchronize()": lambda b, r: b.end.query(),
    "cuda.defer_cleanup()": lambda b, r: hasattr(r, "__enter__"),
    "cuda.runtime.get_version()": lambda b, r: len(r) == 2 and all(isinstance(each, int) for each in r),
    "all versions": lambda b, r: r.driver == b.device.driver_version,
    "cuda.default_stream()": lambda b, r: r == dpnp.zeros(1).sycl_queue,
    "cuda.legacy_default_stream()": lambda b, r: r is kapi.default_queue(b.device),
    "cuda.per_thread_default_stream()": lambda b, r: r != kapi.default_queue(),
    "cuda.stream()": lambda b, r: r.is_in_order,
    "cuda.external_stream(pointer)": lambda b, r: r == b.queue,
    "kernel[grid, block, stream](a)": lambda b, r: b.array.asnumpy().tolist() == [1] * 8,
    "stream.synchronize()": lambda b, r: r is None,
    "stream.auto_synchronize()": lambda b, r: b.array.asnumpy().tolist() == [1] * 8,
    "stream.add_callback(f, arg)": lambda b, r: b.queue.synchronize() is None and b.called == [7],
    "stream.async_done()": lambda b, r: r is b.queue,
    "cuda.event(timing=True)": lambda b, r: r.query(),
    "event.record(stream)": lambda b, r: b.event.synchronize() is None and b.event.query(),
    "event.query()": lambda b, r: r is True,
    "event.synchronize()": lambda b, r: r is None,
    "event.wait(stream)": lambda b, r: r is None,
    "start.elapsed_time(end)": lambda b, r: type(r) is float and r >= 0,
    "cuda.event_elapsed_time(start, end)": lambda b, r: r == b.start.elapsed_time(b.end),
    "cuda.profile_start()": lambda b, r: kapi.compat.profile_stop() is r,
    "cuda.profile_stop()": lambda b, r: len(r) == 0,
    "with cuda.profiling():": lambda b, r: [each.name for each in r.launches] == ["add_one"],
    "cuda.to_device(values)": lambda b, r: is_array(r, "device") and (r.asnumpy() == b.values).all(),
    "array.copy_to_host()": lambda b, r: isinstance(r, np.ndarray) and r.tolist() == [0] * 8,
    "array.copy_to_device(other)": lambda b, r: (b.target.asnumpy() == b.values).all(),
    "cuda.device_array(8)": lambda b, r: is_array(r, "device"),
    "cuda.device_array_like(array)": lambda b, r: (r.shape, r.dtype, r.sycl_queue) == ((8,), b.array.dtype, b.queue),
    "cuda.pinned_array(8)": lambda b, r: type(r) is np.ndarray and r.shape == (8,),
    "cuda.pinned(values)": lambda b, r: type(r) is np.ndarray and r.shape == (8,),
    "cuda.mapped_array(8)": lambda b, r: is_array(r, "host"),
    "cuda.mapped(values)": lambda b, r: is_array(r, "host"),
    "cuda.managed_array(8)": lambda b, r: is_array(r, "shared"),
    "__cuda_array_interface__": lambda b, r: r["shape"] == (8,),
    "cuda.as_cuda_array(other)": lambda b, r: r.asnumpy().tolist() == list(range(8)),
    "@cuda.jit": lambda b, r: isinstance(r, kapi.Kernel),
    "@cuda.jit(device=True)": lambda b, r: isinstance(r, kapi.DeviceFunction),
    "@cuda.jit(debug=True)": lambda b, r: r(add_one).options.debug,
    "kernel[blocks, threads](array)": lambda b, r: b.array.asnumpy().tolist() == [1] * 8,
    "kernel.forall(8)(array)": lambda b, r: b.array.asnumpy().tolist() == [1] * 8,
    "asynchronous launches": lambda b, r: r[0].wait() is None and b.array.asnumpy().tolist() == [1] * 8,
    "kernel.specialize(array)": lambda b, r: r()[0].wait() is None and b.array.asnumpy().tolist() == [1] * 8,
    "kernel.inspect_types()": lambda b, r: one_each(r),
    "kernel.inspect_llvm()": lambda b, r: one_each(r) and "spir_kernel" in next(iter(r.values())),
    "kernel.inspect_asm()": lambda b, r: one_each(r) and "OpEntryPoint" in next(iter(r.values())),
    "kernel.get_max_threads_per_block()": lambda b, r: one_each(r),
    "occupancy calculator": lambda b, r: 1024 % r[0] == 0,
    "kernel.stats": lambda b, r: (r.launches, r.modules) == (1, 1),
    "cuda.compile_ptx(f, types)": lambda b, r: compiled(r),
    "cuda.compile_for_current_device(f, types)": lambda b, r: compiled(r),
    "cuda.declare_device, linked PTX": lambda b, r: r.parameters == ("x: int32[:]",),
    "NUMBA_ENABLE_CUDASIM=1": lambda b, r: hasattr(r, "__enter__"),
}

# What runs before a row's code.
FIRST = {
    "context.pop()": "context.push()",
    "cuda.profile_stop()": "kapi.compat.profile_start()",
    "cuda.compile_ptx(f, types)": "function = twice",
    "cuda.compile_for_current_device(f, types)": "function = twice",
}


def test_every_row_has_what_must_hold():
    assert list(ROWS) == list(HOLDS)


@pytest.mark.parametrize("theirs", ROWS)
def test_row_does_what_it_says(theirs, bench):
    bench.names["twice"] = twice
    if theirs in FIRST:
        exec(FIRST[theirs], bench.names)
    assert HOLDS[theirs](bench, bench.run(ROWS[theirs]))
