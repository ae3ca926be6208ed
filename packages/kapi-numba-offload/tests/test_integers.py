"""Integers of loops and other numbers are the same wherever a function runs, and those of plain Numba."""

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

import kapi_numba_offload
import kapi_runtime


def plain(value):
    return value.item() if isinstance(value, (np.generic, dpnp.ndarray)) else value


def outcome(function, arrays, stored, numbers):
    """Result of a call, and the arrays that it stored to."""
    stored = [each.copy() for each in stored]
    result = plain(function(*[each.copy() for each in arrays], *stored, *numbers))
    return result, [each.asnumpy() if isinstance(each, dpnp.ndarray) else each for each in stored]


def on_device(arrays):
    return [dpnp.asarray(each) for each in arrays]


@pytest.mark.nightly(one_in=3)
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("seed", range(1000, 1012))
def test_random_functions_have_one_answer(seed, integer_functions):
    """As a kernel, in a device context, where the host runs the loop for either reason, and for Numba."""
    writer = integer_functions.Writer(seed)
    text = writer.text()
    arrays, stored, numbers = writer.arguments(seed)
    expected, left = outcome(integer_functions.compiled(text, "kernel"), arrays, stored, numbers)
    found = {
        variant: outcome(integer_functions.compiled(text, variant), on_device(arrays), on_device(stored), numbers)
        for variant in integer_functions.VARIANTS
    }
    with kapi_runtime.device_context("opencl:cpu"):
        found["context"] = outcome(integer_functions.compiled(text, "kernel"), arrays, stored, numbers)
    for where, (value, others) in found.items():
        assert value == expected, f"{where}:\n{text}"
        for one, other in zip(others, left, strict=True):
            np.testing.assert_array_equal(one, other, f"{where}:\n{text}")


def numbers_between_loops(a, b, c):
    product = a[0] * a[1]
    s = 0
    for k in range(3):
        b[:] = b * 2 + k
        s += c[k]
        s += c[k] * c[k]
    largest = np.max(a)
    rest = (a[0] + a[1]) * largest - c[0]
    return product, s, largest + 10, rest, largest * 2 - np.min(a), -a[0] + 0


@pytest.mark.nightly(one_in=2)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "int64"])
@pytest.mark.parametrize("small", ["0", "100"])
def test_numbers_between_loops_match_numba(dtype, small, monkeypatch):
    """Elements, sums of a loop that stays on the device, and extrema of arrays."""
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", small)
    function = numba.njit(numbers_between_loops)
    a, c = np.array([200, 250, 3]).astype(dtype), np.array([200, 255, 7]).astype(dtype)
    expected = function(a, np.ones(3), c)
    found = function(dpnp.asarray(a), dpnp.ones(3), dpnp.asarray(c))
    assert [int(each) for each in found] == list(expected)
    with kapi_runtime.device_context("opencl:cpu"):
        assert function(a, np.ones(3), c) == expected


def sum_added_to_number(a, start):
    x = start
    x += np.sum(a)
    return x


def sums_added_in_loop(a, start):
    x = start
    for _ in range(3):
        x += np.sum(a)
    return x


def number_added_to_either(a, start):
    x = start
    if start > 2:
        x = np.sum(a)
    x += 1.5
    return x


@pytest.mark.parametrize("start", [1, 5, 2.5], ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "uint64", "int32"])
@pytest.mark.parametrize("function", [sum_added_to_number, sums_added_in_loop, number_added_to_either])
def test_variables_that_hold_numbers_or_sums_match_numba(function, dtype, start, monkeypatch):
    """`x += y` names a new number, of another type where NumPy's or Numba's result has another."""
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", "0")
    compiled, a = numba.njit(function), np.array([200, 250, 3]).astype(dtype)
    expected = compiled(a, start)
    with kapi_runtime.device_context("cpu"):
        assert compiled(a, start) == expected
    assert compiled(dpnp.asarray(a), start) == expected


def shared_sums(a, bins, most):
    count = 0
    for i in prange(a.shape[0]):
        bins[a[i] % 3] += a[i] * a[i]
        most[0] = max(most[0], a[i] * 3)
        count += a[i] > 100
    return count


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "bool"])
def test_sums_into_shared_elements_match_numba(dtype):
    function, a = numba.njit(shared_sums), np.array([200, 250, 3, 119, 255]).astype(dtype)
    host = [np.zeros(3, "int64"), np.zeros(1, "int64")]
    device = [dpnp.asarray(each) for each in host]
    assert function(dpnp.asarray(a), *device) == function(a, *host)
    for one, other in zip(device, host, strict=True):
        assert one.asnumpy().tolist() == other.tolist()


def of_rows(a, b, sums, spans):
    for i in prange(a.shape[0]):
        sums[i] = np.sum(a[i] * b[i]) + a[i, 0] * b[i, 0]
        own = np.zeros(4, np.int32)
        for k in range(4):
            own[k] = a[i, k]
        spans[i] = own.sum() + np.ptp(a[i]) + (-b[i]).sum()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_rows_have_the_types_of_arrays(dtype):
    """Elements of a row's expression have its own type, and what is made of single elements 64 bits."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 200, (3, 5)).astype(dtype) * (2**23 if dtype == "int32" else 1) for _ in "ab")
    host = [np.zeros(3, "int64"), np.zeros(3, "int64")]
    device = [dpnp.asarray(each) for each in host]
    function = numba.njit(of_rows)
    function(dpnp.asarray(a), dpnp.asarray(b), *device)
    function(a, b, *host)
    for one, other in zip(device, host, strict=True):
        assert one.asnumpy().tolist() == other.tolist()


def test_unsigned_indices_count_from_the_end_of_nothing():
    """An index of 64 bits without a sign is one, and no float."""

    @numba.njit
    def taken(a, at, out):
        for i in prange(out.shape[0]):
            out[i] = a[at[i]] + a[at[i] + 1]

    a, at = np.arange(5.0), np.array([0, 3, 2], "uint64")
    taken(dpnp.asarray(a), dpnp.asarray(at), out := dpnp.zeros(3))
    assert out.asnumpy().tolist() == (a[at] + a[at + 1]).tolist()


def grown(a):
    return (a + 1) // 2


def kept(a):
    a += 1
    a[1:] = a[1:] * 2
    return a[0] + 1


def summed(a):
    return np.sum(a * 3)


def of_a_row(a):
    s = 0
    for i in prange(a.shape[0]):
        s += np.sum(a[i:] + 1)
    return s


@pytest.mark.parametrize(("function", "is_other"), [(grown, True), (summed, True), (of_a_row, True), (kept, False)])
@pytest.mark.parametrize("dtype", ["uint8", "int64"])
def test_operations_that_numba_widens_are_reported(function, is_other, dtype, recwarn):
    """Once, at their line: arrays and Python integers, where the type of the result counts."""
    dispatcher = numba.njit(function)
    for _ in range(2):
        dispatcher(dpnp.asarray([3, 250, 255]).astype(dtype))
    told = [each for each in recwarn if each.category is kapi_numba_offload.ArrayIntegersWarning]
    assert len(told) == (is_other and dtype == "uint8")
    for each in told:
        assert each.filename == __file__
        assert each.lineno == int(str(each.message).split(":")[1]) > function.__code__.co_firstlineno


def doubled_with_a_text(a):
    """One line, with a comma."""
    if a.shape[0] == 0:
        raise ValueError("(no elements, or none left")
    return a * 2


def test_texts_of_a_function_need_not_be_dtypes():
    found = numba.njit(doubled_with_a_text)(dpnp.asarray(np.arange(3)))
    assert found.asnumpy().tolist() == [0, 2, 4]
