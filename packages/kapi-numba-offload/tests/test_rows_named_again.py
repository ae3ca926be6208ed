"""Names of rows that are assigned several times in a `prange` loop: each use sees the part that it names by then."""

import linecache
import random

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

MATRIX = np.random.default_rng(3).random((6, 5)) * 4 - 2
OTHER = np.random.default_rng(4).random((6, 5))


def slices_of_itself(a, b, o):
    for i in prange(a.shape[0]):
        row = a[i]
        row = row[1:]
        row = row[::-1]
        o[i] = row.sum() + row[0]
        row = b[i]
        row = row * 2
        row = row - row.mean()
        o[i] += (row * row).sum()


def stores_by_the_last_name(a, b, o):
    for i in prange(a.shape[0]):
        row = a[i]
        row = row[2:]
        row[:] = 7
        row[0] += 1


def another_kind(a, b, o):
    for i in prange(a.shape[0]):
        x = a[i]
        x = x[1:] - x[:-1]
        b[i, 1:] = x
        x = x.sum()
        x = x * 2
        o[i] = x


def exchanged(a, b, o):
    for i in prange(a.shape[0]):
        p, q = a[i], b[i]
        p, q = q, p
        p, q = q[1:], p
        o[i] = p.sum() - q[0]


def on_some_paths(a, b, o):
    for i in prange(a.shape[0]):
        row = a[i]
        if row[0] < 0:
            row = row[1:]
        elif i % 2:
            row = row[::2]
        b[i] += row[:1]
        o[i] = row.sum() + (row * a[0, : len(row)]).sum()


def shorter_in_each_iteration(a, b, o):
    for i in prange(a.shape[0]):
        row = a[i]
        while row.shape[0] > 1:
            o[i] += row[0] * row.shape[0]
            row = row[1:]
        low = a[i]
        n = low.shape[0]
        while n > 1:
            middle = n // 2
            if low[middle] > 0:
                low = low[middle:]
            else:
                low = low[:middle]
            n = low.shape[0]
        o[i] += low[0]


def names_of_a_name_kept(a, b, o):
    for i in prange(a.shape[0]):
        row = a[0]
        for k in range(3):
            old = row
            rest = row[1:]
            row = a[k]
            o[i] += old[0] * (k + 1) + rest.sum()


@numba.njit
def shrunk(row):
    s = 0.0
    while row.shape[0] > 1:
        s += row[0] * row.shape[0]
        row = row[1:]
    old = row[:1]
    for k in range(3):
        s += old.sum() * (k + 1)
        old = row[:k]
    return s


def in_helpers(a, b, o):
    for i in prange(a.shape[0]):
        o[i] = shrunk(a[i])


def numbers(a, b, o):
    for i in prange(a.shape[0]):
        x, y = a[i, 0], 2.0
        x, y = y, x
        x, y = x + y, x - y
        for _ in range(3):
            y = y * 2
            t = y
            t = t + 1
            if t > 5:
                continue
            o[i] += t
        x = x + 1
        o[i] += x * 10 + y


@pytest.mark.parametrize(
    "function",
    [
        slices_of_itself, stores_by_the_last_name, another_kind, exchanged, on_some_paths, shorter_in_each_iteration,
        names_of_a_name_kept, in_helpers, numbers,
    ],
)  # fmt: skip
def test_names_mean_what_they_mean_in_python(function, as_in_python, launches):
    """In one kernel: a warning would be an error."""
    as_in_python(function, [MATRIX.copy(), OTHER.copy(), np.zeros(6)])
    assert len(launches) == 1


def kept_while_made_again(a, b, o):
    for i in prange(a.shape[0]):
        for j in range(4):
            row = np.zeros(3)
            row[0] = j
            if j == 1:
                kept = row
                for _ in range(2):
                    row = np.zeros(3)
                    row[0] = 7
                a[i, j] = kept[0] + row[0]


def kept_before_a_loop(a, b, o):
    for i in prange(a.shape[0]):
        row = np.zeros(3)
        kept = row
        for j in range(3):
            a[i, j] = kept[0]
            row = np.zeros(3)
            row[0] = j + 1


def kept_on_one_path(a, b, o):
    for i in prange(a.shape[0]):
        row = np.zeros(3)
        kept = row[1:]
        more = row + 1
        if b[i, 0] > 0.5:
            row = np.ones(3)
        a[i, :2] = kept + more[1:]
        a[i, 2:] = row


def kept_while_exchanged(a, b, o):
    for i in prange(a.shape[0]):
        p, q = np.zeros(3), np.ones(3)
        kept = p
        for j in range(3):
            p[j] += 1
            p, q = q, p
        a[i, :3] = p + kept
        b[i, :3] = q


@pytest.mark.parametrize(
    "function", [kept_while_made_again, kept_before_a_loop, kept_on_one_path, kept_while_exchanged]
)
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_an_array_keeps_its_other_names_when_its_own_is_assigned_again(function, as_in_python):
    as_in_python(function, [MATRIX.copy(), OTHER.copy(), np.zeros(6)])


class Renamer:
    """Writes a body whose names get rows and arrays of other lengths while inner loops use them."""

    def __init__(self, seed):
        self.pick = random.Random(seed).choice

    def row(self):
        part = f"a[i, {self.pick('02')}:{self.pick(('6', '20', '40', 'm'))}]"
        return self.pick([part, part, f"np.ones({self.pick((3, 30))})", f"np.zeros({self.pick((5, 50))})"])

    def use(self):
        name = self.pick("pq")
        return self.pick(
            [
                [f"made = {name} * 2.0", "made[0] += 1.0", "total += np.sum(made) * (k + 1)"],
                [f"total += np.sum({name}) + len({name})"],
                [f"made = {name}[1:] - {name}[:-1]", "made[1] = 3.0", "total += np.max(made) + made[-1]"],
                [f"total += len(np.flatnonzero({name} > 1.0))"],
                [f"total += np.sort({name})[2]"],
            ]
        )

    def assigned(self):
        """Lines that assign one of the names, of the kind of value that it has: a part or an array."""
        name = self.pick("pq")
        lines = [f"{name} = {self.row_of(name)}"]
        return self.pick([lines, [f"if k == {self.pick('01')}:", *(f"    {each}" for each in lines)]])

    def row_of(self, name):
        return next(row for _ in iter(int, 1) if (row := self.row()).startswith("a") == (name == "p"))

    def written(self):
        inner = [line for _ in range(3) for line in self.pick([self.use, self.assigned])()]
        inner = [*self.use(), *inner, *self.assigned()]
        loop = self.pick([["for k in range(3):"], ["k = -1", "while k < 2:", "    k += 1"]])
        body = [f"p = {self.row_of('p')}", f"q = {self.row_of('q')}", "total = 0.0", *loop]
        body += [*(f"    {each}" for each in inner), "o[i] = total"]
        return "\n".join(["def program(a, o, m):", "    for i in prange(a.shape[0]):", *(f"        {e}" for e in body)])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_lengths_of_a_name_may_change_in_loops(seed):
    source = Renamer(seed).written()
    name = f"<renamed {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np, "prange": numba.prange}
    exec(compile(source, name, "exec"), scope)
    a = np.random.default_rng(seed).integers(0, 4, (50, 60)).astype("float64")
    expected, found = np.zeros(50), dpnp.zeros(50)
    scope["program"](a, expected, 33)
    numba.njit(scope["program"])(dpnp.asarray(a), found, 33)
    np.testing.assert_array_equal(found.asnumpy(), expected, err_msg=source)


def stored_by_position(a, b, c):
    for i in numba.prange(a.shape[0]):
        row = a[i] * 2
        np.subtract(row, b[i], a[i])
        c[i] = row


def stored_by_word(a, b, c):
    for i in numba.prange(a.shape[0]):
        row = a[i] * 2
        np.maximum(b[i], row, out=a[i])
        c[i] = row - a[i]


def stored_by_another_name(a, b, c):
    for i in numba.prange(a.shape[0]):
        mine = a[i]
        row = mine + b[i]
        np.multiply(row, 3, mine)
        c[i] = row


def stored_to_a_part(a, b, c):
    for i in numba.prange(a.shape[0]):
        row = a[i] - b[i]
        np.add(row[:-1], b[i, 1:], a[i, 1:])
        c[i] = row


def stored_in_iterations(a, b, c):
    for _ in range(4):
        kept = a * 2
        np.subtract(kept, b, a)
        np.add(a[:-1], kept[:-1], out=c[1:])
        np.negative(kept, a)
        c[0] = kept[0]


@pytest.mark.parametrize("is_gpu", [False, True])
@pytest.mark.parametrize(
    "function",
    [stored_by_position, stored_by_word, stored_by_another_name, stored_to_a_part, stored_in_iterations],
)
def test_expressions_of_arrays_that_a_function_stores_to_stay_what_they_are(function, is_gpu, request):
    if is_gpu:
        request.getfixturevalue("as_on_a_gpu")
    arrays = [np.random.default_rng(number).integers(-9, 9, (12, 7)) / 4 for number in range(3)]
    given = list(map(dpnp.asarray, arrays))
    numba.njit(function)(*given)
    function(*arrays)
    for one, other in zip(given, arrays, strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(one), other)
