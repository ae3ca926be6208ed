"""Number rules that only the simulator can show: what it reports, and what it wraps with checks off."""

from __future__ import annotations

import linecache
import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kapi_sim as kapi
from kapi_sim.language import rows
from kapi_sim.numbers.arithmetic import checked_ring, fused_to_odd, wrapped_ring
from kapi_sim.numbers.mathematics import SUBSTITUTES
from kapi_sim.testing.reports import raises


@kapi.kernel
def divide(item: kapi.Item, a, b, out):
    out[0] = a[0] // b[0]


@kapi.kernel
def modulo(item: kapi.Item, a, b, out):
    out[0] %= b[0]


@pytest.mark.parametrize("kernel", [divide, modulo])
def test_integer_division_by_zero_is_reported(kernel):
    one, zero = np.ones(1, np.int32), np.zeros(1, np.int32)
    with pytest.raises(ZeroDivisionError, match="must not be zero") as caught:
        kapi.call_kernel(kernel, kapi.Range(1), one, zero, one.copy())
    assert any("work-item global (0,)" in note for note in caught.value.__notes__)
    kapi.call_kernel(kernel, kapi.Range(1), one, one, one.copy())


def test_float_division_by_zero_is_not():
    out = np.zeros(1)
    kapi.call_kernel(divide, kapi.Range(1), np.ones(1), np.zeros(1), out)
    assert out[0] == math.inf


@kapi.kernel
def large_literal(item: kapi.Item, a):
    a[0] = a[0] + 300


@kapi.kernel
def large_store(item: kapi.Item, a, k):
    a[0] = k


def test_literal_that_does_not_fit_is_reported():
    with raises(kapi.DtypeError, "number-unfit", line="a[0] = a[0] + 300") as caught:
        kapi.call_kernel(large_literal, kapi.Range(1), np.zeros(1, np.int8))
    assert isinstance(caught.value, TypeError)
    kapi.call_kernel(large_literal, kapi.Range(1), np.zeros(1, np.int16))
    with raises(kapi.DtypeError, "number-unfit", line="a[0] = k"):
        kapi.call_kernel(large_store, kapi.Range(1), np.zeros(1, np.int32), 2**40)


def kernel_of(source, folder):
    file = folder / "written.py"
    file.write_text(source, "utf-8")
    names = {"math": math, "np": np, "operator": operator}
    exec(compile(source, str(file), "exec"), names)
    linecache.checkcache(str(file))
    return kapi.kernel(names["kernel"])


FAR = {"k**n": lambda n: pow(3, n, 2**64), "k << n": lambda n: 0, "2**n": lambda n: 0, "1 + (3 << n)": lambda n: 1}


@pytest.mark.parametrize("expression", FAR)
def test_number_far_beyond_64_bits_takes_little_time(expression, tmp_path):
    """Python would work it out until memory is full; unchecked, it wraps as on a device."""
    kernel, out = (
        kernel_of(f"def kernel(item, out, k, n):\n    out[0] = {expression}\n", tmp_path),
        np.zeros(1, np.int64),
    )
    for n in (2000, 2**40, 2**62):
        with raises(kapi.DtypeError, "integer-too-wide", words=n == 2000):
            kapi.call_kernel(kernel, kapi.Range(1), out, 3, n)
        with kapi.simulation(checks="none"):
            kapi.call_kernel(kernel, kapi.Range(1), out, 3, n)
        assert out[0] == np.uint64(FAR[expression](n)).astype(np.int64)


@pytest.mark.parametrize(
    "expression",
    [
        "math.comb(n, n // 2)", "math.perm(n, n // 2)", "math.factorial(n)", "operator.pow(k, n)",
        "operator.lshift(k, n)", "operator.ilshift(k, n)", "(k**90 * k) << n", "(k**90 * k) ** n",
        "k % 10**10**10", "-(10**10**10)", "~(1 << 10**12)", "k + (3 << 10**12)",
    ],
)  # fmt: skip
def test_function_or_literal_far_beyond_64_bits_takes_little_time(expression, tmp_path):
    """However it is spelled, Python does not begin to work it out."""
    kernel, out = (
        kernel_of(f"def kernel(item, out, k, n):\n    out[0] = {expression}\n", tmp_path),
        np.zeros(1, np.int64),
    )
    with raises(kapi.DtypeError, "integer-too-wide", words=False):
        kapi.call_kernel(kernel, kapi.Range(1), out, 3, 2**40)


def test_rounding_by_any_number_of_digits_takes_little_time(tmp_path):
    lines = "out[0] = round(12345, n)", "f[0] = round(1.5, n)", "f[1] = round(f[1], n)"
    kernel = kernel_of("\n    ".join(("def kernel(item, out, f, n):", *lines)), tmp_path)
    for n, integers in ((2**62, 12345), (-(2**62), 0)):
        out, floats = np.ones(1, np.int64), np.full(2, 2.5, np.float32)
        kapi.call_kernel(kernel, kapi.Range(1), out, floats, n)
        assert out[0] == integers
        assert np.isnan(floats).all()  # scaled by infinity, as NumPy does


@pytest.mark.parametrize(
    "loop",
    [
        "for k in range(s, s + np.uint64(3))", "for k in range(s, 10, -(2**62))",
        "for k in range(-(2**62), 2**62 + 1, s)",
        "for k in range(2**63 - 2, s + np.uint64(5))", "for k, x in enumerate(out, s)",
        "for k in (range(s, s).start,)", "for k in (range(s).stop,)", "for k in (range(1, 2, s).step,)",
        "for k, x in enumerate((1, 2, 3), s - np.uint64(2))", "for k, x in enumerate(start=s, iterable=out)",
    ],
)  # fmt: skip
def test_loop_over_numbers_beyond_64_bits(loop, tmp_path):
    """A device's numbers wrap there, or its loop ends."""
    kernel = kernel_of(f"def kernel(item, out, s):\n    {loop}:\n        out[0] += k % 7\n", tmp_path)
    with raises(kapi.DtypeError, "integer-too-wide", words=False):
        kapi.call_kernel(kernel, kapi.Range(1), np.zeros(1, np.int64), np.uint64(2**63))


def test_loop_that_ends_beyond_64_bits_and_does_not_come_there(tmp_path):
    kernel = kernel_of(
        "def kernel(item, out, s):\n    for k in range(7, s):\n        out[0] = k\n        break\n", tmp_path
    )
    out = np.zeros(1, np.int64)
    kapi.call_kernel(kernel, kapi.Range(1), out, np.uint64(2**64 - 1))
    assert out[0] == 7


@pytest.mark.parametrize("call", ["max((k, 1), (2, 3))", "min((k, 1), (k, 3))[0]", "max(((1, 2), (k, 3)))"])
def test_tuples_are_not_compared(call, tmp_path):
    kernel = kernel_of(f"def kernel(item, out, k):\n    out[0] = {call}\n", tmp_path)
    with raises(kapi.KernelCompilationError, "call-arguments", words=False):
        kapi.call_kernel(kernel, kapi.Range(1), np.zeros(1, np.int64), 2)


@pytest.mark.parametrize(
    ("expression", "code"),
    [("operator.add(k, 2**62)", "integer-too-wide"), ("operator.neg(k - 2**62 - 2**62)", "integer-too-wide")],
)
def test_functions_of_operator_keep_the_rules_of_the_operators(expression, code, tmp_path):
    kernel = kernel_of(f"def kernel(item, out, k):\n    out[0] = {expression}\n", tmp_path)
    out = np.zeros(1, np.int64)
    with raises(kapi.DtypeError, code, words=False):
        kapi.call_kernel(kernel, kapi.Range(1), out, 2**62 if "add" in expression else 0)


@pytest.mark.parametrize("name", ["floordiv", "mod", "ifloordiv", "imod"])
def test_functions_of_operator_do_not_divide_integers_by_zero(name, tmp_path):
    kernel = kernel_of(f"def kernel(item, out, k):\n    out[0] = operator.{name}(out[0], k)\n", tmp_path)
    with pytest.raises(ZeroDivisionError, match="must not be zero"):
        kapi.call_kernel(kernel, kapi.Range(1), np.ones(1, np.int64), 0)


@kapi.kernel
def grow(item: kapi.Item, out, k):
    x = k
    x = x * x
    out[0] = x


@kapi.kernel
def passing_through(item: kapi.Item, out, k):
    out[0] = k * k - k * k + k


def test_weak_integer_beyond_64_bits_is_reported():
    with raises(kapi.DtypeError, "integer-too-wide", line="x = x * x"):
        kapi.call_kernel(grow, kapi.Range(1), np.zeros(1, np.int64), 2**40)
    out = np.zeros(1, np.int64)
    kapi.call_kernel(passing_through, kapi.Range(1), out, 2**40)
    assert out[0] == 2**40


def test_weak_integer_wraps_unchecked():
    out = np.zeros(1, np.int64)
    with kapi.simulation(checks="none"):
        kapi.call_kernel(grow, kapi.Range(1), out, 2**40 + 1)
    assert out[0] == np.int64((2**40 + 1) ** 2 - 2**80 + 0)


@given(st.integers())
def test_ring_wraps_to_64_bits(value):
    wrapped = wrapped_ring(value)
    assert (wrapped - value) % 2**64 == 0
    assert -(2**63) <= wrapped < 2**63
    if wrapped == value:
        assert checked_ring(value) == value
    else:
        with raises(kapi.DtypeError, "integer-too-wide", words=False):  # another number in each run
            checked_ring(value)


def test_wrapping_gives_no_warning():
    out = np.array([2**31 - 1], np.int32)

    @kapi.kernel
    def increment(item: kapi.Item, a):
        a[0] += 1

    kapi.call_kernel(increment, kapi.Range(1), out)
    assert out[0] == -(2**31)


ONE = [row.name for row in rows("math") if row.returns == "argument float" and len(row.parameters) == 1]


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, float])
def test_math_keeps_the_type(name, kind):
    function = SUBSTITUTES[id(getattr(math, name))]
    value = 1.5 if name == "acosh" else 0.5
    assert type(function(kind(value))) is kind


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
def test_rounding_to_integers_gives_weak_ones(name):
    function = SUBSTITUTES[id(getattr(math, name))]
    assert type(function(np.float32(2.5))) is int
    assert function(np.int32(-3)) == -3
    with raises(kapi.DtypeError, "integer-too-wide"):
        function(1e30)


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        (np.float32, np.float32, np.float32),
        (np.float32, float, np.float32),
        (float, np.float16, np.float16),
        (np.float32, np.float64, np.float64),
        (float, float, float),
        (np.int32, float, np.float64),
    ],
)
def test_math_of_two_arguments_promotes(left, right, kind):
    assert type(SUBSTITUTES[id(math.hypot)](left(3), right(4))) is kind


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("sqrt", (-1.0,), math.nan),
        ("log", (0.0,), -math.inf),
        ("log", (-1.0,), math.nan),
        ("exp", (1000.0,), math.inf),
        ("sinh", (-1000.0,), -math.inf),
        ("atanh", (1.0,), math.inf),
        ("acos", (2.0,), math.nan),
        ("gamma", (0.0,), math.inf),
        ("gamma", (-0.0,), -math.inf),
        ("gamma", (-2.0,), math.nan),
        ("gamma", (200.0,), math.inf),
        ("lgamma", (-1.0,), math.inf),
        ("pow", (-8.0, 0.5), math.nan),
        ("pow", (0.0, -1.0), math.inf),
        ("fmod", (1.0, 0.0), math.nan),
        ("sin", (math.inf,), math.nan),
    ],
)
def test_math_beyond_its_domain(name, arguments, expected):
    with np.errstate(all="ignore"):
        result = SUBSTITUTES[id(getattr(math, name))](*arguments)
    np.testing.assert_equal(result, expected)


from math import sqrt as root  # noqa: E402  a function imported by another name is replaced as well


@kapi.kernel
def renamed(item: kapi.Item, a, out):
    out[0] = root(a[0]) + root(0.01)
    out[1] = math.pi


def test_function_imported_by_another_name():
    out = np.zeros(2)
    kapi.call_kernel(renamed, kapi.Range(1), np.array([2.0**48], np.float32), out)
    np.testing.assert_array_equal(out, [2.0**24, math.pi])


@kapi.kernel
def once(item: kapi.Item, a, log):
    a[next_index(log)] //= 2


@kapi.device_func
def next_index(log):
    log[0] += 1
    return 1


def test_augmented_division_evaluates_its_index_once():
    a, log = np.array([9, 9], np.int32), np.zeros(1, np.int32)
    kapi.call_kernel(once, kapi.Range(1), a, log)
    np.testing.assert_array_equal(a, [9, 4])
    assert log[0] == 1


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (object(), "argument-type"),
        ([1, 2], "argument-type"),
        ("text", "argument-type"),
        ({}, "argument-type"),
        (None, "argument-type"),
        (np.zeros(2, object), "argument-dtype"),
        (np.zeros(2, "U3"), "argument-dtype"),
        (np.zeros(2, ">i4"), "argument-dtype"),
        # Windows and Apple's processors have no floats wider than float64: longdouble is float64 there.
        *([(np.zeros(2, np.longdouble), "argument-dtype")] if np.dtype(np.longdouble).itemsize > 8 else []),
        (np.datetime64("2020"), "argument-dtype"),
        (2**63, "integer-too-wide"),
    ],
)
def test_argument_of_another_type(value, code):
    with raises(kapi.DtypeError, code):
        kapi.call_kernel(large_store, kapi.Range(1), np.zeros(1), value)


def test_tuples_of_arrays_and_named_tuples():
    from typing import NamedTuple

    class Pair(NamedTuple):
        data: object
        factor: float

    @kapi.kernel
    def scale(item: kapi.Item, pair, nested):
        i = item.get_id(0)
        pair.data[i] = nested[0][0][i] * pair.factor

    data = np.zeros(3)
    kapi.call_kernel(scale, kapi.Range(3), Pair(data, 2.0), ((np.arange(3.0),), 1))
    np.testing.assert_array_equal(data, [0, 2, 4])
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds", line="pair.data[i] = nested[0][0][i] * pair.factor"):
        kapi.call_kernel(scale, kapi.Range(3), Pair(data, 2.0), ((np.arange(2.0),), 1))


@kapi.kernel
def store(item: kapi.Item, out, values):
    for k in range(values.shape[0]):
        out[k] = values[k]


@kapi.kernel
def store_weak(item: kapi.Item, out, value):
    out[0] = value


@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
def test_float_stored_to_an_integer_saturates(dtype, source, checks):
    limits = np.iinfo(dtype)
    values = np.array([math.nan, math.inf, -math.inf, 2.75, -0.75, 100.5], source)
    expected = np.array([0, limits.max, limits.min, 2, 0, 100], dtype)
    out = np.zeros(len(values), dtype)
    with kapi.simulation(checks=checks):
        kapi.call_kernel(store, kapi.Range(1), out, values)
        np.testing.assert_array_equal(out, expected)
        for value, wanted in zip(values, expected, strict=True):
            kapi.call_kernel(store_weak, kapi.Range(1), out[:1], float(value))
            assert out[0] == wanted


@kapi.kernel
def add_and_subtract(item: kapi.Item, out, k):
    x = k + k
    y = -k - k
    out[0] = x + y


@kapi.kernel
def negate(item: kapi.Item, out, k):
    out[0] = -k


@pytest.mark.parametrize(("kernel", "value", "beyond"), [(add_and_subtract, 2**62, 2**63), (negate, -(2**63), 2**63)])
def test_weak_integer_beyond_64_bits_by_sum_or_sign(kernel, value, beyond):
    with raises(kapi.DtypeError, "integer-too-wide") as caught:
        kapi.call_kernel(kernel, kapi.Range(1), np.zeros(1), value)
    assert any("work-item global (0,)" in note for note in caught.value.__notes__)
    kapi.call_kernel(kernel, kapi.Range(1), np.zeros(1), value // 2)


@kapi.kernel
def divide_weak(item: kapi.Item, out, x, y):
    out[0] = x / y


def test_weak_floats_divided_by_zero_are_reported():
    with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
        kapi.call_kernel(divide_weak, kapi.Range(1), np.zeros(1), 1.0, 0.0)
    assert any("work-item global (0,)" in note for note in caught.value.__notes__)
    kapi.call_kernel(divide_weak, kapi.Range(1), np.zeros(1), np.float32(1), 0.0)


@kapi.kernel
def convert(item: kapi.Item, values, bytes_, integers):
    for k in range(values.shape[0]):
        bytes_[k] = np.uint8(values[k])
        integers[k] = int(values[k])


@pytest.mark.parametrize("checks", ["all", "none"])
def test_float_converted_to_an_integer_saturates(checks):
    values = np.array([math.nan, math.inf, -math.inf, 2.75, -0.75, 300.5], np.float32)
    bytes_, integers = np.zeros(6, np.uint8), np.zeros(6, np.int64)
    with kapi.simulation(checks=checks):
        kapi.call_kernel(convert, kapi.Range(1), values, bytes_, integers)
    np.testing.assert_array_equal(bytes_, [0, 255, 0, 2, 0, 255])
    np.testing.assert_array_equal(integers, [0, 2**63 - 1, -(2**63), 2, 0, 300])


@kapi.kernel
def wrap(item: kapi.Item, values, out):
    out[0] = np.int32(values[0])


def test_integer_converted_to_a_narrower_one_matches_numpy():
    out = np.zeros(1, np.int32)
    kapi.call_kernel(wrap, kapi.Range(1), np.array([2**33 + 5]), out)
    assert out[0] == 5


def test_weak_integer_beyond_64_bits_joins_a_strong_one():
    """NumPy has its own words for a Python int that no dtype holds; they become ours."""

    @kapi.kernel
    def scale(item: kapi.Item, a, n):
        a[0] += a[0] * (1 + n) ** 100

    with raises(kapi.DtypeError, "number-unfit", line="a[0] += a[0] * (1 + n) ** 100"):
        kapi.call_kernel(scale, kapi.Range(1), np.ones(1, np.int32), 1)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@given(data=st.data())
def test_fused_sums_of_narrow_floats_are_rounded_once(kind, data):
    numbers = st.floats(allow_nan=False, allow_infinity=False, width=16 if kind is np.float16 else 32)
    x, y = data.draw(numbers), data.draw(numbers)
    # Most random sums are far from the middle of two floats: these are near, or nothing but the product's rounding.
    with np.errstate(over="ignore"):
        rounded = float(kind(x * y))
    near = [2.0**-24, -(2.0**-24), *([-rounded] if math.isfinite(rounded) else [])]
    z = data.draw(st.one_of(numbers, st.sampled_from(near)))
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    with np.errstate(over="ignore", under="ignore"):
        got = kind(fused_to_odd(x, y, z))
    if np.isinf(got):
        assert abs(exact) >= Fraction(float(np.finfo(kind).max))
        return
    distance = abs(Fraction(float(got)) - exact)
    with np.errstate(over="ignore"):
        others = np.nextafter(got, kind(np.inf)), np.nextafter(got, kind(-np.inf))
    for other in others:
        if np.isfinite(other):
            away = abs(Fraction(float(other)) - exact)
            assert distance < away or (distance == away and got.view(f"u{got.itemsize}") % 2 == 0)


class Refused:
    """Kernels that lose a part of a number, each with what stands in place of `z[0]`."""

    @staticmethod
    def to_float(item: kapi.Item, z, out):
        out[0] = float(z[0])

    @staticmethod
    def to_float32(item: kapi.Item, z, out):
        out[0] = np.float32(z[0])

    @staticmethod
    def to_int(item: kapi.Item, z, out):
        out[0] = int(z[0])

    @staticmethod
    def to_int16(item: kapi.Item, z, out):
        out[0] = np.int16(z[0])

    @staticmethod
    def of_parts(item: kapi.Item, z, out):
        out[0] = complex(z[0], 1.0).imag

    @staticmethod
    def of_imaginary_part(item: kapi.Item, z, out):
        out[0] = complex(1.0, z[0]).real

    @staticmethod
    def in_math(item: kapi.Item, z, out):
        out[0] = math.exp(z[0])


REFUSED = [value.__func__ for name, value in vars(Refused).items() if isinstance(value, staticmethod)]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_imaginary_parts_are_not_lost(function, dtype):
    """NumPy takes the real part with a warning; a device refuses the kernel, and so does the simulator."""
    with pytest.raises(kapi.KernelCompilationError, match="real number") as caught:
        kapi.call_kernel(kapi.kernel(function), kapi.Range(1), np.array([1 + 2j], dtype), np.zeros(1))
    assert caught.value.code == "call-arguments"


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.bool_])
def test_reciprocal_of_an_integer_zero_is_reported(dtype):
    """It is a division by zero."""

    def invert(item: kapi.Item, a, out):
        out[0] = np.reciprocal(a[0])

    zero, one = np.zeros(1, dtype), np.ones(1, dtype)
    with pytest.raises(ZeroDivisionError, match="must not be zero"):
        kapi.call_kernel(kapi.kernel(invert), kapi.Range(1), zero, np.zeros(1))
    out = np.zeros(1)
    kapi.call_kernel(kapi.kernel(invert), kapi.Range(1), one, out)
    assert out[0] == 1


@pytest.mark.parametrize("spelling", ["x ** 0.5", "x ** (1 / y)", "pow(x, 0.5)"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_negative_float_to_a_fraction_is_no_complex_number(spelling, dtype):
    def powers(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i] = float(a[i]) ** 0.5

    def quotients(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i] = float(a[i]) ** (1 / float(a[1]))

    def calls(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i] = pow(float(a[i]), 0.5)

    kernel = kapi.kernel({"x ** 0.5": powers, "x ** (1 / y)": quotients, "pow(x, 0.5)": calls}[spelling])
    out = np.full(2, 7, dtype)
    with pytest.raises(ValueError, match="complex in Python and nan on a device"):
        kapi.call_kernel(kernel, kapi.Range(2), np.array([-4.0, 2.0]), out)
    kapi.call_kernel(kernel, kapi.Range(2), np.array([4.0, 2.0]), out)
    np.testing.assert_allclose(out, [2, np.sqrt(2)])


IN_WORK_ITEMS = """def kernel(item, a, u, out):
    i = item.get_global_id(0)
    largest = max(int(a[i]), u[i])
    out[i] = largest
"""
IN_SUB_GROUPS = (
    IN_WORK_ITEMS.replace("    largest", "    size = item.get_sub_group().get_local_range()\n    largest")
    + "    out[i] += 0 * size\n"
)


@pytest.mark.parametrize("source", [IN_WORK_ITEMS, IN_SUB_GROUPS], ids=["plain", "sub-groups"])
@pytest.mark.parametrize("has_source", [True, False])
def test_builtins_are_kernels_own_in_every_kernel(source, has_source, tmp_path):
    file = tmp_path / "kernel.py"
    if has_source:
        file.write_text(source, "utf-8")
    names = {}
    exec(compile(source, str(file), "exec"), names)
    kernel = kapi.kernel(names["kernel"])
    out = np.zeros(4, np.uint8)
    unsigned = np.array([15, 6, 7, 8], np.uint8)
    kapi.call_kernel(kernel, kapi.NdRange(4, 4), np.array([1, 9, 3, 4]), unsigned, out)
    assert out.tolist() == [15, 9, 7, 8]
    with raises(kapi.DtypeError, "number-unfit"):
        kapi.call_kernel(kernel, kapi.NdRange(4, 4), np.array([-1, 2, 3, 4]), unsigned, out)


def test_choice_in_a_kernel_without_source_is_a_number():
    """Its `np` is a closure's, so the function is NumPy's own, which gives an array without axes."""
    source = """
def make(kapi, np):
    @kapi.kernel
    def choose(item: kapi.Item, values, out):
        i = item.get_id(0)
        out[i] = np.where(values[i] > 0.5, -1, 0)
    return choose
"""
    scope = {}
    exec(source, scope)
    out = np.zeros(4, np.float32)
    kapi.call_kernel(scope["make"](kapi, np), kapi.Range(4), np.array([0.0, 1.0, 2.0, 0.25], np.float32), out)
    np.testing.assert_array_equal(out, [0, -1, -1, 0])


IN_FLOATS = ["n * n * 0.5", "n * n * x", "x * (n * n)", "n * n + x", "(n << 30) * x", "(n * n + 1) * x",
             "x + n * n * n", "-(n * n) * 0.5", "n ** 2 * x", "(n * n - 1) * 1.0"]  # fmt: skip


def float_chain(statement):
    names = {"kapi": kapi}
    source = f"def body(item, out, n):\n    x = out[0]\n    out[0] = {statement}\n"
    linecache.cache[statement] = (len(source), None, source.splitlines(True), statement)
    exec(compile(source, statement, "exec"), names)
    return kapi.kernel(names["body"])


@pytest.mark.parametrize("statement", IN_FLOATS)
def test_integers_beyond_64_bits_are_reported_in_chains_of_floats(statement):
    with raises(kapi.DtypeError, "integer-too-wide", words=False):
        float_chain(statement)[1](np.ones(1), 2**40 + 3)


@pytest.mark.parametrize("statement", IN_FLOATS)
def test_unchecked_integers_wrap_in_chains_of_floats(statement):
    out = np.ones(1)
    with np.errstate(over="ignore"), kapi.simulation(checks="none"):
        float_chain(statement)[1](out, 2**40 + 3)
        expected = eval(statement, {"n": np.int64(2**40 + 3), "x": np.float64(1)})
    assert out[0] == expected
