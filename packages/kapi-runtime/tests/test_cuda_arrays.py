"""Arrays of other libraries: what is read of each, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.cuda.memory.arrays import cuda_fields
from kapi_runtime.platform.dlpack import CUDA, capsule_of
from kapi_sim.testing.reports import raises


class Interface:
    """An array that says of itself what a test wants."""

    def __init__(self, host, **other):
        self.host = host
        self.other = other

    @property
    def __cuda_array_interface__(self):
        return {
            "data": (self.host.ctypes.data, False),
            "shape": self.host.shape,
            "strides": self.host.strides,
            "typestr": self.host.dtype.str,
            "version": 3,
            **self.other,
        }


@kapi.kernel
def scale(item: kapi.Item, x):
    i = item.get_id(0)
    x[i] = x[i] * 2


@pytest.fixture
def host(gpu):
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    gpu.adopt(array)
    return array


@pytest.mark.parametrize("kind", ["array", "tensor"])
def test_views_of_a_library_have_strides_in_elements(lib, kind):
    base = np.zeros((4, 6), np.float64)
    getattr(lib, kind)(base)
    fields = cuda_fields(getattr(lib, kind)(base[::2, 1:].T))
    assert (fields.pointer, fields.shape, fields.strides) == (base.ctypes.data + 8, (5, 2), (1, 12))
    assert (fields.dtype, fields.readonly, fields.owner.ordinal) == (np.float64, False, 0)


def test_interface_without_strides_is_contiguous(gpu, host):
    fields = cuda_fields(Interface(host, strides=None, data=(host.ctypes.data, True)))
    assert (fields.layout, fields.strides, fields.readonly) == ("C", (12, 4, 1), True)
    assert cuda_fields(Interface(host, version=2)).owner.given is None


def test_interface_s_default_stream_by_both_names_is_one(gpu, host):
    assert cuda_fields(Interface(host, stream=1)).owner.stream(0) == cuda_fields(Interface(host)).owner.stream(0)
    assert cuda_fields(Interface(host, stream=2)).owner.stream(0).handle == 2


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({"mask": object()}, "argument-array-class"),
        ({"stream": 0}, "cuda-array-interface"),
        ({"data": (0, False)}, "cuda-array-interface"),
        ({"strides": (48, 16, 6)}, "array-misaligned"),
    ],
    ids=["mask", "stream", "pointer", "strides"],
)
def test_interface_that_kernels_cannot_follow_is_refused(gpu, host, other, code):
    with pytest.raises(kapi.DtypeError) as refused:
        cuda_fields(Interface(host, **other))
    assert refused.value.code == code


def test_address_between_elements_is_refused(gpu, host):
    with raises(kapi.DtypeError, "array-misaligned") as refused:
        cuda_fields(Interface(host[:, :, 1:], data=(host.ctypes.data + 2, False)))
    assert refused.value.code == "array-misaligned"


def test_memory_that_the_driver_does_not_know_is_refused(gpu):
    with pytest.raises(kapi.ExecutionPlacementError) as refused:
        cuda_fields(Interface(np.zeros(3)))
    assert refused.value.code == "array-on-host"


def test_array_without_elements_may_be_nowhere(gpu):
    fields = cuda_fields(Interface(np.zeros((0, 3)), data=(0, False)))
    assert (fields.shape, fields.owner.ordinal) == ((0, 3), None)


def test_tensor_of_another_form_is_refused(gpu, lib):
    host = np.zeros(4, np.float32)
    for name, value in (("requires_grad", True), ("layout", "torch.sparse_coo"), ("conj", True), ("neg", True)):
        tensor = lib.tensor(host)
        setattr(tensor, name, value)
        with pytest.raises(kapi.DtypeError) as refused:
            cuda_fields(tensor)
        assert refused.value.code == "tensor-form"


def test_tensor_of_elements_that_kernels_lack_is_refused(gpu, lib):
    tensor = lib.tensor(np.zeros(4, np.float32))
    tensor.dtype = "torch.bfloat16"
    with raises(kapi.DtypeError, "argument-dtype") as refused:
        cuda_fields(tensor)
    assert refused.value.code == "argument-dtype"


def test_tensor_of_the_host_with_one_of_the_device_is_refused(gpu, lib):
    there, here = (lib.tensor(np.zeros(4, np.float32)) for _ in range(2))
    here.is_cuda = False

    @kapi.kernel
    def copy(item: kapi.Item, x, y):
        x[item.get_id(0)] = y[item.get_id(0)]

    with raises(kapi.ExecutionPlacementError, "array-on-host"):
        copy[kapi.Range(4)](there, here)


def test_arrays_of_jax_are_waited_for_and_read_only(gpu, host):
    waited = []

    class Array(Interface):
        def block_until_ready(self):
            waited.append(self)

    Array.__module__ = "jaxlib._jax"
    fields = cuda_fields(Array(host))
    assert (len(waited), fields.readonly, fields.owner.library) == (1, True, "jax")

    @kapi.kernel
    def write(item: kapi.Item, x):
        x[0, 0, item.get_id(0)] = 1

    with raises(kapi.KernelCompilationError, "argument-read-only"):
        write[kapi.Range(4)](Array(host))


def test_dlpack_is_read_where_there_is_no_interface_and_given_the_stream(gpu, host):
    told = []

    class Array:
        def __dlpack_device__(self):
            return CUDA, 0

        def __dlpack__(self, *, stream):
            told.append(stream)
            return capsule_of(host.ctypes.data, (2, 12), (12, 1), host.dtype, CUDA, 0, host)

    fields = cuda_fields(Array())
    assert (fields.pointer, fields.shape, fields.strides, fields.owner.ordinal) == (
        host.ctypes.data,
        (2, 12),
        (12, 1),
        0,
    )
    assert told == [1]


def test_array_is_on_the_device_that_the_driver_itself_names(gpu, host):
    """Of arrays such as numba-cuda's, which tell no device; cuda.bindings answers 0 for all."""
    there = np.ones(3, np.float32)
    gpu.adopt(there, ordinal=1)
    assert [cuda_fields(Interface(array)).owner.ordinal for array in (host, there)] == [0, 1]
    gpu.gives_addresses = False
    assert cuda_fields(Interface(host)).owner.ordinal == 0


def test_what_is_no_array_of_a_device_is_none_of_ours(gpu):
    assert cuda_fields(object()) is None
    assert cuda_fields(np.zeros(3)) is None


def test_arrays_of_the_host_that_the_device_reaches_are_its_own(gpu, host):
    """As numba-cuda's mapped and managed arrays are: of a class of NumPy's, with the interface."""

    class Mapped(np.ndarray):
        @property
        def __cuda_array_interface__(self):
            return {**Interface(self.view(np.ndarray)).__cuda_array_interface__, "data": (self.address, False)}

    mapped = host.reshape(24).view(Mapped)
    mapped.address = host.ctypes.data  # which views of it lack
    gpu.packed_size = 24
    scale[kapi.Range(24)](mapped)
    (launch,) = gpu.launches
    assert launch.packed[8:16] == host.ctypes.data.to_bytes(8, "little")
    scale[kapi.Range(10)](mapped[::2].copy())  # the host's own memory: the CPU runs it
    assert len(gpu.launches) == 1
    back = np.zeros(24, np.float32)
    kapi.memory.copy(mapped, back)
    assert (back == np.arange(24)).all()
