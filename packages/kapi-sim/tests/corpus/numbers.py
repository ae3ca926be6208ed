"""Numbers, types, limits and constructs that a device has not."""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi

ONE = kapi.Range(1)


def integers():
    return np.array([6, 0], np.int32), np.zeros(2, np.int32)


class integer_divided_by_zero:
    error, space, arguments = kapi.DivisionByZeroError, ONE, integers
    code = "division-by-zero"

    def wrong(item: kapi.Item, a, out):
        out[0] = a[0] // a[1]  # named

    def right(item: kapi.Item, a, out):
        out[0] = a[0] // a[1] if a[1] != 0 else 0


class remainder_by_zero:
    error, space, arguments = kapi.DivisionByZeroError, ONE, integers
    code = "division-by-zero"

    def wrong(item: kapi.Item, a, out):
        out[0] = a[0] % a[1]  # named

    def right(item: kapi.Item, a, out):
        out[0] = a[0] % 4


class python_integer_beyond_64_bits:
    error, space, arguments = kapi.DtypeError, ONE, lambda: (np.zeros(1, np.int64), 2**40)
    code = "integer-too-wide"

    def wrong(item: kapi.Item, out, k):
        k = k * k  # named
        out[0] = k % 7

    def right(item: kapi.Item, out, k):
        k = k % 7
        out[0] = k * k % 7


class literal_that_does_not_fit:
    error, space, arguments = kapi.DtypeError, ONE, lambda: (np.zeros(1, np.int8),)
    code = "number-unfit"

    def wrong(item: kapi.Item, a):
        a[0] = a[0] + 300  # named

    def right(item: kapi.Item, a):
        a[0] = a[0] + 30


class index_that_is_a_float:
    error, space, arguments = kapi.DtypeError, ONE, lambda: (np.zeros(4),)
    code = "index-type"

    def wrong(item: kapi.Item, a):
        a[a.shape[0] / 2] = 1  # named

    def right(item: kapi.Item, a):
        a[a.shape[0] // 2] = 1


class full_array_as_a_value:
    error, space, arguments = kapi.DtypeError, ONE, lambda: (np.zeros((2, 4)),)
    code = "whole-array"

    def wrong(item: kapi.Item, a):
        a[0] = 1  # named

    def right(item: kapi.Item, a):
        for k in range(a.shape[1]):
            a[0, k] = 1


class double_on_a_device_without:
    error, space, controls = kapi.DtypeError, ONE, {"profile": "no-fp64"}
    code = "needs-fp64"

    def arguments():
        return np.arange(4, dtype=np.int32), np.zeros(4, np.float32)

    def wrong(item: kapi.Item, n, out):
        out[0] = n[0] / 3  # named

    def right(item: kapi.Item, n, out):
        out[0] = np.float32(n[0]) / 3


class list_in_a_kernel:
    error, space, arguments = kapi.KernelCompilationError, ONE, integers
    code = "list-in-kernel"

    def wrong(item: kapi.Item, a, out):
        values = [a[0], a[1]]  # named
        out[0] = values[0]

    def right(item: kapi.Item, a, out):
        values = (a[0], a[1])
        out[0] = values[0]


class comprehension_and_dict_in_a_kernel:
    error, space, arguments = kapi.KernelCompilationError, ONE, integers
    code = "generator"

    def wrong(item: kapi.Item, a, out):
        out[0] = sum(a[k] for k in range(2))  # named
        table = {0: 1}  # named
        out[1] = table[0]

    def right(item: kapi.Item, a, out):
        for k in range(2):
            out[0] += a[k]
        out[1] = 1


class try_in_a_kernel:
    error, space, arguments = kapi.KernelCompilationError, ONE, integers
    code = "try-in-kernel"

    def wrong(item: kapi.Item, a, out):
        try:  # named
            out[0] = a[0] // a[1]
        except ZeroDivisionError:
            out[0] = 0

    def right(item: kapi.Item, a, out):
        out[0] = a[0] // a[1] if a[1] else 0


class value_is_returned:
    error, space, arguments = kapi.KernelCompilationError, ONE, integers
    code = "return-value"

    def wrong(item: kapi.Item, a, out):
        return a[0]  # named

    def right(item: kapi.Item, a, out):
        out[0] = a[0]


class name_is_compared_as_text:
    error, space, arguments = kapi.KernelCompilationError, ONE, lambda: (np.zeros(2), 1)
    code = "text-in-kernel"

    def wrong(item: kapi.Item, a, mode):
        if mode == "fast":  # named
            a[0] = 1

    def right(item: kapi.Item, a, mode):
        if mode == 1:
            a[0] = 1
