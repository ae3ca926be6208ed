"""Loops that are unrolled for a GPU: over private arrays, with functions of libdevice, and by steps of a variable."""

from __future__ import annotations

import ctypes
import itertools
import math
import re

import llvmlite.binding as llvm
import numpy as np
import pytest

import kapi_sim as kapi
from kapi_lowering.emission.pipeline import run_pass
from kapi_ptx.emission.optimize.strided_loops import unroll_strided_loops

FLOATS = "item1, float32[:], float32[:]"


def test_private_array_is_in_registers_where_its_loops_have_fixed_ends(assembled_compile):
    def distances(item, x, y):
        i = item.get_id(0)
        row = kapi.PrivateArray(25, np.float32)
        for k in range(25):
            row[k] = k
        for j in range(24):
            corner = row[0]
            row[0] = j
            for k in range(24):
                change = corner + x[j]
                corner = row[k + 1]
                row[k + 1] = min(change, row[k])
        y[i] = row[24]

    assert ".local" not in assembled_compile(distances, FLOATS).ptx


def test_private_matrix_is_in_registers_where_inner_loops_begin_at_outer_counters(assembled_compile):
    def factors(item, x, y):
        i = item.get_id(0)
        a = kapi.PrivateArray((6, 6), np.float32)
        for r in range(6):
            for c in range(6):
                a[r, c] = x[i * 36 + r * 6 + c]
        for p in range(6):
            for r in range(p + 1, 6):
                factor = a[r, p] / a[p, p]
                for c in range(p + 1, 6):
                    a[r, c] -= factor * a[p, c]
        total = np.float32(1.0)
        for p in range(5, -1, -1):
            total *= a[p, p]
        y[i] = total

    assert ".local" not in assembled_compile(factors, FLOATS).ptx


@pytest.mark.parametrize(("size", "index"), [(24, "given"), (1000, "counted")])
def test_private_array_stays_in_memory_where_an_index_is_given_or_it_is_large(assembled_compile, size, index):
    def counted(item, x, y):
        row = kapi.PrivateArray(size, np.float32)
        for k in range(size):
            row[k] = x[k]
        total = np.float32(0.0)
        for k in range(size):
            total += row[k] * row[size - 1 - k]
        y[item.get_id(0)] = total

    def given(item, x, y):
        row = kapi.PrivateArray(size, np.float32)
        for k in range(size):
            row[k] = x[k]
        y[item.get_id(0)] = row[np.int64(x[0])]

    ptx = assembled_compile({"counted": counted, "given": given}[index], FLOATS).ptx
    assert ".local" in ptx
    assert ptx.count("ld.global") <= 2 * 24 + 4


def test_functions_of_libdevice_are_not_copied_by_unrolling(assembled_compile):
    def series(item, x, y):
        i = item.get_id(0)
        total = 0.0
        for k in range(1, 17):
            total += math.sin(k * x[i]) / k
        y[i] = total

    ptx = assembled_compile(series, "item1, float64[:], float64[:]").ptx
    assert ptx.split(".entry ")[1].count("call.uni") == 1


@pytest.mark.parametrize(("dtype", "loads"), [("float32", 4), ("float64", 2), ("complex128", 2)])
def test_loop_over_the_grid_has_sixteen_bytes_in_flight(assembled_compile, dtype, loads):
    def total(item: kapi.NdItem, x, y):
        own = y[item.get_global_id(0)]
        for i in range(item.get_global_id(0), x.shape[0], item.get_global_range(0)):
            own += x[i]
        y[item.get_global_id(0)] = own

    ptx = assembled_compile(total, f"nd_item1, {dtype}[:], {dtype}[:]").ptx.split(".entry ")[1]
    blocks = re.split(r"^\$L\w+:", ptx, flags=re.MULTILINE)
    assert max(each.count("ld.global") for each in blocks) == loads


# A host runs what the pass makes of both forms of the loop.
_SUM = """
define i64 @sum(ptr addrspace(1) %x, i64 %n, i64 %start, i64 %step) {
entry:
  %enters = icmp slt i64 %start, %n
  br i1 %enters, label %loop, label %done

loop:
  %i = phi i64 [ %start, %entry ], [ %next, %loop ]
  %own = phi i64 [ 7, %entry ], [ %more, %loop ]
  %at = getelementptr inbounds i32, ptr addrspace(1) %x, i64 %i
  %half = load i32, ptr addrspace(1) %at, align 4
  %read = sext i32 %half to i64
  %thrice = mul i64 %own, 3
  %more = add i64 %thrice, %read
  %next = add i64 %i, %step
  TEST
  br i1 %again, label %loop, label %EXIT

EXITS
}
"""
_TESTS = {
    "what is left": "%left = sub i64 %n, %i\n  %again = icmp ugt i64 %left, %step",
    "the next": "%again = icmp slt i64 %next, %n",
}
_EXITS = {
    "shared": ("done", "done:\n  %r = phi i64 [ 0, %entry ], [ %more, %loop ]\n  ret i64 %r"),
    "its own": ("after", "after:\n  %both = add i64 %more, %i\n  ret i64 %both\n\ndone:\n  ret i64 0"),
    "a loop": (
        "after",
        "after:\n  %k = phi i64 [ 0, %loop ], [ %l, %after ]\n  %both = add i64 %more, %i\n  %l = add i64 %k, 1\n"
        "  %ends = icmp eq i64 %l, 3\n  br i1 %ends, label %end, label %after\n\n"
        "end:\n  %all = add i64 %both, %k\n  ret i64 %all\n\ndone:\n  ret i64 0",
    ),
}


@pytest.mark.parametrize("test", _TESTS)
@pytest.mark.parametrize("exit_", _EXITS)
def test_unrolled_loop_reads_the_same_elements_in_the_same_order(test, exit_):
    label, blocks = _EXITS[exit_]
    text = _SUM.replace("TEST", _TESTS[test]).replace("%EXIT", f"%{label}").replace("EXITS", blocks)
    changed = run_pass(unroll_strided_loops, text)
    assert changed.count("load i32") == 5
    x = np.random.default_rng(3).integers(0, 1000, 64, np.int32)
    ends = {
        "shared": lambda own, last: own,
        "its own": lambda own, last: own + last,
        "a loop": lambda own, last: own + last + 2,
    }[exit_]
    with _compiled(changed) as run:
        for n, start, step in itertools.product((0, 1, 2, 5, 7, 8, 9, 63, 64), (0, 1, 3, 9), (1, 2, 3, 5, 40, 2**62)):
            own, last = 7, None
            for last in range(start, n, step):
                own = own * 3 + int(x[last])
            expected = 0 if last is None else _wrapped(ends(own, last))
            assert run(x.ctypes.data, n, start, step) == expected, (n, start, step)


def _wrapped(number):
    return (number + 2**63) % 2**64 - 2**63


class _compiled:
    """The function of a text of IR, while its engine lives."""

    def __init__(self, text):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)

    def __enter__(self):
        self.engine.finalize_object()
        kinds = (ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 3)
        return ctypes.CFUNCTYPE(*kinds)(self.engine.get_function_address("sum"))

    def __exit__(self, *_):
        self.engine.close()


@pytest.mark.parametrize(
    "change",
    [
        ("load i32,", "load volatile i32,"),
        ("load i32, ptr addrspace(1) %at,", "load atomic i32, ptr addrspace(1) %at monotonic,"),
        ("%thrice = mul i64 %own, 3", "store i64 %own, ptr addrspace(1) %at, align 8\n  %thrice = mul i64 %own, 3"),
        ("%thrice = mul i64 %own, 3", "%thrice = sdiv i64 %own, 3"),
        ("%next = add i64 %i, %step", "%next = add i64 %i, %read"),
    ],
)  # fmt: skip
def test_other_loops_stay_as_they_are(change):
    label, blocks = _EXITS["shared"]
    text = _SUM.replace("TEST", _TESTS["the next"]).replace("%EXIT", f"%{label}").replace("EXITS", blocks)
    assert change[0] in text
    assert "unrolled" not in run_pass(unroll_strided_loops, text.replace(*change))
