"""Atomics on the device under contention: nothing is lost, and what was seen before is what somebody wrote."""

from __future__ import annotations

import linecache
from zlib import crc32

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.kernels.kernel import Kernel
from kapi_runtime.sycl.devices.targets import target_of
from kapi_spirv import SpirvTarget

ITEMS, CELLS, GROUP = 960, 3, 48
CORE = SpirvTarget()
NATIVE = SpirvTarget(float_atomic_add=(32, 64), float_atomic_min_max=(32, 64))
CASES = [
    pytest.param(dtype, target, id=f"{dtype}-{name}")
    for name, target in (("core", CORE), ("native", NATIVE))
    for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
    if target is CORE or dtype[0] == "f"
]
SPACES = {
    "global": "kapi.AtomicRef(cells, ({row}, i % 3))",
    "local": "kapi.AtomicRef(tile, ({row}, i % 3), kapi.MemoryOrder.RELAXED, kapi.MemoryScope.WORK_GROUP, "
    "kapi.AddressSpace.LOCAL)",
}


def build(space, has_bits, target):
    """Every fetch operation by all work-items on the same cells; local ones are copied out by their group."""
    names = ["fetch_add", "fetch_sub", "fetch_min", "fetch_max", "exchange"]
    names += ["fetch_and", "fetch_or", "fetch_xor", "fetch_mul"] if has_bits else []
    lines = ["group = item.get_group()", "i = item.get_global_id(0)", "k = item.get_local_id(0)"]
    lines += ["if k < 3:", "    for row in range(tile.shape[0]):", "        tile[row, k] = cells[row, k]"]
    lines += ["kapi.group_barrier(group)"]
    for row, name in enumerate(names):
        lines.append(f"before[{row}, i] = {SPACES[space].format(row=row)}.{name}(x[i])")
    lines += ["kapi.group_barrier(group)"]
    lines += ["if k < 3:", "    for row in range(tile.shape[0]):"]
    lines += ["        out[group.get_group_id(0), row, k] = tile[row, k]"]
    source = "def kernel(item, x, cells, before, out, tile):\n" + "".join(f"    {line}\n" for line in lines)
    filename = f"<kernel {crc32(source.encode())}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = {"kapi": kapi}
    exec(compile(source, filename, "exec"), namespace)
    return names, Kernel(namespace["kernel"], target=target)


def check(name, start, x, before, after, members):
    """Expected value of a cell, and results of the operations on it."""
    given, seen = x[members], before[members]
    wanted = {
        "fetch_add": lambda: start + given.sum(dtype=x.dtype),
        "fetch_sub": lambda: start - given.sum(dtype=x.dtype),
        "fetch_min": lambda: min(start, given.min()),
        "fetch_max": lambda: max(start, given.max()),
        "fetch_mul": lambda: start * given.prod(dtype=x.dtype),
        "fetch_and": lambda: start & np.bitwise_and.reduce(given),
        "fetch_or": lambda: start | np.bitwise_or.reduce(given),
        "fetch_xor": lambda: start ^ np.bitwise_xor.reduce(given),
    }
    if name == "exchange":
        # All that was written, but for what is left, was seen once; and so was what was there at first.
        np.testing.assert_array_equal(np.sort([*seen, after]), np.sort([*given, start]))
        return
    assert after == wanted[name](), name
    if name in ("fetch_add", "fetch_sub"):
        # In the order in which they came, each saw what the ones before had left.
        steps = given if name == "fetch_add" else x.dtype.type(0) - given
        np.testing.assert_array_equal(np.sort(np.append(seen, after)), np.sort(np.append(seen + steps, start)))


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(("dtype", "target"), CASES)
def test_atomics_lose_nothing(dtype, target, space):
    """960 work-items on three cells, in global memory and in each group's own."""
    rng = np.random.default_rng(11)
    low = 1 if dtype[0] == "u" else -8
    x = rng.integers(low, 9, ITEMS).astype(dtype) * np.dtype(dtype).type(0.5 if dtype[0] == "f" else 1)
    names, kernel = build(space, dtype[0] != "f", target)
    cells = rng.integers(1, 50, (len(names), CELLS)).astype(dtype)
    on_device = [dpnp.asarray(cells), dpnp.zeros((len(names), ITEMS), dtype=dtype)]
    groups = ITEMS // GROUP
    out = dpnp.zeros((groups, len(names), CELLS), dtype=dtype)
    tile = kapi.LocalAccessor((len(names), CELLS), dtype)
    kapi.call_kernel(kernel, kapi.NdRange(ITEMS, GROUP), dpnp.asarray(x), *on_device, out, tile)
    after, before = (each.asnumpy() for each in on_device)
    shares = [(after, np.arange(ITEMS))]
    if space == "local":
        shares = list(zip(out.asnumpy(), np.arange(ITEMS).reshape(groups, GROUP), strict=True))
    for left, items in shares:
        for row, name in enumerate(names):
            for cell in range(CELLS):
                members = items[items % CELLS == cell]
                with np.errstate(over="ignore"):  # unsigned integers wrap
                    check(name, cells[row, cell], x, before[row], left[row, cell], members)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_cycles_come_to_each_number_as_often(dtype):
    """Adjacent counters, of which two may lie in one word, that go up to 6 and begin again."""

    @kapi.kernel
    def cycle(item: kapi.Item, counters, seen):
        i = item.get_id(0)
        seen[0, i] = kapi.AtomicRef(counters, i % 3).fetch_inc(6)
        seen[1, i] = kapi.AtomicRef(counters, 3 + i % 3).fetch_dec(6)

    counters, seen = dpnp.zeros(6, dtype=dtype), dpnp.zeros((2, ITEMS), dtype=dtype)
    kapi.call_kernel(cycle, kapi.Range(ITEMS), counters, seen)
    steps = ITEMS // CELLS
    assert counters.asnumpy().tolist() == [steps % 7] * 3 + [-steps % 7] * 3
    for row, sign in zip(seen.asnumpy().astype(int), (1, -1), strict=True):
        for cell in range(CELLS):
            wanted = np.bincount(sign * np.arange(steps) % 7)
            np.testing.assert_array_equal(np.bincount(row[cell::CELLS]), wanted)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f4", "f8"])
def test_compare_exchange_counts(dtype):
    """A counter that each work-item raises by one, trying until nobody else was faster."""

    @kapi.kernel
    def count(item: kapi.Item, counter, ranks):
        reference = kapi.AtomicRef(counter, 0, kapi.MemoryOrder.ACQ_REL)
        seen = kapi.PrivateArray(1, counter.dtype)
        seen[0] = reference.load()
        while not reference.compare_exchange(seen, seen[0] + 1):
            pass
        ranks[item.get_id(0)] = seen[0]

    n = 100 if dtype == "i1" else 500
    counter, ranks = dpnp.zeros(1, dtype=dtype), dpnp.zeros(n, dtype=dtype)
    kapi.call_kernel(count, kapi.Range(n), counter, ranks)
    assert counter.asnumpy()[0] == n
    np.testing.assert_array_equal(np.sort(ranks.asnumpy()), np.arange(n))


def test_default_device_has_native_float_atomics():
    """So that the tests above speak of what kernels use there."""
    target = target_of(kapi.default_device())
    assert set(target.float_atomic_add) >= {32, 64}
    assert set(target.float_atomic_min_max) >= {32, 64}
