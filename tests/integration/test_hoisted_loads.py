"""Elements that a loop reads on some control-flow paths alone: at ends of arrays, beyond them, of written arrays."""

from __future__ import annotations

import device_arrays
import numpy as np
import pytest

import kapi_runtime as kapi


@kapi.kernel
def neighbours(item: kapi.Item, x, steps, y):
    i = item.get_id(0)
    total = 0.0
    for j in range(steps[i]):
        if j != i and i + 1 < x.shape[0]:
            total += x[i] * x[i + 1]
        elif j % 2 == 0:
            total += x[i]
    y[i] = total


@kapi.kernel
def rows(item: kapi.Item, x, steps, y):
    i, j = item.get_id(0), item.get_id(1)
    for k in range(steps[j]):
        if i > 0 and k != j:
            y[i, j] += x[i - 1, j] + k
        if i + 1 < x.shape[0] and k != i:
            y[i, j] += x[i + 1, j]


@pytest.mark.parametrize("count", [1, 2, 7, 64, 131])
def test_element_is_read_early_only_where_it_exists(count):
    x, steps = np.arange(1.0, count + 1), np.arange(count) % 7
    expected = np.zeros(count)
    for i in range(count):
        for j in range(steps[i]):
            if j != i and i + 1 < count:
                expected[i] += x[i] * x[i + 1]
            elif j % 2 == 0:
                expected[i] += x[i]
    y = device_arrays.zeros(count)
    kapi.call_kernel(neighbours, kapi.Range(count), device_arrays.asarray(x), device_arrays.asarray(steps), y)
    np.testing.assert_array_equal(device_arrays.asnumpy(y), expected)


def test_loop_over_an_empty_array_reads_nothing():
    y = device_arrays.zeros(64)
    kapi.call_kernel(neighbours, kapi.Range(64), device_arrays.zeros(0), device_arrays.zeros(64, dtype="int64"), y)
    assert not device_arrays.asnumpy(y).any()


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (17, 64), (2, 100)])
@pytest.mark.parametrize("is_one", [False, True])
def test_elements_of_arrays_that_a_loop_writes(shape, is_one):
    """In one array under both names a row is read that another work-item writes, so only one work-item runs there."""
    x, steps = np.arange(float(np.prod(shape))).reshape(shape), np.arange(shape[1]) % 5
    y = x.copy() if is_one else np.zeros(shape)
    given = device_arrays.asarray(x)
    out = given if is_one else device_arrays.zeros(shape)
    if is_one:
        shape = (1, 1)
    expected = y.copy()
    source = expected if is_one else x
    for i in range(shape[0]):
        for j in range(shape[1]):
            for k in range(steps[j]):
                if i > 0 and k != j:
                    expected[i, j] += source[i - 1, j] + k
                if i + 1 < source.shape[0] and k != i:
                    expected[i, j] += source[i + 1, j]
    kapi.call_kernel(rows, kapi.Range(*shape), given, device_arrays.asarray(steps), out)
    np.testing.assert_array_equal(device_arrays.asnumpy(out), expected)
