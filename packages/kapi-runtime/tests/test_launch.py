from __future__ import annotations

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest
from dpctl.utils import SequentialOrderManager

import kapi_runtime as kapi
from kapi_runtime.launch import preparation as launch_module
from kapi_sim.testing.reports import raises


@kapi.kernel
def fill(item: kapi.Item, target, value):
    target[item.get_id(0)] = value


@kapi.kernel
def fill_2d(item: kapi.Item, target):
    i = item.get_id(0)
    j = item.get_id(1)
    target[i, j] = i * 10000 + j


@kapi.kernel
def reverse_groups(nd_item: kapi.NdItem, target, scratch):
    local = nd_item.get_local_id(0)
    size = nd_item.get_local_range(0)
    scratch[local] = target[nd_item.get_global_id(0)]
    kapi.group_barrier(nd_item.get_group())
    target[nd_item.get_global_id(0)] = scratch[size - 1 - local]


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 1009, 100003])
def test_range_of_any_size_reaches_every_element_and_no_other(size):
    base = dpnp.zeros(size + 500)
    kapi.call_kernel(fill, kapi.Range(size), base, 1.0)
    assert int(base.sum()) == size
    assert int(base[:size].sum()) == size


@pytest.mark.parametrize("shape", [(1, 1009), (1009, 1), (97, 89), (5, 3), (300, 7), (2, 64)])
def test_range_of_two_dimensions_reaches_every_element(shape):
    target = dpnp.full(shape, -1, dtype="int64")
    kapi.call_kernel(fill_2d, kapi.Range(*shape), target)
    i, j = np.indices(shape)
    np.testing.assert_array_equal(target.asnumpy(), i * 10000 + j)


def test_nd_range_gives_each_group_its_local_memory():
    target = dpnp.arange(256)
    kapi.call_kernel(reverse_groups, kapi.NdRange(256, 32), target, kapi.LocalAccessor(32, "int64"))
    np.testing.assert_array_equal(target.asnumpy(), np.arange(256).reshape(8, 32)[:, ::-1].ravel())


@pytest.mark.parametrize("space", [kapi.Range(0), kapi.Range(0, 4)])
def test_range_without_work_items_runs_nothing(space):
    target = dpnp.zeros(4)
    kapi.call_kernel(fill, space, target, 1.0)
    host_event, device_event = kapi.call_kernel_async(fill, space, [dpctl.SyclEvent()], target, 1.0)
    host_event.wait()
    device_event.wait()
    assert set(target.asnumpy()) == {0}


def test_nd_range_without_work_items_runs_nothing():
    target = dpnp.zeros(4)
    kapi.call_kernel(reverse_groups, kapi.NdRange(0, 32), target, kapi.LocalAccessor(32, "float64"))
    assert set(target.asnumpy()) == {0}


def test_launch_forms_are_equal():
    target = dpnp.zeros(8)
    fill[kapi.Range(8)](target, 1.0)
    fill[8](target[:4], 2.0)
    fill[4, kapi.DEFAULT_LOCAL_SIZE](target, 3.0)
    assert target.asnumpy().tolist() == [3, 3, 3, 3, 2, 2, 2, 2]


def test_async_launch_waits_for_its_events():
    target = dpnp.zeros(8)
    first, device_event = kapi.call_kernel_async(fill, kapi.Range(8), [], target, 1.0)
    second, _ = kapi.call_kernel_async(fill, kapi.Range(4), (e for e in (first, device_event)), target, 2.0)
    second.wait()
    assert target.asnumpy().tolist() == [2] * 4 + [1] * 4
    assert repr(second) == "<HostEvent: complete>"


def test_dpctl_takes_host_events():
    target = dpnp.zeros(8)
    for _ in range(3):  # the later ones are native launches
        host_event, device_event = kapi.call_kernel_async(fill, kapi.Range(8), [], target, 1.0)
    queue = target.sycl_queue
    copied = dpctl.memory.MemoryUSMHost(target.nbytes, queue=queue)
    queue.memcpy_async(copied, target.get_array().usm_data, target.nbytes, [host_event]).wait()
    SequentialOrderManager[queue].add_event_pair(host_event, device_event)
    dpctl.SyclEvent.wait_for([host_event, device_event])
    assert np.frombuffer(copied.copy_to_host()).tolist() == [1] * 8
    assert host_event.execution_status == dpctl.event_status_type.complete


def test_work_group_beyond_the_device_is_refused():
    largest = kapi.default_device().max_work_group_size
    scratch = kapi.LocalAccessor(1, "float64")
    with raises(kapi.LimitError, "work-group-too-large", words=False):
        kapi.call_kernel(reverse_groups, kapi.NdRange(largest * 2, largest * 2), dpnp.zeros(largest * 2), scratch)


def test_local_memory_beyond_the_device_is_refused():
    most = kapi.default_device().local_mem_size
    with raises(kapi.LimitError, "local-memory-too-large", words=False):
        kapi.call_kernel(
            reverse_groups, kapi.NdRange(32, 32), dpnp.zeros(32), kapi.LocalAccessor(most // 8 + 1, "float64")
        )


def test_range_beyond_sycl_s_limit_is_refused():
    with raises(kapi.LimitError, "range-too-large"):
        kapi.call_kernel(fill, kapi.Range(2**31), dpnp.zeros(4), 1.0)


def test_local_memory_without_work_groups_is_refused():
    @kapi.kernel
    def scratch(item: kapi.Item, target, local):
        target[item.get_id(0)] = 1.0

    with raises(kapi.KernelLaunchError, "local-memory-in-range"):
        kapi.call_kernel(scratch, kapi.Range(4), dpnp.zeros(4), kapi.LocalAccessor(4, "float64"))


def test_local_range_that_does_not_divide_is_refused():
    with raises(kapi.LimitError, "local-range-divides"):
        fill[100, 64](dpnp.zeros(100), 1.0)


def test_index_space_of_the_other_kind_is_refused():
    with raises(kapi.KernelLaunchError, "index-space-unsuited"):
        kapi.call_kernel(fill, kapi.NdRange(4, 4), dpnp.zeros(4), 1.0)


def test_wrong_number_of_arguments_is_refused():
    with raises(kapi.KernelLaunchError, "argument-count"):
        kapi.call_kernel(fill, kapi.Range(4), dpnp.zeros(4))


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda a: kapi.call_kernel(print, kapi.Range(4), a), "no-kernel"),
        (lambda a: kapi.call_kernel(fill, 4, a, 1.0), "no-index-space"),
        (lambda a: fill(a, 1.0), "kernel-called"),
        (lambda a: fill[4, 4, 4](a, 1.0), "launch-configuration"),
        (
            lambda a: kapi.call_kernel_async(fill, kapi.Range(4), dpctl.SyclEvent(), a, 1.0),
            "dependent-events",
        ),
        (
            lambda a: kapi.call_kernel_async(fill, kapi.Range(4), [3], a, 1.0),
            "dependent-events",
        ),
    ],
)
def test_wrong_launch_is_refused(call, code):
    with raises(kapi.KernelLaunchError, code):
        call(dpnp.zeros(4))


@pytest.mark.parametrize("value", ["text", None, object()])
def test_argument_of_no_kernel_type_is_refused(value):
    with raises(kapi.DtypeError, "argument-type"):
        kapi.call_kernel(fill, kapi.Range(4), dpnp.zeros(4), value)


def test_integer_beyond_64_bits_is_refused():
    target = dpnp.zeros(4, dtype="int64")
    kapi.call_kernel(fill, kapi.Range(4), target, 1)
    with raises(kapi.DtypeError, "integer-too-wide"):
        kapi.call_kernel(fill, kapi.Range(4), target, 2**64)


def test_refusal_of_the_driver_names_kernel_arguments_and_range(monkeypatch):
    target = dpnp.zeros(4)
    monkeypatch.setattr(launch_module, "submitted_range", lambda *_: ([100], [64, 64]))
    refused = kapi.kernel(fill.py_func)
    with pytest.raises(kapi.KernelLaunchError) as caught:
        kapi.call_kernel(refused, kapi.Range(4), target, 1.0)
    message = str(caught.value)
    assert "kernel `fill` must be accepted by the driver" in message
    assert "index space: Range(4)" in message
    assert "arguments:   target: float64 array (4,), value: float" in message
    assert "queue:       queue 0x" in message


def test_default_of_a_parameter_is_used():
    @kapi.kernel
    def fill_seven(item: kapi.Item, target, value=7.0):
        target[item.get_id(0)] = value

    target = dpnp.zeros(4)
    kapi.call_kernel(fill_seven, kapi.Range(4), target)
    assert set(target.asnumpy()) == {7}


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::2],
        lambda a: a[::-1],
        lambda a: a[3:9],
        lambda a: a[-1:3:-3],
        lambda a: a.reshape(10, 10)[:, 4],
        lambda a: a.reshape(10, 10).T[7],
    ],
    ids=["step", "reversed", "offset", "negative step", "column", "transposed"],
)
def test_views_are_written_through(view):
    target, expected = dpnp.zeros(100), np.zeros(100)
    part = view(target)
    kapi.call_kernel(fill, kapi.Range(part.size), part, 5.0)
    view(expected)[...] = 5.0
    np.testing.assert_array_equal(target.asnumpy(), expected)


def test_equal_types_are_compiled_once(monkeypatch):
    from kapi_spirv.compiler import COMPILER

    compiled = []

    def counting(function, signature, **options):
        compiled.append(signature)
        return real(function, signature, **options)

    real = COMPILER.compile_kernel
    monkeypatch.setattr(COMPILER, "compile_kernel", counting)

    @kapi.kernel
    def touch(item: kapi.Item, target, value):
        target[item.get_id(0)] = value

    for array in (dpnp.zeros(4), dpnp.ones(9), dpnp.zeros(4, sycl_queue=dpctl.SyclQueue())):
        for value in (1.0, 2.0):
            kapi.call_kernel(touch, kapi.Range(4), array, value)
    assert len(compiled) == 1
    kapi.call_kernel(touch, kapi.Range(2), dpnp.zeros(8)[::2], 1.0)
    kapi.call_kernel(touch, kapi.Range(4), dpnp.zeros(4), np.float32(1))
    assert len(compiled) == 3


def test_kernel_keeps_the_function():
    assert fill.py_func.__name__ == fill.__name__ == "fill"
    assert repr(fill) == "<kernel fill>"
    assert repr(fill[4]) == "<kernel fill over Range(4)>"


def test_kernel_of_no_plain_function_is_refused():
    with raises(kapi.KernelCompilationError, "kernel-form"):
        kapi.kernel(print)
    with raises(kapi.KernelCompilationError, "kernel-without-item"):
        kapi.kernel(lambda: None)


@kapi.kernel
def nested(nd_item: kapi.NdItem, parts, out):
    i = nd_item.get_local_id(0)
    (source, scratch), (factor, half) = parts
    scratch[i] = source[i] * factor
    kapi.group_barrier(nd_item.get_group())
    out[i] = scratch[3 - i] + half


def test_tuples_hold_arrays_local_memory_and_numbers():
    """Each in its place, however deep; another nesting of the same is compiled for itself."""
    source = np.array([1, 2 - 1j, 3j, 4], np.complex64)
    out = dpnp.zeros(4, dtype="complex64")
    memory = kapi.LocalAccessor(4, "complex64")
    numbers = (np.complex64(2 + 1j), np.float16(0.5))
    kapi.call_kernel(nested, kapi.NdRange(4, 4), ((dpnp.asarray(source), memory), numbers), out)
    np.testing.assert_array_equal(out.asnumpy(), (source * numbers[0])[::-1] + numbers[1])


@kapi.kernel
def first_of_each(item: kapi.Item, one, other, out):
    out[0] = one[0]
    out[1] = other[0]


def test_tuples_in_other_positions_are_other_types():
    """The same numbers and arrays in the same order, nested otherwise."""
    a, out = dpnp.asarray([7.0, 8.0]), dpnp.zeros(2)
    kapi.call_kernel(first_of_each, kapi.Range(1), (2.0, 3.0), a, out)
    np.testing.assert_array_equal(out.asnumpy(), [2, 7])
    kapi.call_kernel(first_of_each, kapi.Range(1), a, (2.0, 3.0), out)
    np.testing.assert_array_equal(out.asnumpy(), [7, 2])


def test_array_that_is_read_only_is_not_written():
    target = dpnp.zeros(4)
    fill[4](target, 1.0)
    target.flags.writable = False
    with raises(kapi.KernelCompilationError, "argument-read-only"):
        fill[4](target, 2.0)
    assert set(target.asnumpy()) == {1}
