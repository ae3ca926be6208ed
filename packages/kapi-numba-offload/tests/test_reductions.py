"""Reductions of expressions, fused into one pass, and of arrays, with and without an axis."""

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload.libraries.installed import default_library

LIBRARY = type(default_library())

NAMES = ["sum", "prod", "min", "max", "mean", "any", "all"]


class Dpnp:
    def __getattr__(self, name):
        return getattr(dpnp, name)


def of(text):
    scope = {"np": np}
    exec(f"def f(a, b):\n    return {text}", scope)
    return numba.njit(scope["f"])


def expected(text, a, b):
    return eval(text, {"np": Dpnp(), "a": a, "b": b})


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.ArrayIntegersWarning")
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_reductions_of_expressions_are_fused(dtype, assert_same, launches):
    """One pass over the operands, and a launch for what work-items leave; results are numbers."""
    values = np.random.default_rng(3).integers(1, 9, (70, 50))
    a, b = dpnp.asarray(values, dtype=dtype), dpnp.asarray(values[::-1] * 2, dtype=dtype)
    texts = ["np.sum(a * b)", "(a * b + 1).mean()", "np.min(a - b)", "(a - b).max()"]
    texts += ["np.any(a > b)", "np.all(a < b)", "np.prod(a / a)"]
    results = of(", ".join(texts))(a, b)
    assert len(texts) <= len(launches) <= 2 * len(texts)
    for text, result in zip(texts, results, strict=True):
        assert_same(result, expected(text, a, b), rtol=1e-5)


def test_reductions_propagate_nan_as_dpnp_does(assert_same):
    """One that is not a number makes the extremum none."""
    a = dpnp.asarray([1.0, np.nan, 3.0])
    for text in ("np.max(a * b)", "np.min(a * b)"):
        assert_same(of(text)(a, a), expected(text, a, a))


@pytest.mark.parametrize("name", [*NAMES, "argmin", "argmax"])
def test_reductions_of_arrays_are_dpnps(name, assert_same):
    """Without an axis, with one, and of an expression with one."""
    a = dpnp.reshape(dpnp.asarray([3, 1, 4, 1, 5, 9, 2, 6], dtype="float32"), (2, 4))
    text = ", ".join([f"np.{name}(a)", f"np.{name}(a, axis=0)", f"(a + b).{name}(axis=1)", f"a.{name}()"])
    for result, other in zip(of(text)(a, a), expected(text, a, a), strict=True):
        assert_same(result, other)


@pytest.mark.nightly(one_in=2)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "bool", "complex64"])
def test_extrema_of_many_elements_are_kapis(dtype, assert_same, launches):
    """Contiguous arrays, of more than one axis as well; views, and what is not a number, as dpnp has them."""
    values = np.arange(-60_000, 60_000).reshape(300, 400) % 251
    a = dpnp.asarray(values).astype(dtype)
    text = "np.min(a), a.max(), np.max(b), np.min(b)"
    for result, other in zip(of(text)(a, a[:, ::3]), expected(text, a, a[:, ::3]), strict=True):
        assert_same(result, other)
    assert len(launches) in ((0,) if dtype == "complex64" else (4, 8))
    if dtype.startswith("float"):
        a[3, 7] = np.nan
        for result, other in zip(of("np.min(a), a.max()")(a, a), expected("np.min(a), a.max()", a, a), strict=True):
            assert_same(result, other)


@pytest.mark.parametrize("is_gpu", [False, True])
def test_sums_of_float16_are_float32s(is_gpu, request):
    """A number that float16 cannot hold on the way to a result that it can, and the number of elements."""
    if is_gpu:
        request.getfixturevalue("as_on_a_gpu")
    a, b = np.full((2, 70_000), 2.0, np.float16), np.tile(np.float16([2, 0.5]), (2, 35_000))
    texts = "np.mean(a * b), (a * b).mean(axis=1), np.sum(a * b / 1024, axis=0), np.prod(a - a + 1), np.sum(b / 512)"
    f = of(texts)
    for found, expected in zip(f(dpnp.asarray(a), dpnp.asarray(b)), f.py_func(a, b), strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(found), expected, rtol=1e-3)


def test_reductions_of_views_and_broadcasts(assert_same):
    """An operand that is not contiguous is computed first, and reduced by dpnp."""
    a = dpnp.reshape(dpnp.arange(12.0), (3, 4))
    for text in ("np.sum(a[:, ::2] * 2)", "np.sum(a * b)"):
        assert_same(of(text)(a, a[0]), expected(text, a, a[0]))


def test_reduction_of_nothing_is_dpnps(assert_same):
    """A sum of no elements is 0, an extremum dpnp's error."""
    empty = dpnp.ones(0)
    assert_same(of("np.sum(a * b)")(empty, empty), dpnp.sum(empty))
    with pytest.raises(ValueError, match="zero-size|reduc"):
        of("np.max(a * b)")(empty, empty)


def test_reduction_is_a_scalar_where_one_is_used(assert_same):
    """In a condition, in an expression, and as the bound of a loop."""

    @numba.njit
    def f(a):
        total = np.sum(a * 1)
        if total > 2:
            a = a * total
        for i in numba.prange(a.shape[0]):
            a[i] += total
        return a, total

    a, total = f(dpnp.ones(3))
    assert a.asnumpy().tolist() == [6, 6, 6]
    assert_same(total, dpnp.sum(dpnp.ones(3)))


AXES = ["axis=0", "axis=1", "axis=-1", "axis=(0, 2)", "axis=1, keepdims=True", "axis=(0, 1, 2)"]


def test_reductions_of_expressions_along_axes_are_fused(assert_same, launches):
    """No array of the expression is made: one kernel, or two where few results are split among work-items."""
    values = np.random.default_rng(5).integers(1, 9, (3, 5, 70))
    a, b = dpnp.asarray(values, dtype="float32"), dpnp.asarray(values[0], dtype="float32")
    texts = [f"np.sum(a * b, {axis})" for axis in AXES]
    texts += ["np.mean(a - b, axis=2)", "(a + b).max(0)", "np.min(a[:, ::-1] * 2, 1)", "np.prod(a / b, axis=0)"]
    texts += ["np.any(a > b, axis=0)", "np.all(a == a, axis=(1, 2))", "np.sum(a > 3, axis=2)"]
    results = of(", ".join(texts))(a, b)
    assert len(texts) <= len(launches) <= 2 * len(texts)
    assert {(3, 5, 70)}.isdisjoint(each.shape for _, _, args in launches for each in args[:1])
    for text, result in zip(texts, results, strict=True):
        assert_same(result, expected(text, a, b), rtol=1e-5)


def test_reduction_along_an_axis_allocates_its_result_only(assert_same, monkeypatch):
    """Counted: one array for 300 sums, whose work-items need no help."""
    made = []
    allocator = LIBRARY.allocator

    def counted(library, shape, *rest):
        make = allocator(library, shape, *rest)
        return lambda queue: made.append(shape) or make(queue)

    monkeypatch.setattr(LIBRARY, "allocator", counted)
    a = dpnp.reshape(dpnp.arange(6000.0), (300, 20))
    f = of("np.sum(a * b, axis=1)")
    assert_same(f(a, a), dpnp.sum(a * a, axis=1))
    made.clear()
    f(a, a)
    assert made == [(300,)]


def test_reduction_along_an_axis_that_is_none_is_dpnps_error():
    """In dpnp's own words; empty arrays are dpnp's, too."""
    a = dpnp.ones((2, 3))
    with pytest.raises(Exception, match="axis 5 is out of bounds"):
        of("np.sum(a * b, axis=5)")(a, a)
    assert of("np.sum(a * b, axis=0)")(a[:0], a[:0]).asnumpy().tolist() == [0, 0, 0]
