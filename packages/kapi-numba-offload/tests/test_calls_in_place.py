"""NumPy arrays in the context of the CPU: njit functions are offloaded, in the memory of the arrays."""

import asyncio
import subprocess
import sys
import threading
import warnings
from collections import namedtuple

import numba
import numpy as np
import pytest
from numba import prange

import kapi_numba_offload
import kapi_runtime
from kapi_numba_offload import OffloadFallbackWarning, offload_reports
from kapi_numba_offload._numba_compat import NumbaError
from kapi_numba_offload.libraries.host_array import HostArray

Pair = namedtuple("Pair", ["first", "second"])


@pytest.fixture
def on_cpu():
    with kapi_runtime.device_context("cpu"):
        yield


@numba.njit
def scaled(a, factor=2.0):
    b = a * factor
    return b + 1


@numba.njit
def doubled(a):
    for i in prange(a.shape[0]):
        a[i] *= 2


@numba.njit
def total(a):
    t = 0.0
    for i in prange(a.shape[0]):
        t += a[i]
    return t


@numba.njit
def halves(a, steps):
    """A sum that calls itself, and other functions."""
    if steps == 0:
        return scaled(a)
    return halves(a * 0.5, steps - 1) + total(a)


def plain(function, *args):
    """The result of a function where nothing is compiled: the functions that it calls are replaced."""
    own = {name: getattr(each, "py_func", each) for name, each in function.py_func.__globals__.items()}
    own["halves"] = lambda *given: plain(halves, *given)
    return type(function.py_func)(function.py_func.__code__, own, "f", function.py_func.__defaults__)(*args)


def test_the_context_decides_at_each_call(launches):
    a, expected = np.arange(4.0), [1, 3, 5, 7]
    counts = []
    for _ in range(2):
        assert scaled(a).tolist() == expected
        counts.append(len(launches))
        with kapi_runtime.device_context("cpu"):
            assert scaled(a).tolist() == expected
        counts.append(len(launches))
    assert counts == [0, 1, 1, 2]


def test_nested_contexts_have_their_own(launches):
    a, b = np.arange(4.0), np.arange(4.0)
    with kapi_runtime.device_context("opencl:cpu"):
        doubled(a)
        with kapi_runtime.device_context("cpu"):
            doubled(a)
            doubled(b)
        doubled(a)
    assert a.tolist() == [0, 8, 16, 24]
    assert b.tolist() == [0, 2, 4, 6]
    kinds = [type(args[0]) is HostArray for _, _, args in launches]
    assert kinds == [False, True, True, False]


def test_another_thread_and_task_have_none(on_cpu, launches):
    thread = threading.Thread(target=scaled, args=(np.ones(3),))
    thread.start()
    thread.join()
    assert launches == []

    async def task():
        with kapi_runtime.device_context("cpu"):
            await asyncio.sleep(0)
            scaled(np.ones(3))

    async def tasks():
        other = asyncio.create_task(task())
        await asyncio.sleep(0)
        scaled(np.ones(3))
        await other

    context = threading.Thread(target=lambda: asyncio.run(tasks()))
    context.start()
    context.join()
    assert len(launches) == 1


def test_threads_store_to_one_array():
    a, count = np.zeros(4), 20

    @numba.njit
    def add(a, i):
        a[i : i + 1] += 1

    def work(i):
        with kapi_runtime.device_context("cpu"):
            for _ in range(count):
                add(a, i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert a.tolist() == [count] * 4


def test_recursion_and_functions_of_functions(on_cpu, launches):
    a = np.arange(6.0)
    found = halves(a, 3)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, plain(halves, a, 3))
    assert len(launches) > 4


def test_arguments_are_passed_as_numba_takes_them(on_cpu, launches):
    @numba.njit
    def spread(a, *others):
        return a + others[0], others[1]

    @numba.njit
    def of_pair(pair):
        pair.second[:] = pair.first + 1
        return Pair(pair.second, pair.first * 2)

    a, b = np.arange(3.0), np.ones(3)
    assert scaled(a, factor=3.0).tolist() == [1, 4, 7]
    found, other = spread(a, b, a)
    assert found.tolist() == [1, 2, 3]
    assert other is a
    made = of_pair(Pair(a, b))
    assert made.first is b
    assert type(made) is Pair
    assert (b.tolist(), made.second.tolist()) == ([1, 2, 3], [0, 2, 4])
    assert len(launches) == 4


def test_results_are_numpy_arrays(on_cpu, launches):
    """The ones that were given, views of them, and new ones with memory of their own."""

    @numba.njit
    def f(a):
        a += 1
        new = a * 2
        return a, a[1:], new, np.where(a > 2, a, 0.0), np.sort(new), np.zeros(2), [new, new[:1]], (a.sum(), a.argmax())

    a = np.arange(4.0)
    same, view, new, where, sorted_, zeros, (one, part), numbers = f(a)
    assert same is a
    arrays = [view, new, where, sorted_, zeros, one, part]
    assert {type(each) for each in arrays} == {np.ndarray}
    assert np.shares_memory(view, a)
    assert np.shares_memory(part, new)
    assert new.flags.owndata
    assert [each.tolist() for each in arrays] == [
        [2, 3, 4], [2, 4, 6, 8], [0, 0, 3, 4], [2, 4, 6, 8], [0, 0], [2, 4, 6, 8], [2],
    ]  # fmt: skip
    assert [type(each) for each in numbers] == [float, int]
    assert numbers == (10.0, 3)


def test_what_is_no_kernel_works_in_the_same_memory(on_cpu, launches):
    """A loop of dependent iterations is Numba's, between two kernels; nothing is copied."""

    @numba.njit
    def f(a):
        a += 1
        for i in range(1, a.shape[0]):
            a[i] += a[i - 1]
        a *= 2

    a = np.ones(4)
    with pytest.warns(OffloadFallbackWarning, match=r"\[sequential-loop\][^$]*in the memory of its arrays"):
        f(a)
    assert a.tolist() == [4, 8, 12, 16]
    assert len(launches) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffloadFallbackWarning)
        found = kapi_numba_offload.explain(f, a)
    assert found.moved == 0
    assert [each.where for each in found.parts] == ["kernel", "host", "kernel"]


def test_functions_without_kernels_are_numba_s(on_cpu, launches):
    @numba.njit
    def f(a):
        return a[0]

    with pytest.warns(OffloadFallbackWarning, match=r"\[host-call\]"):
        assert f(np.ones(3)) == 1
    assert launches == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.zeros(25, np.uint8)[1:].view(np.float64),
        lambda: np.zeros(3, [("n", "f8"), ("m", "i1")])["n"],
        lambda: np.zeros((3, 3), np.complex128).reshape(-1).view(np.float64)[1:-1].view(np.complex128),
        lambda: np.broadcast_to(np.zeros(1), 3),
    ],
    ids=["misaligned", "field", "half", "broadcast"],
)
def test_layouts_that_kernels_lack_give_what_numba_gives(make):
    outcomes = []
    for context in (None, "cpu"):
        given = make()
        with kapi_runtime.device_context(context) if context else warnings.catch_warnings():
            warnings.simplefilter("ignore", OffloadFallbackWarning)
            try:
                outcomes.append((scaled(given, 3.0).tolist(), given.tolist()))
            except NumbaError:
                outcomes.append("refused")
    assert outcomes[0] == outcomes[1]


def test_aligned_and_misaligned_arrays_alternate(on_cpu):
    """Numba gives both one type where it looks at a call."""
    memory = np.zeros(8 * 4 + 1, np.uint8)
    aligned, other = memory[:-1].view(np.float64), memory[1:].view(np.float64)
    for _ in range(2):
        aligned[:] = 1
        assert scaled(aligned).tolist() == [3] * 4
        other[:] = 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffloadFallbackWarning)
            assert scaled(other).tolist() == [5] * 4


@numba.njit
def increased(a):
    a += 1
    return a


def test_the_first_array_of_a_function_is_misaligned(on_cpu):
    a = np.zeros(8 * 4 + 1, np.uint8)[1:].view(np.float64)
    compiled = numba.njit(increased.py_func)
    for expected in (1, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffloadFallbackWarning)
            assert compiled(a).tolist() == [expected] * 4


def test_sizes_decide_no_results_of_arrays_that_overlap_themselves(monkeypatch, on_cpu):
    """Numba would add to the one element as often as there are elements."""
    monkeypatch.delenv("KAPI_OFFLOAD_SMALL")
    for length in (4, 1_000_000):
        a = np.lib.stride_tricks.as_strided(np.zeros(1), (length,), (0,))
        assert increased(a)[0] == 1


def test_read_only_arrays_are_not_written(on_cpu):
    for length in (4, 4):
        a = np.ones(length)
        doubled(a)
        a.flags.writeable = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffloadFallbackWarning)
            with pytest.raises(ValueError, match="read-only"):
                doubled(a)
        assert a.tolist() == [2] * length


def test_layouts_are_used_in_place(on_cpu, layouts, launches):
    for name, make in layouts.items():
        memory, given = make()
        before, expected = len(launches), np.array(given) * 2
        doubled(given)
        assert len(launches) == before + 1, name
        np.testing.assert_array_equal(given, expected, err_msg=name)
        assert np.shares_memory(given, memory)


def test_cached_functions_are_found_in_and_out_of_the_context(tmp_path):
    """Numba's file keeps what it compiled, and no kernel takes its place."""
    (tmp_path / "functions.py").write_text(
        "import numba\n@numba.njit(cache=True)\ndef f(a):\n    b = a * 2\n    return b + 1\n", "utf-8"
    )
    program = (
        "import numpy as np, kapi_runtime, kapi_numba_offload\nfrom functions import f\n"
        "from kapi_numba_offload.run.launching import launches\n"
        "with launches() as seen:\n"
        "    a = f(np.ones(3))\n    with kapi_runtime.device_context('cpu'):\n        b = f(np.ones(3))\n"
        "print(a, b, len(seen), sum(f.stats.cache_hits.values()))\n"
    )
    found = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=300)
        for _ in range(2)
    ]
    assert [each.stdout for each in found] == ["[3. 3. 3.] [3. 3. 3.] 1 0\n", "[3. 3. 3.] [3. 3. 3.] 1 1\n"], found


def test_what_was_stored_before_an_exception_is_stored(on_cpu):
    @numba.njit
    def f(a):
        a += 1
        raise ValueError("enough")

    a = np.zeros(3)
    with pytest.raises(ValueError, match="enough"):
        f(a)
    assert a.tolist() == [1, 1, 1]
    assert scaled(a).tolist() == [3, 3, 3]  # the thread is outside of the function again


def test_dtypes_are_numpy_s(on_cpu):
    """As with other libraries: Numba gives int64 and float64 to the first two."""
    for dtype, expected in (("int32", "int32"), ("float32", "float32"), ("uint8", "uint8"), ("bool", "float64")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kapi_numba_offload.ArrayIntegersWarning)
            found = numba.njit(lambda a: a * 2 if a.dtype != np.bool_ else a * 2.0)(np.ones(3, dtype))
        assert (found.dtype, found.tolist()) == (np.dtype(expected), [2, 2, 2])


def test_functions_make_arrays_without_arguments(on_cpu, launches):
    @numba.njit
    def made(n):
        return np.arange(n) * 2 + np.ones(n)

    found = made(3)
    assert type(found) is np.ndarray
    assert found.tolist() == [1, 3, 5]
    assert len(launches) == 1


def test_arrays_from_outside_are_read_in_place(on_cpu):
    table = np.arange(3.0)

    @numba.njit
    def f(a):
        return a + table

    assert f(np.ones(3)).tolist() == [1, 2, 3]
    table[0] = 5
    assert f(np.ones(3)).tolist() == [6, 2, 3]


def test_reports_name_the_parts(on_cpu):
    f = numba.njit(scaled.py_func)
    f(np.ones(3))
    (report,) = offload_reports(f)
    assert [each.outcome for each in report.parts] == ["offloaded"]


def test_launches_of_many_iterations_are_done_when_the_next_statement_reads(on_cpu):
    """From some iteration on they are bound; NumPy waits for no queue."""

    @numba.njit
    def f(a, b, steps):
        for _ in range(steps):
            b[1:-1] = (a[2:] + a[:-2]) * 0.5
            a[1:-1] = b[1:-1]
        return np.sort(a)

    rng = np.random.default_rng(3)
    for steps in (70, 500):
        a, b = rng.random(60_000), np.zeros(60_000)
        expected = f.py_func(a.copy(), b.copy(), steps)
        np.testing.assert_allclose(f(a, b, steps), expected, rtol=1e-12)


@numba.njit
def pairs(x, y):
    return np.sum(x[:, None] * y[None, :], axis=1)


@numba.njit
def shifted_sums(a):
    a[1:] += a[:-1]
    return a * 2


@numba.njit
def steps(a, n):
    for _ in range(n):
        a[:] = a * 0.5 + 1
    return a


@numba.njit
def relaxed(a, steps):
    for _ in range(steps):
        a = a * 0.5 + 1
    return a


@numba.njit
def distances(a, out):
    for i in prange(a.shape[0]):
        out[i] = 0
        for j in range(a.shape[0]):
            out[i] += abs(a[i] - a[j])
    return out


@numba.njit
def added(a, b):
    a += b * 2
    return a * 2


@numba.njit
def shifted_by_another_name(a):
    before = a[:-1]
    a[1:] += before
    return a * 2


@numba.njit
def differences(u):
    made = 2.0 * u
    made[1:] -= u[:-1]
    return made


@numba.njit
def descended(b, steps):
    x = np.zeros_like(b)
    before = np.dot(b, b)
    for _ in range(steps):
        slope = differences(x) - b
        x -= 0.1 * slope
        now = np.dot(slope, slope)
        before = now
    return x / before


@numba.njit
def power(matrix, steps):
    v = np.ones(matrix.shape[0])
    for _ in range(steps):
        w = matrix @ v
        v = w / np.sqrt(np.sum(w * w))
    return v


@numba.njit
def windows(a):
    rows, columns = a.shape
    out = np.zeros((rows, columns))
    for i in prange(rows):
        for j in range(columns):
            out[i, j] = a[i, max(0, j - 1) : min(columns, j + 2)].sum()
    return out


@numba.njit
def halved(a):
    return a.astype(np.float32) * 0.1


@numba.njit
def narrowed(a):
    return halved(a) * 3 + 1


@numba.njit
def sum_of(*arrays):
    total = arrays[0] * 0
    for each in arrays:
        total = total + each
    return total


@numba.njit
def not_numba_s(a):
    return abs(a) * 2


@pytest.mark.parametrize(
    ("function", "make", "is_small"),
    [
        (scaled, lambda: (np.ones(1000),), True),
        (scaled, lambda: (np.ones(1_000_000),), False),
        (scaled, lambda: (np.ones(1000, np.float32),), False),
        (total, lambda: (np.ones(1000),), True),
        (pairs, lambda: (np.ones(1000), np.ones(1000)), False),
        (pairs, lambda: (np.ones(50), np.ones(50)), True),
        (shifted_sums, lambda: (np.ones(100),), True),
        (relaxed, lambda: (np.ones(500), 20), True),
        (distances, lambda: (np.ones(50), np.ones(50)), True),
        (distances, lambda: (np.ones(1000), np.ones(1000)), False),
        (not_numba_s, lambda: (np.ones(100),), False),
        (added, lambda: (np.ones(100), np.ones(100)), True),
        (added, lambda: (lambda a: (a[1:], a[:-1]))(np.arange(100.0)), False),
        (added, lambda: (lambda a: (a, a))(np.arange(100.0)), False),
        (shifted_by_another_name, lambda: (np.arange(100.0),), True),
        (descended, lambda: (np.arange(1000.0), 5), True),
        (power, lambda: (np.arange(90_000.0).reshape(300, 300), 5), True),
        (windows, lambda: (np.ones((30, 20)),), True),
        (windows, lambda: (np.ones((1000, 1000)),), True),
        (narrowed, lambda: (np.arange(100.0),), False),
        (sum_of, lambda: (np.ones(100), np.arange(100.0)), True),
    ],
)
def test_calls_smaller_than_launches_are_numba_s(monkeypatch, on_cpu, launches, function, make, is_small):
    """By the work that the source tells, not where the dtypes or the order of reads may differ, or work is unknown."""
    monkeypatch.delenv("KAPI_OFFLOAD_SMALL")
    compiled, given, expected = numba.njit(function.py_func), make(), make()
    found = kapi_numba_offload.explain(compiled, *given)
    assert (launches == []) == is_small
    assert any(each.reason.startswith("its arrays are small") for each in found.parts) == is_small
    np.testing.assert_allclose(found.result, plain(compiled, *expected), rtol=1e-6)


def test_small_calls_stay_on_the_device_where_that_is_wanted(monkeypatch, on_cpu, launches):
    function = kapi_numba_offload.offload(fallback=False)(scaled.py_func)
    function(np.ones(10))
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", "0")
    numba.njit(scaled.py_func)(np.ones(10))
    assert len(launches) == 2


def test_narrow_indices_count_from_the_end_of_long_arrays(on_cpu):
    @numba.njit
    def f(a, at):
        found = np.zeros(at.shape[0])
        for i in prange(at.shape[0]):
            found[i] = a[at[i]] + a[at[i] :].sum()
        return found

    a = np.arange(3000.0)
    for dtype in ("int8", "int16", "int32"):
        at = np.array([-1, -2, -100], dtype)
        assert f(a, at).tolist() == f.py_func(a, at).tolist()
