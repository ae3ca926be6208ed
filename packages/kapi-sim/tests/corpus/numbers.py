"""Numbers, types, limits and constructs that a device has not."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

ONE = kapi.Range(1)


def integers():
    return np.array([6, 0], np.int32), np.zeros(2, np.int32)


@pair(kapi.DivisionByZeroError, "division-by-zero", ONE, integers)
def integer_divided_by_zero(item: kapi.Item, a, out):
    out[0] = a[0] // a[1]  # named, wrong
    out[0] = a[0] // a[1] if a[1] != 0 else 0  # right


@pair(kapi.DivisionByZeroError, "division-by-zero", ONE, integers)
def remainder_by_zero(item: kapi.Item, a, out):
    out[0] = a[0] % a[1]  # named, wrong
    out[0] = a[0] % 4  # right


@pair(kapi.DtypeError, "integer-too-wide", ONE, lambda: (np.zeros(1, np.int64), 2**40))
def python_integer_beyond_64_bits(item: kapi.Item, out, k):
    k = k * k  # named, wrong
    out[0] = k % 7  # wrong
    k = k % 7  # right
    out[0] = k * k % 7  # right


@pair(kapi.DtypeError, "number-unfit", ONE, lambda: (np.zeros(1, np.int8),))
def literal_that_does_not_fit(item: kapi.Item, a):
    a[0] = a[0] + 300  # named, wrong
    a[0] = a[0] + 30  # right


@pair(kapi.DtypeError, "index-type", ONE, lambda: (np.zeros(4),))
def index_that_is_a_float(item: kapi.Item, a):
    a[a.shape[0] / 2] = 1  # named, wrong
    a[a.shape[0] // 2] = 1  # right


@pair(kapi.DtypeError, "whole-array", ONE, lambda: (np.zeros((2, 4)),))
def full_array_as_a_value(item: kapi.Item, a):
    a[0] = 1  # named, wrong
    for k in range(a.shape[1]):  # right
        a[0, k] = 1  # right


@pair(
    kapi.DtypeError,
    "needs-fp64",
    ONE,
    lambda: (np.arange(4, dtype=np.int32), np.zeros(4, np.float32)),
    profile="no-fp64",
)
def double_on_a_device_without(item: kapi.Item, n, out):
    out[0] = n[0] / 3  # named, wrong
    out[0] = np.float32(n[0]) / 3  # right


@pair(kapi.KernelCompilationError, "list-in-kernel", ONE, integers)
def list_in_a_kernel(item: kapi.Item, a, out):
    values = [a[0], a[1]]  # named, wrong
    values = (a[0], a[1])  # right
    out[0] = values[0]


@pair(kapi.KernelCompilationError, "generator", ONE, integers)
def comprehension_and_dict_in_a_kernel(item: kapi.Item, a, out):
    out[0] = sum(a[k] for k in range(2))  # named, wrong
    table = {0: 1}  # named, wrong
    out[1] = table[0]  # wrong
    for k in range(2):  # right
        out[0] += a[k]  # right
    out[1] = 1  # right


@pair(kapi.KernelCompilationError, "try-in-kernel", ONE, integers)
def try_in_a_kernel(item: kapi.Item, a, out):
    try:  # named, wrong
        out[0] = a[0] // a[1]  # wrong
    except ZeroDivisionError:  # wrong
        out[0] = 0  # wrong
    out[0] = a[0] // a[1] if a[1] else 0  # right


@pair(kapi.KernelCompilationError, "return-value", ONE, integers)
def value_is_returned(item: kapi.Item, a, out):
    return a[0]  # named, wrong
    out[0] = a[0]  # right


@pair(kapi.KernelCompilationError, "text-in-kernel", ONE, lambda: (np.zeros(2), 1))
def name_is_compared_as_text(item: kapi.Item, a, mode):
    if mode == "fast":  # named, right: if mode == 1:
        a[0] = 1
