"""Loops over ranges that come to the ends of 64 bits, whatever the step and however it is known."""

from __future__ import annotations

import linecache

import device_arrays
import numpy as np
import pytest

import kapi_runtime as kapi

MOST = 2**63
ENDS = [0, 1, -1, 100, MOST - 1, MOST - 2, MOST - 8, -MOST, -MOST + 1, -MOST + 9, 2**62, -(2**62)]
ITERATIONS = 20  # most that are looked at
SOURCE = """
def each(item, a, b, step, out):
    i = item.get_id(0)
    for way in range(3):
        count = 0
        mixed = 0
        if way == 0:
            for value in range(a[i], b[i], {step}):
                count += 1
                mixed ^= value * count
                if count == {turns}:
                    break
        elif way == 1:
            for value in range(a[i], b[i], step):
                count += 1
                mixed ^= value * count
                if count == {turns}:
                    break
        else:
            for value in reversed(range(a[i], b[i], {step})):
                count += 1
                mixed ^= value * count
                if count == {turns}:
                    break
        out[i, way, 0] = count
        out[i, way, 1] = mixed
"""


def kernel_of(step):
    text, name, namespace = SOURCE.format(step=step, turns=ITERATIONS), f"<range by {step}>", {}
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), namespace)
    return kapi.kernel(namespace["each"])


def right(values):
    count = mixed = 0
    for value in values:
        count += 1
        mixed ^= value * count
        if count == ITERATIONS:
            break
    return [count, (mixed + MOST) % (2 * MOST) - MOST]


@pytest.mark.parametrize("step", [1, -1, 3, -5, 256, 2**62, -(2**62), MOST - 1])
def test_ranges_end_where_python_ends_them(step):
    pairs = [(start, stop) for start in ENDS for stop in ENDS]
    pairs += [(start, start + more) for start in ENDS for more in (step - 1, step + 1, 3 * step, 3 * step + 1)]
    pairs = [pair for pair in pairs if -MOST <= pair[1] < MOST]
    starts, stops = (device_arrays.asarray(np.array(each, np.int64)) for each in zip(*pairs, strict=True))
    out = device_arrays.zeros((len(pairs), 3, 2), dtype=np.int64)
    kapi.call_kernel(kernel_of(step), kapi.Range(len(pairs)), starts, stops, step, out)
    ranges = [range(start, stop, step) for start, stop in pairs]
    expected = [[right(each), right(each), right(reversed(each))] for each in ranges]
    np.testing.assert_array_equal(device_arrays.asnumpy(out), np.array(expected, np.int64))
