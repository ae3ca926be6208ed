"""Names that numba.cuda's programs import are there; what asks for a driver or a compiler refuses to be called."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from kapi_sim import numba_cuda as cuda
from kapi_sim.errors import DataRaceError, DtypeError, KernelCompilationError, KernelLaunchError
from kapi_sim.numba_cuda import support
from kapi_sim.testing.reports import raises

MODULES = {
    "api": "as_cuda_array device_array event gpus pinned stream synchronize to_device",
    "args": "ArgHint In InOut Out wrap_arg",
    "compiler": "compile compile_all compile_for_current_device compile_ptx compile_ptx_for_current_device",
    "cudadrv": "devicearray devices driver error nvvm runtime",
    "cudadrv.devicearray": "DeviceNDArray DeviceNDArrayBase DeviceRecord IpcArrayHandle ManagedNDArray MappedNDArray "
    "auto_device is_cuda_ndarray require_cuda_ndarray",
    "cudadrv.devices": "get_context gpus require_context reset",
    "cudadrv.driver": "Context CudaAPIError CudaDriverError CudaSupportError Device Event LinkerError MemoryInfo "
    "MemoryPointer Stream device_memory_size driver event_elapsed_time is_device_memory device_to_host get_version",
    "cudadrv.error": "CudaDriverError CudaRuntimeError CudaSupportError NvrtcError NvvmError NvvmSupportError "
    "NvvmWarning",
    "cudadrv.nvvm": "NVVM CompilationUnit NvvmError NvvmSupportError get_supported_ccs is_available",
    "cudadrv.runtime": "get_version runtime",
    "decorators": "declare_device jit",
    "dispatcher": "CUDADispatcher",
    "errors": "CudaLoweringError KernelRuntimeError",
    "extending": "intrinsic lower models overload overload_attribute overload_method",
    "kernels.reduction": "Reduce",
    "kernels.transpose": "transpose",
    "libdevice": "sinf fast_expf",
    "random": "create_xoroshiro128p_states xoroshiro128p_uniform_float32",
    "types": "float32 int64 void Array UniTuple Tuple Optional CPointer",
}


@pytest.mark.parametrize("module", MODULES)
def test_names_can_be_imported(module):
    made = importlib.import_module(f"kapi_sim.numba_cuda.{module}")
    for name in MODULES[module].split():
        assert hasattr(made, name), name
        assert getattr(made, name) is not None
    for name in getattr(made, "__all__", ()):
        assert hasattr(made, name), name


@pytest.mark.parametrize("module", [name for name in MODULES if name != "libdevice"])
def test_other_names_are_none(module):
    with pytest.raises(AttributeError):
        importlib.import_module(f"kapi_sim.numba_cuda.{module}").nothing_like_it  # noqa: B018


def used(name):
    """Use a name that is refused."""
    owner = cuda
    if name.startswith(("inspect_", "get_")) and name != "get_ipc_handle":
        owner = cuda.jit(lambda a: None)
    elif name in ("DeviceRecord", "IpcArrayHandle"):
        owner = cuda.cudadrv.devicearray
    made = getattr(owner, name)
    if name == "declare_device":
        made("f", "int32(int32)")(1)
    elif name == "CPointer":
        cuda.jit(cuda.void(made(cuda.float32)))(lambda p: None)[1, 1](0)
    elif name == "extending":
        made.overload(len)
    elif name == "libdevice":
        made.sinf(1.0)
    else:
        made()


@pytest.mark.parametrize("name", sorted(support.REFUSED))
def test_what_is_refused_is_refused_when_it_is_called(name):
    with pytest.raises(NotImplementedError, match=rf"cuda\.{name}\b.* must not be used") as info:
        used(name)
    assert support.REFUSED[name] in str(info.value)
    assert info.value.code == "cuda-refused"


def test_refused_names_say_what_they_are():
    from kapi_sim.numba_cuda import compile_ptx

    assert repr(compile_ptx) == "<cuda.compile_ptx, which the simulator does not have>"
    with pytest.raises(NotImplementedError, match=r"cuda.runtime.get_version must not be used"):
        cuda.runtime.get_version()
    with pytest.raises(NotImplementedError, match=r"cuda.driver.driver.cuInit must not be used"):
        cuda.driver.driver.cuInit(0)
    with pytest.raises(NotImplementedError, match=r"cuda.driver.device_to_host must not be used"):
        cuda.driver.device_to_host(1, 2, 3)
    with pytest.raises(NotImplementedError, match=r"cuda.nvvm.NVVM must not be used"):
        cuda.nvvm.NVVM()


def test_classes_of_memory_can_be_asked_for_and_derived_from():
    class Manager(cuda.HostOnlyCUDAMemoryManager):
        pass

    assert not isinstance(cuda.to_device(np.zeros(1)), cuda.MemoryPointer)
    with pytest.raises(NotImplementedError, match="HostOnlyCUDAMemoryManager"):
        Manager()
    with pytest.raises(NotImplementedError, match="set_memory_manager"):
        cuda.set_memory_manager(Manager)


def test_unknown_names_are_no_attributes():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        cuda.nothing  # noqa: B018
    with pytest.raises(ImportError):
        importlib.import_module("kapi_sim.numba_cuda.nothing")


def test_a_kernel_that_calls_libdevice_is_refused_by_name():
    libdevice = cuda.libdevice

    @cuda.jit
    def kernel(a):
        a[0] = libdevice.sinf(a[0])

    assert not hasattr(libdevice, "pytestmark")  # what pytest asks of each module that it collects
    with pytest.raises(NotImplementedError, match=r"cuda.libdevice.sinf must not be used.*functions of `math`"):
        kernel[1, 1](np.zeros(1))


# Contexts and devices


def test_contexts():
    context = cuda.current_context()
    context.deallocations.clear()
    assert len(context.deallocations) == 0
    with context.deallocations.disable():
        assert not context.deallocations.is_disabled
    assert isinstance(context, cuda.cudadrv.driver.Context)
    assert isinstance(context.create_stream(), cuda.cudadrv.driver.Stream)
    assert int(context.get_legacy_default_stream()) == 1
    assert int(context.get_per_thread_default_stream()) == 2
    assert int(context.create_external_stream(64)) == 64
    assert int(context.get_default_stream()) == 0
    assert context.create_event().query()
    assert not context.can_access_peer(0)
    assert context.get_memory_info().free > 0
    assert isinstance(context.get_memory_info(), cuda.MemoryInfo)
    with pytest.raises(NotImplementedError, match=r"current_context\(\).memalloc must not be used"):
        context.memalloc(8)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        context.nothing  # noqa: B018
    assert cuda.cudadrv.devices.get_context() is context
    cuda.cudadrv.devices.reset()


def test_devices():
    device = cuda.get_current_device()
    assert isinstance(device, cuda.cudadrv.driver.Device)
    assert set(device.get_device_identity()) == {"pci_domain_id", "pci_bus_id", "pci_device_id"}
    driver = cuda.cudadrv.driver.driver
    assert driver.get_device_count() == 1
    assert driver.get_device(0) is device
    assert driver.is_initialized
    assert not cuda.cudadrv.nvvm.is_available()


# Device arrays


def test_device_arrays_by_their_class():
    from kapi_sim.numba_cuda.cudadrv import devicearray

    array = devicearray.DeviceNDArray((2, 3), None, np.float32)
    assert (array.shape, array.strides, array.dtype) == ((2, 3), (12, 4), np.float32)
    assert isinstance(cuda.to_device(np.zeros(3)), devicearray.DeviceNDArray)
    assert not isinstance(np.zeros(3), devicearray.DeviceNDArray)
    assert isinstance(cuda.mapped_array(2), devicearray.MappedNDArray)
    assert devicearray.is_cuda_ndarray(array)
    assert not devicearray.is_cuda_ndarray(np.zeros(1))
    assert cuda.cudadrv.driver.is_device_memory(array)
    assert cuda.cudadrv.driver.device_memory_size(array) == 24
    with pytest.raises(NotImplementedError, match="MemoryPointer"):
        devicearray.DeviceNDArray((2,), (8,), np.float64, gpu_data=object())

    @cuda.jit
    def kernel(out, array):
        out[0] = array[0, 0]

    with pytest.raises(RuntimeError, match="no thread has written it"):
        kernel[1, 1](np.zeros(1), array)


def test_auto_device():
    from kapi_sim.numba_cuda.cudadrv import devicearray

    made, is_new = devicearray.auto_device(np.arange(3))
    assert (made.copy_to_host().tolist(), is_new) == ([0, 1, 2], True)
    assert devicearray.auto_device(made) == (made, False)
    devicearray.require_cuda_ndarray(made)
    with raises(DtypeError, "copy-without-array"):
        devicearray.require_cuda_ndarray(np.zeros(1))
    with raises(KernelLaunchError, "copy-unlike"):
        devicearray.auto_device(np.arange(6)[::2])


def test_hints():
    host = np.zeros(2)
    assert cuda.args.wrap_arg(host).value is host
    assert isinstance(cuda.args.wrap_arg(host), cuda.args.InOut)
    hint = cuda.args.In(host)
    assert cuda.args.wrap_arg(hint) is hint
    assert isinstance(hint, cuda.args.ArgHint)


def test_transpose():
    transpose = cuda.kernels.transpose.transpose
    array = cuda.to_device(np.arange(6.0).reshape(2, 3))
    assert transpose(array).copy_to_host().tolist() == [[0, 3], [1, 4], [2, 5]]
    out = cuda.device_array((3, 2))
    assert transpose(array, out) is out
    assert out.copy_to_host()[2, 1] == 5
    with raises(KernelLaunchError, "cuda-shape"):
        transpose(cuda.to_device(np.zeros(3)))
    assert cuda.kernels.reduction.Reduce(lambda x, y: x + y)(np.arange(4)) == 6


# Errors that programs catch


def test_errors():
    error = cuda.cudadrv.driver.CudaAPIError(700, "illegal address")
    assert (error.code, error.msg, str(error)) == (700, "illegal address", "[700] illegal address")
    assert isinstance(error, cuda.cudadrv.driver.CudaDriverError)
    assert issubclass(cuda.CudaSupportError, ImportError)
    failed = cuda.KernelRuntimeError("no", tid=(1, 0, 0), ctaid=(2, 0, 0))
    assert (failed.tid, failed.ctaid, str(failed)) == ((1, 0, 0), (2, 0, 0), "no")
    assert cuda.errors.KernelRuntimeError is cuda.KernelRuntimeError


def test_kernels_by_their_class():
    kernel = cuda.jit(lambda a: None)
    assert isinstance(kernel, cuda.dispatcher.CUDADispatcher)
    assert kernel.inspect_llvm is not None
    with pytest.raises(AttributeError, match="no 'nothing'"):
        kernel.nothing  # noqa: B018


# Functions that something else has compiled


class Compiled:
    """Stands for a function that Numba compiles for the host: of one of its classes, with the Python function."""

    def __init__(self, py_func, can_compile=True):
        self.py_func = py_func
        self._can_compile = can_compile
        self.__name__ = py_func.__name__

    def __call__(self, *args):
        raise AssertionError("the host's code is not for kernels")


Compiled.__module__ = "numba.core.dispatcher"


def cube(x):
    return x * x * x


def test_jit_takes_the_python_function_of_what_is_compiled_already():
    compiled = Compiled(cube)
    functions = [cuda.jit(device=True)(compiled), cuda.jit(compiled, device=True), cuda.jit(compiled), compiled]
    functions += [cuda.jit(cuda.jit(cube, device=True), device=True), cuda.jit("int32(float64)", device=True)(compiled)]
    for called in functions:
        out = np.zeros(1)
        _cubed_by(called)[1, 1](out, np.array([2.0]))
        assert out[0] == 8
    assert functions[0].py_func is cube


def _cubed_by(called):
    @cuda.jit
    def kernel(out, a):
        out[0] = called(a[0])

    return kernel


def test_what_is_compiled_for_its_signatures_alone_is_refused():
    only = Compiled(cube, can_compile=False)

    @cuda.jit
    def kernel(a):
        a[0] = only(a[0])

    with raises(KernelCompilationError, "function-unknown", line="a[0] = only(a[0])"):
        kernel[1, 1](np.ones(1))


def test_jit_refuses_what_is_no_function():
    with raises(KernelCompilationError, "kernel-form"):
        cuda.jit(3)
    with raises(KernelCompilationError, "kernel-form"):
        cuda.jit(device=True)(len)


# Cache hints


@pytest.mark.parametrize("load", ["ldca", "ldcg", "ldcs", "ldcv", "ldlu"])
@pytest.mark.parametrize("store", ["stcg", "stcs", "stwb", "stwt"])
def test_loads_and_stores_with_cache_hints(load, store):
    loaded, stored = getattr(cuda, load), getattr(cuda, store)

    @cuda.jit
    def kernel(a, m):
        i = cuda.grid(1)
        stored(a, i, loaded(m, (i, 0)) + 1)

    a, m = np.zeros(2), np.arange(4.0).reshape(2, 2)
    kernel[1, 2](a, m)
    assert a.tolist() == [1, 3]

    @cuda.jit
    def racing(a):
        stored(a, 0, cuda.threadIdx.x)

    with raises(DataRaceError, "data-race"):
        racing[1, 2](np.zeros(1))


def test_cache_hints_are_for_arrays():
    @cuda.jit
    def kernel(a):
        cuda.stwb(a[0], 0, 1)

    with raises(DtypeError, "atomic-ref"):
        kernel[1, 1](np.zeros(1))
