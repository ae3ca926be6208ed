# mypy: disable-error-code="attr-defined,name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of records: fields by name and by attribute, in every memory, as values, and with every layout of NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, Local, Strided, kernel

__all__ = ["CASES"]

_INNER = [("flag", "?"), ("weight", "f8")]
_FIELDS = [
    ("kind", "i1"),
    ("x", "f4"),
    ("inner", np.dtype(_INNER, align=True)),
    ("v", "f4", 3),
    ("m", "i2", (2, 2)),
    ("z", "c16"),
]
_PACKED, _ALIGNED = np.dtype(_FIELDS), np.dtype(_FIELDS, align=True)
_SPARSE = np.dtype({"names": ["b", "a"], "formats": ["u2", "f8"], "offsets": [3, 16], "itemsize": 29})
_PAIR = np.dtype([("low", "i4"), ("high", "i4")])
_BOOLS = np.dtype([("flags", "?", (2, 3)), (("a title", "count"), "i2"), ("signs", "?", 2)])
_COUNT = np.dtype([("n", "i4"), ("total", "f4"), ("parts", "i4", 2)])


@kernel
def _fields(item: kapi.Item, a, out):
    i = item.get_id(0)
    p = a[i]
    p.x += a[i]["kind"]
    p["inner"].weight = p.x * 2
    p.inner["flag"] = p.x > 2
    p.v[i % 3] = p.inner.weight + 1
    for k in range(2):
        p.m[k, 1 - k] -= k + i
    a[i].z = p.z * 1j
    a[i]["kind"] = -i
    p.x //= 2
    out[i] = p.v[0] + p.m[1, 0] + p.z.imag


@kernel
def _stored_records(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    b[i] = a[b.shape[0] - 1 - i]
    b[i].inner = (i > 1, 0.5)
    b[i].v = (i, i + 0.5, 2)
    b[i]["m"] = ((i, 1), (2, 3))
    out[i] = (i + 1, i * 1.5)


@kernel
def _strided(item: kapi.Item, a):
    i, j = item.get_id(0), item.get_id(1)
    a[i, j].a = a[i][j].b + 0.25
    row = a[i]
    row[j].b += 3


@kernel
def _loop(item: kapi.Item, a, out):
    total = 0.0
    for p in a:
        total += p.x
    for k, p in enumerate(a):
        total += p.v[2] * k
    out[item.get_id(0)] = total


def _values(kapi: Any) -> Any:
    @kapi.device_func
    def widened(pair, by):
        return np.void((pair.low - by, pair.high + by), _PAIR)

    @kapi.device_func
    def larger(p, q):
        return p if p.high - p.low > q.high - q.low else q

    @kapi.device_func
    def clear(pair):
        pair.low = 0

    @kapi.kernel
    def values(item: kapi.Item, a, limits, out):
        i = item.get_id(0)
        best = a[0].copy()
        for p in a:
            best = larger(best, widened(p, limits["high"]))
        clear(a[i])
        out[i] = widened(best, limits.low * i)

    return values


@kernel
def _local_and_private(nd_item: kapi.NdItem, a, out, tile):
    i, k = nd_item.get_global_id(0), nd_item.get_local_id(0)
    tile[k] = a[i]
    tile[k].x += 1
    kapi.group_barrier(nd_item.get_group())
    own = kapi.PrivateArray(2, a.dtype, True)
    own[1] = tile[3 - k]
    own[k % 2].kind = 7
    own[0].v[1] = own[1].x
    out[i] = own[0]
    out[i].m = ((own[1].kind, 0), (0, k))


@kernel
def _bools(item: kapi.Item, a, out):
    i = item.get_id(0)
    p = a[i].copy()
    count = np.int16(0)
    for row in p.flags:
        for each in row:
            if each:
                count += np.int16(1)
    out[i] = a[i]
    out[i].flags[1, 2] = a[i].signs[0] and not p.signs[1]
    out[i].count = p.count - count
    out[a.shape[0] + i] = (p.flags, count, (i > 1, True))


@kernel
def _atomics(item: kapi.Item, a, counts):
    i = item.get_id(0)
    count = counts[i % 2]
    kapi.AtomicRef(count, "n").fetch_add(1)
    kapi.AtomicRef(counts[i % 2], "total").fetch_max(a[i])
    kapi.AtomicRef(count.parts, i % 2).fetch_sub(i)


def _records(dtype: np.dtype[Any], count: int = 4) -> np.ndarray[Any, Any]:
    """Records whose bytes, those between the fields included, are all different."""
    made = np.zeros(count, dtype)
    made.view(np.uint8)[:] = np.arange(made.nbytes) % 251
    made["kind"] = np.arange(count) - 1
    made["x"] = np.arange(count) * 1.5
    made["inner"]["flag"], made["inner"]["weight"] = True, np.arange(count)
    made["v"] = np.arange(3 * count).reshape(count, 3) - 2
    made["m"] = np.arange(4 * count).reshape(count, 2, 2)
    made["z"] = np.arange(count) * (1 + 2j)
    return made


def _expected_fields(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    a, out = given[0].copy(), np.zeros(len(given[0]))
    for i, p in enumerate(a):
        p["x"] += p["kind"]
        p["inner"]["weight"] = p["x"] * 2
        p["inner"]["flag"] = p["x"] > 2
        p["v"][i % 3] = p["inner"]["weight"] + 1
        p["m"][0, 1] -= i
        p["m"][1, 0] -= 1 + i
        p["z"] *= 1j
        p["kind"] = -i
        p["x"] = p["x"] // 2
        out[i] = p["v"][0] + p["m"][1, 0] + p["z"].imag
    return {0: a, 1: out}


def _expected_records(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    a, b, out = given[0], given[1].copy(), given[2].copy()
    for i in range(4):
        for name in a.dtype.names:  # what lies between the fields stays as it is
            b[name][i] = a[name][3 - i]
        b["inner"][i] = (i > 1, 0.5)
        b["v"][i] = (i, i + 0.5, 2)
        b["m"][i] = ((i, 1), (2, 3))
        out[i] = (i + 1, i * 1.5)
    return {1: b, 2: out}


def _expected_strided(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    base = given[0].base.copy()
    part = base[::-2, 1:]
    part["a"] = part["b"] + 0.25
    part["b"] += 3
    return {0: base}


def _expected_values(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    a, limits = given[0].copy(), given[1]
    widest = max(a, key=lambda pair: pair["high"] - pair["low"])
    low, high = widest["low"] - limits["high"], widest["high"] + limits["high"]
    a["low"][0] = 0
    return {0: a, 2: np.array([(low, high)], _PAIR)}


def _expected_tiles(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    a, out = given[0], given[1].copy()
    for i in range(8):
        k = i % 4
        own = np.zeros(2, a.dtype)
        for name in a.dtype.names:
            own[name][1] = a[name][i - k + 3 - k]
        own["x"][1] += 1
        own["kind"][k % 2] = 7
        own["v"][0, 1] = own["x"][1]
        for name in a.dtype.names:
            out[name][i] = own[name][0]
        out["m"][i] = ((own["kind"][1], 0), (0, k))
    return {1: out}


_READINGS = np.array([3, -1, 4, 1, -5, 9, 2, 6], np.float32)


def _expected_counts(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    counts = given[1].copy()
    for i, x in enumerate(given[0]):
        count = counts[i % 2]
        count["n"] += 1
        count["total"] = max(count["total"], x)
        count["parts"][i % 2] -= i
    return {1: counts}


def _sparse() -> Strided:
    base = np.zeros((5, 4), _SPARSE)
    base["a"], base["b"] = np.arange(20).reshape(5, 4), np.arange(20).reshape(5, 4) * 11
    return Strided(base, lambda array: array[::-2, 1:])


_PAIRS = np.array([(1, 4), (-2, 9), (0, 3), (5, 5)], _PAIR)


def _cases_of(name: str, dtype: np.dtype[Any]) -> tuple[Case, ...]:
    return (
        Case(f"records/fields-{name}", _fields, ((4,),), lambda: [_records(dtype), np.zeros(4)], _expected_fields),
        Case(
            f"records/stored-{name}",
            _stored_records,
            ((4,),),
            lambda: [_records(dtype), _records(dtype)[::-1].copy(), np.zeros(4, _SPARSE)],
            _expected_records,
        ),
        Case(
            f"records/local-and-private-{name}",
            _local_and_private,
            ((8,), (4,)),
            lambda: [_records(dtype, 8), _records(dtype, 8)[::-1].copy(), Local(4, dtype)],
            _expected_tiles,
        ),
    )


def _expected_bools(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    a = given[0]
    first, second = a.copy(), a.copy()
    counts = a["flags"].sum(axis=(1, 2))
    first["flags"][:, 1, 2] = a["signs"][:, 0] & ~a["signs"][:, 1]
    first["count"] -= counts
    second["count"], second["signs"] = counts, [[i > 1, True] for i in range(len(a))]
    return {1: np.concatenate((first, second))}


def _with_bools() -> np.ndarray[Any, Any]:
    made = np.zeros(4, _BOOLS)
    bits = np.arange(24).reshape(4, 2, 3)
    made["flags"], made["count"], made["signs"] = bits * bits % 7 % 2 == 1, [5, -1, 300, 0], bits[:, :, 0] % 4 == 0
    return made


@kapi.device_func
def _folded(numbers):
    total = 0.0
    for number in numbers:
        total = total * 0.5 + number
    return total


@kernel
def _fields_of_all(item: kapi.Item, a, out):
    i = item.get_id(0)
    xs, inner = a["x"], a["inner"]
    out[i] = _folded(xs[: i + 1]) + _folded(a["v"][:, 1]) + a["v"].shape[1] + inner["weight"][i] + len(xs)
    inner["flag"][i] = xs[i] > 2
    a["m"][i, 1, 0] += i


def _expected_fields_of_all(given: Any) -> Any:
    a, out = given[0].copy(), given[1].copy()
    for i in range(a.size):
        halves = [0.5 ** np.arange(count)[::-1] for count in (i + 1, a.size)]
        out[i] = halves[0] @ a["x"][: i + 1] + halves[1] @ a["v"][:, 1] + 3 + a["inner"]["weight"][i] + a.size
    a["inner"]["flag"] = a["x"] > 2
    a["m"][:, 1, 0] += np.arange(a.size, dtype="i2")
    return {0: a, 1: out}


_TABLE = np.array([(1, 0.5, (3, 4)), (-2, 1.5, (5, 6)), (7, -4, (0, 1))], _COUNT)
_KNOWN = np.array([(1, 2.5, (True, 0.25), (1, 2, 3), ((1, 2), (3, 4)), 2 - 1j)], _PACKED)[0]


@kernel
def _constant_records(item: kapi.Item, out):
    i = item.get_id(0)
    row = _TABLE[i % _TABLE.shape[0]]
    out[i] = row.n + row.total + row.parts[1] + _TABLE["parts"][2, i % 2] + len(_TABLE)
    if _KNOWN.inner.flag:
        out[i] += _KNOWN.x + _KNOWN["inner"].weight + _KNOWN.v[2] + _KNOWN.m[1][0] + _KNOWN.z.imag


def _expected_constants(given: Any) -> Any:
    i = np.arange(given[0].size)
    rows = _TABLE[i % 3]
    known = 2.5 + 0.25 + 3 + 3 - 1
    return {0: rows["n"] + rows["total"] + rows["parts"][:, 1] + _TABLE["parts"][2, i % 2] + 3 + known}


_REORDERED = np.dtype({"names": ["a", "b", "c"], "formats": ["f4", ("f4", 2), "f4"], "offsets": [12, 4, 0]})


@kernel
def _reordered(item: kapi.Item, a, given, out):
    a[0] = (1, (2, 3), 4)
    a[1] = (given.c, given.b, 3)
    a[2] = np.void((4, (5, 6), 7), _REORDERED)
    made = a[1].copy()
    w = kapi.PrivateArray(1, _REORDERED)
    w[0] = made
    out[0], out[1], out[2] = made.a, made.b[1], w[0].c


CASES: tuple[Case, ...] = (
    *_cases_of("packed", _PACKED),
    *_cases_of("aligned", _ALIGNED),
    Case("records/bools", _bools, ((4,),), lambda: [_with_bools(), np.zeros(8, _BOOLS)], _expected_bools),
    Case("records/strided", _strided, ((3, 3),), lambda: [_sparse()], _expected_strided),
    Case(
        "records/loops",
        _loop,
        ((2,),),
        lambda: [_records(_PACKED), np.zeros(2)],
        lambda given: {1: np.full(2, sum(p["x"] + k * p["v"][2] for k, p in enumerate(given[0])))},
    ),
    Case(
        "records/fields of all",
        _fields_of_all,
        ((4,),),
        lambda: [_records(_ALIGNED), np.zeros(4)],
        _expected_fields_of_all,
    ),
    Case(
        "records/reordered",
        _reordered,
        ((1,),),
        lambda: [np.zeros(3, _REORDERED), np.void((0.5, (1.5, 2.5), 3.5), _REORDERED), np.zeros(3)],
        lambda given: {
            0: np.array([(1, (2, 3), 4), (3.5, (1.5, 2.5), 3), (4, (5, 6), 7)], _REORDERED),
            2: np.array([3.5, 2.5, 3]),
        },
    ),
    Case("records/constants", _constant_records, ((5,),), lambda: [np.zeros(5)], _expected_constants),
    Case(
        "records/values",
        _values,
        ((1,),),
        lambda: [_PAIRS.copy(), np.void((2, 10), _PAIR), np.zeros(1, _PAIR)],
        _expected_values,
    ),
    Case(
        "records/atomics",
        _atomics,
        ((8,),),
        lambda: [_READINGS, np.array([(1, -2, (0, 5)), (0, 7, (1, 1))], _COUNT)],
        _expected_counts,
        covers=("AtomicRef", "AtomicRef.fetch_add", "AtomicRef.fetch_max", "AtomicRef.fetch_sub"),
    ),
)
