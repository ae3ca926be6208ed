from __future__ import annotations

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises
from kapi_sim.whole_arrays.world import Shape

al = kapi.algorithms
RNG = np.random.default_rng(20261127)
SIZES = (1, 8, 9, 33)
TILES, ALONE = Shape(4, 2, 3), Shape(1, 4, 3)
WAITING = {"scan": Shape(4, 1, 3, 4), "sort": Shape(8, 1, 3, 4)}
SHAPES = {
    "tiles": lambda array, purpose, itemsize: TILES,
    "alone": lambda array, purpose, itemsize: ALONE,
    "waiting": lambda array, purpose, itemsize: WAITING.get(purpose, TILES),
}


def shape_as(name, monkeypatch):
    monkeypatch.setattr(al._WORLD, "shape", SHAPES[name])


@pytest.fixture(params=["tiles", "alone"])
def shaped(request, monkeypatch):
    """Groups with local memory, as on a GPU, and work-items that have a piece alone, as on a CPU."""
    shape_as(request.param, monkeypatch)


SCHEDULES = [(shape, count) for shape in ("tiles", "alone") for count in SIZES] + [("waiting", 1), ("waiting", 33)]
"""Also groups that wait for groups that have started."""


@kapi.device_func
def later(x, y):
    return x if y == 0 else y


@kapi.device_func
def is_odd(x):
    return x % 2 == 1


@kapi.device_func
def nearer(x, y):
    return abs(x) < abs(y)


@kapi.device_func
def doubled(x):
    return x + x


def folded(values, op, first=None):
    """A plain loop: what a scan gives."""
    found, total = [], first
    for each in values:
        total = each if total is None else op(total, each)
        found.append(total)
    return np.array(found, values.dtype)


def drawn(count, dtype="int32"):
    return RNG.integers(0, 4, count).astype(dtype)


@pytest.mark.usefixtures("shaped")
@pytest.mark.parametrize("count", SIZES)
def test_reduce_is_the_sum_of_a_loop(count):
    a = drawn(2 * count)[::2]
    total = al.reduce(a)
    assert total == sum(a.tolist())
    assert total.dtype == a.dtype
    assert al.reduce(a, 5, kapi.maximum) == 5
    assert al.transform_reduce(a, doubled) == 2 * sum(a.tolist())
    assert al.transform_reduce(a, kapi.multiplies, other=a[::-1]) == int((a * a[::-1]).sum())


def test_reduce_keeps_the_dtype_unless_another_is_asked_for():
    a = np.full(9, 100, np.int8)
    assert al.reduce(a) == np.full(9, 100, np.int8).sum(dtype=np.int8)
    assert al.reduce(a, dtype=np.int64) == 900
    out = np.full(1, -1.0)
    assert al.reduce(np.array([1 + 2j, 3j]), out=np.empty(1, complex)) == 1 + 5j
    assert al.reduce(np.array([True, False]), op=kapi.logical_or) is np.True_
    al.reduce(np.array([0.5, 0.25]), out=out)
    assert out[0] == 0.75


@pytest.mark.parametrize(("shape", "count"), SCHEDULES)
def test_scans_keep_the_order_of_the_operator(shape, count, monkeypatch):
    shape_as(shape, monkeypatch)
    a = drawn(count)
    np.testing.assert_array_equal(al.inclusive_scan(a), np.cumsum(a, dtype=a.dtype))
    np.testing.assert_array_equal(al.inclusive_scan(a, later), folded(a, later))
    np.testing.assert_array_equal(al.exclusive_scan(a, 7, later), np.r_[7, folded(a, later, 7)[:-1]])
    out = np.full(2 * count, -1, np.int32)
    assert al.inclusive_scan(a[::-1], init=3, out=out[::2]) is not None
    np.testing.assert_array_equal(out[::2], np.cumsum(a[::-1]) + 3)
    assert (out[1::2] == -1).all()


def test_exclusive_scan_begins_with_the_identity():
    a = np.array([2, 3, 4], np.float32)
    np.testing.assert_array_equal(al.exclusive_scan(a), [0, 2, 5])
    np.testing.assert_array_equal(al.exclusive_scan(a, op=kapi.multiplies), [1, 2, 6])
    np.testing.assert_array_equal(al.exclusive_scan(a, op=kapi.minimum), [np.inf, 2, 2])
    al.exclusive_scan(a, out=a)
    np.testing.assert_array_equal(a, [0, 2, 5])


HARD = {
    "float32": [np.nan, -0.0, 0.0, np.inf, -np.inf, -1.5, 1e-45, -1e-45, -np.nan, 3e38, 0.0, -0.0],
    "float16": [0.0, np.nan, -2, -0.0, 65504, -65504],
    "int8": [-128, 127, 0, -1, 1, 0, -128, 5, 5],
    "uint16": [65535, 0, 1, 256, 255, 1],
    "bool": [True, False, True, False],
    "complex64": [1 + 2j, complex(np.nan, 0), 1 + 1j, complex(0, np.nan), -1j, complex(np.nan, np.nan), 3, -0.0, 0],
}


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [(dtype, shape) for dtype in HARD for shape in ("tiles", "alone")] + [("float32", "waiting"), ("int8", "waiting")],
)
def test_sort_has_the_order_of_numpy_and_is_stable(dtype, shape, monkeypatch):
    shape_as(shape, monkeypatch)
    a = np.array(HARD[dtype], dtype)
    order = np.argsort(a, kind="stable")
    values = np.arange(a.size, dtype=np.int16)
    keys = a.copy()
    al.sort_by_key(keys, values)
    np.testing.assert_array_equal(values, order)
    assert keys.tobytes() == a[order].tobytes()
    al.sort(a)
    assert a.tobytes() == keys.tobytes()


@pytest.mark.usefixtures("shaped")
@pytest.mark.parametrize("count", [0, 2, 33])
def test_sort_by_a_comparison_is_stable(count):
    a = RNG.integers(-4, 5, count).astype(np.int16)
    order = np.argsort(np.abs(a), kind="stable")
    keys, values = a.copy(), np.arange(count)
    al.sort_by_key(keys, values, nearer)
    np.testing.assert_array_equal(values, order)
    np.testing.assert_array_equal(keys, a[order])


def test_sort_reverses_the_order():
    a = np.array([1, 3, 2, 3, 1], np.int8)
    values = np.arange(5)
    al.sort_by_key(a[::-1], values, descending=True)
    np.testing.assert_array_equal(a[::-1], [3, 3, 2, 1, 1])
    np.testing.assert_array_equal(values, [1, 3, 2, 0, 4])
    al.stable_sort(a, nearer, descending=True)
    np.testing.assert_array_equal(a, [3, 3, 2, 1, 1])


@pytest.mark.usefixtures("shaped")
@pytest.mark.parametrize("count", [1, 9, 33])
def test_selections_keep_the_order(count):
    a = drawn(count)
    out = np.full(count + 2, -1, np.int32)
    np.testing.assert_array_equal(al.copy_if(a, is_odd, out=out), a[a % 2 == 1])
    assert (out[int((a % 2 == 1).sum()) :] == -1).all()
    np.testing.assert_array_equal(al.unique(a), a[np.r_[True, a[1:] != a[:-1]]])


def test_not_a_number_equals_nothing():
    assert al.unique(np.array([np.nan, np.nan, 1, 1])).size == 3
    assert al.copy_if(np.empty(0), is_odd).size == al.unique(np.empty(0)).size == 0


@pytest.mark.usefixtures("shaped")
@pytest.mark.parametrize("length", [2, 40])
def test_segments_are_combined_in_order(length):
    keys = np.sort(RNG.integers(0, 80 // length, 80))
    values = drawn(80)
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    found_keys, sums = al.reduce_by_segment(keys, values)
    np.testing.assert_array_equal(found_keys, keys[starts])
    np.testing.assert_array_equal(sums, np.add.reduceat(values, starts))
    _, last = al.reduce_by_segment(keys, values, later)
    parts = np.split(values, starts[1:])
    np.testing.assert_array_equal(last, [folded(part, later)[-1] for part in parts])


@pytest.mark.usefixtures("shaped")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_histogram_is_that_of_numpy_at_the_edges_too(dtype):
    a = (np.arange(40) * 0.1).astype(dtype)
    if a.dtype.kind == "f":
        a[3] = np.nan
    for bins, lower, upper in ((10, 0, 1), (7, 0.1, 2.3), (1, 3, 4)):
        expected, _ = np.histogram(a, bins, (lower, upper))
        np.testing.assert_array_equal(al.histogram(a, bins, lower, upper), expected)


RECORD = np.dtype([("key", "i4"), ("weight", "f4"), ("place", "f4", 2)])


def records(count):
    a = np.zeros(count, RECORD)
    a["key"], a["weight"] = drawn(count), RNG.permutation(count)
    a["place"] = RNG.integers(0, 9, (count, 2))
    return a


@kapi.device_func
def heavier(a, b):
    return a if a.weight > b.weight else b


@kapi.device_func
def together(a, b):
    return a.key + b.key, a.weight + b.weight, (a.place[0] + b.place[0], a.place[1] + b.place[1])


@kapi.device_func
def smaller_key(a, b):
    return a.key < b.key


@kapi.device_func
def same_key(a, b):
    return a.key == b.key


@kapi.device_func
def odd_key(a):
    return a.key % 2 == 1


@kapi.device_func
def recorded(x):
    return np.void((x, x, (x, x)), RECORD)


@pytest.mark.parametrize(("shape", "count"), SCHEDULES)
def test_records_are_reduced_and_scanned(shape, count, monkeypatch):
    shape_as(shape, monkeypatch)
    a = records(count)
    assert al.reduce(a, op=heavier) == a[a["weight"].argmax()]
    total = al.reduce(a, (1, 2, (3, 4)), together)
    assert (total["key"], total["weight"]) == (a["key"].sum() + 1, a["weight"].sum() + 2)
    np.testing.assert_array_equal(total["place"] - a["place"].sum(0), [3, 4])
    assert al.transform_reduce(a["key"], recorded, op=together, dtype=RECORD)["weight"] == a["key"].sum()
    heaviest = [a["weight"][: i + 1].argmax() for i in range(count)]
    np.testing.assert_array_equal(al.inclusive_scan(a, heavier), a[heaviest])
    first = np.zeros(1, RECORD)
    np.testing.assert_array_equal(al.exclusive_scan(a, first[0], heavier, out=a.copy())[1:], a[heaviest[:-1]])


@pytest.mark.usefixtures("shaped")
@pytest.mark.parametrize("count", [2, 9, 33])
def test_records_are_sorted_with_all_fields(count):
    a = records(count)
    order = np.argsort(a["key"], kind="stable")
    for values in (None, np.arange(count), a):
        keys, moved = a.copy(), None if values is None else values.copy()
        if values is None:
            al.sort(keys, smaller_key)
        else:
            al.sort_by_key(keys, moved, smaller_key)
            np.testing.assert_array_equal(moved, values[order])
        np.testing.assert_array_equal(keys, a[order])
    keys, moved = a["key"].copy(), a.copy()
    al.sort_by_key(keys, moved, descending=True)
    np.testing.assert_array_equal(moved, a[np.argsort(-a["key"], kind="stable")])


@pytest.mark.usefixtures("shaped")
@pytest.mark.parametrize("count", [1, 9, 80])
def test_records_are_selected_with_all_fields(count):
    a = records(count)
    np.testing.assert_array_equal(al.copy_if(a, odd_key), a[a["key"] % 2 == 1])
    a.sort(order=["key", "weight"])
    starts = np.flatnonzero(np.r_[True, a["key"][1:] != a["key"][:-1]])
    np.testing.assert_array_equal(al.unique(a, same_key), a[starts])
    keys, values = al.reduce_by_segment(a, a, heavier, same_key)
    np.testing.assert_array_equal(keys, a[starts])
    np.testing.assert_array_equal(values, a[np.r_[starts[1:], count] - 1])


@pytest.mark.usefixtures("shaped")
def test_results_over_their_own_array_are_a_race():
    a = np.arange(40, dtype=np.int32)[::-1].copy()
    with raises(kapi.DataRaceError, "data-race"):
        al.copy_if(a, is_odd, out=a)


REFUSED = {
    "list": (lambda: al.reduce([1, 2]), kapi.DtypeError, "algorithm-array"),
    "matrix": (lambda: al.sort(np.zeros((2, 2))), kapi.DtypeError, "algorithm-array"),
    "empty": (lambda: al.reduce(np.zeros(0)), kapi.KernelLaunchError, "algorithm-empty"),
    "init": (lambda: al.exclusive_scan(np.zeros(2), op=later), kapi.KernelLaunchError, "algorithm-init"),
    "length": (lambda: al.sort_by_key(np.zeros(2), np.zeros(3)), kapi.KernelLaunchError, "algorithm-length"),
    "read-only": (lambda: al.sort(np.broadcast_to(0.0, 3)), kapi.KernelLaunchError, "argument-read-only"),
    "read-only values": (
        lambda: al.sort_by_key(drawn(2), np.broadcast_to(0.0, 2)),
        kapi.KernelLaunchError,
        "argument-read-only",
    ),
    "room": (lambda: al.copy_if(np.zeros(2), is_odd, out=np.zeros(1)), kapi.KernelLaunchError, "algorithm-length"),
    "records": (lambda: al.sort(np.zeros(2, "i4,i4")), kapi.DtypeError, "algorithm-order"),
    "sum": (lambda: al.reduce(np.zeros(2, "i4,i4")), kapi.DtypeError, "algorithm-order"),
    "scan": (lambda: al.exclusive_scan(np.zeros(2, "i4,i4")), kapi.DtypeError, "algorithm-order"),
    "equal": (lambda: al.unique(np.zeros(2, "i4,i4")), kapi.DtypeError, "algorithm-order"),
    "segments": (lambda: al.reduce_by_segment(np.zeros(2, "i4,i4"), drawn(2)), kapi.DtypeError, "algorithm-order"),
    "operator": (lambda: al.reduce(np.zeros(2), op=3), kapi.KernelLaunchError, "algorithm-function"),
    "bins": (lambda: al.histogram(np.zeros(2), 3, 1, 1), kapi.KernelLaunchError, "algorithm-bins"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_algorithm_takes_is_refused(name):
    call, error, code = REFUSED[name]
    with raises(error, code):
        call()


POINT = np.dtype([("x", "f8"), ("y", "f8")])


@kapi.device_func
def to_vector(x):
    return kapi.Vec(x, 2 * x)


@kapi.device_func
def added(p, q):
    return kapi.Vec(p.x + q.x, p.y + q.y)


def test_vectors_are_combined_as_records():
    a = np.arange(5.0)
    assert al.transform_reduce(a, to_vector, kapi.Vec(1, 2), added, dtype=POINT) == np.array((11, 22), POINT)
    with raises(kapi.DtypeError, "stored-value"):
        al.reduce(a, kapi.Vec(1, 2))
