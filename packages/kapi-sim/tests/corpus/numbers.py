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

    def kernel(item: kapi.Item, a, out):
        out[0] = a[0] // a[1]  # named, wrong
        out[0] = a[0] // a[1] if a[1] != 0 else 0  # right


class remainder_by_zero:
    error, space, arguments = kapi.DivisionByZeroError, ONE, integers
    code = "division-by-zero"

    def kernel(item: kapi.Item, a, out):
        out[0] = a[0] % a[1]  # named, wrong
        out[0] = a[0] % 4  # right


class python_integer_beyond_64_bits:
    error, space, arguments = kapi.DtypeError, ONE, lambda: (np.zeros(1, np.int64), 2**40)
    code = "integer-too-wide"

    def kernel(item: kapi.Item, out, k):
        k = k * k  # named, wrong
        out[0] = k % 7  # wrong
        k = k % 7  # right
        out[0] = k * k % 7  # right


class literal_that_does_not_fit:
    error, space, arguments = kapi.DtypeError, ONE, lambda: (np.zeros(1, np.int8),)
    code = "number-unfit"

    def kernel(item: kapi.Item, a):
        a[0] = a[0] + 300  # named, wrong
        a[0] = a[0] + 30  # right


class index_that_is_a_float:
    error, space, arguments = kapi.DtypeError, ONE, lambda: (np.zeros(4),)
    code = "index-type"

    def kernel(item: kapi.Item, a):
        a[a.shape[0] / 2] = 1  # named, wrong
        a[a.shape[0] // 2] = 1  # right


class full_array_as_a_value:
    error, space, arguments = kapi.DtypeError, ONE, lambda: (np.zeros((2, 4)),)
    code = "whole-array"

    def kernel(item: kapi.Item, a):
        a[0] = 1  # named, wrong
        for k in range(a.shape[1]):  # right
            a[0, k] = 1  # right


class double_on_a_device_without:
    error, space, controls = kapi.DtypeError, ONE, {"profile": "no-fp64"}
    code = "needs-fp64"

    def arguments():
        return np.arange(4, dtype=np.int32), np.zeros(4, np.float32)

    def kernel(item: kapi.Item, n, out):
        out[0] = n[0] / 3  # named, wrong
        out[0] = np.float32(n[0]) / 3  # right


class list_in_a_kernel:
    error, space, arguments = kapi.KernelCompilationError, ONE, integers
    code = "list-in-kernel"

    def kernel(item: kapi.Item, a, out):
        values = [a[0], a[1]]  # named, wrong
        values = (a[0], a[1])  # right
        out[0] = values[0]


class comprehension_and_dict_in_a_kernel:
    error, space, arguments = kapi.KernelCompilationError, ONE, integers
    code = "generator"

    def kernel(item: kapi.Item, a, out):
        out[0] = sum(a[k] for k in range(2))  # named, wrong
        table = {0: 1}  # named, wrong
        out[1] = table[0]  # wrong
        for k in range(2):  # right
            out[0] += a[k]  # right
        out[1] = 1  # right


class try_in_a_kernel:
    error, space, arguments = kapi.KernelCompilationError, ONE, integers
    code = "try-in-kernel"

    def kernel(item: kapi.Item, a, out):
        try:  # named, wrong
            out[0] = a[0] // a[1]  # wrong
        except ZeroDivisionError:  # wrong
            out[0] = 0  # wrong
        out[0] = a[0] // a[1] if a[1] else 0  # right


class value_is_returned:
    error, space, arguments = kapi.KernelCompilationError, ONE, integers
    code = "return-value"

    def kernel(item: kapi.Item, a, out):
        return a[0]  # named, wrong
        out[0] = a[0]  # right


class name_is_compared_as_text:
    error, space, arguments = kapi.KernelCompilationError, ONE, lambda: (np.zeros(2), 1)
    code = "text-in-kernel"

    def kernel(item: kapi.Item, a, mode):
        if mode == "fast":  # named, right: if mode == 1:
            a[0] = 1
