from __future__ import annotations

import builtins

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime import memory
from kapi_sim.testing.reports import raises

KINDS = ("device", "shared", "host")


@kapi.kernel
def add(item: kapi.Item, left, right, total):
    i = item.get_id(0)
    total[i] = left[i] + right[i]


class Foreign:
    """An array of a library that offers the array API and DLPack, and nothing of SYCL."""

    def __init__(self, array):
        self.array = array

    def __array_namespace__(self, api_version=None):
        return np

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("kind", KINDS)
def test_new_array_is_of_its_kind(kind):
    queue = kapi.queue()
    array = getattr(memory, f"{kind}_array")((2, 3), "int16", queue=queue, fill=5)
    assert (array.usm_type, array.shape, array.dtype, array.sycl_queue) == (kind, (2, 3), np.dtype("int16"), queue)
    assert (array.asnumpy() == 5).all()
    assert getattr(memory, f"{kind}_array")(4).dtype == np.float64


def test_new_array_is_on_the_current_device(sub_device):
    with sub_device:
        assert memory.device_array(3).sycl_queue == kapi.default_queue(sub_device)
        assert memory.asarray([1, 2]).sycl_device == sub_device


def test_array_that_does_not_fit_is_an_error_that_says_how_much_was_asked_for():
    with raises(kapi.UsmAllocationError, "device-memory-short"):
        memory.device_array((1_000_000, 1_000_000))


def test_size_that_overflows_is_an_error():
    with raises(kapi.UsmAllocationError, "device-memory-short"):
        memory.shared_array((2**40, 2**40))
    with raises(kapi.UsmAllocationError, "device-memory-short"):
        memory.device_array(2**62)


@pytest.mark.parametrize("shape", [-1, (2, -1), 2.5, "a", None, (3, "a")])
def test_shape_that_is_none_is_an_error(shape):
    with raises(kapi.LimitError, "memory-shape"):
        memory.device_array(shape)


def test_values_keep_their_rank_and_lose_their_byte_order():
    assert memory.asarray(3.5).shape == ()
    assert memory.asarray(np.float32(2)).dtype == np.float32
    swapped = memory.asarray(np.arange(3, dtype=">f4"))
    assert (swapped.dtype, swapped.asnumpy().tolist()) == (np.dtype("float32"), [0, 1, 2])


def test_copy_between_overlapping_parts_is_as_of_a_copy():
    array = memory.asarray(np.arange(8.0))
    memory.copy(array[:4], array[2:6])
    memory.copy(array, array)
    assert array.asnumpy().tolist() == [0, 1, 0, 1, 2, 3, 6, 7]


@pytest.mark.parametrize("make", [lambda: np.zeros(5), lambda: memory.device_array(5)])
def test_copy_to_a_read_only_array_is_an_error(make):
    target = make()
    target.flags["W"] = False
    with raises(kapi.DtypeError, "copy-to-read-only"):
        memory.copy(memory.device_array(5), target)


def test_what_is_no_array_is_reported():
    with raises(kapi.DtypeError, "copy-without-array"):
        memory.copy([1.0, 2.0], memory.device_array(2))
    with raises(kapi.ExecutionPlacementError, "array-on-host"):
        memory.like(memory.device_array(2), np.zeros(2))


@pytest.mark.parametrize("left", KINDS)
@pytest.mark.parametrize("right", KINDS)
def test_result_of_mixed_kinds_is_as_dpnp_s(left, right):
    one = getattr(memory, f"{left}_array")(3, "float32", fill=1)
    other = getattr(memory, f"{right}_array")(3, "float32", fill=2)
    result = memory.like(one, other)
    assert result.usm_type == (one + other).usm_type
    add[3](one, other, result)
    assert result.asnumpy().tolist() == [3, 3, 3]


def test_result_has_the_promoted_type_and_the_broadcast_shape():
    result = memory.like(memory.device_array((4, 1), "int32"), memory.device_array(3, "float32"))
    assert (result.dtype, result.shape) == (np.dtype("float64"), (4, 3))
    assert memory.like(result, shape=7, dtype="int8").shape == (7,)


def test_result_of_arrays_on_two_queues_is_an_error():
    one, other = memory.device_array(3), memory.device_array(3, queue=kapi.queue())
    with raises(kapi.ExecutionPlacementError, "different-queues"):
        memory.like(one, other)
    with raises(kapi.ExecutionPlacementError, "different-queues"):
        memory.like()


@pytest.mark.parametrize(
    "values",
    [np.arange(6), np.arange(12)[::2] // 2, list(range(6)), Foreign(np.arange(6))],
    ids=["NumPy", "strided", "list", "DLPack on the host"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_values_of_the_host_are_copied_to_the_device(values, kind):
    array = memory.asarray(values, usm_type=kind)
    assert isinstance(array, dpnp.ndarray)
    assert array.usm_type == kind
    assert array.asnumpy().tolist() == list(range(6))
    with pytest.raises(ValueError, match="values must be in unified shared memory with copy=False, got "):
        memory.asarray(values, copy=False)


def test_usm_array_is_taken_as_it_is():
    array = dpnp.arange(4, sycl_queue=kapi.queue())
    assert memory.asarray(array) is array
    assert memory.asarray(array.get_array()).get_array()._pointer == array.get_array()._pointer
    assert memory.asarray(array, copy=True).get_array()._pointer != array.get_array()._pointer


@pytest.mark.parametrize(
    "array", [dpnp.arange(4), dpnp.arange(8, usm_type="shared")[4:]], ids=["device", "shared view"]
)
def test_dlpack_of_a_device_shares_its_memory(array):
    ours = memory.asarray(Foreign(array))
    assert ours.get_array()._pointer == array.get_array()._pointer
    ours += 1
    assert (ours.asnumpy() == array.asnumpy()).all()


def test_dlpack_goes_out_to_numpy():
    result = memory.device_array(3, "float32")
    add[3](memory.asarray([1, 2, 3], "float32"), memory.asarray([4, 5, 6], "float32"), result)
    assert np.from_dlpack(result, device="cpu").tolist() == [5, 7, 9]
    assert dpnp.from_dlpack(result).get_array()._pointer == result.get_array()._pointer


def test_kernel_takes_the_array_api_s_own_arrays():
    """`dpnp.tensor` is the array API's namespace; its arrays are not dpnp.ndarray."""
    one = dpnp.tensor.asarray([1, 2, 3], dtype="int32")
    result = dpnp.tensor.empty_like(one)
    assert hasattr(one, "__array_namespace__")
    assert not isinstance(one, dpnp.ndarray)
    add[3](one, one, result)
    assert memory.asnumpy(result).tolist() == [2, 4, 6]


@pytest.mark.parametrize("change", ["dtype", "kind", "queue"])
def test_asarray_copies_what_is_to_be_changed(change, sub_device):
    array = dpnp.arange(4, dtype="int32")
    options = {
        "dtype": {"dtype": "float32"},
        "kind": {"usm_type": "host"},
        "queue": {"queue": kapi.default_queue(sub_device)},
    }[change]
    changed = memory.asarray(array, **options)
    assert changed.asnumpy().tolist() == [0, 1, 2, 3]
    assert changed.dtype == options.get("dtype", "int32")
    assert changed.usm_type == options.get("usm_type", "device")
    assert changed.sycl_queue == options.get("queue", array.sycl_queue)
    with pytest.raises(ValueError, match="if copy=False, got int32 in device memory on queue 0x"):
        memory.asarray(array, copy=False, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_asnumpy_is_a_copy(kind):
    array = memory.asarray(np.arange(6).reshape(2, 3), usm_type=kind)
    for view in (array, array.T, array[:, 1:], array[::-1], array[1]):
        host = memory.asnumpy(view)
        assert isinstance(host, np.ndarray)
        assert (host == view.asnumpy()).all()
    memory.asnumpy(array)[...] = 9
    assert array.asnumpy().max() == 5
    assert memory.asnumpy([1, 2]).tolist() == [1, 2]


def test_copies_wait_for_the_work_that_fills_the_array():
    array = dpnp.zeros(100_000)
    for _ in range(20):
        kapi.call_kernel_async(add, kapi.Range(100_000), [], array, dpnp.ones(100_000), array)
    assert set(memory.asnumpy(array)) == {20}


def test_copy_goes_in_any_direction(sub_device):
    host = np.arange(5.0)
    here, there = memory.device_array(5), memory.device_array(5, queue=kapi.default_queue(sub_device))
    other_queue = memory.shared_array(5, queue=kapi.queue())
    back = np.empty(5)
    for source, target in [(host, here), (here, there), (there, other_queue), (other_queue, back), (back, back.copy())]:
        memory.copy(source, target)
    assert back.tolist() == host.tolist()
    part = memory.device_array(8, fill=0)
    memory.copy(here[1:3], part[4:6])
    assert part.asnumpy().tolist() == [0, 0, 0, 0, 1, 2, 0, 0]
    memory.copy(np.empty(0), memory.device_array(0))


@pytest.mark.parametrize("source", [np.zeros(4), np.zeros(5, "float32"), np.zeros(10)[::2]])
def test_copy_of_what_does_not_fit_is_an_error(source):
    with raises(kapi.DtypeError, "copy-unlike"):
        memory.copy(source, memory.device_array(5))


def test_copies_are_recorded():
    with kapi.profiling() as recording:
        array = memory.asarray(np.arange(1000))
        add[1000](array, array, array)
        memory.asnumpy(array)
        memory.copy(array, memory.device_array(1000, array.dtype))
    assert [(each.kind, each.name, each.nbytes) for each in recording.entries] == [
        ("copy", "host to device", 8000),
        ("launch", "add", 24000),
        ("copy", "device to host", 8000),
        ("copy", "device to device", 8000),
    ]
    assert all(each.submit <= each.start <= each.end for each in recording.copies)


def test_copies_of_a_device_context_are_recorded():
    """An array whose elements are not where they may be on a device is copied there, and back."""
    odd = np.frombuffer(bytearray(8 * 4 + 1), np.float64, 4, offset=1)
    with kapi.profiling() as recording, kapi.device_context(0):
        add[4](odd, odd, odd)
    assert [(each.kind, each.name, each.nbytes) for each in recording.copies] == [
        ("copy", "host to device", 32),
        ("copy", "device to host", 32),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_takes_what_is_on_a_device_by_dlpack_alone(kind):
    array = memory.asarray([1.0, 2.0, 3.0], usm_type=kind)
    total = dpnp.zeros(3)
    for _ in range(3):
        add[3](Foreign(array), Foreign(array), total)
    add[3](Foreign(total), Foreign(total), Foreign(total))
    assert total.asnumpy().tolist() == [4, 8, 12]


def test_kernel_refuses_what_is_on_the_host_by_dlpack():
    with raises(kapi.KapiError, "array-on-host"):
        add[3](Foreign(np.zeros(3)), dpnp.zeros(3), dpnp.zeros(3))


def test_broken_dpnp_is_an_error_that_says_what_to_install(monkeypatch):
    imports = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "dpnp":
            raise ImportError("libmkl_sycl_blas.so: no such file")
        return imports(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with raises(kapi.DriverError, "dpnp-broken"):
        memory.device_array(3)
