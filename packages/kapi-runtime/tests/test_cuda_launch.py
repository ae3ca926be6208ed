"""Launches on CUDA devices: what the driver is given, the first time and by plans.

PYTEST_DONT_REWRITE: a kernel here has an assert.
"""

from __future__ import annotations

import ctypes
import struct
import threading

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.cuda import plan as planning
from kapi_runtime.cuda import submission
from kapi_runtime.cuda.native import native_functions as native_code
from kapi_runtime.cuda.plan import CudaPlan
from kapi_sim.testing.reports import raises


@kapi.kernel
def scale(item: kapi.Item, x, y, factor):
    i = item.get_id(0)
    y[i] = x[i] * factor


@kapi.kernel
def reverse(item: kapi.NdItem, x, tile):
    k = item.get_local_id(0)
    tile[k] = x[item.get_global_id(0)]
    kapi.group_barrier(item.get_group())
    x[item.get_global_id(0)] = tile[item.get_local_range(0) - 1 - k]


def ones(lib, count=1000, dtype=np.float32):
    return lib.array(np.ones(count, dtype))


def packed_integers(launch, offsets):
    """Integers of 64 bits in a packed argument."""
    return [int.from_bytes(launch.packed[8 * at : 8 * at + 8], "little") for at in offsets]


@pytest.fixture
def packed(gpu):
    gpu.packed_size = 48
    return gpu


def test_launch_gives_the_driver_grid_stream_and_packed_argument(packed, lib):
    x, y = ones(lib), ones(lib)
    scale[kapi.Range(1000)](x, y, 2.5)
    (launch,) = packed.launches
    assert (launch.entry, launch.grid, launch.block) == ("kapi_scale", (4, 1, 1), (256, 1, 1))
    assert (launch.shared, launch.stream) == (0, 1)
    assert packed_integers(launch, range(5)) == [1000, x.data.ptr, 1000, y.data.ptr, 1000]
    assert np.frombuffer(launch.packed[40:44], np.float32)[0] == 2.5 or np.frombuffer(launch.packed[40:48])[0] == 2.5


def test_launch_of_two_dimensions_has_its_last_one_as_x(gpu, lib):
    @kapi.kernel
    def fill(item: kapi.NdItem, x):
        x[item.get_global_id(0), item.get_global_id(1)] = 1

    fill[kapi.NdRange((12, 64), (3, 32))](lib.array(np.zeros((12, 64), np.float32)))
    assert (gpu.launches[0].grid, gpu.launches[0].block) == ((2, 4, 1), (32, 3, 1))


def test_launch_of_no_work_items_calls_no_kernel(gpu, lib):
    scale[kapi.Range(0)](ones(lib), ones(lib), 1.0)
    assert gpu.launches == []


def test_second_launch_goes_by_a_plan_with_other_arrays_and_numbers(packed, lib, slow_path):
    scale[kapi.Range(1000)](ones(lib), ones(lib), 2.5)
    x, y = ones(lib), ones(lib)
    scale[kapi.Range(1000)](x, y, 7.25)
    assert len(slow_path) == 1
    assert packed_integers(packed.launches[1], range(5)) == [1000, x.data.ptr, 1000, y.data.ptr, 1000]
    assert packed.launches[0].packed[40:44] != packed.launches[1].packed[40:44] or (
        packed.launches[0].packed[40:48] != packed.launches[1].packed[40:48]
    )


def test_plan_calls_the_driver_once_a_launch(gpu, lib, monkeypatch):
    monkeypatch.setattr(planning, "LOOK_SELDOM", 1000)  # the launches of earlier tests count as well
    x, y = ones(lib), ones(lib)
    kapi.call_kernel(scale, kapi.Range(1000), x, y, 1.0)
    gpu.calls.clear()
    for _ in range(5):
        kapi.call_kernel_async(scale, kapi.Range(1000), [], x, y, 1.0)
    assert gpu.names() == ["cuLaunchKernel"] * 5


@pytest.mark.parametrize(
    "change",
    [
        lambda lib, x, y: (ones(lib, 999), ones(lib, 999), 1.0),
        lambda lib, x, y: (ones(lib, 1000, np.float64), y, 1.0),
        lambda lib, x, y: (lib.array(np.ones(2000, np.float32)[::2]), y, 1.0),
        lambda lib, x, y: (lib.tensor(np.ones(1000, np.float32)), y, 1.0),
        lambda lib, x, y: (x, y, 1),
        lambda lib, x, y: (x, y, np.float32(1)),
    ],
    ids=["shape", "dtype", "strides", "class", "number", "numpy-number"],
)
def test_what_differs_in_kind_takes_the_slow_path(gpu, lib, slow_path, change):
    x, y = ones(lib), ones(lib)
    scale[kapi.Range(1000)](x, y, 1.0)
    scale[kapi.Range(1000)](*change(lib, x, y))
    assert len(slow_path) == 2


def test_other_current_stream_takes_the_slow_path_to_that_stream(gpu, lib, slow_path):
    x, y = ones(lib), ones(lib)
    for stream in (0, 77, 77, 0):
        lib.streams.cupy = stream
        scale[kapi.Range(1000)](x, y, 1.0)
    assert [launch.stream for launch in gpu.launches] == [1, 77, 77, 1]
    assert len(slow_path) == 2


def test_plan_takes_tensors(gpu, lib, slow_path):
    x, y = lib.tensor(np.ones(100, np.int32)), lib.tensor(np.ones(100, np.int32))
    for _ in range(3):
        scale[kapi.Range(100)](x, y, 3)
    assert len(slow_path) == 1
    x.requires_grad = True
    with raises(kapi.DtypeError, "tensor-form"):
        scale[kapi.Range(100)](x, y, 3)


def test_overlap_is_refused_by_the_slow_path_also_after_a_plan(gpu, lib):
    base = np.ones(2000, np.float32)
    lib.array(base)
    first, second, shifted = (lib.array(base[start : start + 1000]) for start in (0, 1000, 500))
    scale[kapi.Range(1000)](first, second, 1.0)
    scale[kapi.Range(1000)](first, first, 1.0)
    with raises(kapi.KernelLaunchError, "arguments-overlap"):
        scale[kapi.Range(1000)](first, shifted, 1.0)


def test_thread_without_a_context_launches_by_the_plan(gpu, lib, slow_path):
    x, y = ones(lib), ones(lib)
    scale[kapi.Range(1000)](x, y, 1.0)
    gpu.fail["cuLaunchKernel"] = [201]
    gpu._context = 0
    gpu.calls.clear()
    thread = threading.Thread(target=lambda: scale[kapi.Range(1000)](x, y, 1.0))
    thread.start()
    thread.join()
    assert gpu.names()[:3] == ["cuLaunchKernel", "cuCtxSetCurrent", "cuLaunchKernel"]
    assert (len(gpu.launches), len(slow_path)) == (2, 1)


@pytest.mark.parametrize("is_native", [True, False])
def test_launch_while_the_plan_is_in_use_takes_the_slow_path(gpu, lib, slow_path, monkeypatch, is_native):
    """Another thread launches while the driver is called, or a destructor: neither changes what is launched."""
    if not is_native:
        monkeypatch.setattr(native_code, "_made", [None])
    gpu.packed_size = 48
    x, y, z = ones(lib), ones(lib), ones(lib)
    launched, between = type(gpu)._cuLaunchKernel, []

    def launched_between(self, *launch):
        if between:
            scale[kapi.Range(1000)](between.pop(), y, 1.0)
        return launched(self, *launch)

    monkeypatch.setattr(type(gpu), "_cuLaunchKernel", launched_between)
    scale[kapi.Range(1000)](x, y, 1.0)
    (plan,) = scale._plans[kapi.Range(1000)]
    assert isinstance(plan, CudaPlan)
    between.append(z)
    scale[kapi.Range(1000)](x, y, 1.0)
    assert len(slow_path) == 2
    first, inner, outer = (launch.packed for launch in gpu.launches)
    assert first == outer != inner


@pytest.mark.parametrize("is_native", [True, False])
def test_plan_takes_events_and_refuses_what_is_none(gpu, lib, slow_path, monkeypatch, is_native):
    if not is_native:
        monkeypatch.setattr(native_code, "_made", [None])
    x, y = ones(lib), ones(lib)
    other = kapi.queue("cuda")
    for _ in range(2):
        first, _ = kapi.call_kernel_async(scale, kapi.Range(1000), (), x, y, 1.0)
    gpu.calls.clear()
    kapi.call_kernel_async(scale, kapi.Range(1000), [first], x, y, 1.0)
    assert "cuStreamWaitEvent" not in gpu.names()  # a stream keeps its own order
    kapi.call_kernel_async(scale, kapi.Range(1000), [other.submit_barrier()], x, y, 1.0)
    assert gpu.names().count("cuStreamWaitEvent") == 1
    assert len(slow_path) == 1
    with raises(kapi.KernelLaunchError, "no-event"):
        kapi.call_kernel_async(scale, kapi.Range(1000), [threading.Event()], x, y, 1.0)
    assert len(gpu.launches) == 4


def test_bound_launch_is_repeated_without_looking_at_arguments(gpu, lib, slow_path):
    launch = scale.bind(kapi.Range(1000), ones(lib), ones(lib), 1.0)
    for _ in range(3):
        launch()
    assert len(gpu.launches) == 3
    assert len(slow_path) == 1


def test_local_memory_in_the_module_asks_for_none(gpu, lib):
    reverse[kapi.NdRange((256,), (64,))](ones(lib, 256), kapi.LocalAccessor(64, np.float32))
    assert gpu.launches[0].shared == 0


def test_local_memory_over_48_kib_is_asked_for_and_allowed(gpu, lib):
    x = ones(lib, 1024)
    reverse[kapi.NdRange((1024,), (1024,))](x, kapi.LocalAccessor(16 * 1024, np.float32))
    assert gpu.launches[0].shared == 64 * 1024
    with raises(kapi.LimitError, "local-memory-too-large") as refused:
        reverse[kapi.NdRange((1024,), (1024,))](x, kapi.LocalAccessor(64 * 1024, np.float32))
    assert refused.value.code == "local-memory-too-large"


def test_registers_that_do_not_allow_a_group_are_fewer_in_a_second_build(gpu, lib):
    gpu.registers = 128
    x = ones(lib, 1024)
    reverse[kapi.NdRange((1024,), (256,))](x, kapi.LocalAccessor(1024, np.float32))
    reverse[kapi.NdRange((1024,), (1024,))](x, kapi.LocalAccessor(1024, np.float32))
    small, large = gpu.launches
    assert gpu._functions[small.function].registers == 128
    assert gpu._functions[large.function].registers == 64


def test_demanded_group_size_is_not_built_with_fewer_registers(gpu, lib):
    @kapi.kernel(max_work_group_size=1024)
    def fill(item: kapi.NdItem, x):
        x[item.get_global_id(0)] = 1

    gpu.registers = 128
    with pytest.raises(kapi.LimitError) as refused:
        fill[kapi.NdRange((1024,), (1024,))](ones(lib, 1024))
    assert refused.value.code == "work-group-too-large"


def test_driver_s_refusal_of_a_launch_has_its_name_and_the_launch(gpu, lib):
    gpu.fail["cuLaunchKernel"] = 701
    with raises(kapi.KernelLaunchError, "launch-refused") as refused:
        scale[kapi.Range(10)](ones(lib, 10), ones(lib, 10), 1.0)
    assert "index space" in str(refused.value)
    assert refused.value.code == "launch-refused"


def test_failure_record_is_raised_with_work_item_and_line(gpu, lib):
    @kapi.kernel(debug=True)
    def checked(item: kapi.Item, x):
        assert x[item.get_id(0)] > 0

    host, _ = kapi.call_kernel_async(checked, kapi.Range(10), [], ones(lib, 10))
    address, (_, size) = max(gpu.memory.items(), key=lambda each: each[0] if each[1][1] == 64 else 0)
    assert size == 64
    ctypes.memmove(address, struct.pack("<q3q3qq", 2, 7, 0, 0, 0, 0, 0, 0), 64)  # the first is an index's
    with raises(kapi.KernelAssertionError, "assert-failed"):
        host.wait()


# -- what code takes for granted of a launch


def targets(kernel):
    """The assumptions of the kernel's modules, in the order of their compilation."""
    return [(module.target.is_small, module.target.reads_apart) for module in kernel.modules.values()]


@pytest.fixture
def copied():
    @kapi.kernel
    def copied(item: kapi.Item, x, y):
        i = item.get_id(0)
        y[i] = x[i]

    return copied


def test_launch_of_small_disjoint_arrays_takes_both_for_granted(gpu, lib, copied):
    copied[kapi.Range(10)](ones(lib, 10), ones(lib, 10))
    assert targets(copied) == [(True, True)]


def test_array_that_is_read_and_written_has_code_that_knows_it(gpu, lib, copied, slow_path):
    x, y = ones(lib, 10), ones(lib, 10)
    copied[kapi.Range(10)](x, y)
    for _ in range(2):
        copied[kapi.Range(10)](x, x)
    assert targets(copied) == [(True, True), (True, False)]
    one, other, again = (launch.function for launch in gpu.launches)
    assert one != other == again
    assert len(slow_path) == 2  # the third has the plan of the second


def test_plan_of_disjoint_arrays_does_not_take_one_that_is_read_and_written(gpu, lib, copied):
    x, y = ones(lib, 10), ones(lib, 10)
    launch = copied.bind(kapi.Range(10), x, y)
    launch()
    launch.replace(x=y)
    launch()
    one, other = (each.function for each in gpu.launches)
    assert one != other


def test_arrays_that_are_only_read_may_be_one(gpu, lib):
    @kapi.kernel
    def add(item: kapi.Item, x, y, z):
        i = item.get_id(0)
        z[i] = x[i] + y[i]

    x = ones(lib, 10)
    add[kapi.Range(10)](x, x, ones(lib, 10))
    assert targets(add) == [(True, True)]


def test_interlocking_arrays_are_not_disjoint(gpu, lib, copied):
    host = np.ones(20, np.float32)
    gpu.adopt(host)
    copied[kapi.Range(10)](lib.array(host[::2]), lib.array(host[1::2]))
    assert targets(copied) == [(True, True), (True, False)]


def test_columns_of_a_matrix_have_one_plan(gpu, lib, copied, slow_path):
    host = np.ones((10, 8), np.float32)
    gpu.adopt(host)
    columns = [lib.array(host[:, j]) for j in range(8)]
    for j in range(1, 8):
        copied[kapi.Range(10)](columns[j - 1], columns[j])
    assert len(slow_path) == 1
    copied[kapi.Range(10)](columns[1], columns[0])  # it was not looked at whether these share an element
    assert len(slow_path) == 2


def test_shapes_that_come_once_have_no_plan(gpu, lib, copied):
    for size in range(1, 40):
        copied[kapi.Range(size)](ones(lib, size), ones(lib, size))
    assert len(copied._plans) == 16
    copied[kapi.Range(39)](ones(lib, 39), ones(lib, 39))
    assert len(copied._plans) == 17


def test_large_extents_have_code_for_them(gpu, lib, copied):
    space = kapi.Range(2**31 - 2**16)
    huge = np.lib.stride_tricks.as_strided(np.ones(1, np.int8), (2**31 - 2**16,), (0,))
    copied[kapi.Range(10)](lib.array(huge), ones(lib, 10))
    assert targets(copied) == [(False, True)]

    @kapi.kernel
    def fill(item: kapi.Item, x):
        x[0] = 1

    fill[space](ones(lib, 10))
    fill[kapi.Range(2**31 - 2**16 - 1)](ones(lib, 10))
    assert targets(fill) == [(False, True), (True, True)]


def test_module_for_launches_that_keep_more_is_refused_for_others(gpu, lib):
    from kapi_ptx import PtxTarget, compile_kernel

    def copied(item, x, y):
        i = item.get_id(0)
        y[i] = x[i]

    target = PtxTarget(80, is_small=True, reads_apart=True)
    kernel = kapi.load_ptx(compile_kernel(copied, "item1, float32[:], float32[:]", target=target))
    x = ones(lib, 10)
    kernel[kapi.Range(10)](x, ones(lib, 10))
    with raises(kapi.KernelLaunchError, "arguments-overlap"):
        kernel[kapi.Range(10)](x, x)
    with raises(kapi.LimitError, "range-too-large"):
        kernel[kapi.Range(2**31)](x, ones(lib, 10))
    assert len(gpu.launches) == 1


# -- threads of several work-items


def test_large_ranges_have_threads_of_several_work_items(gpu, lib, monkeypatch):
    monkeypatch.setattr(submission, "COARSE_BLOCKS_PER_UNIT", 0.5)  # of 132 units
    x, y = ones(lib, 66 * 256), ones(lib, 66 * 256)
    for count in (65 * 256, 66 * 256 - 1, 66 * 256 - 1):
        scale[kapi.Range(count)](x, y, 2.5)
    small, large, planned = gpu.launches
    assert (small.entry, small.grid, small.block) == ("kapi_scale", (65, 1, 1), (256, 1, 1))
    assert (large.entry, large.grid, large.block) == ("kapi_scale_by_4", (17, 1, 1), (256, 1, 1))
    assert (planned.entry, planned.grid, planned.block) == (large.entry, large.grid, large.block)


def test_ranges_of_few_blocks_along_x_have_one_work_item_a_thread(gpu, lib, monkeypatch):
    monkeypatch.setattr(submission, "COARSE_BLOCKS_PER_UNIT", 0)

    @kapi.kernel
    def fill(item: kapi.Item, x):
        x[item.get_id(0), item.get_id(1)] = 1

    x = lib.array(np.ones((512, 512), np.float32))
    fill[kapi.Range(512, 480)](x)
    fill[kapi.Range(512, 512)](x)
    assert [(each.entry, each.grid) for each in gpu.launches] == [
        ("kapi_fill", (15, 64, 1)),
        ("kapi_fill_by_4", (4, 64, 1)),
    ]


def test_candidates_of_tune_run_on_copies_and_are_timed_by_events(gpu, lib, monkeypatch, tmp_path):
    monkeypatch.setenv("KAPI_CACHE_DIR", str(tmp_path))
    gpu.packed_size = 64
    x = lib.array(np.arange(64, dtype=np.float32))

    @kapi.kernel
    def double(item: kapi.NdItem, x):
        x[item.get_global_id(0)] *= 2

    found = double.tune(kapi.Range(64), x, local_sizes=[16, 32, 2048])
    assert found.times[:2] == (250_000.0, 250_000.0)  # the double's answer, in nanoseconds
    assert found.times[2] is None
    assert {launch.block for launch in gpu.launches} == {(16, 1, 1), (32, 1, 1)}
    for launch in gpu.launches:
        assert x.data.ptr not in np.frombuffer(launch.packed, np.uint64, 8)
