"""Sums and products of floats in a loop: in the order that is written, whichever work-item computes them.

Intel's compiler for CPUs runs work-items that are not part of a full vector apart from others, and would give them
another order (`kapi_spirv.emission.reassociation`). What is expected is NumPy's `accumulate`, which goes by the order.
"""

from __future__ import annotations

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi

WIDTH = 300  # turns of a loop: enough that one which is vectorised has turns for its vectors
SPACES = [
    kapi.Range(1),
    kapi.Range(17),
    kapi.Range(64),
    kapi.Range(67),
    kapi.NdRange(64, 8),
    kapi.NdRange(80, 20),
    kapi.NdRange(45, 15),
]


def values_for(space, dtype):
    """A row for each work-item: near 1, so that products stay finite, and with an error in each sum."""
    items = (space.global_range if isinstance(space, kapi.NdRange) else space)[0]
    rng = np.random.default_rng(items)
    return (1 + (rng.random((items, WIDTH)) - 0.5) / 16).astype(dtype)


def in_order(function, values):
    return function.accumulate(values, axis=1, dtype=values.dtype)[:, -1]


def kernels_of(body):
    """The kernels that run a function of a position, over a `Range` and over an `NdRange`."""

    @kapi.kernel
    def over_range(item: kapi.Item, a, out):
        out[item.get_id(0)] = body(a, item.get_id(0))

    @kapi.kernel
    def over_groups(item: kapi.NdItem, a, out):
        out[item.get_global_id(0)] = body(a, item.get_global_id(0))

    return {kapi.Range: over_range, kapi.NdRange: over_groups}


def added(a, i):
    total = a.dtype.type(0)
    for k in range(a.shape[1]):
        total += a[i, k]
    return total


def subtracted(a, i):
    total = a.dtype.type(0)
    for k in range(a.shape[1]):
        total -= a[i, k]
    return total


def multiplied(a, i):
    total = a.dtype.type(1)
    for k in range(a.shape[1]):
        total *= a[i, k]
    return total


def of_products(a, i):
    total = a.dtype.type(0)
    for k in range(a.shape[1]):
        total += a[i, k] * a[i, k]
    return total


def chosen(a, i):
    total = a.dtype.type(0)
    for k in range(a.shape[1]):
        if a[i, k] > 1:
            total += a[i, k]
    return total


def nested(a, i):
    total = a.dtype.type(0)
    for k in range(0, a.shape[1], 50):
        for j in range(50):
            total += a[i, k + j]
    return total


def in_steps(a, i):
    """Two terms a turn, the second after the first."""
    total = a.dtype.type(0)
    for k in range(0, a.shape[1], 2):
        total += a[i, k]
        total += a[i, k + 1]
    return total


def left_early(a, i):
    """The sum leaves the loop at its head or in its middle."""
    total = a.dtype.type(0)
    k = 0
    while True:
        if k >= a.shape[1]:
            break
        total += a[i, k]
        k += 1
    return total


def two_at_once(a, i):
    total = a.dtype.type(0)
    product = a.dtype.type(1)
    for k in range(a.shape[1]):
        total += a[i, k]
        product *= a[i, k]
    return total - product


def last_and_before(a, i):
    total = before = a.dtype.type(0)
    for k in range(a.shape[1]):
        before = total
        total += a[i, k]
    return total + before


SUMS = {
    added: lambda a: in_order(np.add, a),
    subtracted: lambda a: -in_order(np.add, a),
    multiplied: lambda a: in_order(np.multiply, a),
    of_products: lambda a: in_order(np.add, a * a),
    chosen: lambda a: in_order(np.add, np.where(a > 1, a, a.dtype.type(0))),
    nested: lambda a: in_order(np.add, a),
    in_steps: lambda a: in_order(np.add, a),
    left_early: lambda a: in_order(np.add, a),
    two_at_once: lambda a: in_order(np.add, a) - in_order(np.multiply, a),
    last_and_before: lambda a: in_order(np.add, a) + in_order(np.add, a[:, :-1]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("body", SUMS, ids=lambda each: each.__name__)
def test_sums_of_each_work_item_are_in_the_order_that_is_written(body, dtype):
    kernels = kernels_of(body)
    for space in SPACES:
        values = values_for(space, dtype)
        out = dpnp.zeros(len(values), dtype=dtype)
        kapi.call_kernel(kernels[type(space)], space, dpnp.asarray(values), out)
        np.testing.assert_array_equal(out.asnumpy(), SUMS[body](values), str(space))
