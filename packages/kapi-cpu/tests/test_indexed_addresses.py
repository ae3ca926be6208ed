"""Elements by an index of each work-item: neighbours in most vectors, or anywhere."""

from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import SHAPES, Cpu, shapes, signature_of

import kapi_sim as kapi
from kapi_cpu import compile_kernel, explain, host_target
from kapi_sim import AtomicRef, group_barrier

SIZE = 150


def clamped(item: kapi.Item, a, out, reach):
    i, n = item.get_id(0), a.shape[0]
    out[i] = a[max(i - reach, 0)] + a[min(i + reach, n - 1)]


def periodic(item: kapi.Item, a, out, reach):
    i, n = item.get_id(0), a.shape[0]
    if a[i] > 3:
        out[(i + reach) % n] = a[(i - reach) % n]


def butterfly(item: kapi.Item, a, out, reach):
    i = item.get_id(0)
    k = i % reach
    at = 2 * (i - k) + k
    out[at] = a[at] + a[at + reach]
    out[at + reach] = a[at] - a[at + reach]


def blocks(item: kapi.Item, a, out, reach):
    i = item.get_id(0)
    at = i // reach * 2 * reach + i % reach
    out[at] = a[at] + a[at + reach]
    out[at + reach] = a[at] - a[at + reach]


def quadruples(item: kapi.Item, a, out, reach):
    i = item.get_id(0)
    at = (i + reach) % (a.shape[0] // 4) * 4
    w, x, y, z = a[at], a[at + 1], a[at + 2], a[at + 3]
    to = (i ^ 1) * 4 if i ^ 1 < a.shape[0] // 4 else i * 4
    out[to], out[to + 1], out[to + 2], out[to + 3] = z, x, y, w


def in_numpy(kernel, a, reach):
    out, n, i = np.zeros_like(a), len(a), np.arange(len(a))
    if kernel is clamped:
        out[:] = a[np.maximum(i - reach, 0)] + a[np.minimum(i + reach, n - 1)]
    elif kernel is periodic:
        to, found = (i + reach) % n, a[(i - reach) % n]
        out[to[a > 3]] = found[a > 3]
    elif kernel in (butterfly, blocks):
        given, made = a.reshape(-1, 2, reach), out.reshape(-1, 2, reach)
        made[:, 0], made[:, 1] = given[:, 0] + given[:, 1], given[:, 0] - given[:, 1]
    else:
        rows = np.roll(a.reshape(-1, 4), -reach, axis=0)[:, [3, 1, 2, 0]]
        to = np.arange(len(rows)) ^ 1
        out.reshape(-1, 4)[np.where(to < len(rows), to, np.arange(len(rows)))] = rows
    return out


@pytest.mark.nightly(one_in=9)
@pytest.mark.parametrize("shape", ["", *shapes()])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("kernel", [clamped, periodic, butterfly, blocks, quadruples])
def test_elements_are_those_of_each_work_item(kernel, dtype, shape):
    cpu = Cpu(replace(host_target(), **SHAPES.get(shape, {})))
    if dtype in (np.complex64, np.complex128) and kernel is periodic:
        pytest.skip("complex numbers have no order")
    for reach in (1, 3, 16, 40):
        size = {butterfly: 4 * reach, blocks: 4 * reach, quadruples: 4 * SIZE}.get(kernel, SIZE)
        a = np.random.default_rng(reach).integers(0, 9, size).astype(dtype)
        out = np.zeros(size, dtype)
        items = {butterfly: size // 2, blocks: size // 2, quadruples: SIZE}.get(kernel, size)
        cpu.call(kapi.kernel(kernel), kapi.Range(items), a, out, reach)
        np.testing.assert_array_equal(out, in_numpy(kernel, a, reach), f"{reach}")


@pytest.mark.parametrize("kernel", [clamped, butterfly, blocks])
def test_neighbours_by_arithmetic_are_asked_for(kernel):
    a = np.zeros(4, np.float32)
    module = compile_kernel(kernel, signature_of(1, (a, a, 1)))
    reasons = {each.why for each in explain(module).decisions if each.kind == "gather"}
    assert reasons == {"all lanes at once where the code finds that they are neighbours, or else each on its own"}


def histogram(item: kapi.NdItem, values, out, bins):
    group, i, k = item.get_group(), item.get_global_id(0), item.get_local_id(0)
    bins[k] = 0
    group_barrier(group)
    if i < values.shape[0]:
        AtomicRef(bins, values[i]).fetch_add(1)
    group_barrier(group)
    AtomicRef(bins, (k * 5) % 32).fetch_max(k % 3)
    group_barrier(group)
    out[group.get_group_id(0), k] = bins[k]


@pytest.mark.nightly(one_in=4)
@pytest.mark.parametrize("shape", ["", *shapes()])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
def test_updates_are_those_of_the_simulator(dtype, shape):
    values = np.random.default_rng(0).integers(0, 32, 120).astype(dtype)
    found = []
    for call in (kapi.call_kernel, Cpu(replace(host_target(), **SHAPES.get(shape, {}))).call):
        out = np.zeros((4, 32), np.int32)
        call(kapi.kernel(histogram), kapi.NdRange(128, 32), values, out, kapi.LocalAccessor(32, np.int32))
        found.append(out)
    np.testing.assert_array_equal(*found)
