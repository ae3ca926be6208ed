"""`numpy.cumsum` and `cumprod` of expressions and arrays, along axes and of all elements: kernels on GPUs."""

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload import explain
from kapi_numba_offload.regions import scan
from kapi_sim.whole_arrays.world import Shape

RANDOM = np.random.default_rng(17)


@pytest.fixture
def short_scans(monkeypatch, as_on_a_gpu):
    """Scans of few elements are kernels, whose work-groups wait for others as on NVIDIA's GPUs."""
    monkeypatch.setattr(scan, "_LONG", 1)
    monkeypatch.setattr(scan, "_LONG_BYTES", 1)
    monkeypatch.setattr(scan, "_COLUMNS", 2)
    monkeypatch.setattr(scan._WORLD, "shape", lambda array, purpose, itemsize: Shape(64, 3, 4, 32))


def of_all(a, b, s):
    return np.cumsum(a * b + s), np.cumsum(a), (a * a).cumsum(), np.cumprod(a - a + s), np.cumsum(a[::-1], 0)


def along_axes(a, b, s):
    return (
        np.cumsum(a * b + s, axis=0),
        np.cumsum(a - b, axis=-1),
        a.cumsum(1),
        np.cumprod(b - b + s, axis=0),
        np.cumsum(a),
    )


@pytest.mark.nightly(one_in=2)
@pytest.mark.parametrize("dtype", ["bool", "int32", "uint64", "float32", "float64"])
def test_scans_are_kernels(dtype, short_scans, launches):
    """Of one tile and of several ones, the last of which is full or not; results have the library's dtypes."""
    s = np.dtype(dtype).type(1)
    of_bools = numba.njit(lambda a, b, s: (np.cumsum(a & b), np.cumsum(a)))
    f = of_bools if dtype == "bool" else numba.njit(of_all)
    for count in (1, 191, 192, 193, 30_011):
        a, b = (RANDOM.integers(0, 2, count).astype(dtype) for _ in range(2))
        launches.clear()
        found = f(dpnp.asarray(a), dpnp.asarray(b), s)
        names = [kernel.__name__ for kernel, *_ in launches]
        assert names.count("scan_tiles") == len(found)
        assert len(launches) == len(found) * (2 if count > 192 else 1) + (1 if dtype == "bool" else 2)
        for number, (one, other) in enumerate(zip(found, f.py_func(a, b, s), strict=True)):
            np.testing.assert_array_equal(one.asnumpy(), other, err_msg=f"{count} {number}")
            assert one.dtype == other.dtype


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_scans_along_axes_are_kernels(dtype, short_scans, launches):
    f, s = numba.njit(along_axes), np.dtype(dtype).type(1)
    for shape in (1, 2), (3, 700), (700, 3), (400, 5), (2, 2):
        a, b = (RANDOM.integers(0, 5, shape).astype(dtype) for _ in range(2))
        launches.clear()
        found = f(dpnp.asarray(a), dpnp.asarray(b), s)
        assert len(launches) >= len(found)
        for number, (one, other) in enumerate(zip(found, f.py_func(a, b, s), strict=True)):
            np.testing.assert_array_equal(one.asnumpy(), other, err_msg=f"{shape} {number}")
            assert one.dtype == other.dtype


def test_parts_and_what_is_no_kernel(short_scans):
    """Parts of arrays along axes; broadcasts, complex numbers and wrong axes are the library's."""

    @numba.njit
    def f(a, b, z):
        return (
            np.cumsum(a[:, ::-2] * b, axis=1),
            np.cumsum(a[1:] - 1, axis=0),
            np.cumsum(a[:, ::2] * b),
            np.cumsum(z * 2),
        )

    a, b, z = RANDOM.integers(0, 9, (40, 6)) / 2, np.arange(3.0), np.arange(5) * 1j
    for one, other in zip(f(*map(dpnp.asarray, (a, b, z))), f.py_func(a, b, z), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-12)
    with pytest.raises(Exception, match="axis 2"):
        numba.njit(lambda a: np.cumsum(a * 2, axis=2))(dpnp.asarray(a))


def test_explain_says_where_scans_ran(short_scans, monkeypatch):
    def f(a):
        return np.cumsum(a * 2) + np.cumsum(a)

    a = dpnp.arange(500.0)
    assert [each.where for each in explain(numba.njit(f), a).parts] == ["kernel"] * 3
    monkeypatch.undo()
    found = explain(numba.njit(f), a)
    assert sorted(each.where for each in found.parts) == [*[dpnp.__name__] * 3, "kernel"]
    assert "array library" in "".join(each.reason for each in found.parts)
    np.testing.assert_array_equal(found.result.asnumpy(), np.cumsum(np.arange(500.0)) * 3)
