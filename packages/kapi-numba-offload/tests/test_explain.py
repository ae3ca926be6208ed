"""`explain` calls a function and tells what its parts became."""

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

from kapi_numba_offload import OffloadFallbackWarning, explain
from kapi_numba_offload.analysis.source import definition_from_ir
from kapi_numba_offload.libraries.installed import default_library
from kapi_sim import KernelCompilationError
from kapi_sim.testing.reports import raises

LIBRARY = type(default_library())


@numba.njit
def steps(a, b):
    c = a * 2 + b
    for i in prange(a.shape[0]):
        c[i] += 1
    d = np.sort(c)
    for _ in range(3):
        d[:] = d * d[0]
    for i in range(1, d.shape[0]):
        d[i] += d[i - 1]
    return np.sum(d * 1)


def expected(a, b):
    d = np.sort(a * 2 + b + 1)
    for _ in range(3):
        d[:] = d * d[0]
    return np.cumsum(d).sum()


@pytest.mark.sycl
def test_each_part_is_reported_with_where_it_ran_and_why():
    a = np.asarray([1.0, 0.5, 2.0, 1.5])
    with pytest.warns(OffloadFallbackWarning):
        found = explain(steps, dpnp.asarray(a), dpnp.asarray(a))
    np.testing.assert_allclose(float(found.result), expected(a, a))
    told = [(part.where, part.runs, part.text.split("\n")[0][:14]) for part in found.parts]
    assert told == [
        ("kernel", 1, "c = a * 2 + b"),
        ("kernel", 1, "for i in prang"),
        (dpnp.__name__, 1, "np.sort(c)"),
        ("kernel", 3, "d[:] = d * d[0"),
        ("host", 1, "for i in range"),
        ("kernel", 1, "np.sum(d * 1)"),
    ]
    assert ["[sequential-loop]" in part.reason for part in found.parts] == [False] * 4 + [True, False]
    assert found.moved == 0
    assert 0 < sum(part.seconds for part in found.parts) <= found.seconds


def test_bytes_that_were_moved_are_reported(monkeypatch):
    monkeypatch.setattr(LIBRARY, "is_reachable", lambda *_: False)

    @numba.njit
    def f(a):
        for i in range(1, a.shape[0]):
            a[i] += a[i - 1]

    with pytest.warns(OffloadFallbackWarning):
        found = explain(f, dpnp.ones(8))
    assert found.moved >= 128
    assert "bytes moved" in str(found)
    assert "host" in str(found)


def test_calls_that_compile_say_so():
    """Their times have the compilation in them."""

    @numba.njit
    def f(a):
        return a + 1

    for has_compiled in (True, False):
        found = explain(f, dpnp.ones(8))
        assert found.has_compiled is has_compiled
        assert ("compilation included" in str(found)) is has_compiled


def test_what_is_not_offloaded_is_reported():
    @numba.njit
    def f(a):
        return a + 1

    assert "nothing of it was offloaded" in str(explain(f, np.ones(2)))


def test_function_with_branches_and_without_source_runs_on_the_host():
    scope = {"numba": numba}
    exec("@numba.njit\ndef f(a, n):\n    if n > 1:\n        return a * 2\n    return a + 1\n", scope)
    with pytest.warns(OffloadFallbackWarning, match=r"\[no-source\]"):
        given = scope["f"](dpnp.ones(3), 2)
    assert given.asnumpy().tolist() == [2, 2, 2]


def test_function_without_source_is_read_back_if_it_has_no_branches():
    scope = {}
    exec("def f(a, n):\n    if n > 1:\n        return a * 2\n    return a + 1\n", scope)
    with raises(KernelCompilationError, "offload-needs-source"):
        definition_from_ir(scope["f"], None)
