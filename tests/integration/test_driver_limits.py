"""Faults of drivers that kapi works around: looked for in the driver as it is, and in kapi's kernels.

Each case of a driver's is OpenCL C, or LLVM IR for what OpenCL C cannot say, given to it by pyopencl in a process of
its own, with nothing of kapi in between. Whether the fault is there depends on the driver and on the instruction set
that it compiles for, so it is recorded, and the run prints a table; what fails is a kernel that gives a wrong number.
"""

import os
import subprocess
import sys
import textwrap

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.sycl.devices import drivers

PRELUDE = textwrap.dedent(
    """
    import numpy as np
    import pyopencl as cl
    device = [each for platform in cl.get_platforms() for each in platform.get_devices()][0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    def run(body, items):
        source = "kernel void k(global float* o, const long n) { const long i = get_global_id(0); %s }" % body
        program = cl.Program(context, source).build()
        result = np.zeros(items, np.float32)
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=result)
        program.k(queue, (items,), None, buffer, np.int64(64))
        cl.enqueue_copy(queue, result, buffer)
        return result
    """
)


def in_opencl_c(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", PRELUDE + code]
    environment = os.environ | {"OCL_ICD_VENDORS": drivers.driver_search().library, "PYOPENCL_NO_CACHE": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def outcome(done: subprocess.CompletedProcess[str], right: str) -> bool | str:
    """Whether a fault is there: wrong numbers, a crash, a program that is not built; other ends are the test's."""
    if done.returncode < 0:
        return "there, a crash"
    if "BUILD_PROGRAM_FAILURE" in done.stderr:
        return "there, not built"
    assert done.returncode == 0, done.stderr
    return done.stdout != right


FROM_LLVM = textwrap.dedent(
    """
    import llvmlite.binding as llvm
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = "spirv64v1.3-unknown-unknown"
    machine = llvm.Target.from_triple(triple).create_target_machine(opt=2)
    module = llvm.parse_assembly(SOURCE)
    module.triple, module.data_layout = triple, str(machine.target_data)
    program = cl.Program(context, machine.emit_object(module)).build()
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 8 * 256)
    cl.enqueue_copy(queue, buffer, np.ones(8 * 256, np.uint8))
    program.k(queue, (64,), (32,), buffer)
    queue.finish()
    print("ran")
    """
)
GROUP_KERNEL = """
declare spir_func i64 @_Z13get_global_idj(i32)
declare spir_func {type} @{function}({operands}) convergent
define spir_kernel void @k(ptr addrspace(1) %p) {{
  %i = call spir_func i64 @_Z13get_global_idj(i32 0)
  %place = getelementptr {memory}, ptr addrspace(1) %p, i64 %i
  %loaded = load {memory}, ptr addrspace(1) %place
  %x = {narrow} {memory} %loaded to {type}
  %y = call spir_func {type} @{function}({arguments}) convergent
  %stored = {widen} {type} %y to {memory}
  store {memory} %stored, ptr addrspace(1) %place
  ret void
}}
"""


def group_operation(name, code, type_, memory, leading, trailing=""):
    """LLVM IR that does one operation over a group with values of a type, which `memory` holds."""
    operands = [*(each.split()[0] for each in leading), type_, *([trailing.split()[0]] if trailing else [])]
    arguments = [*leading, f"{type_} %x", *([trailing] if trailing else [])]
    narrow, widen = ("bitcast", "bitcast") if type_ == memory else ("trunc", "zext")
    codes = "j" * len(leading) + code + {"i64 3": "m", "i32 3": "j", "": ""}[trailing]
    return GROUP_KERNEL.format(
        type=type_, memory=memory, function=f"_Z{len(name)}{name}{codes}", narrow=narrow, widen=widen,
        operands=", ".join(operands), arguments=", ".join(arguments),
    )  # fmt: skip


GROUP_OPERATIONS = {
    "maximum of int8": group_operation("__spirv_GroupUMax", "h", "i8", "i8", ["i32 2", "i32 0"]),
    "broadcast of float16": group_operation("__spirv_GroupBroadcast", "Dh", "half", "half", ["i32 2"], "i64 3"),
    "broadcast of bools": group_operation("__spirv_GroupBroadcast", "b", "i1", "i8", ["i32 2"], "i64 3"),
    "shuffle of bools": group_operation("__spirv_GroupNonUniformShuffle", "b", "i1", "i8", ["i32 3"], "i32 3"),
}


IN_CI = ("broadcast of float16", "shuffle of bools")


@pytest.mark.parametrize(
    "operation",
    [pytest.param(name, marks=() if name in IN_CI else pytest.mark.nightly) for name in GROUP_OPERATIONS],
)
def test_driver_is_asked_for_narrow_group_operations(operation, observe):
    """Values go through groups in 32 bits (`kapi_lowering.calls.shuffles`), whatever is seen here."""
    done = in_opencl_c(f"SOURCE = {GROUP_OPERATIONS[operation]!r}\n{FROM_LLVM}")
    if "PLEASE submit a bug report" in done.stderr:
        observe(f"{operation} over a group", "there, a crash")
    else:
        observe(f"{operation} over a group", outcome(done, "ran\n"))


def test_driver_does_group_operations_in_32_bits():
    """The same way of asking, with what kapi makes of the above: so the failures are the driver's."""
    source = group_operation("__spirv_GroupUMax", "j", "i32", "i32", ["i32 2", "i32 0"])
    done = in_opencl_c(f"SOURCE = {source!r}\n{FROM_LLVM}")
    assert done.stdout == "ran\n", done.stderr


def test_driver_is_asked_for_a_loop_that_swaps_variables(observe):
    """`a, b = b, a + b`: `kapi_spirv.emission.workarounds.recurrences`."""
    swap = "long a = 0, b = 1; for (long k = 0; k < i; k++) { const long t = a + b; a = b; b = t; } o[i] = a;"
    done = in_opencl_c(f"print(run({swap!r}, 10).tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34])")
    observe("loop that swaps variables", outcome(done, "True\n"))


def test_driver_is_asked_for_sines_of_sines(observe):
    """`kapi_spirv.emission.workarounds.sines_and_cosines`."""
    done = in_opencl_c("run('float x = i, a = sin(x), b = cos(x); o[i] = sin(a) + cos(a) + b;', 16)\nprint('ran')")
    observe("sines and cosines of sines", outcome(done, "ran\n"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_kernel_with_sines_of_sines_runs(dtype):
    """Constructs that end the driver's compiler, in a kernel."""

    @kapi.kernel
    def nested(item: kapi.Item, x, out):
        i = item.get_id(0)
        a, b = np.sin(x[i]), np.cos(x[i])
        out[0, i] = np.sin(a)
        out[1, i] = np.cos(a)
        out[2, i] = np.sin(b)
        out[3, i] = np.cos(b)

    x = np.linspace(-3, 3, 64).astype(dtype)
    out = dpnp.zeros((4, 64), dtype=dtype)
    kapi.call_kernel(nested, kapi.Range(64), dpnp.asarray(x), out)
    expected = [f(g(x.astype(np.longdouble))) for g in (np.sin, np.cos) for f in (np.sin, np.cos)]
    np.testing.assert_allclose(out.asnumpy(), np.array(expected, float), atol=8 * np.finfo(dtype).eps)


SUMS = """
program = cl.Program(context, "kernel void k(global const float* a, global float* o) {"
    "const size_t i = get_global_id(0); float s = 0;"
    "for (long k = 0; k < 1000; k++) s += a[1000 * i + k]; o[i] = s; }").build()
values = np.random.default_rng(0).random((ITEMS, 1000), np.float32)
result = np.zeros(ITEMS, np.float32)
buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, each.nbytes) for each in (values, result)]
cl.enqueue_copy(queue, buffers[0], values)
program.k(queue, (ITEMS,), None, *buffers)
cl.enqueue_copy(queue, result, buffers[1])
print(np.array_equal(result, np.add.accumulate(values, axis=1)[:, -1]))
"""


@pytest.mark.parametrize("items", [1, 17, 64])
def test_driver_is_asked_for_the_order_of_sums(items, observe):
    """Work-items outside of full vectors: `kapi_spirv.emission.workarounds` says which launches have such."""
    observe(
        f"other order of float sums, {items} work-items", outcome(in_opencl_c(f"ITEMS = {items}\n{SUMS}"), "True\n")
    )


NEGATED = """
program = cl.Program(context, "kernel void k(global float* a) { const size_t i = get_global_id(0);"
    "float x = -a[i]; barrier(CLK_LOCAL_MEM_FENCE); a[i] = x; }").build()
values = np.arange(64, dtype=np.float32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, values.nbytes)
cl.enqueue_copy(queue, buffer, values)
program.k(queue, (64,), (16,), buffer)
result = np.empty_like(values)
cl.enqueue_copy(queue, result, buffer)
print(np.array_equal(result, -values))
"""


def test_driver_is_asked_for_negated_floats_at_barriers(observe):
    """`kapi_spirv.emission.workarounds.float_negation`."""
    observe("negated floats at barriers", outcome(in_opencl_c(NEGATED), "True\n"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_kernel_keeps_negated_floats_across_barriers(dtype):
    """Code that the driver miscompiles, in a kernel: with a barrier, and with a reduction."""

    @kapi.kernel
    def negated(item: kapi.NdItem, a, b):
        i = item.get_global_id(0)
        x, y = -a[i], -b[i]
        kapi.group_barrier(item.get_group())
        a[i] = x
        total = kapi.reduce_over_group(item.get_group(), i, kapi.plus)
        b[i] = y if total >= 0 else x

    values = np.arange(64, dtype=dtype)
    a, b = dpnp.asarray(values), dpnp.asarray(values[::-1].copy())
    kapi.call_kernel(negated, kapi.NdRange(64, 16), a, b)
    np.testing.assert_array_equal(a.asnumpy(), -values)
    np.testing.assert_array_equal(b.asnumpy(), -values[::-1])


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_kernel_that_swaps_variables_runs(dtype):
    """The loop that crashes the driver as it is, in a kernel."""

    @kapi.kernel
    def fibonacci(item: kapi.Item, out):
        i = item.get_id(0)
        a, b = out.dtype.type(0), out.dtype.type(1)
        for _ in range(i):
            a, b = b, a + b
        out[i] = a

    out = dpnp.zeros(20, dtype=dtype)
    kapi.call_kernel(fibonacci, kapi.Range(20), out)
    expected = [0, 1]
    while len(expected) < 20:
        expected.append(expected[-2] + expected[-1])
    np.testing.assert_array_equal(out.asnumpy(), np.array(expected, dtype))


STEPS = {
    "branch in an uncounted loop": (
        "float v = 0; long k = 0; while (k < 256) { k += n; if (i % 2 > 0) v += 1; } o[i] = v;"
    ),
    "branch in a counted loop": (
        "float v = 0, w = 0; for (long k = 0; k < n; k++) { w -= 2; if (i % 2 > 0) v -= w; } o[i] = v / 68;"
    ),
    "uncounted loops in two arms": (
        "float v = 0; if (i % 2 > 0) { long k = 0; while (k < 256) { k += n; v += 1; } }"
        "else { long k = 0; while (k < 256) { k += n; } } o[i] = v;"
    ),
    # The zero that is added to two numbers makes them differ for all that the compiler knows.
    "value of the turn before, behind its loop": (
        "long zero = (i | get_global_id(1) | get_global_id(2)) & ((get_global_size(0) >> 62) * 7046029254386353131);"
        "float v = 0, w = 1, t, s = as_float(as_int(3.0f) + (int)zero), u = as_float((int)zero);"
        "if (n > 16) { long k = 0; do { t = w; w -= 1; } while (++k != n / 16); s = w + t; }"
        "if (i % 4 > 0) { long k = 0; do { v += 1; } while (++k != i % 4); u = v; }"
        "o[i] = s + u + 5 - i % 4 + i % 2 * 4;"
    ),
    "uncounted loops in two branches": (
        "float v = 0; if (i % 2 > 0) { long k = 0; while (k < 256) { k += n; v += 1; } }"
        "if (i % 2 <= 0) { long k = 0; while (k < 256) { k += n; v += 0.25f; } v -= 1; } o[i] = v;"
    ),
}


@pytest.mark.parametrize("fault", STEPS)
def test_driver_is_asked_for_conditions_and_paths_in_loops(fault, observe):
    """`kapi_spirv.emission.workarounds.unswitching`; in kernels here and in `test_loops_in_branches`."""
    done = in_opencl_c(f"print(run({STEPS[fault]!r}, 16).tolist() == [0, 4] * 8)")
    observe(fault, outcome(done, "True\n"))


def test_kernel_takes_each_work_items_path_in_a_loop_that_cannot_be_counted():
    """Code that the driver miscompiles, in a kernel: a branch, `continue`, a select, and a loop in a loop."""

    @kapi.kernel
    def uncounted(item: kapi.Item, step, out):
        i = item.get_id(0)
        k, branched, chosen, nested = 0, 0, np.float32(0), 0
        while k < 6:
            k += step[0]
            if i % 2 > 0:
                branched += 1
                out[3, i] = k
            chosen = chosen + 1 if i > 2 else chosen
            for _ in range(2):
                if i % 4 > 1:
                    nested += 1
        for _ in range(0, 6, step[0]):
            if i <= 4:
                continue
            branched += 10
        out[0, i] = branched
        out[1, i] = chosen
        out[2, i] = nested

    i = np.arange(64)
    out = dpnp.zeros((4, 64), dtype="float64")
    kapi.call_kernel(uncounted, kapi.Range(64), dpnp.asarray([2]), out)
    expected = [3 * (i % 2) + 30 * (i > 4), 3 * (i > 2), 6 * (i % 4 > 1), 6 * (i % 2)]
    np.testing.assert_array_equal(out.asnumpy(), np.stack(expected))


def test_driver_is_asked_for_the_sign_of_an_integer_that_was_a_float(observe):
    """A double through an int, and back: -0.6 is 0 as an int. `kapi_spirv.emission.workarounds.round_trips`."""
    code = """
body = "double x = -0.6 * (i + 1 - n / 64); o[i] = 1.0 / (double)(int)x;"
print(run(body, 1)[0])
"""
    observe("sign of zero through an integer", outcome(in_opencl_c(code), "inf\n"))


COUNTED = {
    "one turn of a loop from zero": (
        "int x = (int)(i - n / 8); uint k = 0; do { k = k + 1; } while ((int)k <= x); o[i] = k;"
    ),
    "sum over one turn of a loop from zero": (
        "int x = (int)(i - n / 8); uint k = 0, t = 0; do { k = k + 1; t += k; } while ((int)k <= x); o[i] = t;"
    ),
}


@pytest.mark.parametrize("fault", COUNTED)
def test_driver_is_asked_for_loops_that_end_in_their_first_iteration(fault, observe):
    """`kapi_spirv.emission.workarounds.counter_starts`."""
    observe(fault, outcome(in_opencl_c(f"print(run({COUNTED[fault]!r}, 1)[0])"), "1.0\n"))


@pytest.mark.parametrize("items", [1, 5, 40])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_kernel_leaves_a_loop_in_its_first_iteration(dtype, items):
    @kapi.kernel
    def counted(item: kapi.Item, last, out):
        i = item.get_id(0)
        k, total = last.dtype.type(0), out.dtype.type(0)
        while True:
            k += last.dtype.type(1)
            total += k
            if k > last[i]:
                break
        out[0, i] = k
        out[1, i] = total

    last = np.arange(items) - 8
    out = dpnp.zeros((2, items), dtype="int64")
    kapi.call_kernel(counted, kapi.Range(items), dpnp.asarray(last.astype(dtype)), out)
    iterations = np.maximum(last + 1, 1)
    np.testing.assert_array_equal(out.asnumpy(), np.stack([iterations, iterations * (iterations + 1) // 2]))


GUARDS = {
    "guard by a negative number": ("if ((ulong)i < n && i < n - 100) o[i] = 1;", "0"),
    "guard by a difference": ("if (i >= n) return; if (n - i > 61) o[i] = 1;", "3"),
}


@pytest.mark.parametrize("fault", GUARDS)
def test_driver_is_asked_for_guards_of_ids(fault, observe):
    """`kapi_spirv.emission.workarounds.id_comparisons`; `test_id_comparisons` runs kernels with guards."""
    body, right = GUARDS[fault]
    observe(fault, outcome(in_opencl_c(f"print(int(run({body!r}, 40).sum()))"), f"{right}\n"))


@pytest.mark.parametrize("items", [1, 16, 40])
def test_driver_is_asked_for_the_sign_of_a_negative(items, observe):
    """`kapi_spirv.emission.workarounds.integer_negation`."""
    body = "int x = (int)((n << 25) + (i >> 40)); int y = (int)(0u - (uint)x); o[i] = y >> 31;"
    observe(
        f"sign of a negative, {items} work-items", outcome(in_opencl_c(f"print(run({body!r}, {items})[0])"), "-1.0\n")
    )


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_kernel_knows_the_sign_of_a_negative(dtype):
    @kapi.kernel
    def signs(item: kapi.Item, x, bits, out):
        i = item.get_id(0)
        y = -x[i]
        out[0, i] = np.sign(-x[i])
        out[1, i] = y >> bits
        out[2, i] = -1 if y < 0 else 0
        out[3, i] = 1 if y > 0 else -1 if y < 0 else 0
        out[4, i] = np.sign(x.dtype.type(0) - x[i]) - (y < 0)

    x = np.array([np.iinfo(dtype).min, 3, -3, 0, np.iinfo(dtype).max] * 8, dtype)
    out = dpnp.zeros((5, x.size), dtype=dtype)
    kapi.call_kernel(signs, kapi.Range(x.size), dpnp.asarray(x), 8 * x.itemsize - 1, out)
    with np.errstate(over="ignore"):
        y = -x
    below = -(y < 0).astype(dtype)
    np.testing.assert_array_equal(out.asnumpy(), np.stack([np.sign(y), below, below, np.sign(y), np.sign(y) + below]))


COMPLEMENTS = """
program = cl.Program(context, "kernel void k(global TYPE* a, global const TYPE* b) {"
    "const size_t i = get_global_id(0); a[i] = ~max(a[i], b[i]); }").build()
values = np.arange(10, dtype=np.DTYPE).reshape(2, 5)
buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, each.nbytes) for each in values]
for buffer, each in zip(buffers, (values[0], values[1, ::-1].copy())):
    cl.enqueue_copy(queue, buffer, each)
program.k(queue, (5,), None, *buffers)
result = np.empty_like(values[0])
cl.enqueue_copy(queue, result, buffers[0])
print(np.array_equal(result, ~np.maximum(values[0], values[1, ::-1])))
"""


@pytest.mark.parametrize(("type_", "dtype"), [("int", "int32"), ("ulong", "uint64")])
def test_driver_is_asked_for_complements_of_maxima(type_, dtype, observe):
    """`kapi_spirv.emission.workarounds.complements`."""
    done = in_opencl_c(COMPLEMENTS.replace("DTYPE", dtype).replace("TYPE", type_))
    observe(f"complement of a maximum, {dtype}", outcome(done, "True\n"))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_kernel_complements_with_maxima(dtype):
    """Code that the driver miscompiles with AVX-512, in kernels, with work-groups that are no full vector."""

    @kapi.kernel
    def of_maximum(item: kapi.NdItem, x, y, out):
        i = item.get_global_id(0)
        out[0, i] = ~max(x[i], y[i])

    @kapi.kernel
    def of_one(item: kapi.NdItem, x, y, out):
        i = item.get_global_id(0)
        v, w = x[i], y[i]
        out[1, i] = min(v, w)
        out[2, i] = -v - x.dtype.type(1)

    @kapi.kernel
    def of_both(item: kapi.NdItem, x, y, out):
        i = item.get_global_id(0)
        out[3, i] = max(~x[i], ~y[i])

    @kapi.kernel
    def in_a_choice(item: kapi.NdItem, x, y, out):
        i = item.get_global_id(0)
        v, w = x[i], y[i]
        out[4, i] = np.invert(v) if v > w else np.invert(w)

    @kapi.kernel
    def in_a_sum(item: kapi.NdItem, x, y, out):
        i = item.get_global_id(0)
        v, w = x[i], y[i]
        out[5, i] = max(w - x.dtype.type(1) - v, w)

    @kapi.kernel
    def in_an_index(item: kapi.NdItem, x, y, out):
        i = item.get_global_id(0)
        out[6, i] = x[max(y.size - 1 - i, 0)]

    @kapi.kernel
    def within_bits(item: kapi.NdItem, x, y, out):
        i = item.get_global_id(0)
        v, w = x[i], y[i]
        z = ~max(v, w)
        out[7, i] = (z & v) | (z & w & x[0])
        out[8, i] = max(~v & w, v)

    x, y = np.random.default_rng(5).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (2, 35), dtype, endpoint=True)
    out = dpnp.zeros((9, x.size), dtype=dtype)
    for kernel in (of_maximum, of_one, of_both, in_a_choice, in_a_sum, in_an_index, within_bits):
        kapi.call_kernel(kernel, kapi.NdRange(x.size, 5), dpnp.asarray(x), dpnp.asarray(y), out)
    greatest = np.maximum(x, y)
    expected = [~greatest, np.minimum(x, y), ~x, np.maximum(~x, ~y), ~greatest, np.maximum(y + ~x, y), x[::-1]]
    expected += [~greatest & (x | y & x[0]), np.maximum(~x & y, x)]
    np.testing.assert_array_equal(out.asnumpy(), np.stack(expected))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernel_has_the_spacing_of_both_zeros(dtype):
    @kapi.kernel
    def spacings(item: kapi.Item, x, out):
        i = item.get_id(0)
        out[i] = np.spacing(x[i])

    x = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], dtype)
    out = dpnp.empty(x.size, dtype=dtype)
    kapi.call_kernel(spacings, kapi.Range(x.size), dpnp.asarray(x), out)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out.asnumpy(), np.spacing(x))


NESTED_BARRIER = """
declare spir_func i64 @_Z12get_local_idj(i32) nounwind memory(none)
declare spir_func i64 @_Z14get_local_sizej(i32) nounwind memory(none)
declare spir_func void @_Z22__spirv_ControlBarrierjjj(i32, i32, i32) nounwind convergent
define internal spir_func void @next(ptr %result, ptr addrspace(3) %tile, i64 %k, i64 %x, i64 %n) noinline nounwind {
  %own = getelementptr i64, ptr addrspace(3) %tile, i64 %k
  store i64 %x, ptr addrspace(3) %own
  call spir_func void @_Z22__spirv_ControlBarrierjjj(i32 2, i32 2, i32 776)
  %after = add i64 %k, 1
  %neighbour = urem i64 %after, %n
  %other = getelementptr i64, ptr addrspace(3) %tile, i64 %neighbour
  %y = load i64, ptr addrspace(3) %other
  call spir_func void @_Z22__spirv_ControlBarrierjjj(i32 2, i32 2, i32 776)
  store i64 %y, ptr %result
  ret void
}
define internal spir_func void @second(ptr %result, ptr addrspace(3) %tile, i64 %k, i64 %x, i64 %n) noinline nounwind {
  %first = alloca i64
  call spir_func void @next(ptr %first, ptr addrspace(3) %tile, i64 %k, i64 %x, i64 %n)
  %y = load i64, ptr %first
  call spir_func void @next(ptr %result, ptr addrspace(3) %tile, i64 %k, i64 %y, i64 %n)
  ret void
}
define spir_kernel void @k(ptr addrspace(1) %p, ptr addrspace(3) %tile) {
  %result = alloca i64
  %k = call spir_func i64 @_Z12get_local_idj(i32 0)
  %n = call spir_func i64 @_Z14get_local_sizej(i32 0)
  call spir_func void @second(ptr %result, ptr addrspace(3) %tile, i64 %k, i64 %k, i64 %n)
  %z = load i64, ptr %result
  %own = getelementptr i64, ptr addrspace(1) %p, i64 %k
  store i64 %z, ptr addrspace(1) %own
  ret void
}
!opencl.ocl.version = !{!0}
!0 = !{i32 2, i32 0}
"""


def test_driver_is_asked_for_barriers_in_nested_functions(observe):
    """`kapi_spirv.emission.workarounds.called_barriers`; the conformance suite has the kernels."""
    code = f"SOURCE = {NESTED_BARRIER!r}\n" + FROM_LLVM.replace(
        "(64,), (32,), buffer", "(128,), (128,), buffer, cl.LocalMemory(1024)"
    )
    code = code.replace('print("ran")', "result = np.zeros(128, np.int64)\ncl.enqueue_copy(queue, result, buffer)\n")
    code += "print((result == (np.arange(128) + 2) % 128).all())"
    observe("barrier in a function of a function", outcome(in_opencl_c(code), "True\n"))
