"""dpnp's arrays in njit functions on the host, with kapi-types alone: the same memory, in order, without leaks."""

from __future__ import annotations

import gc
import sys

import dpctl
import dpnp
import numba
import numpy as np
import pytest

import kapi_numba_offload
import kapi_types
from kapi_sim import KernelCompilationError
from kapi_types.usm import structures, views


@pytest.fixture(autouse=True)
def without_offload():
    """Functions of USM arrays run on the host, as without kapi-numba-offload."""
    kapi_numba_offload.unregister()
    kapi_types.register()
    yield
    kapi_numba_offload.register()


@numba.njit
def same(value):
    return value


@numba.njit
def describe(array):
    return array.shape, array.strides, array.size, array.usm_type


@numba.njit
def rows(array):
    total = 0.0
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            total += (i + 1) * (10 * j + 1) * array[i, j]
    return total


def table(kind="shared", dtype=np.float32):
    return dpnp.arange(24, dtype=dtype, usm_type=kind).reshape(4, 6)


VIEWS = {
    "plain": lambda a: a,
    "transposed": lambda a: a.T,
    "stepped": lambda a: a[::2, 1::3],
    "reversed": lambda a: a[::-1, ::-1],
    "empty": lambda a: a[2:2],
    "part of rows": lambda a: a[1:, 2:5],
    "one column": lambda a: a[:, 3:4],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_dpnp_array_is_what_it_says(view, kind):
    """Shape, strides, kind and queue; the same object comes back, and its elements where the host reaches them."""
    array, expected = view(table(kind)), view(np.arange(24, dtype=np.float32).reshape(4, 6))
    assert describe(array) == (array.shape, array.strides, array.size, kind)
    assert same(array) is array
    if kind != "device":
        weights = np.arange(1, expected.shape[0] + 1)[:, None] * (10 * np.arange(expected.shape[1]) + 1)
        assert rows(array) == np.sum(weights * expected)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_dpnp_array_is_read_alike_from_its_structure_and_by_its_protocol(view):
    """The structure, and compiled code that reads it, agree with the attributes."""
    array = view(table())
    kapi_types.typeof_usm_array(array)
    assert structures.struct_key(array) is not None
    assert structures.struct_key(array.get_array()) == structures.struct_key(array)
    fields = kapi_types.array_fields(array)
    found, by_fields = numba.typeof(array), kapi_types.array_type(fields)
    assert found == numba.typeof(array.get_array())
    assert found.usm_type == "shared"
    for name in ("dtype", "ndim", "layout", "mutable", "aligned"):
        assert getattr(found, name) == getattr(by_fields, name)
    assert views.host_fields(array, 2) == (fields.pointer, *array.shape, *array.strides)


def test_dpnp_array_behind_a_subclass_is_read_by_its_protocol():
    """Only the very classes that were looked at are read by their structure."""

    class Named(dpnp.ndarray):
        name = "mine"

    array = Named((2, 3), usm_type="shared")
    array[...] = 2
    assert numba.typeof(array) == numba.typeof(dpnp.ones((2, 3), usm_type="shared"))
    assert structures.struct_key(array) is None
    assert same(array) is array
    assert rows(array) == 2 * np.sum(np.arange(1, 3)[:, None] * (10 * np.arange(3) + 1))


def test_structure_of_dpnp_arrays_is_the_known_one():
    """If this fails, dpnp has moved a field: arrays are read by their protocol until `structures` is mended."""
    array = table()
    assert structures.learn(array)
    assert list(structures.class_addresses) == [id(type(array)), id(type(array.get_array()))]


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16"])
def test_dpnp_array_has_each_dtype(dtype):
    """NumPy's number of an element type stands for the same type in both libraries."""
    array = dpnp.ones(3, dtype=dtype, usm_type="host")
    assert numba.typeof(array).dtype == numba.typeof(np.ones(3, dtype)).dtype
    assert numba.njit(lambda array: array[2])(array) == 1


def test_memory_without_an_array_is_an_array_of_bytes():
    """dpctl's allocations have the protocol, too."""
    memory = dpnp.ones(4, dtype="i4", usm_type="shared").get_array().usm_data
    total = numba.njit(lambda memory: (memory.sum(), memory))(memory)
    assert total[0] == 4
    assert total[1] is memory
    assert str(numba.typeof(memory)) == "usm_array(uint8, 1d, C, shared, readonly)"


def test_host_writes_what_dpnp_reads():
    """Both sides see one memory, before and after, rank 0 included."""

    @numba.njit
    def increment(array, scalar):
        for i in range(array.size):
            array[i] += i
        scalar[()] *= 2

    array, scalar = dpnp.zeros(5, usm_type="shared"), dpnp.asarray(21, usm_type="host")
    increment(array, scalar)
    assert int(scalar) == 42
    assert dpnp.asnumpy(array + 1).tolist() == [1, 2, 3, 4, 5]


def test_views_come_back_as_dpnp_arrays_of_the_same_memory():
    """No copy is made, and the memory outlives the array that it was part of."""

    @numba.njit
    def part(array):
        return array[1::2, ::-1]

    array = table()
    view = part(array)
    assert isinstance(view, dpnp.ndarray)
    assert view.sycl_queue == array.sycl_queue
    assert view.get_array().usm_data is array.get_array().usm_data
    view[0, 0] = 100
    assert array[1, 5] == 100
    expected = dpnp.asnumpy(array)[1::2, ::-1]
    del array
    gc.collect()
    np.testing.assert_array_equal(dpnp.asnumpy(view), expected)


def test_views_of_readonly_arrays_are_readonly():
    """A read-only owner has read-only parts."""
    array = table()
    array.flags.writable = False
    assert not numba.njit(lambda a: a[1:])(array).flags.writable


def test_queues_pass_through_compiled_functions():
    """A queue is the array's own, and is equal to what dpctl calls equal."""

    @numba.njit(nogil=True)
    def queues(a, b, queue):
        return a.sycl_queue == b.sycl_queue, a.sycl_queue == queue, a.sycl_queue

    other = dpctl.SyclQueue()
    here, there = dpnp.ones(2), dpnp.ones(2, sycl_queue=other)
    # Another object for the same queue, as a library that makes one from the reference has it.
    copy = dpctl.SyclQueue(here.sycl_queue._get_capsule())
    assert queues(here, there, copy) == (False, True, here.sycl_queue)
    assert queues(here, here, other) == (True, False, here.sycl_queue)


def test_events_pass_through_compiled_functions():
    """An event is waited for and comes back."""

    @numba.njit
    def finish(event):
        event.wait()
        return event

    event = dpctl.SyclEvent()
    assert finish(event) is event


def test_device_memory_is_refused_although_this_cpu_would_reach_it():
    """The type decides, so a program that runs on a CPU device does not crash on another."""
    with pytest.raises(KernelCompilationError, match=r"got usm_array\(float32, 2d, C, device\) in device memory"):
        rows(table("device"))


def test_host_function_sees_what_was_submitted_before():
    """Work that waits in the queue is done first; while a gate is closed nothing of it can have happened."""
    array, source = dpnp.zeros(1000, usm_type="shared"), dpnp.full(1000, 7.0, usm_type="shared")
    queue = array.sycl_queue
    queue.wait()
    first = numba.njit(lambda array: array[0])
    first(array)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # the gate opens when this thread gives up the interpreter lock, and not before
    try:
        gate = queue._submit_keep_args_alive((object(),), [])
        memory, values = array.get_array().usm_data, source.get_array().usm_data
        copied = queue.memcpy_async(memory, values, 8000, [gate])
        assert copied.execution_status != dpctl.event_status_type.complete
        seen = first(array)
    finally:
        sys.setswitchinterval(interval)
    assert seen == 7


@numba.njit
def raises(array):
    if array.shape[0] > 0:
        raise ValueError("as asked")
    return array


@pytest.mark.parametrize(("function", "calls"), [(same, 100_000), (describe, 20_000), (raises, 20_000)])
def test_dpnp_arrays_balance_references(function, calls):
    """Nothing is left of a hundred thousand calls, exceptions included."""
    array = table("device")

    def call():
        try:
            function(array)
        except ValueError:
            pass

    call()
    gc.collect()
    inner = array.get_array()
    before = sys.getrefcount(array), sys.getrefcount(inner), sys.getrefcount(inner.usm_data)
    blocks = sys.getallocatedblocks()
    for _ in range(calls):
        call()
    assert (sys.getrefcount(array), sys.getrefcount(inner), sys.getrefcount(inner.usm_data)) == before
    assert sys.getallocatedblocks() - blocks < calls / 2


def test_views_balance_references():
    """Neither does a view keep its owner once it is gone."""
    part = numba.njit(lambda array: (array[1:], array.sycl_queue))
    array = table()
    part(array)
    gc.collect()
    before = sys.getrefcount(array), sys.getrefcount(array.get_array().usm_data), sys.getrefcount(array.sycl_queue)
    for _ in range(2000):
        part(array)
    gc.collect()
    after = sys.getrefcount(array), sys.getrefcount(array.get_array().usm_data), sys.getrefcount(array.sycl_queue)
    assert after == before
