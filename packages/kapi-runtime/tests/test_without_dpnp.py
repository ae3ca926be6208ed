"""Kernels without dpnp: arrays of kapi's own, and other libraries' by DLPack or by their protocol.

The session `without_dpnp` runs these where dpnp is not installed; elsewhere it is hidden from the package.
"""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import kapi_runtime as kapi
import kapi_sim
from kapi_runtime import memory
from kapi_runtime.launch import device_context
from kapi_runtime.memory import UsmArray
from kapi_runtime.platform import dlpack
from kapi_runtime.sycl.memory import usm_array
from kapi_sim.testing.conformance import CASES
from kapi_sim.testing.reports import raises

KINDS = ("device", "shared", "host")


@pytest.fixture(autouse=True)
def no_dpnp(monkeypatch):
    """No import finds dpnp, where it is installed."""
    monkeypatch.setitem(sys.modules, "dpnp", None)
    # An environment for editors has kapi-numba-offload as well, which needs dpnp.
    monkeypatch.setattr(device_context, "_load_listeners", lambda: None)
    usm_array.has_dpnp.cache_clear()
    assert not usm_array.has_dpnp()
    yield
    usm_array.has_dpnp.cache_clear()


@kapi.kernel
def add(item: kapi.Item, left, right, total):
    i = item.get_id(0)
    total[i] = left[i] + right[i]


@kapi.kernel
def number(item: kapi.Item, table):
    i, j = item.get_id(0), item.get_id(1)
    table[i, j] = 10 * i + j


class Foreign:
    """An array of another library that offers DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Given:
    """A capsule that is there already."""

    def __init__(self, array, capsule):
        self.array, self.capsule = array, capsule

    def __dlpack__(self):
        return self.capsule

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Speaking:
    """An array of another library that speaks the protocol of USM arrays and nothing else."""

    def __init__(self, array, **changes):
        self.array = array
        self.__sycl_usm_array_interface__ = array.__sycl_usm_array_interface__ | changes


class Device:
    kapi = kapi

    def to_device(self, array):
        return memory.asarray(array)

    def to_host(self, array):
        return array.asnumpy()


# All that arrays can be, and a part of the rest, of which `test_conformance` runs all.
SHORT = [case for number, case in enumerate(CASES) if case.name.startswith("arrays/") or number % 40 == 0]
NEEDS_FUNCTIONS = ("arrays/read-3d-transposed", "arrays/write-3d-transposed", "arrays/read-zero-stride")


@pytest.mark.parametrize(
    "case", [case for case in SHORT if case.name not in NEEDS_FUNCTIONS], ids=lambda case: case.name
)
def test_conformance(case):
    case.run(Device())


@pytest.mark.parametrize("case", [case for case in SHORT if case.name in NEEDS_FUNCTIONS], ids=lambda case: case.name)
@pytest.mark.xfail(reason="the array API's functions are dpnp's", raises=AttributeError, strict=True)
def test_conformance_of_cases_with_the_array_api(case):
    case.run(Device())


def test_kernels_take_turned_and_repeated_arrays():
    """The same cases without the array API."""
    host = np.arange(24.0).reshape(2, 3, 4)
    turned = memory.asarray(host).transpose(2, 0, 1)
    np.testing.assert_array_equal(turned.asnumpy(), host.transpose(2, 0, 1))
    total = memory.device_array(4)
    add[4](turned[:, 1, 2], turned[:, 0, 0], total)
    assert total.asnumpy().tolist() == (host[1, 2] + host[0, 0]).tolist()
    repeated = memory.asarray(Speaking(memory.asarray([5.0]), shape=(4,), strides=(0,)))
    add[4](repeated, repeated, total)
    assert total.asnumpy().tolist() == [10] * 4
    assert repeated.asnumpy().tolist() == [5] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_new_array_is_of_its_kind(kind):
    queue = kapi.queue()
    array = getattr(memory, f"{kind}_array")((2, 3), "int16", queue=queue, fill=5)
    assert isinstance(array, UsmArray)
    assert (array.usm_type, array.shape, array.dtype, array.sycl_queue) == (kind, (2, 3), np.dtype("int16"), queue)
    assert (array.strides, array.ndim, array.size, array.itemsize, array.nbytes) == ((6, 2), 2, 6, 2, 12)
    assert array.asnumpy().tolist() == [[5, 5, 5], [5, 5, 5]]
    assert getattr(memory, f"{kind}_array")(4).dtype == np.float64


def test_sizes_that_do_not_fit_are_errors():
    with raises(kapi.UsmAllocationError, "device-memory-short"):
        memory.device_array((1_000_000, 1_000_000))
    with raises(kapi.UsmAllocationError, "device-memory-short"):
        memory.shared_array((2**40, 2**40))
    with raises(kapi.LimitError, "memory-shape"):
        memory.device_array(-1)


VALUES = [
    np.arange(6),
    np.arange(12.0)[::2],
    np.arange(6, dtype=">i4").reshape(2, 3).T,
    np.array([True, False]),
    np.array([1 + 2j, 3j], "complex64"),
    np.float16(2.5),
    np.empty((0, 3)),
    [[1, 2], [3, 4]],
    7,
]


@pytest.mark.parametrize("values", VALUES, ids=lambda values: f"{np.asarray(values).dtype}{np.shape(values)}")
@pytest.mark.parametrize("kind", KINDS)
def test_values_go_to_the_device_and_back(values, kind):
    array = memory.asarray(values, usm_type=kind)
    assert array.usm_type == kind
    for back in (array.asnumpy(), memory.asnumpy(array), np.from_dlpack(array, device="cpu")):
        assert back.dtype == np.asarray(values).dtype.newbyteorder("=")
        np.testing.assert_array_equal(back, np.asarray(values))


def test_arrays_of_the_host_by_dlpack_are_copied():
    array = memory.asarray(Foreign(np.arange(4)))
    assert array.asnumpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="values must be in unified shared memory with copy=False, got "):
        memory.asarray(Foreign(np.arange(4)), copy=False)


def test_array_is_taken_as_it_is_and_copied_if_it_is_to_change(sub_device):
    array = memory.asarray([1, 2, 3], "int32")
    assert memory.asarray(array) is array
    other = kapi.default_queue(sub_device)
    changed = [
        memory.asarray(array, "float32"),
        memory.asarray(array, usm_type="shared"),
        memory.asarray(array, queue=other),
        array.to_device(other),
        memory.asarray(array, copy=True),
        array.copy(),
    ]
    array[0] = 9
    assert [each.asnumpy().tolist() for each in changed] == [[1, 2, 3]] * 6
    assert [str(each.dtype) for each in changed] == ["float32"] + ["int32"] * 5
    assert [each.usm_type for each in changed] == ["device", "shared"] + ["device"] * 4
    assert [each.sycl_queue == other for each in changed] == [False, False, True, True, False, False]
    with pytest.raises(ValueError, match="if copy=False, got int32 in device memory on queue 0x"):
        memory.asarray(array, "int64", copy=False)


INDICES = [
    *(1, -1, slice(None), slice(1, 3), slice(None, None, -1), slice(3, 0, -2), slice(2, 2), Ellipsis, None),
    *(
        (1, 2),
        (slice(None), 1),
        (..., 0),
        (slice(1, None), slice(None, None, 2)),
        (slice(None, None, -2), slice(4, 0, -1)),
    ),
    *((None, 2, None), (np.int64(2), ...), (0, slice(5, 5))),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_view_is_as_numpy_s_and_shares_memory(index, kind):
    host = np.arange(20, dtype="int32").reshape(4, 5)
    array = memory.asarray(host, usm_type=kind)
    for ours, theirs in ((array, host), (array.T, host.T)):
        if isinstance(index, tuple) and index == (1, 2) and ours is not array:
            continue
        view, expected = ours[index], theirs[index]
        assert (view.shape, view.usm_type) == (np.shape(expected), kind)
        np.testing.assert_array_equal(view.asnumpy(), expected)
    array[index] = 99
    host[index] = 99
    np.testing.assert_array_equal(array.asnumpy(), host)


def test_stores_broadcast_and_leave_what_lies_between():
    host = np.zeros((4, 6), "float32")
    array = memory.asarray(host)
    for index, values in [
        ((slice(None), slice(None, None, 2)), np.arange(3)),
        ((slice(None, None, -1), 1), [1, 2, 3, 4]),
        ((2,), 7.5),
        ((0, 0), np.float64(3)),
    ]:
        array[index] = values
        host[index] = values
    array[:, 5] = memory.asarray([9, 8, 7, 6], "int8")
    host[:, 5] = [9, 8, 7, 6]
    array[3] = array[0]
    host[3] = host[0]
    np.testing.assert_array_equal(array.asnumpy(), host)
    with pytest.raises(ValueError, match="could not broadcast"):
        array[0] = [1, 2]


def test_kernels_take_views():
    table = memory.device_array((4, 6), "int32", fill=-1)
    number[kapi.Range(2, 3)](table[1:3, ::2])
    number[kapi.Range(3, 2)](table.T[:3, :1:-1][:, :2])
    expected = np.full((4, 6), -1, "int32")
    i, j = np.ogrid[:2, :3]
    expected[1:3, ::2] = 10 * i + j
    i, j = np.ogrid[:3, :2]
    expected.T[:3, :1:-1][:, :2] = 10 * i + j
    np.testing.assert_array_equal(table.asnumpy(), expected)


def test_launches_in_a_row_are_ordered_with_copies():
    total = memory.asarray(np.zeros(100_000))
    ones = memory.asarray(np.ones(100_000))
    for _ in range(20):
        kapi.call_kernel_async(add, kapi.Range(100_000), [], total, ones, total)
    assert set(total.asnumpy()) == {20}
    kapi.call_kernel_async(add, kapi.Range(100_000), [], total, ones, total)
    total[:50_000] = 5
    kapi.call_kernel_async(add, kapi.Range(100_000), [], total, ones, total)
    assert set(total[:50_000].asnumpy()) == {6}
    assert set(total[50_000:].asnumpy()) == {22}


def test_memory_lives_as_long_as_a_launch_needs_it():
    total = memory.device_array(100_000, fill=0)
    for step in range(20):
        addend = memory.asarray(np.full(100_000, float(step)))
        kapi.call_kernel_async(add, kapi.Range(100_000), [], total, addend, total)
        del addend
    assert set(total.asnumpy()) == {190}


def test_shape_is_changed():
    array = memory.asarray(np.arange(6))
    assert array.reshape(2, 3)[1, 0].item() == 3
    assert array.reshape((3, -1)).shape == (3, 2)
    assert array.reshape(2, 3).T.reshape(6).asnumpy().tolist() == [0, 3, 1, 4, 2, 5]
    array.reshape(2, 3)[1] = 0
    assert array.asnumpy().tolist() == [0, 1, 2, 0, 0, 0]


def test_single_elements_are_numbers():
    array = memory.asarray([1.5, 0.0])
    assert [convert(array[0]) for convert in (float, int, complex, bool)] == [1.5, 1, 1.5, True]
    assert not array[1]
    assert len(array) == 2
    assert [each.item() for each in array] == [1.5, 0.0]
    with pytest.raises(TypeError, match="array must have an axis to have a length"):
        len(array[0])
    assert repr(array) == "UsmArray([1.5, 0. ], dtype=float64, usm_type='device')"


def test_what_it_does_not_do_says_what_does():
    array = memory.asarray([1, 2, 3])
    with pytest.raises(TypeError, match="array must be copied to the host to be NumPy's, got a UsmArray"):
        np.asarray(array)
    for index in ([0, 1], np.array([True, False, True]), 1.5, "a", True):
        with raises(kapi.DtypeError, "index-type"):
            array[index]
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        array[3]
    with pytest.raises(TypeError, match="operand 'UsmArray' does not support ufuncs"):
        array + np.ones(3)
    with raises(kapi.DtypeError, "copy-order"):
        array.copy("F")


def test_array_that_may_not_be_written_is_refused():
    array = memory.asarray([1, 2, 3])
    fixed = memory.asarray(Speaking(array, data=(array.__sycl_usm_array_interface__["data"][0], True)))
    assert not fixed.flags.writable
    with raises(kapi.DtypeError, "copy-to-read-only"):
        fixed[0] = 1
    with pytest.raises(BufferError, match="array must be writable to be handed on by DLPack"):
        fixed.__dlpack__()
    with raises(kapi.DtypeError, "copy-to-read-only"):
        memory.copy(array, fixed)


def test_results_have_the_kind_that_dpnp_would_give_them():
    one, other = memory.host_array((4, 1), "int32"), memory.shared_array(3, "float32")
    result = memory.like(one, other)
    assert (result.usm_type, result.shape, result.dtype) == ("shared", (4, 3), np.dtype("float64"))
    assert memory.like(other, memory.device_array(3)).usm_type == "device"
    assert memory.like(one, one).usm_type == "host"


def test_copy_goes_in_any_direction(sub_device):
    host = np.arange(5.0)
    here, there = memory.device_array(5), memory.device_array(5, queue=kapi.default_queue(sub_device))
    other_queue = memory.shared_array(5, queue=kapi.queue())
    back = np.empty(5)
    for source, target in [(host, here), (here, there), (there, other_queue), (other_queue, back)]:
        memory.copy(source, target)
    assert back.tolist() == host.tolist()
    memory.copy(here[1:4], here[2:5])
    assert here.asnumpy().tolist() == [0, 1, 1, 2, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_take_arrays_by_dlpack_alone(kind):
    array = memory.asarray(np.arange(12.0).reshape(3, 4), usm_type=kind)
    total = memory.device_array(3, fill=0)
    for _ in range(3):
        add[3](Foreign(array[:, 1]), Foreign(array[::-1, 0]), Foreign(total))
    assert total.asnumpy().tolist() == [9, 9, 9]


def test_dlpack_shares_memory_and_gives_it_back():
    array = memory.asarray(np.arange(6, dtype="uint8").reshape(2, 3))
    shared = memory.asarray(Foreign(array.T))
    assert (shared.shape, shared.strides, shared.dtype, shared.usm_type) == ((3, 2), (1, 3), np.uint8, "device")
    shared[0] = 7
    assert array.asnumpy().tolist() == [[7, 1, 2], [7, 4, 5]]
    assert len(dlpack._exported) == 1
    del array
    gc.collect()
    assert shared[2].asnumpy().tolist() == [2, 5]
    del shared
    gc.collect()
    assert len(dlpack._exported) == 0


def test_capsule_that_nobody_takes_gives_its_memory_back():
    capsule = memory.device_array(3).__dlpack__()
    assert len(dlpack._exported) == 1
    del capsule
    gc.collect()
    assert len(dlpack._exported) == 0


def test_dlpack_goes_where_it_is_asked_to_or_says_why_not(sub_device):
    array = memory.asarray([1, 2, 3])
    capsule = array.__dlpack__(dl_device=array.__dlpack_device__(), copy=True)
    copied = memory.asarray(Given(array, capsule))
    copied[0] = 9
    assert (copied.asnumpy().tolist(), array.asnumpy().tolist()) == ([9, 2, 3], [1, 2, 3])
    with pytest.raises(BufferError, match="array must be copied to be on the host, got copy=False"):
        array.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="array must stay where it is"):
        array.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="array must be in the default context of its device"):
        memory.device_array(3, queue=kapi.default_queue(sub_device)).__dlpack__()


def test_kernels_take_arrays_by_the_protocol_alone():
    array = memory.asarray([1.0, 2.0, 3.0])
    total = memory.device_array(3)
    add[3](Speaking(array), Speaking(array), Speaking(total))
    assert memory.asnumpy(Speaking(total)).tolist() == [2, 4, 6]
    assert memory.asarray(Speaking(total)).usm_type == "device"
    with raises(kapi.ExecutionPlacementError, "array-without-queue"):
        memory.asarray(Speaking(total, syclobj=None))


def test_simulator_takes_arrays():
    total = memory.device_array(3, fill=0)
    addend = memory.asarray([1.0, 2.0, 3.0])
    kapi_sim.call_kernel(kapi_sim.kernel(add.py_func), kapi_sim.Range(3), addend, total, total)
    assert total.asnumpy().tolist() == [1, 2, 3]


def test_numpy_arrays_are_moved_in_a_device_context():
    left, total = np.arange(3.0), np.zeros(3)
    with kapi.device_context("opencl:cpu"):
        add[3](left, left, total)
    assert total.tolist() == [0, 2, 4]


def test_errors_name_the_call_that_is_there():
    array = memory.device_array(3)
    with raises(kapi.ExecutionPlacementError, "array-on-host"):
        add[3](np.ones(3), array, array)


def test_nothing_of_a_program_imports_dpnp(run_python):
    """In a process of its own; it ends with a capsule, and an array over one, that were never given back."""
    done = run_python(
        "import sys\n"
        "sys.modules['dpnp'] = None\n"
        "import kapi_runtime as kapi\n"
        "a = kapi.memory.asarray([1, 2, 3])\n"
        "class Foreign:\n"
        "    __dlpack__, __dlpack_device__ = a.__dlpack__, a.__dlpack_device__\n"
        "b, capsule = kapi.memory.asarray(Foreign()), a.__dlpack__()\n"
        "b[0] = 5\n"
        "print(a.asnumpy().tolist(), [name for name in sys.modules if name.startswith('dpnp.')])\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[5, 2, 3] []\n", "")
