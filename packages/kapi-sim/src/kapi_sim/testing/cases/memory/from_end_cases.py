# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of constant negative indices, which count from the end of their axis."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, Local, kernel

__all__ = ["CASES"]

_LAST = -1
_CORNER = (-1, -2)
_AXES = SimpleNamespace(second=-2)
_TABLE = np.array([3.0, 5.0, 7.0])


@kernel
def _read(item: kapi.Item, a, m, out):
    last = -3
    corner = (0, -1)
    out[0] = a[-1]
    out[1] = a[_LAST]
    out[2] = a[-_LAST + 2 * _LAST - 1]
    out[3] = a[last]
    out[4] = a[_AXES.second]
    out[5] = m[0, -1]
    out[6] = m[-2, 1]
    out[7] = m[_CORNER]
    out[8] = m[-1][-1]
    out[-3] = m[corner]
    out[9] = m.T[-1, 0]
    out[10] = a[1:][-1]
    out[11] = m[-1, -2:][-2]
    out[12] = a[:-1][-1]
    out[13] = _TABLE[-1] + (1.0, 2.0, 4.0)[-2]
    out[14] = m[item.get_id(0), -3]
    out[-1] = a.shape[-1]
    out[-2] = 3.0
    out[-2] += 1


def _of_last(a, k):
    return a[-1] * a[k]


@kernel
def _memory(item: kapi.NdItem, counts, part, out):
    i = item.get_local_id(0)
    own = kapi.PrivateArray((2, 2), np.float64)
    own[-1, -1], own[0, -2] = 5.0, 2.0
    if i == 0:
        part[-1] = 3.0
        part[-2] = 1.0
    kapi.group_barrier(item.get_group())
    kapi.AtomicRef(counts, (-1, i)).fetch_add(2)
    kapi.AtomicRef(counts, index=(0, -1)).fetch_add(1)
    out[i] = own[1, 1] + own[0, 0] + part[3] * 10 + part[2] * 100 + _of_last(part, 2)


def _values(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    a, m = given[0].tolist(), given[1].tolist()
    last, size = m[2], len(a)
    read = [a[5], a[5], a[4], a[3], a[4], m[0][3], m[1][1], last[2], last[3], m[0][3], a[5], last[2], a[4], 9.0]
    return {2: np.array([*read, m[0][1], m[0][3], 4.0, float(size)])}


CASES: tuple[Case, ...] = (
    Case(
        "arrays/constant-indices-count-from-the-end",
        _read,
        ((1,),),
        lambda: [np.arange(6.0) + 0.5, np.arange(12.0).reshape(3, 4), np.zeros(18)],
        _values,
    ),
    Case(
        "arrays/constant-indices-count-from-the-end-in-all-memory",
        _memory,
        ((4,), (4,)),
        lambda: [np.zeros((2, 4), np.int32), Local(4, np.float64), np.zeros(4)],
        lambda given: {0: np.array([[0, 0, 0, 4], [2, 2, 2, 2]], np.int32), 2: np.full(4, 5.0 + 2 + 30 + 100 + 3)},
        starts=(0,),
    ),
)
