from __future__ import annotations

import dataclasses
import pickle

import dpctl
import dpnp
import numpy as np
import pytest
from numba import float32, int64, types

import kapi_runtime as kapi
from kapi_runtime.launch import failures
from kapi_sim.language import KernelOptions
from kapi_sim.testing.reports import raises
from kapi_spirv import Failure, FailureRecord, SpirvTarget, compile_kernel, read_module, write_module
from kapi_types import ArrayType, ItemType

SOURCE = """
kernel void saxpy(float a, global const float *x, global float *y) {
    y[get_global_id(0)] += a * x[get_global_id(0)];
}
kernel void reverse(global int *values, local int *tile) {
    size_t i = get_local_id(0), n = get_local_size(0);
    tile[i] = values[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    values[get_global_id(0)] = tile[n - 1 - i];
}
kernel void ids(global long *rows, global long *columns) {
    size_t at = get_global_id(1) * get_global_size(0) + get_global_id(0);
    rows[at] = get_global_id(1);
    columns[at] = get_global_id(0);
}
kernel void scalars(global double *out, char a, ushort b, long c, double d, double2 e) {
    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e.x; out[5] = e.y;
}
kernel void slow(global float *x, int rounds) {
    float v = x[get_global_id(0)];
    for (int k = 0; k < rounds; k++) v = v * v + 0.25f;
    x[get_global_id(0)] = v;
}
"""
SAXPY = {"a": "float32", "x": "float32[:]", "y": "float32[:]"}


@pytest.fixture(scope="module")
def saxpy():
    return kapi.load_opencl(SOURCE, "saxpy", SAXPY)


@pytest.fixture(scope="module")
def module():
    """A kernel compiled for arrays and a number, with no device in sight."""

    def axpy(item, a, x, y):
        i = item.get_id(0)
        y[i] = y[i] + a * x[i]

    array = ArrayType(float32, 1, "C")
    return compile_kernel(axpy, (ItemType(1), float32, array, array), target=SpirvTarget())


def arrays(queue=None, size=1000):
    queue = queue or kapi.default_queue()
    x = dpnp.arange(size, dtype="float32", sycl_queue=queue)
    return x, dpnp.ones(size, dtype="float32", sycl_queue=queue)


def test_opencl_kernel_is_launched_like_any_other(saxpy):
    x, y = arrays()
    kapi.call_kernel(saxpy, kapi.Range(1000), 2.0, x, y)
    host_event, device_event = kapi.call_kernel_async(saxpy, kapi.Range(1000), [], np.float32(3), x, y)
    saxpy[1000](1, x, y)
    launch = saxpy.bind(kapi.NdRange(1000, 100), 4.0, x, y)
    launch()
    launch.replace(a=5)
    launch([device_event])[0].wait()
    host_event.wait()
    assert (y.asnumpy() == 1 + 15 * np.arange(1000, dtype="float32")).all()


def test_precompiled_kernel_says_what_it_is(saxpy):
    assert repr(saxpy) == "<kernel saxpy>"
    assert saxpy.parameters == ("a: float32", "x: float32[:]", "y: float32[:]")


def test_spirv_of_another_compiler_is_launched_like_any_other(opencl_as_spirv):
    kernel = kapi.load_spirv(opencl_as_spirv, "add", [("left", "int32[:]"), ("right", "int32[:]")])
    left, right = dpnp.arange(10, dtype="int32"), dpnp.full(10, 5, dtype="int32")
    kernel[10](left, right)
    assert left.asnumpy().tolist() == list(range(5, 15))


@pytest.fixture(scope="module")
def opencl_as_spirv():
    """A module with pointer parameters, as an OpenCL compiler makes it: emitted from LLVM IR."""
    from kapi_lowering.emission.client import emit

    text = """
    target triple = "spirv64-unknown-unknown"
    declare spir_func i64 @_Z13get_global_idj(i32)
    define spir_kernel void @add(ptr addrspace(1) %left, ptr addrspace(1) %right) {
      %i = call spir_func i64 @_Z13get_global_idj(i32 0)
      %l = getelementptr i32, ptr addrspace(1) %left, i64 %i
      %r = getelementptr i32, ptr addrspace(1) %right, i64 %i
      %a = load i32, ptr addrspace(1) %l
      %b = load i32, ptr addrspace(1) %r
      %c = add i32 %a, %b
      store i32 %c, ptr addrspace(1) %l
      ret void
    }
    """
    return emit([text], "add", SpirvTarget()).code


def test_dimensions_of_opencl_count_from_the_other_end():
    ids = kapi.load_opencl(SOURCE, "ids", {"rows": "int64[:]", "columns": "int64[:]"})
    rows, columns = dpnp.empty((3, 4), dtype="int64"), dpnp.empty((3, 4), dtype="int64")
    kapi.call_kernel(ids, kapi.Range(3, 4), rows, columns)
    expected = np.indices((3, 4))
    assert (rows.asnumpy() == expected[0]).all()
    assert (columns.asnumpy() == expected[1]).all()


def test_local_memory_is_given_by_an_accessor():
    reverse = kapi.load_opencl(SOURCE, "reverse", {"values": "int32[:]", "tile": "local int32[:]"})
    values = dpnp.arange(8, dtype="int32")
    reverse[8, 4](values, kapi.LocalAccessor(4, "int32"))
    assert values.asnumpy().tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
    with raises(kapi.DtypeError, "precompiled-argument"):
        reverse[8, 4](values, kapi.LocalAccessor(4, "int64"))
    with raises(kapi.KernelLaunchError, "local-memory-in-range"):
        reverse[8](values, kapi.LocalAccessor(4, "int32"))
    with raises(kapi.LimitError, "local-memory-too-large"):
        reverse[8, 4](values, kapi.LocalAccessor(10**9, "int32"))


def test_numbers_of_all_types_are_passed():
    types = {"out": "float64[:]", "a": "int8", "b": "uint16", "c": "int64", "d": "float64", "e": "complex128"}
    kernel = kapi.load_opencl(SOURCE, "scalars", types)
    out = dpnp.zeros(6)
    kernel[1](out, -7, np.uint16(65535), -(2**53), 0.1, 2 - 3j)
    assert out.asnumpy().tolist() == [-7, 65535, -(2**53), 0.1, 2, -3]


@pytest.mark.parametrize(
    ("position", "value", "requirement"),
    [
        (0, "1", "argument `a` of kernel `saxpy` must be a plain array, a number, a bool, a LocalAccessor"),
        (0, 2j, "argument `a` of kernel `saxpy` must be a number that fits float32, got 2j"),
        (0, np.float64(1), "argument `a` of kernel `saxpy` must be a number that fits float32, got np.float64"),
        (1, 1.0, "argument `x` of kernel `saxpy` must be a C-contiguous array of float32 on a device, got 1.0"),
        (1, "int", "must be a C-contiguous array of float32 on a device, got a int32 array of shape"),
        (
            2,
            "strided",
            "must be a C-contiguous array of float32 on a device, got a float32 array of shape (1000,), not contig",
        ),
    ],
)
def test_argument_of_another_type_is_refused(saxpy, position, value, requirement):
    x, y = arrays()
    arguments = [1.0, x, y]
    made = {"int": lambda: dpnp.zeros(1000, dtype="int32"), "strided": lambda: dpnp.zeros(2000, dtype="float32")[::2]}
    arguments[position] = made[value]() if value in made and position else value
    with pytest.raises(kapi.DtypeError) as caught:
        saxpy[1000](*arguments)
    assert requirement in str(caught.value)


def test_number_that_does_not_fit_is_refused():
    kernel = kapi.load_opencl(SOURCE, "slow", {"x": "float32[:]", "rounds": "int32"})
    for value in (2**31, 1.5):
        with raises(kapi.DtypeError, "precompiled-argument"):
            kernel[1](dpnp.zeros(1, dtype="float32"), value)


def test_views_are_passed_by_their_first_element(saxpy):
    x, y = arrays()
    saxpy[10](1.0, x[100:110], y[500:510])
    expected = np.ones(1000, "float32")
    expected[500:510] += np.arange(100, 110)
    assert (y.asnumpy() == expected).all()


def test_launch_without_work_items_does_nothing(saxpy):
    x, y = arrays(size=3)
    host_event, _ = kapi.call_kernel_async(saxpy, kapi.Range(0), [], 1.0, x[:0], y)
    host_event.wait()
    assert y.asnumpy().tolist() == [1, 1, 1]


def test_placement_and_number_of_arguments_are_checked(saxpy, sub_device):
    x, y = arrays()
    with raises(kapi.ExecutionPlacementError, "different-queues"):
        saxpy[1000](1.0, x, dpnp.ones(1000, dtype="float32", sycl_queue=kapi.queue(sub_device)))
    with raises(kapi.KernelLaunchError, "argument-count"):
        saxpy[1000](1.0, x)
    with raises(kapi.LimitError, "work-group-too-large"):
        saxpy[100_000, 50_000](1.0, x, y)


def test_precompiled_kernel_is_ordered_with_dpnp_and_recorded():
    slow = kapi.load_opencl(SOURCE, "slow", {"x": "float32[:]", "rounds": "int32"})
    x = dpnp.zeros(1000, dtype="float32")
    with kapi.profiling() as recording:
        _, event = kapi.call_kernel_async(slow, kapi.Range(1000), [], x, 50_000)
    x += 1
    assert event.execution_status == dpctl.event_status_type.complete
    assert [(each.name, each.nbytes) for each in recording.launches] == [("slow", 4000)]
    assert abs(x.asnumpy() - 1.5).max() < 1e-3, "0.5 is where the iteration ends"


def test_precompiled_kernel_runs_on_each_device(saxpy, sub_device):
    x, y = arrays(kapi.queue(sub_device))
    saxpy[1000](2.0, x, y)
    assert y.asnumpy()[-1] == 1 + 2 * 999


def test_reset_builds_again(saxpy):
    x, y = arrays()
    saxpy[1000](1.0, x, y)
    device = kapi.default_device()
    assert any(key[0] == device for key in saxpy._built)
    kapi.current_context().reset()
    assert not any(key[0] == device for key in saxpy._built)
    saxpy[1000](1.0, x, y)


def test_precompiled_kernel_is_pickled_with_its_code(saxpy):
    again = pickle.loads(pickle.dumps(saxpy))
    x, y = arrays()
    again[1000](2.0, x, y)
    assert y.asnumpy()[3] == 7
    assert again.parameters == saxpy.parameters


# ---------------------------------------------------------------------------------------- what is refused


def test_source_that_does_not_compile_is_an_error_with_the_build_log():
    kernel = kapi.load_opencl("kernel void broken(global float *x) { x[0] = nothing; }", "broken", {"x": "float32[:]"})
    with raises(kapi.DriverError, "build-refused", words=False):
        kernel[1](dpnp.zeros(1, dtype="float32"))


def test_missing_entry_point_is_an_error():
    kernel = kapi.load_opencl(SOURCE, "absent", {"x": "float32[:]"})
    with raises(kapi.DriverError, "entry-absent"):
        kernel[1](dpnp.zeros(1, dtype="float32"))


def test_wrong_number_of_parameters_is_an_error():
    kernel = kapi.load_opencl(SOURCE, "saxpy", {"x": "float32[:]"})
    with raises(kapi.DriverError, "parameter-count"):
        kernel[1](dpnp.zeros(1, dtype="float32"))


@pytest.mark.parametrize("given", ["float33", "local float32", "", "global float32[:]", object()])
def test_parameter_of_no_known_kind_is_an_error(given):
    with raises(kapi.KernelCompilationError, "parameter-types"):
        kapi.load_opencl("", "k", {"x": given})


@pytest.mark.parametrize("names", [["not a name"], ["x", "x"], ["lambda"], ["item"]])
def test_parameter_without_a_name_of_its_own_is_an_error(names):
    with raises(kapi.KernelCompilationError, "parameter-name"):
        kapi.load_opencl("", "k", [(name, "float32") for name in names])


# ------------------------------------------------------------------------------- modules of kapi's compiler


def test_module_is_launched_like_any_other(module):
    kernel = kapi.load_spirv(module)
    x, y = arrays()
    kapi.call_kernel(kernel, kapi.Range(1000), np.float32(2), x, y)
    assert (y.asnumpy() == 1 + 2 * np.arange(1000)).all()


def test_module_travels_by_pickle(module):
    again = pickle.loads(pickle.dumps(module))
    assert again == module
    x, y = arrays()
    pickle.loads(pickle.dumps(kapi.load_spirv(again)))[1000](np.float32(1), x, y)
    assert y.asnumpy()[5] == 6


def test_module_takes_only_what_it_was_compiled_for(module):
    kernel = kapi.load_spirv(module)
    x, y = arrays()
    with raises(kapi.DtypeError, "compiled-for-other-arguments"):
        kernel[1000](1, x, y)
    with raises(kapi.DtypeError, "compiled-for-other-arguments"):
        kernel[1000](np.float32(1), x[::2], y)
    with raises(kapi.KernelLaunchError, "compiled-for-other-space"):
        kernel[kapi.NdRange(1000, 10)](np.float32(1), x, y)


def test_module_that_was_read_from_a_file_is_launched_like_any_other(module):
    """A file holds the names of types alone."""
    kernel = kapi.load_spirv(read_module(write_module(module)))
    x, y = arrays()
    kernel[1000](np.float32(2), x, y)
    assert y.asnumpy()[3] == 7
    with raises(kapi.DtypeError, "compiled-for-other-arguments"):
        kernel[1000](1, x, y)


NAMES_THAT_RUN = ["x=__import__('os').system('true')", "x=open('found', 'w')", "*x", "x, y", "lambda", "x: int"]


@pytest.mark.parametrize("name", NAMES_THAT_RUN)
def test_module_runs_no_name_of_a_parameter(module, name, tmp_path, monkeypatch):
    """However the module was made: read from a file, unpickled, or put together by hand."""
    monkeypatch.chdir(tmp_path)
    parameters = (dataclasses.replace(module.parameters[0], name=name), *module.parameters[1:])
    with raises(kapi.KernelCompilationError, "parameter-name"):
        kapi.load_spirv(dataclasses.replace(module, parameters=parameters))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", ["exec", "eval", "open", "SystemExit"])
def test_module_raises_nothing_but_exceptions(error, tmp_path, monkeypatch):
    """A failure's class comes from a table, also where no file was read."""

    def fail(item, x):
        if x[item.get_id(0)] == 0:
            raise ValueError("zero")

    monkeypatch.chdir(tmp_path)
    module = compile_kernel(fail, (ItemType(1), ArrayType(float32, 1, "C")), options=KernelOptions(debug=True))
    failures = tuple(dataclasses.replace(each, error=error, args=("found", "w")) for each in module.failures)
    kernel = kapi.load_spirv(dataclasses.replace(module, failures=failures))
    with pytest.raises(ValueError, match=f"exception of a kernel must be one of Python's own .* got '{error}'"):
        kernel[4](dpnp.zeros(4, dtype="float32"))
    assert not list(tmp_path.iterdir())


def test_record_of_failures_that_cannot_be_is_reported(monkeypatch):
    """The device's memory is not the host's to trust."""

    def fail(item, x):
        x[item.get_id(0) + 4] = 0

    module = compile_kernel(fail, (ItemType(1), ArrayType(float32, 1, "C")), options=KernelOptions(debug=True))
    count = len(module.failures)
    monkeypatch.setattr(FailureRecord, "read", classmethod(lambda cls, memory: cls(count, (0, 0, 0), (0, 0, 0))))
    with raises(kapi.DriverError, "failure-record"):
        kapi.load_spirv(module)[4](dpnp.zeros(4, dtype="float32"))


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/stdin", "//host/share/a.py", "a.txt", "no\0name.py", ""])
def test_no_line_is_read_of_what_is_no_source(name):
    """A module from a file names its source; a device has no end, and a share tells who asks."""
    assert failures._source_location(Failure("ValueError", (), name, 1)) == f"{name}:1"


def test_module_takes_tuples():
    def scale(item, pair, factor):
        i = item.get_id(0)
        pair[0][i] = pair[1][i] * factor

    array = ArrayType(float32, 1, "C")
    kernel = kapi.load_spirv(
        compile_kernel(scale, (ItemType(1), types.UniTuple(array, 2), float32), target=SpirvTarget())
    )
    x, y = arrays()
    kernel[1000]((y, x), np.float32(3))
    assert y.asnumpy()[5] == 15
    with raises(kapi.DtypeError, "compiled-for-other-arguments"):
        kernel[1000](y, np.float32(3))


# -------------------------------------------------------------------------------------- what is no USM array


class Exporter:
    """An array of another library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_precompiled_kernel_takes_dlpack(saxpy):
    x, y = arrays()
    saxpy[1000](2.0, Exporter(x), y)
    assert y.asnumpy()[2] == 5


@pytest.mark.parametrize("origin", ["source", "module"])
def test_numpy_arrays_are_moved_in_a_device_context(saxpy, module, origin):
    kernel = saxpy if origin == "source" else kapi.load_spirv(module)
    x, y = np.arange(20, dtype="float32")[::2].copy(), np.ones(10, "float32")
    with kapi.device_context("opencl:cpu"):
        kernel[10](np.float32(2), x, y)
        kapi.call_kernel_async(kernel, kapi.Range(10), [], np.float32(1), x, y)[0].wait()
    assert (y == 1 + 3 * x).all()
    with pytest.raises(kapi.ExecutionPlacementError) as refused:  # outside they are the CPU's, which takes no such code
        kernel[10](np.float32(2), x, y)
    assert refused.value.code == "different-platforms"


def test_tuple_for_a_parameter_is_an_error(saxpy):
    x, y = arrays()
    with raises(kapi.DtypeError, "precompiled-argument"):
        saxpy[1000]((1.0, 2.0), x, y)


def test_number_too_large_for_its_type_is_an_error(saxpy):
    x, y = arrays()
    with raises(kapi.DtypeError, "precompiled-argument"):
        saxpy[1000](1e300, x, y)
    with raises(kapi.DtypeError, "precompiled-argument"):
        saxpy[1000](x, x, y)


# ----------------------------------------------------------------------------------- what is no code at all


def test_spirv_that_is_cut_short_is_an_error(opencl_as_spirv):
    """The driver would end the process, or wait for ever."""
    add = [("left", "int32[:]"), ("right", "int32[:]")]
    lines = [0, 3, 4, 19, 20, 40, 200, len(opencl_as_spirv) - 4, len(opencl_as_spirv) - 3]
    for size in lines:
        with pytest.raises(kapi.KernelCompilationError) as refused:
            kapi.load_spirv(opencl_as_spirv[:size], "add", add)
        assert refused.value.code in ("precompiled-code", "entry-absent")
    with raises(kapi.KernelCompilationError, "precompiled-code"):
        kapi.load_spirv(opencl_as_spirv + bytes(400), "add", add)


def test_spirv_without_a_kernel_of_the_name_is_an_error(opencl_as_spirv):
    with raises(kapi.KernelCompilationError, "entry-absent"):
        kapi.load_spirv(opencl_as_spirv, "sub", [])


def test_spirv_of_the_other_byte_order_is_taken(opencl_as_spirv):
    swapped = np.frombuffer(opencl_as_spirv, "uint32").byteswap().tobytes()
    kernel = kapi.load_spirv(swapped, "add", [("left", "int32[:]"), ("right", "int32[:]")])
    left = dpnp.arange(10, dtype="int32")
    kernel[10](left, left)
    assert left.asnumpy().tolist() == list(range(0, 20, 2))


@pytest.mark.parametrize("code", ["a/file.spv", None, 7])
def test_spirv_that_is_no_bytes_is_an_error(code):
    with raises(kapi.KernelCompilationError, "precompiled-code"):
        kapi.load_spirv(code, "k", [])


@pytest.mark.parametrize("source", [SOURCE.encode(), None])
def test_source_that_is_no_text_is_an_error(source):
    with raises(kapi.KernelCompilationError, "precompiled-code"):
        kapi.load_opencl(source, "saxpy", SAXPY)


@pytest.mark.parametrize("entry", ["", 5, None])
def test_entry_that_is_no_name_is_an_error(entry):
    with raises(kapi.KernelCompilationError, "entry-name"):
        kapi.load_opencl(SOURCE, entry, SAXPY)


@pytest.mark.parametrize("parameters", ["abc", ["float32[:]"], None])
def test_parameters_that_are_no_pairs_are_an_error(parameters):
    with raises(kapi.KernelCompilationError, "parameter-types"):
        kapi.load_opencl(SOURCE, "k", parameters)


@pytest.mark.parametrize("given", ["object", "U3", "M8[s]", "longdouble", ">f4", "i4,f4", None, []])
def test_parameter_of_a_type_that_kernels_do_not_have_is_an_error(given):
    with raises(kapi.KernelCompilationError, "parameter-types"):
        kapi.load_opencl(SOURCE, "k", {"x": given})


def test_loading_needs_no_numba(run_python):
    done = run_python(
        "import sys, dpnp, kapi_runtime as k\n"
        "one = k.load_opencl('kernel void one(global int *x) { x[get_global_id(0)] = 1; }', 'one', {'x': 'int32[:]'})\n"
        "x = dpnp.zeros(4, dtype='int32')\none[4](x)\nk.load_spirv\nprint(int(x.sum()), 'numba' in sys.modules)"
    )
    assert done.stdout.split() == ["4", "False"], done.stderr


# -------------------------------------------------------------------------------------------- compilation


def test_code_for_the_current_device_knows_its_abilities():
    def half(x):
        return x / 2

    code, returns = kapi.compat.compile_for_current_device(half, (int64,), device=True)
    assert int.from_bytes(code[:4], "little") == 0x07230203
    assert str(returns) == "float64"


def test_numba_cuda_s_names_bring_no_compiler(run_python):
    done = run_python(
        "import sys, kapi_runtime.compat as cuda\ncuda.gpus.current, cuda.default_stream()\n"
        "print('kapi_spirv' in sys.modules, 'numba' in sys.modules)"
    )
    assert done.stdout.split() == ["False", "False"], done.stderr
