"""Signatures of numba.cuda's functions: how they are spelled, what they convert, and what they refuse."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from kapi_sim import numba_cuda as cuda
from kapi_sim.errors import DtypeError, KernelCompilationError, KernelLaunchError
from kapi_sim.numba_cuda import types
from kapi_sim.numba_cuda.launches.launch_signatures import declared_signature
from kapi_sim.numba_cuda.static_types.conversions import Grade, best_overloads, grade_of
from kapi_sim.numba_cuda.static_types.kinds import Array, Number, Optional, Text, Tuple
from kapi_sim.numba_cuda.static_types.type_spellings import kind_of_type
from kapi_sim.testing.reports import raises

Pair = namedtuple("Pair", "x y")
FLOATS, INTS = np.float32, np.int32


# Spellings


@pytest.mark.parametrize(
    ("text", "dtype", "ndim", "layout"),
    [
        ("float32[:]", "float32", 1, "A"),
        ("float32[::1]", "float32", 1, "C"),
        ("f4[:, :]", "float32", 2, "A"),
        ("double[:,::1]", "float64", 2, "C"),
        ("uint8[::1,:]", "uint8", 2, "F"),
        ("complex64[:, :, ::1]", "complex64", 3, "C"),
        ("b1[:]", "bool", 1, "A"),
        ("Array(int16, 2, 'F')", "int16", 2, "F"),
        ("types.int64[:]", "int64", 1, "A"),
    ],
)
def test_types_of_arrays_as_texts(text, dtype, ndim, layout):
    assert kind_of_type(text) == Array(np.dtype(dtype), ndim, layout)
    assert declared_signature(f"void({text})").parameters == (Array(np.dtype(dtype), ndim, layout),)


def test_other_types_as_texts():
    signature = "int32(boolean, c16, UniTuple(int64, 2), Tuple((f8, i1)), optional(float32), unicode_type)"
    declared = declared_signature(signature)
    int64, float64, int8 = (Number(np.dtype(kind)) for kind in ("int64", "float64", "int8"))
    assert declared.result == Number(np.dtype("int32"))
    assert declared.parameters == (
        Number(np.dtype(bool)),
        Number(np.dtype("complex128")),
        Tuple((int64, int64)),
        Tuple((float64, int8)),
        Optional(Number(np.dtype("float32"))),
        Text(),
    )
    readonly = declared_signature("void(Array(float64, 1, 'A', readonly=True))").parameters[0]
    assert readonly == Array(np.dtype("float64"), 1, "A", True)


@pytest.mark.parametrize(
    "signature",
    [
        "void(float32[:], int64)",
        "none(f4[:], i8)",
        "(float32[:], int64)",
        cuda.void(cuda.float32[:], cuda.int64),
        types.void(types.f4[:], types.i8),
        (cuda.float32[:], cuda.int64),
        (types.Array(types.float32, 1, "A"), np.int64),
        ("float32[:]", "int64"),
    ],
)
def test_spellings_of_one_signature(signature):
    declared = declared_signature(signature)
    assert declared.parameters == (Array(np.dtype("float32"), 1, "A"), Number(np.dtype("int64")))


@pytest.mark.parametrize(
    ("signature", "code"),
    [
        ("float32[:]", "signature-form"),
        ("void(float31)", "signature-text"),
        ("void(float32[3])", "signature-text"),
        ("void(float32[:]", "signature-text"),
        ("void(__import__('os'))", "signature-text"),
        ("void(float32[:][:])", "signature-text"),
        ("void(3)", "signature-text"),
        ((3,), "signature-text"),
        (["void(float32)", 3], "signature-form"),
    ],
)
def test_what_is_no_signature_is_refused(signature, code):
    with raises(KernelCompilationError, code) as info:
        cuda.jit(signature)
    assert isinstance(info.value, TypeError)


@pytest.mark.parametrize("name", ["argtypes", "restype", "bind"])
def test_signatures_by_options_are_refused(name):
    with raises(KernelCompilationError, "signature-form"):
        cuda.jit(**{name: "void(float32[:])"})


def test_options():
    def double(a):
        a[cuda.grid(1)] *= 2

    options = {"fastmath": True, "max_registers": 32, "lineinfo": True, "opt": False, "debug": True, "inline": "always"}
    options |= {"cache": True, "link": [], "extensions": [], "launch_bounds": 64, "lto": True}
    a = np.ones(2)
    cuda.jit("void(float64[:])", **options)(double)[1, 2](a)
    assert a.tolist() == [2, 2]
    for unknown in ({"nopython": True}, {"boundscheck": True}, {"device": True, "link": ["f.cu"]}):
        with raises(KernelCompilationError, "option-unknown"):
            cuda.jit(**unknown)


def test_a_signature_has_the_functions_parameters():
    with raises(KernelCompilationError, "signature-count"):
        cuda.jit("void(float64[:], int32)")(lambda a: None)
    with raises(KernelCompilationError, "return-value"):
        cuda.jit("float64(float64[:])")(lambda a: None)
    with raises(KernelCompilationError, "return-value"):
        cuda.jit(["void(float32[:])", cuda.int64(cuda.float64[:])])(lambda a: None)


def test_declared_functions_of_c_have_a_result():
    assert cuda.declare_device("f", cuda.int32(cuda.int32)).__name__ == "f"
    with raises(KernelCompilationError, "signature-form"):
        cuda.declare_device("f", "(int32,)")


# Arguments of kernels


def copied(signature, *args):
    @cuda.jit(signature)
    def copy(out, x):
        out[0] = x

    out = np.full(1, 77, args[0])
    copy[1, 1](out, *args[1:])
    return out[0]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("int8", 300, 44),
        ("uint8", -1, 255),
        ("int32", np.int64(2**31), -(2**31)),
        ("uint64", -1, 2**64 - 1),
        ("int64", True, 1),
        ("float32", 0.1, np.float32(0.1)),
        ("float32", 2**24 + 1, 2**24),
        ("float16", 1 / 3, np.float16(1 / 3)),
        ("float64", np.float32(0.1), np.float32(0.1)),
        ("boolean", 2, 1),
        ("boolean", 0.5, 0),
    ],
)
def test_numbers_convert_as_the_host_packs_them(kind, value, expected):
    dtype = np.uint64 if kind == "uint64" else np.float64
    array = "uint64" if kind == "uint64" else "float64"
    assert copied(f"void({array}[:], {kind})", dtype, value) == expected


def test_complex_numbers_convert():
    out = np.zeros(1, np.complex128)

    @cuda.jit("void(complex128[:], complex64)")
    def store(out, z):
        out[0] = z

    store[1, 1](out, 0.1 + 3j)
    assert out[0] == np.complex64(0.1 + 3j)
    store[1, 1](out, 2)
    assert out[0] == 2


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int32", 2.5),
        ("int64", np.float32(2)),
        ("uint8", 1j),
        ("float64", 1j),
        ("float32", "1"),
        ("float32", np.zeros(1)),
        ("boolean", 1j),
        ("float64[:]", 3),
        ("UniTuple(int64, 2)", (1, 2, 3)),
        ("UniTuple(int64, 2)", (1, 2.5)),
        ("Tuple((int64, float64[:]))", (1, 2)),
    ],
)
def test_arguments_of_other_kinds_are_refused(kind, value):
    @cuda.jit(f"void({kind})")
    def kernel(x):
        pass

    with raises(DtypeError, "compiled-for-other-arguments") as info:
        kernel[1, 1](value)
    assert isinstance(info.value, TypeError)


ARRAYS = {
    "float32": np.arange(4, dtype=np.float32),
    "float64": np.arange(4.0),
    "int32": np.arange(4, dtype=np.int32),
    "uint32": np.arange(4, dtype=np.uint32),
    "row": np.zeros((1, 4), np.float32),
    "strided": np.zeros(8, np.float32)[::2],
    "C": np.zeros((2, 3), np.float32),
    "F": np.zeros((2, 3), np.float32, order="F"),
    "neither": np.zeros((4, 6), np.float32)[::2, ::2],
}


@pytest.mark.parametrize(
    ("declared", "accepted"),
    [
        ("float32[:]", {"float32", "strided"}),
        ("float32[::1]", {"float32"}),
        ("int32[:]", {"int32"}),
        ("float64[:]", {"float64"}),
        ("float32[:, :]", {"row", "C", "F", "neither"}),
        ("float32[:, ::1]", {"row", "C"}),
        ("float32[::1, :]", {"row", "F"}),
        ("float32[:, :, :]", set()),
    ],
)
@pytest.mark.parametrize("is_on_device", [False, True])
def test_arrays_are_as_declared(declared, accepted, is_on_device):
    @cuda.jit(f"void({declared})")
    def kernel(a):
        pass

    for name, array in ARRAYS.items():
        given = cuda.to_device(array) if is_on_device and name not in ("strided", "neither") else array
        if name in accepted:
            kernel[1, 1](given)
            kernel[1, 1](cuda.In(given))
        else:
            with raises(DtypeError, "compiled-for-other-arguments"):
                kernel[1, 1](given)


def test_nothing_is_written_where_an_array_is_refused():
    @cuda.jit("void(float32[:])")
    def double(a):
        a[cuda.grid(1)] *= 2

    a = np.arange(4.0)
    with raises(DtypeError, "compiled-for-other-arguments"):
        double[1, 4](a)
    assert a.tolist() == [0, 1, 2, 3]


def test_tuples_convert_member_by_member():
    @cuda.jit("void(float64[:], Tuple((int8, float32)))")
    def store(out, pair):
        out[0], out[1] = pair[0], pair[1]

    out = np.zeros(2)
    store[1, 1](out, (300, 0.1))
    assert out.tolist() == [44, np.float32(0.1)]


def test_records_are_as_declared():
    dtype = np.dtype([("x", np.float32), ("n", np.int32)], align=True)
    other = np.dtype([("x", np.float64)])

    @cuda.jit(cuda.void(types.Array(kind_of_type(dtype), 1, "C")))
    def bump(records):
        records[0].n += 1

    records = np.zeros(1, dtype)
    bump[1, 1](records)
    assert records["n"][0] == 1
    with raises(DtypeError, "compiled-for-other-arguments"):
        bump[1, 1](np.zeros(1, other))


def test_no_kernel_is_declared_to_take_none():
    @cuda.jit("void(float64[:], optional(int64))")
    def kernel(a, n):
        pass

    with raises(DtypeError, "argument-type"):
        kernel[1, 1](np.zeros(1), None)


# Several signatures


@pytest.fixture
def chosen():
    """Return a function that tells which of some signatures a value is passed by."""

    def choose(kinds, value, dtype=np.float64):
        @cuda.jit([f"void({np.dtype(dtype)}[:], {kind})" for kind in kinds])
        def store(out, x):
            out[0] = x

        out = np.zeros(1, dtype)
        store[1, 1](out, value)
        return out[0]

    return choose


def test_the_best_signature_of_a_list_is_taken(chosen):
    third = 1 / 3
    assert chosen(["float32", "float64"], third) == third
    assert chosen(["float32", "float64"], np.float32(third)) == np.float32(third)
    assert chosen(["float64", "complex128"], np.float16(third), np.complex128) == np.float16(third)
    assert chosen(["int8", "int64"], 300) == 300
    assert chosen(["int8", "float64"], 300) == 300
    assert chosen(["int8", "float64"], np.int16(300)) == 300


SINGLE = float(np.float32(100) / np.float32(3))
CALLS = [
    ("int8", "x", "float32 float64", SINGLE),
    ("int32", "x", "float32 float64", 100 / 3),
    ("float32", "x", "float64 float32", SINGLE),
    ("uint8", "x", "int8 int16 int64", 33),
    # The type of a result is the compiler's, and not that of the value that the simulator has
    ("int8", "x + 0", "float32 float64", 100 / 3),
    ("int8", "-x", "float32 float64", -100 / 3),
    ("float32", "x * 1.0", "float32 float64", 100 / 3),
    ("float32", "x * 1", "float32 float64", 100 / 3),
    ("float32", "x * x / x", "float64 float32", SINGLE),
    ("int8", "x / 1", "float32 float64", 100 / 3),
    ("uint8", "x + x", "int8 uint8 uint64", 66),
    ("uint8", "x << 1", "int8 uint8 uint64", 66),
    ("uint8", "(x + x) & 255", "int8 uint8 int64", 66),
    ("int8", "x if x > 0 else 2.5", "float32 float64", 100 / 3),
    ("float32", "x if x > 0 else 2", "float32 float64", 100 / 3),
    ("int8", "min(x, 100)", "float32 float64", 100 / 3),
    ("int8", "np.int8(x)", "float32 float64", SINGLE),
    ("int8", "np.float32(x)", "float64 float32", SINGLE),
    ("int8", "100", "float32 float64", 100 / 3),
]
"""Types of elements, which are 100, an argument, the types of the signatures, and a third of the argument."""


@pytest.mark.parametrize(("dtype", "argument", "kinds", "expected"), CALLS)
@pytest.mark.parametrize("call", ["third({})", "through(x)", "(lambda y: third(y))({})", "bound({})"])
def test_calls_take_the_signature_that_the_compiler_takes(dtype, argument, kinds, expected, call, defined):
    names = defined(
        f"""
third = cuda.jit([f"{{kind}}({{kind}})" for kind in {kinds.split()}], device=True)(lambda x: x / 3)

@cuda.jit(device=True)
def through(x):
    return third({argument})

@cuda.jit
def kernel(out, elements):
    bound = third
    x = elements[0]
    out[0] = {call.format(argument)}
    y = {argument}
    for i in range(2):
        cuda.syncthreads()
        out[1] = {call.format("y")}
""",
        cuda=cuda,
        np=np,
    )
    out = np.zeros(2)
    names["kernel"][1, 1](out, np.full(2, 100, dtype))
    assert out.tolist() == [expected, expected]


def test_a_call_takes_the_signature_for_the_types_of_its_caller():
    third = cuda.jit([f"{each}({each})" for each in ("int8", "float32", "float64")], device=True)(lambda x: x / 3)

    @cuda.jit(device=True)
    def of_one(x):
        return third(x)

    @cuda.jit(device=True)
    def of_all(*values):
        return of_one(values[1])

    @cuda.jit
    def kernel(a, b, c, out):
        out[0] = of_one(a[0])
        out[1] = of_one(b[0])
        out[2] = of_one(c[0])
        out[3] = of_all(a[0], c[0])
        out[4] = third(a[0])

    out = np.zeros(5)
    kernel[1, 1](*(np.full(1, 100, each) for each in (np.int8, np.float32, np.float64)), out)
    assert out.tolist() == [33, SINGLE, 100 / 3, 100 / 3, 33]


def test_a_list_without_a_signature_for_the_arguments_is_an_error(chosen):
    with raises(DtypeError, "compiled-for-other-arguments"):
        chosen(["float32", "float64"], 1j)
    with raises(DtypeError, "compiled-for-other-arguments"):
        chosen(["float32", "float32[:]"], None)

    @cuda.jit(["void(float32[:])", "void(float32[:, :])"])
    def kernel(a):
        pass

    kernel[1, 1](np.zeros((2, 2), np.float32))
    with raises(DtypeError, "compiled-for-other-arguments"):
        kernel[1, 1](np.zeros(2))
    with raises(DtypeError, "compiled-for-other-arguments"):
        kernel[1, 1](np.zeros(2, np.float32), 3)


def test_two_signatures_that_fit_alike_are_an_error():
    @cuda.jit(["void(float32, float64)", "void(float64, float32)"])
    def kernel(x, y):
        pass

    kernel[1, 1](1.0, np.float32(1))
    with raises(DtypeError, "compiled-for-other-arguments"):
        kernel[1, 1](1.0, 1.0)


def test_an_array_of_both_orders_is_c_contiguous_to_a_list():
    @cuda.jit(["void(float32[::1, :])", "void(float32[:, :, :])"])
    def kernel(a):
        pass

    kernel[1, 1](np.zeros((2, 3), np.float32, order="F"))
    with raises(DtypeError, "compiled-for-other-arguments"):
        kernel[1, 1](np.zeros((1, 3), np.float32))


def test_grades_of_conversions():
    int64, float64 = Number(np.dtype("int64")), Number(np.dtype("float64"))
    assert grade_of(int64, int64) is Grade.EXACT
    assert grade_of(Number(np.dtype("int8")), int64) is Grade.PROMOTE
    assert grade_of(int64, float64) is Grade.SAFE
    assert grade_of(float64, int64) is Grade.UNSAFE
    assert grade_of(Number(np.dtype("complex64")), float64) is None
    assert grade_of(int64, Optional(int64)) is Grade.PROMOTE
    assert grade_of(Optional(int64), int64) is Grade.SAFE
    assert grade_of(Tuple((int64, float64)), Tuple((float64, float64))) is Grade.SAFE
    assert grade_of(Tuple((int64,)), Tuple((int64, int64))) is None
    assert best_overloads([int64], [[float64], [Number(np.dtype("int32"))]]) == [0]
    assert best_overloads([int64], [[Text()]]) == []


# Device functions


def result_of(signature, value, function=lambda x: x, dtype=np.float64):
    device = cuda.jit(signature, device=True)(function)

    @cuda.jit
    def run(out, x):
        out[0] = device(x)

    out = np.full(1, 77, dtype)
    run[1, 1](out, value)
    return out[0]


@pytest.mark.parametrize(
    ("signature", "value", "expected"),
    [
        ("int32(float64)", 2.75, 2),
        ("int32(float64)", -2.75, -2),
        ("float64(int32)", 2.75, 2),
        ("uint8(int64)", 257, 1),
        ("int8(int64)", 200, -56),
        ("float32(float64)", 0.1, np.float32(0.1)),
        ("float64(float32)", 0.1, np.float32(0.1)),
        ("float16(float64)", 0.1, np.float16(0.1)),
        ("boolean(float64)", 0.5, 1),
        ("float64(boolean)", 7, 1),
        ("float64(uint32)", -1, 2**32 - 1),
        (["int32(int32)", "float64(float64)"], 2.75, 2.75),
        (["int64(int64)", "float32(float32)"], 7, 7),
        ("(int32,)", 2.75, 2),
        (cuda.int32(cuda.float64), 2.75, 2),
    ],
)
def test_results_and_arguments_of_device_functions_convert(signature, value, expected):
    assert result_of(signature, value) == expected


def test_what_a_device_function_computes_is_converted_once():
    assert result_of("uint8(int64)", 200, lambda x: x + 100) == 44
    assert result_of("int64(uint8)", 200, lambda x: x + 100) == 300


def test_every_return_of_a_device_function_converts():
    @cuda.jit("int32(float64)", device=True)
    def steps(x):
        if x > 10:
            return x
        for k in range(3):
            if k > x:
                return x + k

        def more(y):
            return y + 0.25

        return more(x)

    @cuda.jit
    def run(out, x):
        for k in range(x.size):
            out[k] = steps(x[k])

    out = np.zeros(3)
    run[1, 1](out, np.array([10.5, 1.5, 5.5]))
    assert out.tolist() == [10, 3, 5]


def test_device_functions_with_barriers_convert():
    @cuda.jit("int32(float64[:], int64)", device=True)
    def neighbour(shared, i):
        cuda.syncthreads()
        return shared[(i + 1) % 4]

    @cuda.jit
    def run(out):
        i = cuda.threadIdx.x
        shared = cuda.shared.array(4, np.float64)
        shared[i] = i + 0.5
        out[i] = neighbour(shared, i)

    out = np.zeros(4)
    run[1, 4](out)
    assert out.tolist() == [1, 2, 3, 0]


def test_tuples_and_none_of_device_functions():
    @cuda.jit("UniTuple(int32, 2)(float64)", device=True)
    def halves(x):
        return x, x / 2

    @cuda.jit("optional(int32)(float64)", device=True)
    def positive(x):
        if x > 0:
            return x
        return None

    @cuda.jit
    def run(out):
        out[0], out[1] = halves(3.75)
        found = positive(out[2])
        if found is not None:
            out[2] = found

    out = np.array([0, 0, 2.5])
    run[1, 1](out)
    assert out.tolist() == [3, 1, 2]


def test_a_declared_function_in_a_tuple_converts():
    @cuda.jit("int32(float64)", device=True)
    def cut(x):
        return x

    functions = (cut,)

    @cuda.jit
    def run(out):
        out[0] = functions[0](2.75)

    out = np.zeros(1)
    run[1, 1](out)
    assert out[0] == 2


@pytest.mark.parametrize(
    ("signature", "argument", "code"),
    [
        ("float64(float64)", "1j", "call-arguments"),
        ("float64(float64)", "a", "call-arguments"),
        ("float64(float64)", "None", "call-arguments"),
        ("float64(float64)", "(1, 2)", "call-arguments"),
        ("float64(float32[:])", "a", "call-arguments"),
        ("float64(float64[:, :])", "a", "call-arguments"),
        ("float64(UniTuple(int64, 3))", "(1, 2)", "call-arguments"),
        (["float64(float32[:])", "float64(int64[:])"], "a", "call-arguments"),
    ],
)
def test_what_a_signature_of_a_device_function_does_not_take(signature, argument, code, defined):
    @cuda.jit(signature, device=True)
    def device(x):
        return 1.0

    kernel = defined(f"def kernel(a):\n    a[0] = device({argument})\n", device=device)["kernel"]
    with raises(KernelCompilationError, code, line="a[0] = device("):
        cuda.jit(kernel)[1, 1](np.zeros(2))


@pytest.mark.parametrize(
    ("signature", "body"),
    [
        ("int32(complex128)", "return x"),
        ("int32(float64)", "return None"),
        ("int32(float64)", "if x > 5:\n        return 1"),
        ("void(float64)", "return x"),
        ("float64(float64)", "return (x, x)"),
        ("UniTuple(int32, 2)(float64)", "return x"),
    ],
)
def test_results_that_do_not_convert_are_refused(signature, body, defined):
    device = cuda.jit(signature, device=True)(defined(f"def device(x):\n    {body}\n")["device"])

    @cuda.jit
    def kernel(a):
        device(a[0])

    with raises(KernelCompilationError, "return-types"):
        kernel[1, 1](np.zeros(1))


def test_the_run_refuses_what_the_source_did_not_reveal():
    @cuda.jit("float64(float64[::1])", device=True)
    def first(x):
        return x[0]

    functions = (first,)

    @cuda.jit
    def kernel(out, a):
        out[0] = functions[0](a[::2])

    with raises(KernelCompilationError, "call-arguments"):
        kernel[1, 1](np.zeros(1), np.zeros(4))


def test_constants_are_not_passed_to_be_written():
    table = np.arange(3.0)

    @cuda.jit("float64(float64[:])", device=True)
    def first(x):
        return x[0]

    @cuda.jit("float64(Array(float64, 1, 'C', readonly=True))", device=True)
    def read(x):
        return x[1]

    @cuda.jit
    def writable(out):
        out[0] = first(table)

    @cuda.jit
    def readonly(out):
        out[0] = read(table)

    with raises(KernelCompilationError, "call-arguments"):
        writable[1, 1](np.zeros(1))
    out = np.zeros(1)
    readonly[1, 1](out)
    assert out[0] == 1


def test_a_device_function_is_no_kernel():
    cut = cuda.jit("int32(float64)", device=True)(lambda x: x)
    with raises(KernelLaunchError, "outside-kernel"):
        cut(2.5)


# Recursion


def test_a_declared_function_calls_itself():
    @cuda.jit("int64(int64)", device=True)
    def fibonacci(n):
        if n < 2:
            return n
        return fibonacci(n - 1) + fibonacci(n - 2)

    @cuda.jit
    def kernel(a):
        a[0] = fibonacci(10)

    a = np.zeros(1)
    kernel[1, 1](a)
    assert a[0] == 55


def test_a_function_calls_itself_for_the_same_types():
    @cuda.jit(device=True)
    def power(x, n):
        return x * power(x, n - 1) if n > 0 else 1.0

    @cuda.jit
    def kernel(a, n):
        a[0] = power(a[0], n)

    a = np.full(1, 2.0)
    kernel[1, 1](a, 5)
    assert a[0] == 32


def test_other_recursions_are_refused():
    @cuda.jit(device=True)
    def down(n):
        return down(n - 1) if n > 0 else 0

    @cuda.jit("int64(int64)", device=True)
    def halved(n):
        return halved(n / 2) if n > 1 else 0

    @cuda.jit(device=True)
    def even(n):
        return odd(n - 1) if n > 0 else True

    @cuda.jit(device=True)
    def odd(n):
        return even(n - 1) if n > 0 else False

    @cuda.jit
    def of_a_constant(a):
        a[0] = down(3)

    @cuda.jit
    def of_another_type(a):
        a[0] = halved(3)

    @cuda.jit
    def of_two(a, n):
        a[0] = even(n)

    for kernel, more in ((of_a_constant, ()), (of_another_type, ()), (of_two, (3,))):
        with raises(KernelCompilationError, "recursion"):
            kernel[1, 1](np.zeros(1), *more)


# Vectorized functions read the same spellings.


def test_vectorized_functions_take_all_spellings():
    kinds = ([cuda.int32(cuda.int32)], ["i4(i4)"], "int32(int32)")
    for given in kinds:
        double = cuda.vectorize(given)(lambda x: 2 * x)
        assert double(np.arange(3, dtype=np.int32)).dtype == np.int32
    moved = cuda.guvectorize([(cuda.float64[:], cuda.float64[:])], "(n)->(n)")(_moved)
    assert moved(np.arange(3.0)).tolist() == [1, 2, 0]


def _moved(a, b):
    for i in range(a.size):
        b[i] = a[(i + 1) % a.size]
