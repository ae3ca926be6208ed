"""A module says which arrays its kernel may write to."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest
from numba import types

import kapi_sim as kapi
from kapi_spirv import compile_kernel, read_module, write_module
from kapi_types import ArrayType, ItemType

ARRAY = ArrayType(types.int64, 1, "C")
MATRIX = ArrayType(types.int64, 2, "C")
Pair = namedtuple("Pair", "source target")  # what users write


def first_of(x):
    return x[0]


def put(x, i, value):
    x[i] = value


def copy_to(source, target, i):
    put(target, i, first_of(source))


def chosen(x, y, is_first):
    return x if is_first else y


def store_in_second(pair, i):
    pair[1][i] = pair[0][i]


def add_atomically(x, i):
    kapi.AtomicRef(x, i).fetch_add(1)


def plain(item, a, b):
    b[item.get_id(0)] = a[item.get_id(0)]


def in_place(item, a, b):
    b[item.get_id(0)] += a[item.get_id(0)]


def by_a_name(item, a, b):
    c = b
    c[item.get_id(0)] = a[0]


def by_a_view(item, a, b):
    rows = b[1:]
    rows[::2][item.get_id(0)] = a[:5][0]


def by_either(item, a, b):
    c = a if item.get_id(0) > 3 else b
    c[0] = 1


def by_a_loop(item, a, b):
    x, y = a, b
    for _ in range(3):
        x, y = y, x
    x[0] = 1


def by_a_function(item, a, b):
    copy_to(a, b, item.get_id(0))


def by_a_keyword(item, a, b):
    copy_to(target=b, i=item.get_id(0), source=a)


def by_a_result(item, a, b):
    chosen(a, b, item.get_id(0) > 1)[0] = 1


def by_an_atomic(item, a, b):
    kapi.AtomicRef(b, item.get_id(0)).fetch_add(a[0])


def by_a_held_atomic(item, a, b):
    reference = kapi.AtomicRef(b, 0)
    reference.store(a[0])


def by_an_atomic_in_a_function(item, a, b):
    add_atomically(b, a[0])


def by_what_an_exchange_saw(item, a, b):
    kapi.AtomicRef(a, 0).compare_exchange(b, 1)


def only_loaded(item, a, b):
    b[0] = kapi.AtomicRef(a, 0).load()


def in_a_tuple_made_here(item, a, b):
    pair = (a, b)
    pair[1][0] = pair[0][0]


def nothing(item, a, b):
    a[0] + b[0]


def in_private_memory(item, a, b):
    own = kapi.PrivateArray(2, np.int64)
    own[0] = a[0] + b[0]


@pytest.mark.parametrize(
    ("function", "written"),
    [
        (plain, "b"),
        (in_place, "b"),
        (by_a_name, "b"),
        (by_a_view, "b"),
        (by_either, "ab"),
        (by_a_loop, "ab"),
        (by_a_function, "b"),
        (by_a_keyword, "b"),
        (by_a_result, "ab"),
        (by_an_atomic, "b"),
        (by_a_held_atomic, "b"),
        (by_an_atomic_in_a_function, "b"),
        (by_what_an_exchange_saw, "ab"),
        (only_loaded, "b"),
        (in_a_tuple_made_here, "ab"),  # members of a tuple that a kernel makes are not told apart
        (nothing, ""),
        (in_private_memory, ""),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_arrays_that_are_written_are_reported(function, written):
    module = compile_kernel(function, [ItemType(1), ARRAY, ARRAY])
    assert [each.name for each in module.parameters if each.is_written] == list(written)


def second_member(item, t):
    t[1][item.get_id(0)] = t[0][0]


def unpacked(item, t):
    source, target = t
    target[item.get_id(0)] = source[0]


def in_a_function(item, t):
    store_in_second(t, item.get_id(0))


def joined(item, t):
    four = t + t
    four[2][item.get_id(0)] = 1


def behind(item, t):
    t[1:][0][item.get_id(0)] = 1


@pytest.mark.parametrize(
    ("function", "written"),
    [
        (second_member, ["t[1]"]),
        (unpacked, ["t[1]"]),
        (in_a_function, ["t[1]"]),
        (joined, ["t[0]", "t[1]"]),
        (behind, ["t[0]", "t[1]"]),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_members_of_tuples_that_are_written_are_reported(function, written):
    module = compile_kernel(function, [ItemType(1), types.UniTuple(ARRAY, 2)])
    assert [each.name for each in module.parameters if each.is_written] == written


def test_fields_of_named_tuples_that_are_written_are_reported():
    def kernel(item, pair):
        pair.target[item.get_id(0)] = pair.source[0]

    module = compile_kernel(kernel, [ItemType(1), types.NamedUniTuple(ARRAY, 2, Pair)])
    assert [each.name for each in module.parameters if each.is_written] == ["pair[1]"]


def test_rows_that_are_written_are_their_matrix():
    def kernel(item, a, b):
        row = a.T[item.get_id(0)]
        row[0] = b[0, 0]

    module = compile_kernel(kernel, [ItemType(1), MATRIX, MATRIX])
    assert [each.is_written for each in module.parameters] == [True, False]


def test_what_is_written_travels_and_is_displayed():
    module = compile_kernel(plain, [ItemType(1), ARRAY, ARRAY])
    again = read_module(write_module(module))
    assert [each.is_written for each in again.parameters] == [False, True]
    assert "parameter b: array, " in module.summary()
    assert module.summary().count(", written") == 1
