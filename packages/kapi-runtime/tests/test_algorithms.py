from __future__ import annotations

import contextlib

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_sim.language.intrinsics.operators import OPERATORS, operator_row
from kapi_sim.whole_arrays.world import Shape

al = kapi.algorithms
RNG = np.random.default_rng(20261127)


@pytest.fixture(params=["as on a CPU", "as on a GPU"])
def shaped(request, monkeypatch):
    if request.param == "as on a GPU":
        monkeypatch.setattr(al._WORLD, "shape", lambda array, purpose, size: Shape(16, 4, 5))


@kapi.device_func
def later(x, y):
    return x if y == 0 else y


@kapi.device_func
def nearer(x, y):
    return abs(x) < abs(y)


@kapi.device_func
def is_odd(x):
    return x % 2 == 1


@pytest.mark.usefixtures("shaped")
def test_reduce_and_scan_over_numpy_arrays():
    for count in (1, 16, 20_011):
        a = RNG.integers(-9, 9, count).astype(np.int32)
        assert al.reduce(a, 7) == a.sum() + 7
        np.testing.assert_array_equal(al.inclusive_scan(a[::-1]), np.cumsum(a[::-1], dtype=np.int32))
        indices = np.maximum.accumulate(np.where(a != 0, np.arange(count), 0))
        np.testing.assert_array_equal(al.inclusive_scan(a, later), a[indices])
    assert al.reduce(np.array([False, True, False]), op=kapi.logical_or)
    assert al.reduce(np.zeros(0, np.int32), 7) == 7


def test_sums_of_floats_are_the_same_each_time():
    a = RNG.standard_normal(70_001).astype(np.float32)
    assert al.reduce(a) == al.reduce(a.copy())
    assert al.inclusive_scan(a).tobytes() == al.inclusive_scan(a.copy()).tobytes()
    np.testing.assert_allclose(al.inclusive_scan(a), np.cumsum(a, dtype=np.float64), atol=1e-3)


@pytest.mark.parametrize("count", [300, 3001])
def test_sorts_over_numpy_arrays(count):
    a = RNG.integers(0, 2**32, count, dtype=np.uint32).view(np.float32)
    a[:4] = [np.nan, -0.0, 0.0, -np.inf]
    keys, values = a.copy(), np.arange(a.size, dtype=np.int32)
    al.sort_by_key(keys, values)
    np.testing.assert_array_equal(values, np.argsort(a, kind="stable"))
    assert keys.tobytes() == a[values].tobytes()
    b = RNG.integers(-50, 50, count).astype(np.int8)
    c = b.copy()
    al.sort(c)
    np.testing.assert_array_equal(c, np.sort(b))
    al.sort(b, nearer)
    assert (np.diff(np.abs(b.astype(int))) >= 0).all()


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "uint32", "int64", "float16", "float32", "float64", "complex64"]
)
@pytest.mark.parametrize("descending", [False, True])
def test_sorts_over_numpy_arrays_are_stable_to_the_bit(dtype, descending):
    memory = RNG.integers(-9, 9, 2 * 703).astype(dtype)
    if memory.dtype.kind in "fc":
        hard = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-7]
        memory[:350] = RNG.choice(np.array(hard, dtype), 350)
        memory[:4].view(f"uint{8 * memory.real.itemsize}")[:] |= 5  # other bits of not-a-number, and small numbers
    a = memory[::-2]
    _, ranks = np.unique(a, return_inverse=True)
    if memory.dtype.kind == "c":
        ranks = np.argsort(np.argsort(a, kind="stable"), kind="stable")
        ranks = np.array([ranks[[same_number(x, y) for y in a]].min() for x in a])
    order = np.argsort(-ranks if descending else ranks, kind="stable")
    for values in (None, np.arange(a.size, dtype=np.int16)):
        base = memory.copy()
        keys = base[::-2]
        if values is None:
            al.sort(keys, descending=descending)
        else:
            al.sort_by_key(keys, values, descending=descending)
            np.testing.assert_array_equal(values, order)
        assert keys.tobytes() == a[order].tobytes()
        assert base[::2].tobytes() == memory[::2].tobytes()


def same_number(x, y):
    return all(a == b or (a != a and b != b) for a, b in ((x.real, y.real), (x.imag, y.imag)))


@pytest.mark.nightly(one_in=3)
@pytest.mark.parametrize("op", [row.function for row in OPERATORS], ids=lambda op: op.__name__)
def test_reductions_of_short_and_long_arrays_agree(op):
    for dtype in ("bool", "int8", "uint64", "float32"):
        row = operator_row(op)
        if np.dtype(dtype).kind not in row.kinds:
            continue
        a = RNG.integers(-99, 99, 600_000).astype(dtype)
        for each in (a[:300], a[::-600], a):
            wanted = each[0]
            with np.errstate(over="ignore", invalid="ignore"):
                for x in each[1:300]:
                    wanted = each.dtype.type(op(wanted, x))
            found = al.reduce(each[1:300], each[0], op)
            np.testing.assert_allclose(found, wanted, rtol=1e-3)
            found = al.reduce(each, op=op)
            assert found.dtype == dtype
            if row.kinds == "biu" or op in (kapi.minimum, kapi.maximum):
                ufunc = {kapi.minimum: np.minimum, kapi.maximum: np.maximum}.get(op) or getattr(
                    np, op.__name__.replace("bit", "bitwise")
                )
                assert found == ufunc.reduce(each)


@pytest.mark.parametrize("where", ["the default queue", "a queue of a context"])
def test_what_numpy_does_is_in_its_order_among_the_launches(where):
    @kapi.kernel
    def slow(item: kapi.Item, a, count):
        i = item.get_id(0)
        for _ in range(count):
            a[i] = (a[i] * 5 + 3) % 1009

    a = RNG.integers(0, 1000, 1000)
    wanted = a.copy()
    for _ in range(20_000):
        wanted = (wanted * 5 + 3) % 1009
    with kapi.device_context("cpu") if where != "the default queue" else contextlib.nullcontext():
        kapi.call_kernel_async(slow, kapi.Range(a.size), (), a, 20_000)
        assert al.reduce(a, op=kapi.maximum) == wanted.max()
        kapi.call_kernel_async(slow, kapi.Range(a.size), (), a, 1)
        al.sort(a)
    np.testing.assert_array_equal(a, np.sort((wanted * 5 + 3) % 1009))


def test_sorts_of_a_graph_run_at_its_replays():
    a = RNG.integers(0, 1000, 3000).astype(np.int32)
    work, total = a.copy(), np.zeros(1, np.int32)
    with kapi.graph() as graph:
        al.sort(work)
        al.reduce(work, out=total)
    assert (work == a).all()
    assert total[0] == 0
    graph()[0].wait()
    assert (work == np.sort(a)).all()
    assert total[0] == a.sum()


def test_groups_that_wait_for_groups_that_have_started(monkeypatch):
    monkeypatch.setattr(al._WORLD, "shape", lambda array, purpose, size: Shape(32, 3, 4, 4))
    monkeypatch.setattr(al._WORLD, "has_done", lambda *given: False)
    a = RNG.integers(-9, 9, 20_011).astype(np.int16)
    for _ in range(5):  # threads take the groups in other orders
        np.testing.assert_array_equal(al.inclusive_scan(a), np.cumsum(a, dtype=np.int16))
        keys, values = a.copy(), np.arange(a.size)
        al.sort_by_key(keys, values)
        np.testing.assert_array_equal(values, np.argsort(a, kind="stable"))
    floats = RNG.standard_normal(20_011).astype(np.float32)
    assert len({al.inclusive_scan(floats).tobytes() for _ in range(5)}) == 1


@pytest.mark.usefixtures("shaped")
def test_selections_and_segments_over_numpy_arrays():
    a = RNG.integers(0, 4, 5003).astype(np.int16)
    np.testing.assert_array_equal(al.copy_if(a, is_odd), a[a % 2 == 1])
    keys = np.sort(a)
    np.testing.assert_array_equal(al.unique(keys), np.unique(keys))
    found, sums = al.reduce_by_segment(keys, a)
    np.testing.assert_array_equal(found, np.unique(keys))
    np.testing.assert_array_equal(sums, [a[keys == each].sum() for each in found])
    floats = (a * 0.1).astype(np.float32)
    np.testing.assert_array_equal(al.histogram(floats, 3, 0, 0.3), np.histogram(floats, 3, (0, 0.3))[0])


RECORD = np.dtype([("key", "i2"), ("weight", "f4"), ("place", "f4", 2)])


@kapi.device_func
def heavier(a, b):
    return a if a.weight > b.weight else b


@kapi.device_func
def smaller_key(a, b):
    return a.key < b.key


@kapi.device_func
def same_key(a, b):
    return a.key == b.key


@kapi.device_func
def odd_key(a):
    return a.key % 2 == 1


def records(count):
    a = np.zeros(count, RECORD)
    a["key"], a["weight"] = RNG.integers(0, count // 3, count), RNG.permutation(count)
    a["place"] = RNG.integers(0, 9, (count, 2))
    return a


def combined(a, to_device, to_host):
    assert to_host(al.reduce(to_device(a), a[0], heavier)) == a[a["weight"].argmax()]
    scanned = to_host(al.inclusive_scan(to_device(a), heavier))
    np.testing.assert_array_equal(scanned["weight"], np.maximum.accumulate(a["weight"]))


def in_order(a, to_device, to_host):
    order = np.argsort(a["key"], kind="stable")
    keys, values = to_device(a), to_device(a["weight"])
    al.sort_by_key(keys, values, smaller_key)
    np.testing.assert_array_equal(to_host(keys), a[order])
    np.testing.assert_array_equal(to_host(values), a["weight"][order])
    numbers, moved = to_device(a["key"]), to_device(a)
    al.sort_by_key(numbers, moved)
    np.testing.assert_array_equal(to_host(moved), a[order])


def selected(a, to_device, to_host):
    np.testing.assert_array_equal(to_host(al.copy_if(to_device(a), odd_key)), a[a["key"] % 2 == 1])
    a.sort(order=["key", "weight"])
    starts = np.flatnonzero(np.r_[True, np.diff(a["key"]) != 0])
    np.testing.assert_array_equal(to_host(al.unique(to_device(a), same_key)), a[starts])
    _, heaviest = al.reduce_by_segment(to_device(a["key"]), to_device(a), heavier)
    np.testing.assert_array_equal(to_host(heaviest), a[np.r_[starts[1:], a.size] - 1])


ON_RECORDS = (combined, in_order, selected)


@pytest.mark.parametrize("check", ON_RECORDS)
def test_records_over_numpy_arrays(check):
    for count in (7, 20_011):
        check(records(count), np.copy, np.asarray)


@pytest.mark.nightly(one_in=3)
@pytest.mark.parametrize("check", ON_RECORDS)
def test_records_on_a_device(check):
    check(records(3000), lambda a: kapi.memory.asarray(np.ascontiguousarray(a)), kapi.memory.asnumpy)


def test_arrays_of_a_device_stay_on_their_queue():
    import dpnp

    host = RNG.integers(0, 99, 3000).astype(np.int32)
    a = dpnp.asarray(host)
    total, sums = al.reduce(a), al.inclusive_scan(a)
    assert isinstance(total, dpnp.ndarray)
    assert (total.shape, total.sycl_queue) == ((), a.sycl_queue)
    assert int(total) == host.sum()
    np.testing.assert_array_equal(sums.asnumpy(), np.cumsum(host))
    np.testing.assert_array_equal(al.unique(a // 99).asnumpy(), [0])


@pytest.mark.nightly
def test_sorts_in_groups():
    import dpnp

    host = RNG.integers(-99, 99, 3000).astype(np.float32)
    keys, values = dpnp.asarray(host), dpnp.arange(3000)
    al.sort_by_key(keys, values, descending=True)
    np.testing.assert_array_equal(values.asnumpy(), np.argsort(-host, kind="stable"))
    np.testing.assert_array_equal(keys.asnumpy(), -np.sort(-host))


def test_arrays_of_two_devices_are_refused():
    import dpnp

    with pytest.raises(kapi.ExecutionPlacementError):
        al.sort_by_key(dpnp.zeros(3), np.zeros(3))


def test_algorithms_are_imported_when_they_are_used(run_python):
    done = run_python("import sys, kapi_runtime, kapi_sim; print('kapi_sim.whole_arrays' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize("size", [2, 1000])
def test_read_only_arrays_are_refused_by_their_own_names(size):
    with pytest.raises(kapi.KernelLaunchError, match=r"\Aarray must be writable.*\[argument-read-only\]"):
        al.sort(np.broadcast_to(0.0, size))
    with pytest.raises(kapi.KernelLaunchError, match=r"\Avalues must be writable"):
        al.sort_by_key(np.zeros(size), np.broadcast_to(0.0, size))
