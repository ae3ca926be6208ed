"""`kapi_sim.numba_cuda` takes Numba's own types where Numba is installed, as programs import them."""

from __future__ import annotations

import types

import numba
import numpy as np
import pytest
from numba import boolean, complex64, float32, float64, int32, int64, uint8, void

from kapi_sim import numba_cuda as cuda


def test_types_of_memory():
    @cuda.jit
    def kernel(a):
        shared = cuda.shared.array(2, int32)
        own = cuda.local.array((2,), dtype=float32)
        shared[cuda.threadIdx.x] = cuda.threadIdx.x + 1
        own[0] = 0.1
        cuda.syncthreads()
        a[cuda.threadIdx.x] = shared[1 - cuda.threadIdx.x]
        if cuda.threadIdx.x == 0:
            a[2] = own[0]

    a = np.zeros(3)
    kernel[1, 2](a)
    assert a.tolist() == [2, 1, float(np.float32(0.1))]
    assert cuda.device_array(2, complex64).dtype == np.complex64
    assert cuda.device_array(2, boolean).dtype == np.bool_


def test_records_as_types():
    dtype = np.dtype([("x", np.int32), ("y", np.float64)], align=True)
    record = numba.from_dtype(dtype)

    @cuda.jit
    def kernel(a):
        own = cuda.local.array(1, record)
        own[0].x = 3
        own[0].y = 0.5
        a[0] = own[0].x + own[0].y

    a = np.zeros(1)
    kernel[1, 1](a)
    assert a[0] == 3.5


def test_conversions_in_kernels():
    @cuda.jit
    def kernel(a):
        a[0] = int32(2**31)
        a[1] = uint8(300)
        a[2] = int32(2**31 - 1) + int32(1)

    a = np.zeros(3, np.int64)
    kernel[1, 1](a)
    # Numba computes with integers of 32 bits in 64.
    assert a.tolist() == [-(2**31), 44, 2**31]


def test_signatures():
    @cuda.jit(void(int64[:], uint8))
    def kernel(a, n):
        a[0] = n

    a = np.zeros(1, np.int64)
    kernel[1, 1](a, 300)
    assert a[0] == 44


def test_host_functions_are_device_functions():
    @numba.njit
    def twice(a, i):
        return 2 * a[i]

    @cuda.jit
    def kernel(a):
        a[0] = twice(a, 1)

    a = np.array([0, 21])
    kernel[1, 1](a)
    assert a[0] == 42


def test_host_functions_are_declared_device_functions():
    @numba.njit
    def third(x):
        return x / 3

    plain, declared = cuda.jit(device=True)(third), cuda.jit("int32(float64)", device=True)(third)

    @cuda.jit
    def kernel(a):
        a[0] = plain(a[0])
        a[1] = declared(a[1])

    a = np.array([10.0, 10.0])
    kernel[1, 1](a)
    assert a.tolist() == [10 / 3, 3]


def test_host_functions_of_modules_are_device_functions():
    helpers = types.ModuleType("helpers")
    helpers.twice = numba.njit(lambda x: 2 * x)

    @cuda.jit
    def kernel(a):
        a[0] = helpers.twice(a[0])

    a = np.array([21.0])
    kernel[1, 1](a)
    assert a[0] == 42


@pytest.mark.parametrize(
    ("signature", "is_taken"),
    [
        (void(float32[:]), True),
        (void(float32[::1]), True),
        (numba.types.void(numba.types.Array(float32, 1, "C")), True),
        ((float32[::1],), True),
        ("void(float32[:])", True),
        ([void(int64[:]), void(float32[:])], True),
        (void(float64[:]), False),
        (void(float32[:, :]), False),
        ([void(int64[:]), void(complex64[:])], False),
        (void(numba.types.Array(float32, 1, "F")), True),
    ],
)
def test_arrays_that_a_signature_takes(signature, is_taken):
    @cuda.jit(signature)
    def kernel(a):
        a[0] = 1

    a = np.zeros(4, np.float32)
    if is_taken:
        kernel[1, 1](a)
    else:
        with pytest.raises(TypeError):
            kernel[1, 1](a)
    assert a[0] == is_taken


def test_a_contiguous_declaration_takes_no_strided_array():
    @cuda.jit(void(float32[::1]))
    def kernel(a):
        a[0] = 1

    a = np.zeros(4, np.float32)
    with pytest.raises(TypeError):
        kernel[1, 1](a[::2])
    assert a[0] == 0


def test_tuples_records_and_optional_results():
    dtype = np.dtype([("x", np.int32), ("y", np.float64)], align=True)

    @cuda.jit(numba.types.UniTuple(int32, 2)(float64, float64), device=True)
    def both(x, y):
        return x, y

    @cuda.jit(numba.types.optional(int32)(float64), device=True)
    def positive(x):
        if x > 0:
            return x
        return None

    @cuda.jit(void(numba.from_dtype(dtype)[:], float64[:]))
    def kernel(records, a):
        x, y = both(a[0], a[1])
        records[0].x = x + y
        found = positive(a[0])
        if found is not None:
            a[0] = found

    records, a = np.zeros(1, dtype), np.array([1.75, 2.75])
    kernel[1, 1](records, a)
    assert records["x"][0] == 3
    assert a[0] == 1


OVERLOADS = [
    ("int8", "x", ["float32(float32)", "float64(float64)"]),
    ("int64", "x", ["float64(float64)", "int64(int64)"]),
    ("int8", "x", ["int64(int64)", "int32(int32)"]),
    ("uint8", "x", ["int8(int8)", "int16(int16)", "float32(float32)"]),
    ("int32", "x", ["float32(float32)", "float64(float64)"]),
    ("int64", "x", ["float32(float32)", "int32(int32)", "float64(float64)"]),
    ("bool", "x", ["float32(float32)", "int64(int64)"]),
    ("float32", "x", ["complex64(complex64)", "float64(float64)"]),
    ("float64", "x", ["float32(float32)", "int64(int64)"]),
    # What the values of a kernel do not tell, since Python's integers have no size and NumPy's floats widen less
    ("uint8", "x + x", ["uint8(uint8)", "uint16(uint16)", "uint64(uint64)"]),
    ("int8", "x + 1", ["int8(int8)", "int64(int64)"]),
    ("int32", "-x", ["int32(int32)", "int16(int16)", "int64(int64)"]),
    ("float32", "x * 2.0", ["float32(float32)", "float64(float64)"]),
    ("float32", "x * 2", ["float32(float32)", "float64(float64)"]),
    ("float32", "x * x", ["float64(float64)", "float32(float32)"]),
    ("int16", "x / 3", ["float32(float32)", "float64(float64)"]),
    ("uint32", "x if x > 1 else -1", ["uint32(uint32)", "int32(int32)", "int64(int64)"]),
    ("int8", "x << 2", ["int8(int8)", "int64(int64)", "uint64(uint64)"]),
    ("int8", "3", ["int8(int8)", "int64(int64)"]),
    ("int8", "2.5", ["float32(float32)", "float64(float64)"]),
]
"""Types of elements, what is made of one, and the signatures among which a call chooses."""


@pytest.mark.parametrize(("dtype", "argument", "signatures"), OVERLOADS)
def test_overloads_are_chosen_as_by_the_host_compiler(dtype, argument, signatures, tmp_path):
    # From Python, the host's compiler takes a tie for an error; from a function, it takes the first one as here.
    source = f"""
def declared(x):
    return x * 1000 / 7

def caller(out, elements):
    x = elements[0]
    out[0] = called({argument})
    y = {argument}
    out[1] = called(y)
    for i in range(2):
        y = through(x)
    out[2] = y

def through(x):
    return called({argument})
"""
    file = tmp_path / "program.py"
    file.write_text(source, "utf-8")
    results = []
    for compiled, options in ((numba.njit, {}), (cuda.jit, {"device": True})):
        names = {}
        exec(compile(source, str(file), "exec"), names)
        names["called"] = compiled(signatures, **options)(names["declared"])
        names["through"] = compiled(**options)(names["through"])
        caller = compiled(names["caller"])
        out = np.full(3, np.nan, np.complex128)
        (caller if compiled is numba.njit else caller[1, 1])(out, np.array([100]).astype(dtype))
        results.append(out.tolist())
    assert results[1] == results[0]


def test_overloads_of_a_function_that_is_called_for_two_types():
    choice = cuda.jit(["int8(int8)", "float32(float32)", "float64(float64)"], device=True)(lambda x: x / 3)

    @cuda.jit(device=True)
    def through(x):
        return choice(x)

    @cuda.jit
    def kernel(a, b, c, out):
        out[0] = through(a[0])
        out[1] = through(b[0])
        out[2] = through(c[0])

    out = np.zeros(3)
    kernel[1, 1](np.full(1, 100, np.int8), np.full(1, 1, np.float32), np.full(1, 1.0), out)
    assert out.tolist() == [33, float(np.float32(1 / 3)), 1 / 3]


def test_overloads_where_another_call_cannot_be_followed():
    choice = cuda.jit(["int8(int8)", "float32(float32)", "float64(float64)"], device=True)(lambda x: x / 3)

    @cuda.jit(device=True)
    def through(x):
        return choice(x)

    @cuda.jit(device=True)
    def of_all(*values):
        return through(values[1])

    @cuda.jit
    def kernel(a, b, out):
        out[0] = through(a[0])
        out[1] = of_all(a[0], b[0])
        out[2] = choice(a[0])

    out = np.zeros(3)
    kernel[1, 1](np.full(1, 100, np.int8), np.full(1, 1.0), out)
    assert out.tolist() == [33, 1 / 3, 33]
