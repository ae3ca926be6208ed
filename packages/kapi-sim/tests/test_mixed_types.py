"""Variables of two types where ways meet are told; those whose readings see one type are not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kapi_sim as kapi


def notes(kernel, *arrays):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kapi.call_kernel(kernel, kapi.Range(8), *arrays)
    return [each.message for each in caught]


@kapi.kernel
def integers(item: kapi.Item, source, target):
    i = item.get_id(0)
    x = np.int8(100)
    if i > 3:
        x = np.int32(100)
    target[i] = x + np.int8(100)


@kapi.kernel
def total(item: kapi.Item, source, target):
    i = item.get_id(0)
    x = np.float32(0)
    for k in range(3):
        x += source[k]
    target[i] = x


@kapi.kernel
def weak_float(item: kapi.Item, source, target):
    i = item.get_id(0)
    x = np.int32(7)
    if i > 3:
        x = source[i] if i > 5 else 0.5
    target[i] = x // 2


@pytest.mark.parametrize(
    ("kernel", "types"),
    [(integers, "int32 on one way and int8"), (total, "float32 on one way and float64"), (weak_float, "float")],
)
def test_types_that_meet_are_told_once(kernel, types):
    (note,) = notes(kernel, np.ones(8), np.zeros(8))
    assert isinstance(note, kapi.MixedTypesWarning)
    assert f"variable `x` is {types}" in str(note)
    assert "test_mixed_types.py:" in str(note)


def test_one_type_is_not_told():
    assert not notes(total, np.ones(8, np.float32), np.zeros(8))

    @kapi.kernel
    def again(item: kapi.Item, source, target):
        i = item.get_id(0)
        for k in range(3):
            x = np.float32(source[k])
            target[i] = x
        for k in range(3):
            x = source[k]
            target[i] += x
        x = 0.0
        for value in (np.float32(1), np.float64(2), 3):
            x = value * 2
            target[i] += x

    assert not notes(again, np.ones(8), np.zeros(8))


def test_launches_of_one_kernel_are_apart():
    for kind in (np.float32, np.float64):
        assert not notes(started, np.ones(8, kind), np.zeros(8))


@kapi.kernel
def started(item: kapi.Item, source, target):
    i = item.get_id(0)
    x = source[0]
    for k in range(3):
        x = x + source[k]
    target[i] = x
