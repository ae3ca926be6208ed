"""Launches by plans call the driver's own function, without Python in between, as by its Python interface."""

from __future__ import annotations

import ctypes
import sys
import types

import numpy as np
import pytest
from cuda_double import InMemory

import kapi_runtime as kapi
from kapi_runtime.cuda.native import cupy_arrays, native_functions, torch_tensors
from kapi_runtime.cuda.native.array_tables import FilledTable
from kapi_runtime.cuda.native.structures import CudaLaunch
from kapi_runtime.native.packing_source import Pair
from kapi_runtime.platform.dlpack import CUDA, DlpackTensor
from kapi_sim.testing.reports import raises

SIZE = 1000


@kapi.kernel
def scale(item: kapi.Item, target, source, factor):
    i = item.get_id(0)
    target[i] = source[i] * factor


@pytest.fixture
def arrays(lib):
    return [lib.array(np.ones(SIZE, np.float32)) for _ in range(2)]


@pytest.fixture
def spied(monkeypatch):
    """The addresses that native code was told to launch."""
    functions = native_functions.native_functions()
    assert functions is not None, native_functions.why_not()
    addresses = []

    def spy(name):
        def call(address, *given):
            addresses.append(address)
            return getattr(functions, name)(address, *given)

        return call

    spies = {name: spy(name) for name in ("launch", "send", "resend")}
    monkeypatch.setattr(native_functions, "_made", [functions._replace(**spies)])
    return addresses


def fresh():
    return kapi.kernel(scale.py_func)


def test_native_launch_is_what_the_driver_s_interface_is_given(gpu, arrays, monkeypatch, spied):
    gpu.packed_size = 40  # two arrays of one axis, and how many elements the local memory has
    space = kapi.NdRange(SIZE, 100)

    @kapi.kernel
    def local(item: kapi.NdItem, target, source, scratch):
        i = item.get_global_id(0)
        scratch[item.get_local_id(0)] = source[i]
        target[i] = scratch[item.get_local_id(0)]

    launch = local.bind(space, *arrays, kapi.LocalAccessor(100, np.float32))
    launch()
    launch()
    assert len(spied) == 2
    monkeypatch.setattr(native_functions, "_made", [None])
    local.bind(space, *arrays, kapi.LocalAccessor(100, np.float32))()
    assert len(spied) == 2
    first, second, plain = gpu.launches
    assert first == second
    for name in ("entry", "grid", "block", "shared", "stream", "packed"):
        assert getattr(first, name) == getattr(plain, name)


def test_native_launch_that_is_refused_is_reported_by_the_slow_path(gpu, arrays, spied):
    launch = fresh().bind(kapi.Range(SIZE), *arrays, 2.0)
    launch()
    gpu.fail["cuLaunchKernel"] = 701
    with raises(kapi.KernelLaunchError, "launch-refused"):
        launch()
    assert len(spied) == 2


def test_native_launch_in_a_thread_without_a_context_enters_it(gpu, arrays, spied):
    launch = fresh().bind(kapi.Range(SIZE), *arrays, 2.0)
    gpu.fail["cuLaunchKernel"] = [201]
    launch()
    assert len(spied) == 2  # once again, in the context
    assert len(gpu.launches) == 1


def test_first_plan_launches_natively(gpu, arrays):
    kernel = fresh()
    for count in (1, 2, 3):
        kapi.call_kernel_async(kernel, kapi.Range(SIZE), (), *arrays, 2.0)
        (plan,) = kernel._plans[kapi.Range(SIZE)]
        assert plan.launch.func is native_functions.native_functions().launch
        assert len(gpu.launches) == count


def test_without_native_functions_the_driver_s_interface_launches(gpu, arrays, monkeypatch):
    monkeypatch.setattr(native_functions, "_made", [None])
    kernel = fresh()
    for _ in range(3):
        kapi.call_kernel_async(kernel, kapi.Range(SIZE), (), *arrays, 2.0)
    assert len(gpu.launches) == 3


def test_driver_without_addresses_is_called_by_its_interface(gpu, arrays):
    gpu.gives_addresses = False
    assert native_functions.cu_launch_kernel() == 0
    fresh().bind(kapi.Range(SIZE), *arrays, 2.0)()
    assert len(gpu.launches) == 1


def test_doctor_says_which_path_launches_take(gpu, monkeypatch):
    from kapi_runtime.platform.installed import platforms

    (platform,) = [each for each in platforms() if each.name == "cuda"]
    assert platform.findings().launches == "native"
    monkeypatch.setattr(native_functions, "_made", [])
    gpu.gives_addresses = False
    assert platform.findings().launches == (
        "plain, the slow way: the driver must give the address of cuLaunchKernel, got none"
    )


WATCHING = []  # lists that audit events go to, while a test watches; a hook stays as long as the process
sys.addaudithook(lambda event, _: [each.append(event) for each in WATCHING])
WATCHED = {"import", "compile", "exec", "open", "ctypes.dlopen", "subprocess.Popen", "mmap.__new__"}


@pytest.mark.parametrize("cache", ["1", "0"])
def test_launches_after_the_second_prepare_nothing(gpu, lib, arrays, monkeypatch, cache):
    """They import, compile and open nothing, whatever the cache has; what takes long does one of these."""
    monkeypatch.setenv("KAPI_CACHE", cache)
    monkeypatch.setattr(native_functions, "_made", [])
    kernel, events = fresh(), []
    tensors = [lib.tensor(np.ones(SIZE, np.float32)) for _ in range(2)]
    for given in (arrays, tensors):
        bound = kernel.bind(kapi.Range(SIZE), *given, 2.0)
        for launch in (bound, lambda its=given: kapi.call_kernel_async(kernel, kapi.Range(SIZE), (), *its, 2.0)):
            before = len(gpu.launches)
            launch()
            launch()
            monkeypatch.setattr(sys.modules[__name__], "WATCHING", [events])
            for _ in range(1000):
                launch()
            monkeypatch.setattr(sys.modules[__name__], "WATCHING", [])
            assert len(gpu.launches) == before + 1002
    assert WATCHED.isdisjoint(events)


# -- CuPy's arrays, which native code reads


CURRENT = {0: 7, 1: 9}  # streams of devices


class Data(InMemory):
    __slots__ = ()


class Array(InMemory):
    __slots__ = ("data", "dtype", "itemsize", "kept", "ndim", "shape", "strides")


LAYOUT = {"shape_at": 16, "strides_at": 40, "dtype_at": 64, "data_at": 72, "address_at": 16, "device_at": 24}


def array_of(address, shape=(3, 4), strides=(16, 4), dtype=None, device=0):
    made, data = Array(), Data()
    data.write(0, [address, device | 0xABCD << 32])
    made.kept = []
    for first, values in ((0, shape), (3, strides)):
        held = (ctypes.c_ssize_t * len(values))(*values)
        made.kept.append(held)
        start = ctypes.addressof(held)
        made.write(first, [start, start + 8 * len(values), start + 64])
    made.dtype = np.dtype(np.float32) if dtype is None else dtype
    made.ndim, made.itemsize, made.shape, made.strides, made.data = len(shape), 4, shape, strides, data
    made.write(6, [id(made.dtype), id(data)])
    return made


def reader_of(count, **tables):
    """A function that tells whether native code finds arguments to be as tables say."""
    functions = native_functions.native_functions()
    assert functions is not None, native_functions.why_not()
    plan = CudaLaunch(given_count=count, **{name: table.address for name, table in tables.items()})

    def read(*given):
        return functions.pack(ctypes.addressof(plan), given)

    read.kept = tables
    return read


@pytest.fixture
def reading(gpu, monkeypatch):
    """The native reader of arrays like these, and the offsets of their addresses."""
    monkeypatch.setattr(cupy_arrays, "learned_layout", lambda _: LAYOUT)

    def make(values, pairs=(), stream=1):
        packed = (ctypes.c_uint64 * len(values))()
        addresses = [ctypes.addressof(packed) + 8 * k for k in range(len(values))]
        apart = [each._replace(first=addresses[each.first], second=addresses[each.second]) for each in pairs]
        table = cupy_arrays.cupy_table(list(enumerate(values)), addresses, apart, 0, stream)
        return reader_of(len(values), cupy=table), packed

    return make


def test_native_code_packs_the_addresses_of_arrays_like_the_plan_s(reading):
    read, packed = reading([array_of(4096), array_of(8192, (5,), (4,))])
    assert read(array_of(1 << 40), array_of(12, (5,), (4,))) is True
    assert list(packed) == [1 << 40, 12]


@pytest.mark.parametrize(
    "change",
    [
        {"shape": (3, 5)},
        {"shape": (3,)},
        {"shape": (3, 4, 1)},
        {"strides": (16, 8)},
        {"strides": (-16, 4)},
        {"dtype": np.dtype(np.int32)},
        {"device": 1},
        {"address": 4098},
    ],
)
def test_native_code_refuses_other_arrays(reading, change):
    read, _ = reading([array_of(4096)])
    assert read(array_of(**{"address": 4096, **change})) is False


def test_native_code_refuses_what_is_no_array_of_the_class(reading):
    read, _ = reading([array_of(4096)])
    assert [read(value) for value in (None, 1.5, "text", np.ones((3, 4), np.float32), InMemory())] == [False] * 5
    assert read() is False
    assert read(array_of(4096), array_of(4096)) is False


@pytest.mark.parametrize(("may_be_one", "distance", "expected"), [
    (True, 0, True), (False, 0, False), (True, 4, False), (False, 44, False), (False, 48, True), (False, -48, True),
    (False, -44, False), (False, 20, True), (False, -20, False),
])  # fmt: skip
def test_native_code_refuses_arrays_that_interlock(reading, may_be_one, distance, expected):
    """But for those that lie as the plan's own do, 20 bytes from each other."""
    read, _ = reading([array_of(4096), array_of(8192)], [Pair(0, 1, (0, 48), (0, 48), may_be_one, 20)])
    assert read(array_of(1 << 20), array_of((1 << 20) + distance)) is expected


def test_layout_is_not_guessed(gpu, lib):
    """The double's arrays, and those of another library, are read by their attributes."""
    assert cupy_arrays.learned_layout(type(lib.array(np.ones(3)))) is None
    assert cupy_arrays.learned_layout(np.ndarray) is None


def test_layout_of_a_class_that_keeps_something_elsewhere_is_unknown():
    probes = [array_of(4096), array_of(8192)]
    assert cupy_arrays._offset(probes, lambda probe, at: False) is None
    assert cupy_arrays._offset(probes, lambda probe, at: True) is None


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


@ctypes.PYFUNCTYPE(ctypes.c_longlong, ctypes.c_int)
def stream_of_cupy(device):
    return CURRENT[device]


@pytest.mark.parametrize(("wanted", "current", "expected"), [(7, 7, True), (7, 9, False), (1, 0, True), (7, 0, False)])
def test_native_code_reads_arrays_only_if_the_plan_s_stream_is_current(reading, monkeypatch, wanted, current, expected):
    monkeypatch.setattr(cupy_arrays, "current_stream_function", lambda: address_of(stream_of_cupy))
    monkeypatch.setitem(CURRENT, 0, current)
    read, _ = reading([array_of(4096)], stream=wanted)
    assert read(array_of(4096)) is expected


def test_stream_function_of_another_signature_is_not_called(monkeypatch):
    module = types.ModuleType("cupy_backends.cuda.stream")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi)
    )
    found = []
    for name in (b"intptr_t (int)", b"intptr_t (void)"):
        module.__pyx_capi__ = {"get_stream_ptr": make(address_of(stream_of_cupy), name, None)}
        cupy_arrays.current_stream_function.cache_clear()
        found.append(cupy_arrays.current_stream_function())
    cupy_arrays.current_stream_function.cache_clear()
    assert found == [address_of(stream_of_cupy), 0]


@pytest.fixture
def tables(monkeypatch):
    """The arguments of each table that a plan was made with, instead of the table."""
    made = []

    def table(library):
        def make(values, addresses, pairs, ordinal, stream):
            made.append((library, values, addresses, pairs))
            for (_, array), address in zip(values, addresses, strict=True):
                ctypes.c_uint64.from_address(address).value = array.host.ctypes.data
            return FilledTable(0, ())

        return make

    for library in ("cupy", "torch"):
        monkeypatch.setattr(f"kapi_runtime.cuda.plan_packing.{library}_table", table(library))
    return made


def test_last_table_has_the_pairs_of_all_arrays(gpu, lib, tables):
    """Those of one layout that is unknown are asked for the rest by their attributes."""
    given = lib.array(np.ones(SIZE, np.float32)), lib.tensor(np.ones(SIZE, np.float32))
    kapi.call_kernel_async(fresh(), kapi.Range(SIZE), (), *given, 2.0)
    (torch, cupy) = tables
    assert [torch[0], torch[1], len(torch[3])] == ["torch", [(1, given[1])], 1]
    assert [cupy[0], cupy[1], len(cupy[3])] == ["cupy", [(0, given[0])], 0]
    assert (torch[3][0].first, torch[3][0].second) == (cupy[2][0], torch[2][0])


# -- PyTorch's tensors, which tell native code what they are


def capsule_of(version, tensor_of_object, current_stream):
    """DLPack's exchange of a class of tensors."""
    structure = (ctypes.c_uint64 * 7)(version, 0, 0, 0, 0, tensor_of_object, current_stream)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi)
    )
    KEPT.append(structure)
    return make(ctypes.addressof(structure), b"dlpack_exchange_api", None)


KEPT = []  # what capsules and tables are of


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
def tensor_of_object(tensor, into):
    if tensor.raises:
        return -1
    made = DlpackTensor.from_address(into)
    made.data, made.byte_offset = tensor.address - 4, 4
    made.device_type, made.device_id, made.rank = tensor.kind, tensor.device, len(tensor.shape)
    made.code, made.bits, made.lanes = tensor.element
    made.shape, made.strides = (
        (ctypes.c_int64 * len(words))(*words) for words in (tensor.shape, tensor.strides)
    )  # the structure keeps what its pointers are of
    KEPT.append((made.shape, made.strides))
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)
def current_stream(kind, device, into):
    ctypes.c_uint64.from_address(into).value = CURRENT[device]
    return 0 if kind == CUDA else -1


class Implementation(InMemory):
    __slots__ = ()


class Tensor(InMemory):
    __slots__ = (
        "address",
        "device",
        "element",
        "implementation",
        "kind",
        "raises",
        "requires_grad",
        "shape",
        "strides",
    )

    __dlpack_c_exchange_api__ = capsule_of(1, address_of(tensor_of_object), address_of(current_stream))

    def __init__(self, address, shape=(3, 4), strides=(4, 1), element=(2, 32, 1), device=0, keys=5, gradient=0,
                 requires_grad=False, kind=CUDA, raises=False):  # fmt: skip
        super().__init__()
        self.address, self.shape, self.strides, self.element = address, shape, strides, element
        self.device, self.kind, self.raises, self.requires_grad = device, kind, raises, requires_grad
        self.implementation = Implementation()
        self.implementation.write(0, [keys, gradient])
        self.write(0, [id(self.implementation)])

    _cdata = property(lambda self: id(self.implementation))

    def stride(self):
        return self.strides

    def element_size(self):
        return 4


@pytest.fixture
def reading_tensors(gpu, monkeypatch):
    """The native reader of tensors like these, and the offsets of their addresses."""
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(torch_tensors, "_is_truthful", lambda *_: True)
    layout = {"implementation_at": 16, "keys_at": 16, "gradient_at": 24}
    monkeypatch.setattr(torch_tensors, "learned_layout", lambda _: layout)

    def make(values, pairs=(), stream=7):
        packed = (ctypes.c_uint64 * len(values))()
        addresses = [ctypes.addressof(packed) + 8 * k for k in range(len(values))]
        apart = [each._replace(first=addresses[each.first], second=addresses[each.second]) for each in pairs]
        table = torch_tensors.torch_table(list(enumerate(values)), addresses, apart, 0, stream)
        return reader_of(len(values), torch=table), packed

    torch_tensors.exchange_of.cache_clear()
    yield make
    torch_tensors.exchange_of.cache_clear()


def test_native_code_packs_the_addresses_of_tensors_like_the_plan_s(reading_tensors):
    read, packed = reading_tensors([Tensor(4096), Tensor(8192, (5,), (1,))])
    assert read(Tensor(1 << 40), Tensor(12, (5,), (1,), gradient=1)) is True
    assert list(packed) == [1 << 40, 12]


@pytest.mark.parametrize(
    "change",
    [
        {"shape": (3, 5)},
        {"shape": (3,)},
        {"strides": (8, 1)},
        {"strides": (-4, 1)},
        {"element": (0, 32, 1)},
        {"element": (2, 16, 1)},
        {"element": (2, 32, 2)},
        {"device": 1},
        {"kind": 1},
        {"address": 4098},
        {"keys": 7},
        {"gradient": 1, "requires_grad": True},
        {"raises": True},
    ],
)
def test_native_code_refuses_other_tensors(reading_tensors, change):
    read, _ = reading_tensors([Tensor(4096)])
    assert read(Tensor(8192)) is True
    assert read(Tensor(**{"address": 4096, **change})) is False


def test_native_code_refuses_what_is_no_tensor_of_the_class(reading_tensors):
    class Other(Tensor):
        __slots__ = ()

    read, _ = reading_tensors([Tensor(4096)])
    assert [read(value) for value in (None, 1.5, Other(4096), InMemory())] == [False] * 4
    assert read() is False
    assert read(Tensor(4096), Tensor(4096)) is False


@pytest.mark.parametrize(("wanted", "current", "expected"), [(7, 7, True), (7, 9, False), (1, 0, True), (7, 0, False)])
def test_native_code_reads_tensors_only_if_the_plan_s_stream_is_current(
    reading_tensors, monkeypatch, wanted, current, expected
):
    read, _ = reading_tensors([Tensor(4096)], stream=wanted)
    monkeypatch.setitem(CURRENT, 0, current)
    assert read(Tensor(4096)) is expected


def test_native_code_refuses_tensors_that_interlock(reading_tensors):
    read, _ = reading_tensors([Tensor(4096), Tensor(8192)], [Pair(0, 1, (0, 48), (0, 48), True, 20)])
    found = [read(Tensor(1 << 20), Tensor((1 << 20) + distance)) for distance in (0, 4, 48, 20)]
    assert found == [True, False, True, True]


def test_exchange_of_another_version_or_without_a_function_is_not_used(monkeypatch):
    monkeypatch.setattr(torch_tensors, "_is_truthful", lambda *_: True)
    monkeypatch.setitem(sys.modules, "torch", None)
    addresses = address_of(tensor_of_object), address_of(current_stream)
    for version, one, other, is_used in (
        (1, *addresses, True),
        (2, *addresses, False),
        (1, 0, 5, False),
        (1, 5, 0, False),
    ):
        kind = type("Kind", (), {"__dlpack_c_exchange_api__": capsule_of(version, one, other)})
        assert (torch_tensors.exchange_of(kind) is not None) is is_used
    assert torch_tensors.exchange_of(type("Kind", (), {})) is None
    assert torch_tensors.learned_layout(type("Kind", (), {})) is None
