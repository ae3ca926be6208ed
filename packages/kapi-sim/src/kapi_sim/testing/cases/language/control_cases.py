# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of control flow: loops, branches, early returns, local functions."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, kernel, output_case

__all__ = ["CASES"]


@kernel
def _loop_steps(item: kapi.Item, out):
    i = item.get_id(0)
    down = 0
    for k in range(10, i, -3):
        down = down * 10 + k
    up = 0
    for k in range(i, 10, 4):
        up = up * 10 + k
    out[i, 0] = down
    out[i, 1] = up


def _folded(values: range) -> int:
    total = 0
    for value in values:
        total = total * 10 + value
    return total


@kernel
def _while_break_continue(item: kapi.Item, a, out):
    i = item.get_id(0)
    n = a[i]
    steps = 0
    odd = 0
    while True:
        if n == 1:
            break
        steps += 1
        if n % 2 == 0:
            n //= 2
            continue
        odd += 1
        n = n * 3 + 1
    out[i, 0] = steps
    out[i, 1] = odd


@kernel
def _else_clauses(item: kapi.Item, a, out):
    i = item.get_id(0)
    n = a[i]
    for d in range(2, n):
        if n % d == 0:
            out[i] = d
            break
    else:
        out[i] = 0


@kernel
def _while_else(item: kapi.Item, a, out):
    i = item.get_id(0)
    n = a[i]
    d = 2
    while d * d <= n:
        if n % d == 0:
            out[i] = d
            break
        d += 1
    else:
        out[i] = -n


class Suit(enum.IntEnum):
    """Integers with names, for patterns."""

    CLUBS = 40
    HEARTS = 50


@kernel
def _match(item: kapi.Item, a, out):
    i = item.get_id(0)
    match a[i]:
        case 0 | 1:
            out[i] = 10
        case 2 if i > 1:
            out[i] = 20
        case -1:
            out[i] = 30
        case Suit.CLUBS | 2.5:
            out[i] = 40
        case (7 | 8) as seven:
            out[i] = seven * 100
        case large if large > 1000:
            out[i] = large
        case _:
            out[i] = i


@kernel
def _early_return(item: kapi.Item, a, out):
    i = item.get_id(0)
    if i >= a.shape[0]:
        return
    if a[i] < 0:
        out[i] = -1
        return
    out[i] = a[i] + 1


@kernel
def _nested_branches(item: kapi.Item, a, out):
    i = item.get_id(0)
    x = a[i]
    if x > 0:
        if x > 10:
            kind = 2
        elif x > 5:
            kind = 1
        else:
            kind = 0
    elif x == 0:
        kind = -1
    else:
        kind = -2 if x > -10 else -3
    out[i] = kind


@kernel
def _boolean_operators(item: kapi.Item, a, out):
    i = item.get_id(0)
    x = a[i]
    out[i] = 1 if (0 < x < 10 and not x == 5) or x == 42 else 0


@kernel
def _unpacking(item: kapi.Item, out):
    i = item.get_id(0)
    a, b = 0, 1
    for _ in range(i):
        a, b = b, a + b
    out[i] = a


def _local_function(kapi: Any) -> Any:
    scale = 10

    @kapi.kernel
    def with_local_function(item: kapi.Item, a, out):
        def shifted(x):
            return x * scale + 1

        i = item.get_id(0)
        out[i] = shifted(a[i])

    return with_local_function


@kernel
def _nested_loops(item: kapi.Item, a, b, c):
    i = item.get_id(0)
    j = item.get_id(1)
    total = c.dtype.type(0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


@kernel
def _augmented_names(item: kapi.Item, a, out):
    i = item.get_id(0)
    x = a[i]
    x += 5
    x *= 3
    x -= 1
    x //= 2
    x %= 100
    x <<= 2
    x ^= 1
    out[i] = x


_NUMBERS = np.array([1, 6, 7, 27], np.int64)
_KINDS = np.array([11, 7, 3, 0, -4, -40], np.int64)


def _unsigned_bounds(kapi: Any) -> Any:
    """Differences of uint64 wrap around to more than a Python integer of 64 bits holds."""

    @kapi.kernel
    def unsigned_bounds(item: kapi.Item, a, b, out):
        i = item.get_id(0)
        for k in range(5):
            out[i, k] = 0
        for j in range(a[i] - 3, 3):
            out[i, 0] += j + 1
        for j in range(a[i] - 3):
            out[i, 1] = j
            if j > 4:
                break
        for j in reversed(range(a[i] - 1, 5)):
            out[i, 2] += j + 1
        for _ in range(9, a[i] - 1, -1):
            out[i, 3] += 1
        for _ in range(0, 5, a[i] - 3):
            out[i, 4] += 1
        out[i, 5] = len(range(a[i] - 3, 3)) + (2 in range(a[i] - 3, 3)) * 10 + sum(range(a[i] - 3, 4)) * 100
        out[i, 6] = len(b[: a[i] - 1]) + len(b[a[i] - 3 :]) * 10 + len(b[a[i] - 2 : 5]) * 100
        out[i, 7] = sum(b[2 :: a[i] - 3])

    return unsigned_bounds


def _within_unsigned_bounds(numbers: Any, b: Any) -> Any:
    rows = []
    for n in numbers:
        below_1, below_2, below_3 = ((int(n) - k) % 2**64 for k in (1, 2, 3))
        rows.append(
            [
                sum(j + 1 for j in range(below_3, 3)),
                min(max(below_3 - 1, 0), 5),
                sum(j + 1 for j in range(below_1, 5)),
                len(range(9, below_1, -1)),
                len(range(0, 5, below_3)),
                max(0, 3 - below_3) + (below_3 <= 2) * 10 + sum(range(below_3, 4)) * 100,
                len(b[:below_1]) + len(b[below_3:]) * 10 + len(b[below_2:5]) * 100,
                b[2::below_3].sum(),
            ]
        )
    return np.array(rows, np.int64)


_UNSIGNED = np.array([0, 1, 2, 4, 7], np.uint64)

_MATRIX = np.arange(12, dtype=np.int32).reshape(3, 4)

CASES: tuple[Case, ...] = (
    output_case(
        "control/loops-with-steps",
        _loop_steps,
        ((5,),),
        [],
        [[_folded(range(10, i, -3)), _folded(range(i, 10, 4))] for i in range(5)],
        np.int64,
    ),
    output_case(
        "control/while-break-continue",
        _while_break_continue,
        ((4,),),
        [_NUMBERS],
        [[0, 0], [8, 2], [16, 5], [111, 41]],
        np.int64,
    ),
    Case(
        "control/for-else",
        _else_clauses,
        ((5,),),
        lambda: [np.array([2, 9, 13, 35, 8], np.int64), np.full(5, -1, np.int64)],
        lambda given: {1: np.array([0, 3, 0, 5, 2])},
    ),
    output_case(
        "control/while-else", _while_else, ((5,),), [np.array([2, 9, 13, 35, 8])], [-2, 3, -13, 5, 2], np.int64
    ),
    output_case(
        "control/match",
        _match,
        ((10,),),
        [np.array([1, 2, 2, -1, 40, 2.5, 8, 2000, 3, 0])],
        [10, 1, 20, 30, 40, 40, 800, 2000, 8, 10],
    ),
    output_case("control/early-return", _early_return, ((6,),), [np.array([4, -2, 0], np.int64)], [5, -1, 1], np.int64),
    output_case("control/nested-branches", _nested_branches, ((6,),), [_KINDS], [2, 1, 0, -1, -2, -3], np.int64),
    output_case(
        "control/boolean-operators",
        _boolean_operators,
        ((6,),),
        [np.array([-1, 3, 5, 9, 10, 42], np.int64)],
        [0, 1, 0, 1, 0, 1],
        np.int64,
    ),
    output_case("control/tuple-unpacking", _unpacking, ((10,),), [], [0, 1, 1, 2, 3, 5, 8, 13, 21, 34], np.int64),
    output_case(
        "control/local-function", _local_function, ((3,),), [np.array([1, 2, 3], np.int64)], [11, 21, 31], np.int64
    ),
    output_case(
        "control/nested-loops",
        _nested_loops,
        ((3, 3),),
        [_MATRIX, np.ascontiguousarray(_MATRIX.T)],
        _MATRIX @ _MATRIX.T,
        np.int32,
    ),
    output_case(
        "control/augmented-assignment",
        _augmented_names,
        ((3,),),
        [np.array([1, -20, 1000], np.int64)],
        np.array([33, 309, 29], np.int64),
        np.int64,
    ),
    Case(
        "control/unsigned-bounds",
        _unsigned_bounds,
        ((5,),),
        lambda: [_UNSIGNED, np.arange(10), np.zeros((5, 8), np.int64)],
        lambda given: {2: _within_unsigned_bounds(given[0], given[1])},
    ),
)
