"""Views, slices, transposes and odd arrays: memory that two names share, and indices that miss nd_item."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

import kapi_sim as kapi

R = kapi.Range


class overlapping_halves:
    error, space = kapi.DataRaceError, R(6)
    code = "data-race"

    def arguments():
        a = np.arange(10.0)
        return a[:6], a[4:]

    def kernel(item: kapi.Item, lower, upper):
        i = item.get_id(0)
        lower[i] = i  # named, wrong
        if i < 4:  # right
            lower[i] = i  # right
        upper[i] = -i  # named


class array_and_its_transpose:
    error, space = kapi.DataRaceError, R(4, 4)
    code = "data-race"

    def arguments():
        a = np.arange(16.0).reshape(4, 4)
        return a, a.T

    def kernel(item: kapi.Item, a, at):
        y = item.get_id(0)
        x = item.get_id(1)
        at[y, x] = a[y, x]  # named, wrong
        at[x, y] = a[y, x]  # right


class every_other_element:
    error, space = kapi.DataRaceError, R(4)
    code = "data-race"

    def arguments():
        a = np.arange(8.0)
        return a, a[::2]

    def kernel(item: kapi.Item, a, even):
        i = item.get_id(0)
        even[i] = a[i]  # named, wrong
        even[i] = a[2 * i]  # right


class broadcast_column:
    error, space = kapi.KernelLaunchError, R(3, 4)
    code = "argument-overlaps-itself"

    def arguments():
        return (np.lib.stride_tricks.as_strided(np.zeros(3), (3, 4), (8, 0)), np.zeros((3, 4)))

    def kernel(item: kapi.Item, b, c):
        y = item.get_id(0)
        x = item.get_id(1)
        b[y, x] = x  # named, wrong
        c[y, x] = b[y, x] + x  # right


class real_part_and_complex:
    error, space = kapi.DataRaceError, R(3)
    code = "data-race"

    def arguments():
        z = np.zeros(3, np.complex128)
        return z, z.real

    def kernel(item: kapi.Item, z, re):
        i = item.get_id(0)
        re[2 - i] = 1.0 + i  # named, wrong
        re[i] = 1.0 + i  # right
        z[i] = z[i] * 2.0  # named


class bytes_of_an_int:
    error, space = kapi.DataRaceError, R(8)
    code = "data-race"

    def arguments():
        a = np.zeros(2, np.int32)
        return a, a.view(np.int8)

    def kernel(item: kapi.Item, a, b):
        i = item.get_id(0)
        b[i] = i  # named
        if i == 1:
            a[1] = 5  # named, wrong
            b[1] = 5  # right


class alias_of_a_tuple:
    error, space = kapi.DataRaceError, R(4)
    code = "data-race"

    def arguments():
        a = np.arange(4.0)
        return ((a, a[::-1]),)

    def kernel(item: kapi.Item, pair):
        i = item.get_id(0)
        pair[0][i] = pair[1][i]  # named, wrong
        pair[0][i] = pair[1][3 - i]  # right


Pair = namedtuple("Pair", "src dst")


class named_tuple_out_of_bounds:
    error, space = kapi.OutOfBoundsError, R(4)
    code = "index-out-of-bounds"

    def arguments():
        return (Pair(np.arange(4.0), np.zeros(3)),)

    def kernel(item: kapi.Item, io):
        i = item.get_id(0)
        io.dst[i] = io.src[i]  # named, wrong
        if i < io.dst.shape[0]:  # right
            io.dst[i] = io.src[i]  # right


class zero_d_sum:
    error, space = kapi.DataRaceError, R(4)
    code = "data-race"

    def arguments():
        return np.arange(4.0), np.zeros(())

    def kernel(item: kapi.Item, a, total):
        total[()] += a[item.get_id(0)]  # named, wrong
        kapi.AtomicRef(total, ()).fetch_add(a[item.get_id(0)])  # right


class zero_d_indexed:
    error, space = kapi.OutOfBoundsError, R(1)
    code = "too-many-indices"

    def arguments():
        return np.arange(4.0), np.zeros(())

    def kernel(item: kapi.Item, a, total):
        total[0] = a[0]  # named, wrong
        total[()] = a[0]  # right


class empty_second_axis:
    error, space = kapi.OutOfBoundsError, R(2)
    code = "index-out-of-bounds"

    def arguments():
        return np.zeros((2, 0)), np.zeros(2)

    def kernel(item: kapi.Item, a, out):
        out[item.get_id(0)] = a[item.get_id(0), 0]  # named, wrong
        for k in range(a.shape[1]):  # right
            out[item.get_id(0)] = a[item.get_id(0), k]  # right


class six_axes_last_one_out:
    error, space = kapi.OutOfBoundsError, R(2, 2, 2)
    code = "index-out-of-bounds"

    def arguments():
        return (np.zeros((2, 2, 2, 2, 2, 3)),)

    def kernel(item: kapi.Item, a):
        a[item.get_id(0), item.get_id(1), item.get_id(2), 0, 1, item.get_id(0) + 2] = 1.0  # named, wrong
        a[item.get_id(0), item.get_id(1), item.get_id(2), 0, 1, item.get_id(0) + 1] = 1.0  # right


class six_axes_race:
    error, space = kapi.DataRaceError, R(2, 2, 2)
    code = "data-race"

    def arguments():
        return (np.zeros((2, 2, 2, 2, 2, 3)),)

    def kernel(item: kapi.Item, a):
        a[item.get_id(0), item.get_id(1), 0, 0, 0, 0] = item.get_id(2)  # named, wrong
        a[item.get_id(0), item.get_id(1), 0, 0, 0, item.get_id(2)] = item.get_id(2)  # right


class negative_stride_view_oob:
    error, space = kapi.OutOfBoundsError, R(5)
    code = "index-out-of-bounds"

    def arguments():
        return (np.arange(8.0)[::-2], np.zeros(5))

    def kernel(item: kapi.Item, rev, out):
        out[item.get_id(0)] = rev[item.get_id(0)]  # named, wrong
        if item.get_id(0) < rev.shape[0]:  # right
            out[item.get_id(0)] = rev[item.get_id(0)]  # right


class row_view_in_kernel:
    error, space = kapi.OutOfBoundsError, R(3)
    code = "index-out-of-bounds"

    def arguments():
        return (np.zeros((3, 4)),)

    def kernel(item: kapi.Item, a):
        row = a[item.get_id(0)]
        for k in range(a.shape[1] + 1):  # right: for k in range(row.shape[0]):
            row[k] = 1.0  # named


class slice_in_kernel_races:
    error, space = kapi.DataRaceError, R(3)
    code = "data-race"

    def arguments():
        return (np.zeros(8),)

    def kernel(item: kapi.Item, a):
        i = item.get_id(0)
        part = a[2 * i : 2 * i + 3]  # wrong
        part = a[2 * i : 2 * i + 2]  # right
        for k in range(3):  # right: for k in range(2):
            part[k] = i  # named


class slice_beyond_is_short:
    error, space = kapi.OutOfBoundsError, R(4)
    code = "index-out-of-bounds"

    def arguments():
        return (np.zeros(11),)

    def kernel(item: kapi.Item, a):
        i = item.get_id(0)
        part = a[3 * i : 3 * i + 3]
        for k in range(3):  # right: for k in range(part.shape[0]):
            part[k] = 1.0  # named


class transposed_in_kernel:
    error, space = kapi.OutOfBoundsError, R(2, 3)
    code = "index-out-of-bounds"

    def arguments():
        return (np.zeros((2, 3)),)

    def kernel(item: kapi.Item, m):
        m.T[item.get_id(0), item.get_id(1)] = 1.0  # named, wrong
        m.T[item.get_id(1), item.get_id(0)] = 1.0  # right


class mask_index:
    error, space = kapi.DtypeError, R(2)
    code = "index-type"

    def arguments():
        return (np.zeros(3), np.ones(3, bool))

    def kernel(item: kapi.Item, m, mask):
        m[mask[0]] = 1.0  # named, wrong
        if mask[0] and item.get_id(0) == 0:  # right
            m[0] = 1.0  # right


class index_unsigned_wraps:
    error, space = kapi.OutOfBoundsError, R(3)
    code = "index-out-of-bounds"

    def arguments():
        return (np.arange(3.0), np.array([1, 0, 2], np.uint32), np.zeros(3))

    def kernel(item: kapi.Item, a, ind, out):
        out[item.get_id(0)] = a[ind[item.get_id(0)] - 1]  # named, wrong
        out[item.get_id(0)] = a[ind[item.get_id(0)]]  # right


class csr_row_end:
    error, space = kapi.OutOfBoundsError, R(3)
    code = "index-out-of-bounds"

    def arguments():
        return (np.array([0, 2, 3]), np.array([0, 1, 0, 2]), np.ones(4), np.ones(3), np.zeros(3))

    def wrong(item: kapi.Item, rows, cols, values, x, y):
        i = item.get_id(0)
        s = 0.0
        for k in range(rows[i], rows[i + 1]):  # named
            s += values[k] * x[cols[k]]
        y[i] = s

    def right(item: kapi.Item, rows, cols, values, x, y):
        i = item.get_id(0)
        s = 0.0
        end = rows[i + 1] if i + 1 < rows.shape[0] else cols.shape[0]
        for k in range(rows[i], end):
            s += values[k] * x[cols[k]]
        y[i] = s


class scatter_with_duplicates:
    error, space = kapi.DataRaceError, R(4)
    code = "data-race"

    def arguments():
        return (np.array([0, 1, 2, 1]), np.arange(4.0), np.zeros(3))

    def kernel(item: kapi.Item, ind, a, out):
        i = item.get_id(0)
        out[ind[i]] += a[i]  # named, wrong
        kapi.AtomicRef(out, ind[i]).fetch_add(a[i])  # right


class max_without_atomic:
    error, space = kapi.DataRaceError, R(4)
    code = "data-race"

    def arguments():
        return (np.arange(4.0), np.zeros(1))

    def kernel(item: kapi.Item, a, best):
        i = item.get_id(0)
        if a[i] > best[0]:  # named, wrong
            best[0] = a[i]  # named, wrong
        kapi.AtomicRef(best, 0).fetch_max(a[i])  # right


class private_augmented_before_write:
    error, space = kapi.UninitializedReadError, kapi.NdRange(4, 2)
    code = "read-before-write"

    def arguments():
        return (np.zeros(4),)

    def kernel(nd_item: kapi.NdItem, out):
        acc = kapi.PrivateArray(1, np.float32)
        acc[0] = 0  # right
        for _ in range(3):
            acc[0] += 1  # named
        kapi.group_barrier(nd_item.get_group())
        out[nd_item.get_global_id(0)] = acc[0]


class private_in_a_function:
    error, space = kapi.UninitializedReadError, R(2)
    code = "read-before-write"

    def arguments():
        return (np.zeros(2),)

    def kernel(item: kapi.Item, out):
        out[item.get_id(0)] = weights_wrong(0.5)  # wrong
        out[item.get_id(0)] = weights(0.5)  # right


@kapi.device_func
def weights_wrong(x):
    w = kapi.PrivateArray(3, np.float64)
    for k in range(2):
        w[k] = x
    return w[0] + w[1] + w[2]  # named


@kapi.device_func
def weights(x):
    w = kapi.PrivateArray(3, np.float64)
    for k in range(3):
        w[k] = x
    return w[0] + w[1] + w[2]


class local_array_two_names:
    error, space = kapi.DataRaceError, kapi.NdRange(4, 4)
    code = "data-race"

    def arguments():
        return (np.zeros(4), kapi.LocalAccessor(8, np.float64))

    def kernel(nd_item: kapi.NdItem, out, t):
        k = nd_item.get_local_id(0)
        lower = t[:4]
        upper = t[3:]  # wrong
        upper = t[4:]  # right
        lower[k] = k  # named
        upper[k] = -k  # named
        kapi.group_barrier(nd_item.get_group())
        out[k] = t[k]


class half_of_id_is_a_float:
    error, space = kapi.DtypeError, R(4)
    code = "index-type"

    def arguments():
        return (np.zeros(4),)

    def kernel(item: kapi.Item, out):
        out[item.get_id(0) / 2] = 1.0  # named, wrong
        out[item.get_id(0)] = 1.0  # right


private_in_a_function.calls = (weights_wrong.py_func,)
