"""`kapi_runtime.compat` has numba.cuda's host API, name by name and parameter by parameter; here on SYCL.

The references are numba.cuda's own functions, which can be looked at without a GPU, and NumPy.
"""

from __future__ import annotations

import inspect
import threading

import dpnp
import numpy as np
import pytest
from numba import cuda as theirs
from numba import float32
from numba.cuda.cudadrv import devicearray, driver, runtime

import kapi_runtime as kapi
import kapi_runtime.compat as cuda
from kapi_runtime.platform.kapi_array import KapiArray
from kapi_runtime.platform.numba_cuda_arrays import HostReadableArray, NumbaCudaArray
from kapi_sim.testing.reports import raises

FUNCTIONS = (
    "as_cuda_array close compile compile_for_current_device compile_ptx compile_ptx_for_current_device cuda_error "
    "current_context default_stream defer_cleanup detect device_array device_array_like event event_elapsed_time "
    "external_stream from_cuda_array_interface get_current_device is_available is_cuda_array is_float16_supported "
    "is_supported_version legacy_default_stream list_devices managed_array mapped mapped_array mapped_array_like "
    "open_ipc_array per_thread_default_stream pinned pinned_array pinned_array_like profile_start profile_stop "
    "profiling require_context select_device stream synchronize to_device"
).split()
METHODS = [
    (kapi.current_context, driver.Context, "reset get_memory_info push pop synchronize defer_cleanup"),
    (cuda.get_current_device, driver.Device, "reset"),
    (cuda.event, driver.Event, "query record synchronize wait elapsed_time"),
    (cuda.stream, driver.Stream, "synchronize auto_synchronize add_callback async_done"),
    (lambda: cuda.runtime, runtime.Runtime, "get_version is_supported_version"),
    *(
        (
            make,
            devicearray.DeviceNDArray,
            "copy_to_device copy_to_host is_c_contiguous is_f_contiguous ravel reshape split",
        )
        for make in (lambda: cuda.device_array(3), lambda: cuda.device_array(3)[1:], lambda: cuda.device_array(3).T)
    ),
    (lambda: cuda.mapped_array(3), devicearray.MappedNDArray, "copy_to_device copy_to_host split"),
    (lambda: cuda.managed_array(3), devicearray.ManagedNDArray, "copy_to_device copy_to_host split"),
]


def parameters(function):
    """The names, kinds and defaults of what a function takes."""
    return [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_has_numba_cuda_s_parameters(name):
    assert name in cuda.__all__
    assert parameters(getattr(cuda, name)) == parameters(getattr(theirs, name))


def test_every_host_function_of_numba_cuda_is_there():
    """Names that numba.cuda's modules of host functions and of compilation define."""
    from numba.cuda import api, compiler

    defined = {
        name
        for module in (api, compiler)
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and hasattr(theirs, name)
    }
    assert {name for name in defined if not name.startswith("_")} <= set(FUNCTIONS)


@pytest.mark.filterwarnings("ignore:`.T` is deprecated:DeprecationWarning")
@pytest.mark.parametrize(("make", "reference", "names"), METHODS)
def test_method_has_numba_cuda_s_parameters(make, reference, names):
    made = make()
    for name in names.split():
        assert parameters(getattr(type(made), name)) == parameters(getattr(reference, name)), name


@pytest.mark.parametrize("name", ["ravel", "reshape"])
def test_kapi_s_own_arrays_have_numba_cuda_s_parameters(name):
    assert parameters(getattr(KapiArray, name)) == parameters(getattr(devicearray.DeviceNDArray, name))


# --------------------------------------------------------------------------------------------- devices, contexts


def test_current_device_is_an_attribute_and_a_call():
    assert cuda.gpus.current() == cuda.gpus.current == cuda.get_current_device() == kapi.devices.current


def test_list_of_devices_holds_devices_by_their_ids():
    for device in cuda.list_devices():
        assert isinstance(device, kapi.Device)
        assert cuda.select_device(device_id=device.id) == cuda.gpus[device.id] == device
        assert cuda.current_context(devnum=device.id).device == device
    cuda.close()


def test_sub_device_has_no_id(sub_device):
    with raises(kapi.LimitError, "device-lacks"):
        _ = sub_device.id


def test_reset_of_a_device_waits_and_forgets():
    values = cuda.to_device(np.zeros(4))
    add_one[kapi.Range(4)](values)
    assert add_one._plans
    cuda.gpus.current.reset()
    assert not any(add_one._plans.values())
    add_one[kapi.Range(4)](values)
    assert values.copy_to_host().tolist() == [2] * 4


def test_required_context_is_named_by_keyword():
    assert cuda.require_context(fn=lambda: kapi.devices.current)() == kapi.devices.current


def test_what_there_is_is_reported():
    major, minor = cuda.runtime.get_version()
    assert isinstance(major, int)
    assert isinstance(minor, int)
    assert cuda.runtime.supported_versions == ((major, minor),)
    assert cuda.runtime.is_supported_version() is cuda.is_supported_version() is True
    assert cuda.cuda_error() is None
    assert cuda.is_float16_supported() == kapi.devices.current.has_aspect_fp16
    assert cuda.current_context().get_memory_info()._fields == ("free", "total")


def test_why_there_is_no_device_is_reported(monkeypatch):
    monkeypatch.setattr("kapi_runtime.host.devices.installed.platforms", list)
    assert "a platform must be installed" in cuda.cuda_error()
    assert cuda.runtime.supported_versions == ()
    assert not cuda.is_supported_version()


def test_cleanup_is_deferred_in_blocks_within_blocks():
    with cuda.defer_cleanup(), cuda.current_context().defer_cleanup():
        values = cuda.to_device(np.ones(3))
        del values


REFUSED = {
    "legacy_default_stream": cuda.legacy_default_stream,
    "pinned": lambda: cuda.pinned(np.ones(3)).__enter__(),
    "mapped": lambda: cuda.mapped(np.ones(3), stream=0).__enter__(),
    "compile_ptx_for_current_device": lambda: cuda.compile_ptx_for_current_device(square, (float32,)),
    "open_ipc_array": lambda: cuda.open_ipc_array(b"", (3,), "f4"),
    "mapped_array(wc=True)": lambda: cuda.mapped_array(3, wc=True),
    "managed_array(attach_global=False)": lambda: cuda.managed_array(3, attach_global=False),
    "compile_for_current_device(output='ltoir')": lambda: cuda.compile_for_current_device(
        square, (float32,), output="ltoir"
    ),
    'compile_for_current_device(abi="numba")': lambda: cuda.compile_for_current_device(square, (float32,), abi="numba"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_sycl_lacks_is_refused_by_name(name):
    with raises(kapi.LimitError, "device-lacks") as refused:
        REFUSED[name]()
    assert f"`{name}`" in str(refused.value)


def test_compute_capability_is_refused_by_name():
    with raises(kapi.LimitError, "device-lacks"):
        _ = cuda.gpus.current.compute_capability


# --------------------------------------------------------------------------------------------------- compilation


def square(x):
    return x * x


def test_code_for_the_current_device_is_exported_by_the_name_that_is_asked_for():
    code, returns = cuda.compile_for_current_device(
        pyfunc=square, sig=(float32,), fastmath=True, abi="c", abi_info={"abi_name": "power_of_two"}
    )
    assert returns == float32
    assert b"power_of_two" in code
    assert b"square" not in code
    plain, _ = cuda.compile_for_current_device(square, (float32,))
    assert b"square" in plain


# ----------------------------------------------------------------------------------------------- streams, events


def test_events_take_streams_as_numba_cuda_s(run_python):
    start, end, stream = cuda.event(), cuda.event(timing=True), cuda.stream()
    values = cuda.to_device(np.zeros(1000), stream=stream)
    start.record(0)
    start.record()
    start.record(stream=stream)
    add_one[kapi.Range(1000)](values)
    end.record(stream=stream)
    end.wait(0)
    end.wait(stream=cuda.default_stream())
    end.synchronize()
    assert end.query()
    assert cuda.event_elapsed_time(evtstart=start, evtend=end) == start.elapsed_time(evtend=end) > 0
    for method in (start.record, start.wait):
        with pytest.raises(kapi.KernelLaunchError, match="must be a queue of a device, got 1"):
            method(1)


def test_callback_is_named_by_keyword():
    stream, called = cuda.stream(), []
    stream.add_callback(callback=lambda stream, status, arg: called.append(arg), arg=7)
    stream.synchronize()
    assert called == [7]


def test_each_thread_has_a_default_stream_of_its_own():
    mine, found = cuda.per_thread_default_stream(), []
    thread = threading.Thread(target=lambda: found.append(cuda.per_thread_default_stream()))
    thread.start()
    thread.join()
    assert cuda.per_thread_default_stream() == mine
    assert mine not in (found[0], cuda.default_stream())
    assert mine.is_in_order


def test_external_stream_is_named_by_keyword():
    stream = cuda.stream()
    assert cuda.external_stream(ptr=stream.addressof_ref()) == stream


# -------------------------------------------------------------------------------------------------------- arrays


@kapi.kernel
def add_one(item: kapi.Item, values):
    values[item.get_id(0)] += 1


@kapi.kernel
def number(item: kapi.Item, values):
    i, j = item.get_id(0), item.get_id(1)
    values[i, j] = 10 * i + j


LAYOUTS = {
    "C": lambda a: a,
    "Fortran": np.asfortranarray,
    "transposed": lambda a: a.transpose(2, 0, 1),
    "steps": lambda a: a[:, ::2],
    "no elements": lambda a: a[:0],
    "one axis": lambda a: a[0, 0],
    "no axes": lambda a: a[0, 0, 0],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("like", [cuda.device_array_like, cuda.pinned_array_like, cuda.mapped_array_like])
def test_array_like_another_lies_as_numpy_s(layout, like):
    source = layout(np.arange(24.0).reshape(2, 3, 4))
    made, expected = like(source), np.empty_like(source)
    assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
    if expected.size:
        assert made.strides == expected.strides
    again = like(made)
    assert (again.shape, again.strides) == (made.shape, made.strides)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_values_travel_to_the_device_and_back(layout):
    source = layout(np.arange(24.0).reshape(2, 3, 4))
    values = cuda.to_device(source)
    assert isinstance(values, NumbaCudaArray)
    np.testing.assert_array_equal(values.copy_to_host(), source)
    assert values.is_f_contiguous() == np.empty_like(source).flags.f_contiguous
    into = np.full(source.shape, -1.0)
    assert values.copy_to_host(into, stream=cuda.stream()) is into
    np.testing.assert_array_equal(into, source)
    np.testing.assert_array_equal(values.ravel().copy_to_host(), source.ravel())
    np.testing.assert_array_equal(values.ravel(order="F").copy_to_host(), source.ravel(order="F"))
    np.testing.assert_array_equal(values.reshape(-1).copy_to_host(), source.reshape(-1))
    np.testing.assert_array_equal(
        values.reshape(source.size, order="F").copy_to_host(), source.reshape(source.size, order="F")
    )


def test_device_array_of_given_strides_and_order():
    padded = cuda.device_array((3, 2), "float32", strides=(16, 4))
    assert padded.strides == (16, 4)
    padded.copy_to_device(np.full((3, 2), 7, "float32"))
    number[kapi.Range(3, 2)](padded)
    assert padded.copy_to_host().tolist() == [[0, 1], [10, 11], [20, 21]]
    fortran = cuda.device_array(shape=(3, 2), dtype=np.int16, order="F", stream=cuda.stream())
    number[kapi.Range(3, 2)](fortran)
    assert fortran.is_f_contiguous()
    assert not fortran.is_c_contiguous()
    assert fortran.copy_to_host().tolist() == [[0, 1], [10, 11], [20, 21]]


@pytest.mark.parametrize(
    ("arguments", "error", "code"),
    [
        ({"shape": (3, -1)}, kapi.LimitError, "memory-shape"),
        ({"shape": "three"}, kapi.LimitError, "memory-shape"),
        ({"shape": (3, 2), "strides": (8,)}, kapi.LimitError, "memory-shape"),
        ({"shape": (3, 2), "strides": (-16, 8)}, kapi.LimitError, "memory-shape"),
        ({"shape": (3,), "strides": (12,)}, kapi.DtypeError, "array-misaligned"),
        ({"shape": 3, "order": "A"}, kapi.DtypeError, "copy-order"),
    ],
)
@pytest.mark.parametrize("make", [cuda.device_array, cuda.pinned_array, cuda.mapped_array, cuda.managed_array])
def test_form_that_no_array_has_is_refused(make, arguments, error, code):
    with pytest.raises(error) as refused:
        make(**arguments)
    assert refused.value.code == code


def test_arrays_are_filled_in_place():
    target = cuda.to_device(np.zeros((2, 3)))
    assert cuda.to_device(np.ones((2, 3)), to=target) is target
    assert cuda.to_device(np.full((2, 3), 2.0), copy=False, to=target) is target
    assert target.copy_to_host().tolist() == [[1] * 3] * 2
    target.T.copy_to_device(np.arange(6.0).reshape(3, 2), stream=cuda.default_stream())
    assert target.copy_to_host().tolist() == [[0, 2, 4], [1, 3, 5]]
    target.copy_to_device(cuda.to_device(np.full((2, 3), 4.0), stream=cuda.stream()))
    assert target.copy_to_host().tolist() == [[4] * 3] * 2
    for other in (np.ones((3, 2)), np.ones((2, 3), "float32"), cuda.device_array(6)):
        with raises(kapi.DtypeError, "copy-unlike"):
            target.copy_to_device(other)
    with raises(kapi.DtypeError, "copy-unlike"):
        target.copy_to_host(np.ones((3, 2)))
    with pytest.raises(kapi.KernelLaunchError, match="stream must be 0 or a queue of a device, got 'mine'"):
        target.copy_to_host(stream="mine")


def test_parts_share_the_memory():
    values = cuda.to_device(np.arange(7))
    parts = list(values.split(section=3, stream=0))
    assert [part.copy_to_host().tolist() for part in parts] == [[0, 1, 2], [3, 4, 5], [6]]
    add_one[kapi.Range(3)](parts[1])
    assert values.copy_to_host().tolist() == [0, 1, 2, 4, 5, 6, 6]
    with raises(kapi.DtypeError, "memory-shape"):
        cuda.device_array((2, 2)).split(1)


def test_repeated_launches_with_device_arrays_take_the_plan(slow_path):
    again = kapi.kernel(add_one.py_func)
    values = cuda.to_device(np.zeros(4))
    for _ in range(5):
        again[kapi.Range(4)](values)
    assert len(slow_path) == 1
    assert values.copy_to_host().tolist() == [5] * 4


# ------------------------------------------------------------------------------------- arrays of other libraries


def test_array_of_a_device_is_taken_as_it_is():
    values = dpnp.arange(3.0)
    for ours in (
        cuda.as_cuda_array(values),
        cuda.as_cuda_array(obj=values, sync=False),
        cuda.to_device(values),
        cuda.from_cuda_array_interface(values.__sycl_usm_array_interface__, owner=values),
        cuda.from_cuda_array_interface(desc=values.get_array().__sycl_usm_array_interface__, owner=values, sync=False),
    ):
        before = values.asnumpy()[0]
        ours[0] = before + 1
        assert values.asnumpy()[0] == before + 1
        assert isinstance(ours, NumbaCudaArray)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda: dpnp.ones(3), True),
        (lambda: cuda.device_array(3), True),
        (lambda: cuda.mapped_array(3), True),
        (lambda: cuda.mapped_array(3).copy(), False),
        (lambda: cuda.pinned_array(3), False),
        (lambda: np.ones(3), False),
        (lambda: [1, 2], False),
        (lambda: None, False),
    ],
)
def test_array_of_a_device_is_distinguished_from_others(value, expected):
    made = value()
    assert cuda.is_cuda_array(obj=made) is expected
    if not expected:
        with pytest.raises(TypeError, match="must be an array of a device"):
            cuda.as_cuda_array(made)


def test_description_that_is_none_is_refused():
    with pytest.raises(TypeError, match="must be what an array's interface gives"):
        cuda.from_cuda_array_interface([1])
    with raises(kapi.DtypeError, "argument-array-class"):
        cuda.from_cuda_array_interface({**dpnp.ones(3).get_array().__sycl_usm_array_interface__, "mask": 1})


# -------------------------------------------------------------------------- memory that host and devices read


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_kernels_use_the_host_s_array_in_place(make):
    values = make((4, 6), "int32", stream=cuda.stream())
    assert isinstance(values, np.ndarray)
    values[...] = -1
    for part in (values, values[1:3, ::2], values.T, values[2], values.reshape(6, 4)):
        values[...] = -1
        expected = np.array(values)
        if part.ndim == 2:
            number[kapi.Range(*part.shape)](part)
            seen = [[10 * i + j for j in range(part.shape[1])] for i in range(part.shape[0])]
        else:
            add_one[kapi.Range(*part.shape)](part)
            seen = [0] * part.shape[0]
        assert isinstance(part, HostReadableArray)
        np.testing.assert_array_equal(part, seen)
        assert np.count_nonzero(np.asarray(values) != expected) == part.size
    assert values.copy_to_host().tolist() == values.tolist()
    assert type(values.copy_to_host()) is np.ndarray


def test_copy_of_a_mapped_array_is_the_host_s_alone():
    values = cuda.mapped_array(3)
    values[:] = 1
    assert isinstance(values.sum(), np.float64)
    assert type(values + 1) is type(np.sqrt(values)) is np.ndarray
    same = values
    same += 0
    assert same is values
    add_one[kapi.Range(3)](values)
    values -= 1
    for copied in (values.copy(), values + 1, np.sqrt(values), values[[0, 1]]):
        before = np.array(copied)
        add_one[kapi.Range(2)](copied)  # on the CPU, in place
        assert (copied[:2] == before[:2] + 1).all()
    with kapi.device_context(0):
        copied = values + 1
        add_one[kapi.Range(3)](copied)
        assert copied.tolist() == [3] * 3
    assert values.tolist() == [1] * 3


def test_mapped_arrays_copy_as_device_arrays():
    values, other = cuda.mapped_array(5), np.arange(5.0)
    values.copy_to_device(other)
    into = np.empty(5)
    assert values.copy_to_host(into, stream=cuda.stream()) is into
    assert into.tolist() == other.tolist()
    values.copy_to_device(ary=cuda.to_device(other + 1))
    assert [part.tolist() for part in values.split(2)] == [[1, 2], [3, 4], [5]]
    assert values.is_c_contiguous()
    assert values.is_f_contiguous()
    assert cuda.to_device(values).copy_to_host().tolist() == values.tolist()


def test_pinned_array_is_numpy_s_in_any_order():
    values = cuda.pinned_array((3, 2), "int16", order="F")
    assert type(values) is np.ndarray
    assert values.flags.f_contiguous
    values[...] = 3
    assert cuda.to_device(values).copy_to_host().tolist() == values.tolist()


def test_mapping_takes_no_other_keyword():
    with pytest.raises(TypeError, match="no keyword but stream, got steam"):
        cuda.mapped(np.ones(3), steam=0).__enter__()
