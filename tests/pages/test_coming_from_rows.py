"""The other tables of what is called how: what stands on kapi's side runs, and gives what the row means."""

from __future__ import annotations

import re
from pathlib import Path

import numba
import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.language.other_systems import hint

FOLDER = Path(__file__).parents[2] / "docs" / "coming_from"
PAGES = ("numba_dpex", "numba_dppy", "numba_cuda_kernels", "sycl", "opencl")  # numba_cuda has a test of its own
ROW = re.compile(r"^\| (?P<theirs>.*) \| (?P<ours>.*) \|$", re.MULTILINE)

x = np.arange(1, 9, dtype=np.float32)  # for two groups of four; each is one sub-group
each = np.arange(8)

# What runs in a kernel of an NdItem, and what each work-item must have of it; None where there is nothing to have.
KERNEL = {
    "nd_item.get_global_id(0)": each,
    "it.get_global_id(0)": each,
    "nd_item.get_local_id(0)": each % 4,
    "nd_item.get_local_id(...)": each % 4,
    "nd_item.get_local_range(0)": [4] * 8,
    "nd_item.get_group().get_group_id(0)": each // 4,
    "nd_item.get_group().get_group_id(...)": each // 4,
    "it.get_group()": None,
    "kapi.PrivateArray(shape, dtype)": None,
    "kapi.PrivateArray(8, np.float32)": None,
    "kapi.AtomicRef(a, index)": None,
    "kapi.AtomicRef(a, i)": None,
    "kapi.AtomicRef(a, i).fetch_add(x)": [0] * 4 + [1, 2, 3, 4],  # the second group finds what the first has added
    "kapi.AtomicRef(a, i).compare_exchange(expected, new)": [1] * 4 + [0] * 4,
    "kapi.group_barrier(group)": None,
    "kapi.group_barrier(nd_item.get_group())": None,
    "kapi.group_barrier(g, kapi.MemoryScope.DEVICE)": None,
    "kapi.atomic_fence(order, scope)": None,
    "kapi.atomic_fence(kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.DEVICE)": None,
    "kapi.reduce_over_group(g, x, kapi.plus)": [10] * 4 + [26] * 4,
    "kapi.reduce_over_group(group, x, kapi.plus)": [10] * 4 + [26] * 4,
    "kapi.inclusive_scan_over_group(group, x, kapi.maximum)": x,
    "nd_item.get_global_range(0)": [8] * 8,
    "nd_item.get_group().get_group_range(0)": [2] * 8,
    "nd_item.get_sub_group().get_local_id()": each % 4,
    "nd_item.get_sub_group().get_local_range()": [4] * 8,
    "kapi.group_barrier(sub_group)": None,
    "kapi.reduce_over_group(group, np.int32(x > 2), kapi.plus)": [2] * 4 + [4] * 4,
    "kapi.all_of_group(group, x > 2)": [0] * 4 + [1] * 4,
    "kapi.any_of_group(group, x > 2)": [1] * 8,
    "kapi.all_of_group(sub_group, x > 2)": [0] * 4 + [1] * 4,
    "kapi.any_of_group(sub_group, x > 2)": [1] * 8,
    "kapi.reduce_over_group(sub_group, np.uint64(x > 2) << np.uint64(i), kapi.bit_or)": [12] * 4 + [15] * 4,
    "kapi.shift_group_left(sub_group, x, 1)": None,
    "kapi.shift_group_right(sub_group, x, 1)": None,
    "kapi.AtomicRef(a, i).exchange(x)": [0] * 4 + [1, 2, 3, 4],
    "kapi.group_broadcast(g, x)": [1] * 4 + [5] * 4,
    "kapi.select_from_group(sg, x, id)": [3] * 4 + [7] * 4,
    "kapi.select_from_group(sub_group, x, i)": x,
    "kapi.chunked_partition(sg, 4)": [15] * 8,
    "kapi.chunked_partition(sub_group, 4)": [15] * 8,
    "kapi.binary_partition(sg, x > 2)": [3, 3, 12, 12] + [15] * 4,
    "kapi.reduce_over_part(sg, kapi.chunked_partition(sg, 2), x, kapi.plus)": [3, 3, 7, 7, 11, 11, 15, 15],
    "kapi.permute_group_by_xor(sg, x, mask)": [2, 1, 4, 3, 6, 5, 8, 7],
    "kapi.Vec(x, 2, 3)": None,
    "kapi.Vec.load(rows, i, 4)": None,
    "v.store(rows, i)": None,
    "kapi.dot(v, v)": [25] * 8,
    "kapi.length(v)": [5] * 8,
    "v.astype(np.int32)": None,
    "kapi.clz(n)": [28] * 8,
    "kapi.ctz(n) + 1": [3] * 8,
    "kapi.popcount(n)": [2] * 8,
}

PROGRAM = """
import numpy as np

import kapi_sim as kapi

id, mask, index, shape, dtype, new = 2, 1, 0, 8, np.float32, 5
n = np.int32(12)
order, scope = kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.DEVICE


@kapi.kernel
def probe(it, values, a, result):
    nd_item = it
    group = g = it.get_group()
    sub_group = sg = it.get_sub_group()
    i = it.get_local_id(0)
    x = values[it.get_global_id(0)]
    expected = kapi.PrivateArray(1, a.dtype, fill_zeros=True)
    rows = kapi.PrivateArray((4, 4), np.float32, fill_zeros=True)
    v = kapi.Vec(3, np.float32(4))
    here = CODE
    STORE
"""

# What runs on the host, with what must hold of what it gives.
HOST = {
    "kapi.call_kernel(k, kapi.Range(n), a)": lambda b, r: (b["a"] == 1).all(),
    "kapi.call_kernel(f, kapi.Range(n), ...)": lambda b, r: (b["a"] == 1).all(),
    "kapi.call_kernel(f, kapi.NdRange(g, l), ...)": lambda b, r: (b["a"] == 1).all(),
    "kapi.call_kernel_async(k, kapi.Range(n), [events], a)": lambda b, r: (b["a"] == 1).all() and len(r) == 2,
    "kapi.call_kernel_async(f, kapi.Range(n), (), ...)": lambda b, r: (b["a"] == 1).all() and len(r) == 2,
    "kapi.call_kernel_async(f, kapi.NdRange(g, l), (), ...)": lambda b, r: (b["a"] == 1).all() and len(r) == 2,
    "kernel[global_size, kapi.DEFAULT_LOCAL_SIZE](a)": lambda b, r: (b["a"] == 1).all(),
    "kernel[global_size, local_size](a)": lambda b, r: (b["a"] == 1).all(),
    "kapi.NdRange(global_range=g, local_range=l)": lambda b, r: r == kapi.NdRange(8, 4),
    "kapi.LocalAccessor(shape, dtype)": lambda b, r: r.shape == (8,),
    'kapi.LocalAccessor(256, "float32")': lambda b, r: (r.shape, r.dtype) == ((256,), np.float32),
    "@kapi.kernel": lambda b, r: isinstance(r, kapi.Kernel),
    "@kapi.device_func": lambda b, r: isinstance(r, kapi.DeviceFunction),
    "@kapi.kernel(work_group_size=256)": lambda b, r: r.options.work_group_size == (256,),
    "@kapi.kernel(work_group_size=(16, 16))": lambda b, r: r.options.work_group_size == (16, 16),
    "@kapi.kernel(sub_group_size=16)": lambda b, r: r.options.sub_group_size == 16,
    '@kapi.kernel(fastmath={"contract"})': lambda b, r: r.options.fastmath == ("contract",),
    '@kapi.kernel("item1, int64[:], int64[:]")': lambda b, r: isinstance(r, kapi.Kernel),
    "@kapi.device_func(int32(int32))": lambda b, r: isinstance(r, kapi.DeviceFunction),
    "@kapi.kernel(fastmath=True)": lambda b, r: len(r.options.fastmath) > 1,
    "kapi.algorithms.reduce(a)": lambda b, r: r == 8,
    "kapi.algorithms.inclusive_scan(a)": lambda b, r: (r == [0, 3, 3, 6, 6, 7, 8, 8]).all(),
    "kapi.algorithms.exclusive_scan(a)": lambda b, r: (r == [0, 0, 3, 3, 6, 6, 7, 8]).all(),
    "kapi.algorithms.sort(a)": lambda b, r: (b["a"] == [0, 0, 0, 0, 1, 1, 3, 3]).all(),
    "kapi.algorithms.sort_by_key(a, values)": lambda b, r: (b["values"] == [0, 2, 4, 7, 5, 6, 1, 3]).all(),
    "kapi.algorithms.copy_if(a, positive)": lambda b, r: (r == [3, 3, 1, 1]).all(),
    "kapi.algorithms.unique(a)": lambda b, r: (r == [0, 3, 0, 3, 0, 1, 0]).all(),
    "kapi.algorithms.histogram(a, 4, 0, 8)": lambda b, r: (r == [6, 2, 0, 0]).all(),
    "kapi.algorithms.reduce_by_segment(a, values)": lambda b, r: (r[1] == [0, 1, 2, 3, 4, 11, 7]).all(),
    'with kapi.device_context("opencl:gpu"):': lambda b, r: True,
}
ITEM = {"item.get_id(0)", "it.get_id(0)", "it.get_linear_id()"}


def rows(page: str) -> list[str]:
    """The code on kapi's side of a page's table; on the other's where it is the same."""
    found = []
    for row in ROW.finditer((FOLDER / f"{page}.md").read_text("utf-8")):
        side = row["theirs"] if row["ours"].startswith("the same") and "(" in row["theirs"] else row["ours"]
        found += [code for code in re.findall(r"`([^`]+)`", side) if re.search(r"\bkapi\.\w+\(|[@(]|\[", code)]
    return [code for code in found if re.search(r"\bkapi\.|\bit\.|item\.|kernel\[|\bv\.\w+\(", code)]


CODES = sorted({code for page in PAGES for code in rows(page)})


def test_each_row_has_what_must_hold():
    assert set(CODES) == {*KERNEL, *HOST, *ITEM}


@pytest.mark.parametrize("code", [code for code in CODES if code in KERNEL])
def test_code_of_kernels_does_what_the_row_says(code, tmp_path):
    expected = KERNEL[code]
    store = "pass" if expected is None else "result[it.get_global_id(0)] = here"
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("CODE", code.replace("...", "0")).replace("STORE", store), "utf-8")
    names: dict[str, object] = {}
    exec(compile(program.read_text("utf-8"), str(program), "exec"), names)
    result = np.full(8, -1.0)
    kapi.call_kernel(names["probe"], kapi.NdRange(8, 4), x, np.zeros(8, np.float32), result)
    np.testing.assert_array_equal(result, [-1] * 8 if expected is None else expected)


@pytest.mark.parametrize("code", [code for code in CODES if code in HOST])
def test_code_of_the_host_does_what_the_row_says(code):
    kernel = kapi.kernel(store_nd if "NdRange" in code or "local_size" in code else store)
    names = {
        "kapi": kapi,
        **dict.fromkeys(("k", "f", "kernel"), kernel),
        "n": 8,
        "g": 8,
        "l": 4,
        "global_size": 8,
        "local_size": 4,
        "shape": 8,
        "dtype": "float32",
        "int32": numba.int32,
        "a": np.array([0, 3, 0, 3, 0, 1, 1, 0]) if "algorithms" in code else np.zeros(8),
        "values": np.arange(8),
        "positive": kapi.device_func(positive),
        "events": kapi.call_kernel_async(kapi.kernel(store), kapi.Range(8), (), np.zeros(8))[1],
    }
    if code.startswith("@"):
        given = eval(code.removeprefix("@"), names)(FUNCTIONS.get(code, store))
    elif code.startswith("with "):
        exec(f"{code}\n    kernel[8](a)", names)
        given = None
    else:
        given = eval(code.replace("...", "a"), names)
    assert HOST[code](names, given)


FUNCTIONS = {
    '@kapi.kernel("item1, int64[:], int64[:]")': lambda item, a, b: None,
    "@kapi.device_func(int32(int32))": lambda number: number,
}


def positive(number):
    return number > 0


def store(item, a):
    a[item.get_id(0)] += 1


def store_nd(item, a):
    a[item.get_global_id(0)] += 1


@pytest.mark.parametrize("code", sorted(ITEM))
def test_code_of_items_gives_the_index(code, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(f"def probe(it, result):\n    item = it\n    result[{code}] = {code}\n", "utf-8")
    names: dict[str, object] = {}
    exec(compile(program.read_text("utf-8"), str(program), "exec"), names)
    result = np.zeros(8)
    kapi.call_kernel(kapi.kernel(names["probe"]), kapi.Range(8), result)
    np.testing.assert_array_equal(result, each)


@pytest.mark.parametrize("page", ["numba_cuda_kernels", "opencl"])
def test_messages_know_the_names_of_the_tables(page):
    """A name that a table explains, and that a kernel could call, is answered where a kernel does."""
    text = (FOLDER / f"{page}.md").read_text("utf-8")
    called = {found[1] for row in ROW.finditer(text) for found in re.finditer(r"`([\w.]+)\(", row["theirs"])}
    named = sorted(each for each in called if each.startswith(("cuda.", "get_", "atomic_", "barrier", "work_group_")))
    assert len(named) >= 8
    assert [each for each in named if not hint(each.split("."))] == []
