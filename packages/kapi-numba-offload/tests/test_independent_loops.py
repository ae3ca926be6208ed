"""Plain `range` loops whose iterations are independent are kernels; others are not, and say which dependence it is."""

import importlib.util
import warnings

import dpnp
import numba
import numpy as np
import pytest

import kapi_numba_offload
from kapi_numba_offload.loops import independent_loop

RANDOM = np.random.default_rng(8)
WIDTH = 3

pytestmark = pytest.mark.usefixtures("as_on_a_gpu")


@pytest.fixture(autouse=True)
def few_iterations(monkeypatch):
    monkeypatch.setattr(independent_loop, "_ON_GPU", 2)


def own_elements(a, b):
    for i in range(a.shape[0]):
        b[i] = 2.0 * a[i] + b[i]


def nest(a, b):
    n = a.shape[0]
    for i in range(1, n - 1):
        for j in range(n):
            if a[j] > 0.5:
                b[i] += a[j] * a[i - 1]


def backwards(a, b):
    for i in range(a.shape[0] - 1, -1, -2):
        b[i] = a[i // 2] - b[i]


def blocks(a, b):
    for i in range(a.shape[0] // WIDTH):
        b[3 * i + 1] = a[i] + b[1 + i * 3]


def private(a, b):
    for i in range(a.shape[0]):
        x = a[i]
        while x < 10.0:
            x = x * 2.0 + 1.0
        b[i] = x


def counted(a, b):
    count = 0
    for i in range(a.shape[0]):
        if a[i] > 0.5:
            count += 1
            b[i] = 1.0
    return count


def both_halves(a, b):
    n = a.shape[0] // 2
    for i in range(n):
        b[i + n] = a[i] + a[i + n]


def row_by_row(a, b):
    for i in range(a.shape[0]):
        b[i, 1:] = a[i, :-1] * 2.0


def column_by_column(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = a[j, i] if i < j else a[i, j]


def pairs(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = np.sqrt(a[i, j]) + b[i, 0] * 0.0 if j == 0 else np.sqrt(a[i, j])


@numba.njit
def scaled(x):
    return x * 0.5 + 1.0


def calls(a, b):
    for i in range(len(a)):
        b[i] = scaled(a[i]) + abs(a[i]) + min(a[i], 0.5)


LINES = [own_elements, nest, backwards, blocks, private, counted, both_halves, calls]
PLANES = [row_by_row, column_by_column]


# Each function has one of the dtypes by day, another than the one before it, and all of them at night.
@pytest.mark.parametrize(("function", "dtype"), [
    pytest.param(function, dtype, marks=() if (row + column) % 3 == 0 else pytest.mark.nightly)
    for row, function in enumerate([*LINES, *PLANES])
    for column, dtype in enumerate(["float64", "float32", "int64"])
    if (function, dtype) != (counted, "float32")  # its reduction is of integers, and of one type for all that is known
])  # fmt: skip
def test_independent_iterations_are_a_kernel(function, dtype, launches):
    shape = (20, 20) if function in PLANES else (90,)
    a, b = ((RANDOM.random(shape) * 9).astype(dtype) for _ in range(2))
    given = dpnp.asarray(a), dpnp.asarray(b)
    found = numba.njit(function)(*given)
    expected = function(a, b)
    assert found == expected
    for one, other in zip(given, (a, b), strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(one), other, rtol=1e-5 if dtype == "float32" else 1e-12)
    assert launches


def sums(a, b):
    total, largest = 0.0, 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
        largest = max(largest, a[i])
    return total, largest


def test_recurrences_that_are_reductions_are_kernels(launches):
    a, b = RANDOM.random(1000), RANDOM.random(1000)
    found = numba.njit(sums)(dpnp.asarray(a), dpnp.asarray(b))
    np.testing.assert_allclose(found, sums(a, b), rtol=1e-12)
    assert launches


def number_last(a, most):
    for i in range(a.shape[0]):
        most = max(a[i], most)
    return most


def number_first(a, most):
    for i in range(a.shape[0]):
        most = max(most, a[i])
    return most


def number_within(a, most):
    for i in range(a.shape[0]):
        most = min(a[i], most, a[i] + 1)
    return most


def with_numpy(a, most):
    for i in range(a.shape[0]):
        most = np.maximum(a[i], most)
    return most


def guarded(a, most):
    for i in range(a.shape[0]):
        if a[i] >= most:
            most = a[i]
    return most


# By day each function has each position and each number once, at night with each other.
@pytest.mark.parametrize(("at", "most"), [
    pytest.param(at, most, marks=() if row == column else pytest.mark.nightly)
    for row, at in enumerate([0, 500, 999])
    for column, most in enumerate([1.5, np.nan, -np.inf])
])  # fmt: skip
@pytest.mark.parametrize(
    ("function", "is_kernel"),
    [(number_last, False), (number_within, False), (number_first, True), (with_numpy, True), (guarded, True)],
)
def test_extrema_of_numbers_and_nan_are_those_of_the_loop(function, is_kernel, at, most, launches):
    a = 1.0 - np.arange(1000.0)
    a[at] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error" if is_kernel else "ignore", kapi_numba_offload.OffloadFallbackWarning)
        found = numba.njit(function)(dpnp.asarray(a), most)
    np.testing.assert_equal(found, function(a, most))
    assert bool(launches) == is_kernel


def test_extrema_of_integers_need_no_order(launches):
    a = RANDOM.integers(-9, 9, 1000)
    assert numba.njit(number_last)(dpnp.asarray(a), -100) == a.max()
    assert launches


def earlier(a, b):
    for i in range(1, a.shape[0]):
        b[i] = b[i - 1] + a[i]


def later(a, b):
    for i in range(a.shape[0] - 1):
        b[i] = b[i + 1] + a[i]


def same(a, b):
    for i in range(a.shape[0]):
        b[0] = b[0] * 0.5 + a[i]


def carried(a, b):
    x = 0.0
    for i in range(a.shape[0]):
        x = x * 0.5 + a[i]
        b[i] = x


def left(a, b):
    x = 0.0
    for i in range(a.shape[0]):
        x = a[i]
        b[i] = x + 1.0
    b[0] = x


def ends(a, b):
    for i in range(a.shape[0]):
        if a[i] > 8.0:
            break
        b[i] = a[i]


def renamed(a, b):
    for i in range(a.shape[0]):
        c = b
        c[i] = a[i] + b[a.shape[0] - 1 - i]


def divided(a, b):
    for i in range(a.shape[0]):
        b[i] = a[i] // (b[i] + 1)


def from_the_end(a, b):
    for i in range(a.shape[0] + 1):
        b[i - 1] = b[i - 1] + i


def read_as_value(a, b):
    for i in range(a.shape[0]):
        b[i] = a[i] + np.max(b)


DEPENDENT = [
    earlier, later, same, carried, left, ends, renamed, divided, from_the_end, read_as_value,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("function", DEPENDENT)
def test_dependent_iterations_run_in_their_order(function, launches):
    a, b = RANDOM.random(30) * 9, RANDOM.random(30) * 9
    given = dpnp.asarray(a), dpnp.asarray(b)
    numba.njit(function)(*given)
    function(a, b)
    np.testing.assert_allclose(dpnp.asnumpy(given[1]), b, rtol=1e-12)
    assert not any("line" in kernel.__name__ or "loop" in kernel.__name__ for kernel, *_ in launches)


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_arrays_that_share_memory_are_no_kernel(launches):
    a = RANDOM.random(31)
    given = dpnp.asarray(a)
    numba.njit(own_elements)(given[:-1], given[1:])
    own_elements(a[:-1], a[1:])
    np.testing.assert_allclose(dpnp.asnumpy(given), a, rtol=1e-12)
    assert not launches


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("dtype", ["int8", "uint32", "bool"])
def test_integers_of_other_widths_are_numba_s(dtype, launches):
    a, b = (RANDOM.integers(0, 2, 30).astype(dtype) for _ in range(2))
    expected = b.copy()
    numba.njit(own_elements)(a, expected)
    given = dpnp.asarray(b)
    numba.njit(own_elements)(dpnp.asarray(a), given)
    np.testing.assert_array_equal(dpnp.asnumpy(given), expected)
    assert not launches


def masked(a, b, mask):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if mask[i, j] and not a[i, j] > 0.9:
                b[i, j] **= -1.5


def comparisons(a, b, mask):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            mask[i, j] = a[i, j] > 0.5 or not b[i, j]


def sums_of_bools(a, b, mask):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] += mask[i, j] + mask[i, j]


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize(("function", "is_kernel"), [(masked, True), (comparisons, True), (sums_of_bools, False)])
def test_bools_that_are_conditions_are_a_kernel_s(function, is_kernel, launches):
    a, b = RANDOM.random((2, 9, 7))
    mask = RANDOM.random((9, 7)) > 0.4
    given = [dpnp.asarray(each) for each in (a, b, mask)]
    expected = a.copy(), b.copy(), mask.copy()
    numba.njit(function)(*given)
    numba.njit(function)(*expected)
    for found, each in zip(given, expected, strict=True):
        np.testing.assert_allclose(found.asnumpy(), each, rtol=1e-12)
    assert bool(launches) == is_kernel


def test_warning_names_the_dependence():
    a, b = dpnp.ones(30), dpnp.ones(30)
    with pytest.warns(
        kapi_numba_offload.OffloadFallbackWarning, match=r"store `b\[i\]` where another one has `b\[i - 1"
    ):
        numba.njit(earlier)(a, b)


def steps(a, b, n):
    for _ in range(n):
        for i in range(1, a.shape[0] - 1):
            b[i] = (a[i - 1] + a[i + 1]) / 2
        for i in range(1, a.shape[0] - 1):
            a[i] = b[i]


def swapped(a, b, n):
    change, step = 1.0, 0
    while change > 1e-9 and step < n:
        change = 0.0
        for i in range(1, a.shape[0] - 1):
            b[i] = (a[i - 1] + a[i + 1]) / 2
            change += abs(b[i] - a[i])
        a, b = b, a
        step += 1
    return change


def one_in_order(a, b, n):
    for _ in range(n):
        for i in range(a.shape[0]):
            b[i] = a[i] * 0.5
        for i in range(1, a.shape[0]):
            a[i] = a[i] * 0.5 + b[i - 1] * a[i - 1]


def of_a_part(a, b, n):
    for k in range(n):
        for i in range(k + 1, a.shape[0]):
            b[i] = b[i] - 0.5 * a[k]


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize(("function", "count"), [(steps, 10), (swapped, 10), (one_in_order, 0), (of_a_part, 0)])
def test_loops_around_kernels_stay_in_the_function(function, count, launches):
    """Two launches a step; the host has all of a loop whose inner loops are not all kernels before it begins."""
    a, b = RANDOM.random(40), RANDOM.random(40)
    given = dpnp.asarray(a), dpnp.asarray(b)
    compiled = numba.njit(function)
    found = compiled(*given, 5)
    expected = function(a, b, 5)
    np.testing.assert_equal(found is None, expected is None)
    if expected is not None:
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    for one, other in zip(given, (a, b), strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(one), other, rtol=1e-12)
    assert len(launches) == count
    kinds = {part.outcome for part in kapi_numba_offload.offload_reports(compiled)[0].parts}
    assert kinds == {"offloaded" if count else "host"}


class Writer:
    """Writes functions of loops over `a` and `b`, of one axis, and `c`, of two, with subscripts of all kinds."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def pick(self, *given):
        return given[self.random.integers(len(given))]

    def index(self, variables):
        variable = self.pick(*variables)
        return self.pick(
            variable, variable, variable, f"{variable} + 1", f"{variable} - 1", f"2 * {variable}",
            f"n - 1 - {variable}", "0", "m", f"{variable} // 2", " + ".join(variables),
        )  # fmt: skip

    def element(self, variables):
        name = self.pick("a", "b", "c")
        if name == "c":
            return f"c[{self.index(variables)}, {self.index(variables)}]"
        return f"{name}[{self.index(variables)}]"

    def value(self, variables):
        parts = [
            self.pick(self.element(variables), self.element(variables), "x", "0.5", variables[0]) for _ in range(2)
        ]
        return f"{parts[0]} {self.pick('+', '-', '*')} 0.25 * {parts[1]}"

    def block(self, variables, indent):
        lines = [f"{indent}x = {self.value(variables)}" if self.pick(0, 1) else f"{indent}x = 0.0"]
        for _ in range(self.pick(1, 2)):
            kind = self.pick("store", "store", "update", "if", "sum")
            if kind == "store":
                lines.append(f"{indent}{self.element(variables)} = {self.value(variables)}")
            elif kind == "update":
                lines.append(f"{indent}{self.element(variables)} {self.pick('+=', '*=')} {self.value(variables)}")
            elif kind == "sum":
                lines.append(f"{indent}s += {self.value(variables)}")
            else:
                lines += [f"{indent}if {self.element(variables)} > 0.3:", f"{indent}    x = {self.value(variables)}"]
        return lines

    def function(self):
        stop = self.pick("n // 2", "n // 2 - 1", "k")
        lines = ["def f(a, b, c, n, m, k):", "    s = 0.0", "    x = 0.0"]
        lines.append(f"    for i in {self.pick(f'range(1, {stop})', f'range({stop})', f'range({stop} - 1, 0, -1)')}:")
        variables = ["i"]
        indent = "        "
        if self.pick(0, 1):
            lines.append(f"{indent}for j in range({self.pick('1, ', '')}{self.pick('n // 2', 'k')}):")
            variables.append("j")
            indent += "    "
        lines += self.block(variables, indent)
        if self.pick(0, 1, 1):
            return "\n".join([*lines, "    return s", ""])
        around = ["    for t in range(3):", *(f"    {each}" for each in lines[3:])]
        again = ["        for i in range(1, n // 2):", *self.block(["i"], "            ")] if self.pick(0, 1) else []
        return "\n".join([*lines[:3], *around, *again, "    return s", ""])


@pytest.mark.nightly(one_in=4)
@pytest.mark.parametrize("seed", range(40))
def test_random_loops(seed, tmp_path, monkeypatch):
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", "0")
    source = Writer(seed).function()
    path = tmp_path / f"random_loop_{seed}.py"
    path.write_text(source, encoding="utf-8")
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    n, m, k = 24, 3, 9
    arrays = RANDOM.random(n), RANDOM.random(n), RANDOM.random((n, n))
    given = [dpnp.asarray(each) for each in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = numba.njit(module.f)(*given, n, m, k)
    expected = module.f(*arrays, n, m, k)
    np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=source)
    for one, other in zip(given, arrays, strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(one), other, rtol=1e-9, err_msg=source)


def counts(h, k):
    for i in range(k.size):
        h[k[i]] += 1
        h[k[i] // 2 - 10] -= k[i]


def bits(h, k):
    for i in range(k.size):
        for j in range(4):
            if k[i] > j:
                h[k[i] - j] |= j


def sums_and_a_number(h, k):
    for i in range(k.size):
        h[k[i]] += 1
        h[i % 3] = 0


def sums_and_bits(h, k):
    for i in range(k.size):
        h[k[i]] += 1
        h[k[i] // 2] |= 2


def sums_of_sums(h, k):
    for i in range(k.size):
        h[k[i]] += h[0]


def fractions(h, k):
    for i in range(k.size):
        h[k[i]] += k[i] * 0.3


@pytest.mark.parametrize(
    ("function", "dtype", "is_kernel"),
    [
        (counts, "int64", True), (bits, "int64", True), (counts, "float64", True), (sums_and_a_number, "int64", False),
        (sums_and_bits, "int64", False), (sums_of_sums, "int64", False), (fractions, "int64", False),
        (fractions, "float64", True), (counts, "float32", True), (counts, "complex128", False),
    ],
)  # fmt: skip
def test_updates_that_collide_are_kernels_if_they_are_sums(function, dtype, is_kernel, launches):
    k = RANDOM.integers(0, 10, 1000)
    expected, given = np.arange(10).astype(dtype), dpnp.asarray(np.arange(10).astype(dtype))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        numba.njit(function)(given, dpnp.asarray(k))
    with np.errstate(over="ignore"):
        function(expected, k)
    if function is fractions and dtype == "float64":
        np.testing.assert_allclose(given.asnumpy(), expected, rtol=1e-13)
    else:
        np.testing.assert_array_equal(given.asnumpy(), expected)
    assert len(launches) == is_kernel
    assert len(caught) == (not is_kernel)
