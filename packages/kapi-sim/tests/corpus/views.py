"""Views, slices, transposes and odd arrays: memory that two names share, and indices that miss nd_item."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

R = kapi.Range


def arrays_of_overlapping_halves():
    a = np.arange(10.0)
    return a[:6], a[4:]


@pair(kapi.DataRaceError, "data-race", R(6), arrays_of_overlapping_halves)
def overlapping_halves(item: kapi.Item, lower, upper):
    i = item.get_id(0)
    lower[i] = i  # named, wrong
    if i < 4:  # right
        lower[i] = i  # right
    upper[i] = -i  # named


def arrays_of_array_and_its_transpose():
    a = np.arange(16.0).reshape(4, 4)
    return a, a.T


@pair(kapi.DataRaceError, "data-race", R(4, 4), arrays_of_array_and_its_transpose)
def array_and_its_transpose(item: kapi.Item, a, at):
    y = item.get_id(0)
    x = item.get_id(1)
    at[y, x] = a[y, x]  # named, wrong
    at[x, y] = a[y, x]  # right


def arrays_of_every_other_element():
    a = np.arange(8.0)
    return a, a[::2]


@pair(kapi.DataRaceError, "data-race", R(4), arrays_of_every_other_element)
def every_other_element(item: kapi.Item, a, even):
    i = item.get_id(0)
    even[i] = a[i]  # named, wrong
    even[i] = a[2 * i]  # right


@pair(
    kapi.KernelLaunchError,
    "argument-overlaps-itself",
    R(3, 4),
    lambda: (np.lib.stride_tricks.as_strided(np.zeros(3), (3, 4), (8, 0)), np.zeros((3, 4))),
)
def broadcast_column(item: kapi.Item, b, c):
    y = item.get_id(0)
    x = item.get_id(1)
    b[y, x] = x  # named, wrong
    c[y, x] = b[y, x] + x  # right


def arrays_of_real_part_and_complex():
    z = np.zeros(3, np.complex128)
    return z, z.real


@pair(kapi.DataRaceError, "data-race", R(3), arrays_of_real_part_and_complex)
def real_part_and_complex(item: kapi.Item, z, re):
    i = item.get_id(0)
    re[2 - i] = 1.0 + i  # named, wrong
    re[i] = 1.0 + i  # right
    z[i] = z[i] * 2.0  # named


def arrays_of_bytes_of_an_int():
    a = np.zeros(2, np.int32)
    return a, a.view(np.int8)


@pair(kapi.DataRaceError, "data-race", R(8), arrays_of_bytes_of_an_int)
def bytes_of_an_int(item: kapi.Item, a, b):
    i = item.get_id(0)
    b[i] = i  # named
    if i == 1:
        a[1] = 5  # named, wrong
        b[1] = 5  # right


def arrays_of_alias_of_a_tuple():
    a = np.arange(4.0)
    return ((a, a[::-1]),)


@pair(kapi.DataRaceError, "data-race", R(4), arrays_of_alias_of_a_tuple)
def alias_of_a_tuple(item: kapi.Item, pair):
    i = item.get_id(0)
    pair[0][i] = pair[1][i]  # named, wrong
    pair[0][i] = pair[1][3 - i]  # right


Pair = namedtuple("Pair", "src dst")


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", R(4), lambda: (Pair(np.arange(4.0), np.zeros(3)),))
def named_tuple_out_of_bounds(item: kapi.Item, io):
    i = item.get_id(0)
    io.dst[i] = io.src[i]  # named, wrong
    if i < io.dst.shape[0]:  # right
        io.dst[i] = io.src[i]  # right


@pair(kapi.DataRaceError, "data-race", R(4), lambda: (np.arange(4.0), np.zeros(())))
def zero_d_sum(item: kapi.Item, a, total):
    total[()] += a[item.get_id(0)]  # named, wrong
    kapi.AtomicRef(total, ()).fetch_add(a[item.get_id(0)])  # right


@pair(kapi.OutOfBoundsError, "too-many-indices", R(1), lambda: (np.arange(4.0), np.zeros(())))
def zero_d_indexed(item: kapi.Item, a, total):
    total[0] = a[0]  # named, wrong
    total[()] = a[0]  # right


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", R(2), lambda: (np.zeros((2, 0)), np.zeros(2)))
def empty_second_axis(item: kapi.Item, a, out):
    out[item.get_id(0)] = a[item.get_id(0), 0]  # named, wrong
    for k in range(a.shape[1]):  # right
        out[item.get_id(0)] = a[item.get_id(0), k]  # right


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", R(2, 2, 2), lambda: (np.zeros((2, 2, 2, 2, 2, 3)),))
def six_axes_last_one_out(item: kapi.Item, a):
    a[item.get_id(0), item.get_id(1), item.get_id(2), 0, 1, item.get_id(0) + 2] = 1.0  # named, wrong
    a[item.get_id(0), item.get_id(1), item.get_id(2), 0, 1, item.get_id(0) + 1] = 1.0  # right


@pair(kapi.DataRaceError, "data-race", R(2, 2, 2), lambda: (np.zeros((2, 2, 2, 2, 2, 3)),))
def six_axes_race(item: kapi.Item, a):
    a[item.get_id(0), item.get_id(1), 0, 0, 0, 0] = item.get_id(2)  # named, wrong
    a[item.get_id(0), item.get_id(1), 0, 0, 0, item.get_id(2)] = item.get_id(2)  # right


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", R(5), lambda: (np.arange(8.0)[::-2], np.zeros(5)))
def negative_stride_view_oob(item: kapi.Item, rev, out):
    out[item.get_id(0)] = rev[item.get_id(0)]  # named, wrong
    if item.get_id(0) < rev.shape[0]:  # right
        out[item.get_id(0)] = rev[item.get_id(0)]  # right


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", R(3), lambda: (np.zeros((3, 4)),))
def row_view_in_kernel(item: kapi.Item, a):
    row = a[item.get_id(0)]
    for k in range(a.shape[1] + 1):  # right: for k in range(row.shape[0]):
        row[k] = 1.0  # named


@pair(kapi.DataRaceError, "data-race", R(3), lambda: (np.zeros(8),))
def slice_in_kernel_races(item: kapi.Item, a):
    i = item.get_id(0)
    part = a[2 * i : 2 * i + 3]  # wrong
    part = a[2 * i : 2 * i + 2]  # right
    for k in range(3):  # right: for k in range(2):
        part[k] = i  # named


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", R(4), lambda: (np.zeros(11),))
def slice_beyond_is_short(item: kapi.Item, a):
    i = item.get_id(0)
    part = a[3 * i : 3 * i + 3]
    for k in range(3):  # right: for k in range(part.shape[0]):
        part[k] = 1.0  # named


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", R(2, 3), lambda: (np.zeros((2, 3)),))
def transposed_in_kernel(item: kapi.Item, m):
    m.T[item.get_id(0), item.get_id(1)] = 1.0  # named, wrong
    m.T[item.get_id(1), item.get_id(0)] = 1.0  # right


@pair(kapi.DtypeError, "index-type", R(2), lambda: (np.zeros(3), np.ones(3, bool)))
def mask_index(item: kapi.Item, m, mask):
    m[mask[0]] = 1.0  # named, wrong
    if mask[0] and item.get_id(0) == 0:  # right
        m[0] = 1.0  # right


@pair(
    kapi.OutOfBoundsError,
    "index-out-of-bounds",
    R(3),
    lambda: (np.arange(3.0), np.array([1, 0, 2], np.uint32), np.zeros(3)),
)
def index_unsigned_wraps(item: kapi.Item, a, ind, out):
    out[item.get_id(0)] = a[ind[item.get_id(0)] - 1]  # named, wrong
    out[item.get_id(0)] = a[ind[item.get_id(0)]]  # right


@pair(
    kapi.OutOfBoundsError,
    "index-out-of-bounds",
    R(3),
    lambda: (np.array([0, 2, 3]), np.array([0, 1, 0, 2]), np.ones(4), np.ones(3), np.zeros(3)),
)
def csr_row_end(item: kapi.Item, rows, cols, values, x, y):
    i = item.get_id(0)
    s = 0.0
    for k in range(rows[i], rows[i + 1]):  # named, wrong
        s += values[k] * x[cols[k]]  # wrong
    end = rows[i + 1] if i + 1 < rows.shape[0] else cols.shape[0]  # right
    for k in range(rows[i], end):  # right
        s += values[k] * x[cols[k]]  # right
    y[i] = s


@pair(kapi.DataRaceError, "data-race", R(4), lambda: (np.array([0, 1, 2, 1]), np.arange(4.0), np.zeros(3)))
def scatter_with_duplicates(item: kapi.Item, ind, a, out):
    i = item.get_id(0)
    out[ind[i]] += a[i]  # named, wrong
    kapi.AtomicRef(out, ind[i]).fetch_add(a[i])  # right


@pair(kapi.DataRaceError, "data-race", R(4), lambda: (np.arange(4.0), np.zeros(1)))
def max_without_atomic(item: kapi.Item, a, best):
    i = item.get_id(0)
    if a[i] > best[0]:  # named, wrong
        best[0] = a[i]  # named, wrong
    kapi.AtomicRef(best, 0).fetch_max(a[i])  # right


@pair(kapi.UninitializedReadError, "read-before-write", kapi.NdRange(4, 2), lambda: (np.zeros(4),))
def private_augmented_before_write(nd_item: kapi.NdItem, out):
    acc = kapi.PrivateArray(1, np.float32)
    acc[0] = 0  # right
    for _ in range(3):
        acc[0] += 1  # named
    kapi.group_barrier(nd_item.get_group())
    out[nd_item.get_global_id(0)] = acc[0]


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


@pair(kapi.UninitializedReadError, "read-before-write", R(2), lambda: (np.zeros(2),), calls=(weights_wrong.py_func,))
def private_in_a_function(item: kapi.Item, out):
    out[item.get_id(0)] = weights_wrong(0.5)  # wrong
    out[item.get_id(0)] = weights(0.5)  # right


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 4), lambda: (np.zeros(4), kapi.LocalAccessor(8, np.float64)))
def local_array_two_names(nd_item: kapi.NdItem, out, t):
    k = nd_item.get_local_id(0)
    lower = t[:4]
    upper = t[3:]  # wrong
    upper = t[4:]  # right
    lower[k] = k  # named
    upper[k] = -k  # named
    kapi.group_barrier(nd_item.get_group())
    out[k] = t[k]


@pair(kapi.DtypeError, "index-type", R(4), lambda: (np.zeros(4),))
def half_of_id_is_a_float(item: kapi.Item, out):
    out[item.get_id(0) / 2] = 1.0  # named, wrong
    out[item.get_id(0)] = 1.0  # right
