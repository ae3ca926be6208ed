"""Bodies that are seldom run: their branch is kept by one in them."""

from __future__ import annotations

import ctypes
import re

import llvmlite.binding as llvm
import numpy as np
import pytest

import kapi_sim as kapi
from kapi_lowering.emission.pipeline import run_pass
from kapi_ptx.emission.optimize.rare_branches import keep_rare_branches

LEAST = """
define void @least(ptr %x, i64 %n, ptr %out) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %join ]
  %a = phi i64 [ 100, %entry ], [ %a.2, %join ]
  %b = phi i64 [ 100, %entry ], [ %b.2, %join ]
  %c = phi i64 [ 100, %entry ], [ %c.2, %join ]
  %d = phi i64 [ 100, %entry ], [ %d.2, %join ]
  %at = getelementptr i64, ptr %x, i64 %i
  %new = load i64, ptr %at
  %is.less = icmp slt i64 %new, %d
  br i1 %is.less, label %insertion, label %join
insertion:
  %p = icmp slt i64 %new, %c
  %d.1 = select i1 %p, i64 %c, i64 %new
  %c.0 = select i1 %p, i64 %new, i64 %c
  %q = icmp slt i64 %c.0, %b
  %c.1 = select i1 %q, i64 %b, i64 %c.0
  %b.0 = select i1 %q, i64 %c.0, i64 %b
  %r = icmp slt i64 %b.0, %a
  %b.1 = select i1 %r, i64 %a, i64 %b.0
  %a.1 = select i1 %r, i64 %b.0, i64 %a
  br label %join
join:
  %a.2 = phi i64 [ %a, %loop ], [ %a.1, %insertion ]
  %b.2 = phi i64 [ %b.1, %insertion ], [ %b, %loop ]
  %c.2 = phi i64 [ %c, %loop ], [ %c.1, %insertion ]
  %d.2 = phi i64 [ %d, %loop ], [ %d.1, %insertion ]
  %next = add i64 %i, 1
  %is.end = icmp eq i64 %next, %n
  br i1 %is.end, label %end, label %loop
end:
  store i64 %a.2, ptr %out
  %second = getelementptr i64, ptr %out, i64 1
  store i64 %b.2, ptr %second
  %third = getelementptr i64, ptr %out, i64 2
  store i64 %c.2, ptr %third
  %fourth = getelementptr i64, ptr %out, i64 3
  store i64 %d.2, ptr %fourth
  ret void
}
"""


def test_last_exchange_of_an_insertion_becomes_a_branch_and_results_stay():
    changed = run_pass(keep_rare_branches, LEAST)
    assert "br i1 %r, label %insertion.choice, label %join" in changed
    assert changed.count("select") == LEAST.count("select") - 2
    random = np.random.default_rng(3)
    engine = _compiled(changed)
    least = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(
        engine.get_function_address("least")
    )
    for n in (1, 2, 3, 4, 5, 50):
        x, out = random.integers(0, 20, n), np.zeros(4, np.int64)
        least(x.ctypes.data, n, out.ctypes.data)
        assert out.tolist() == sorted([*x.tolist(), 100, 100, 100, 100])[:4]


def _compiled(text):
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)


@pytest.mark.parametrize(
    "change",
    [
        ("icmp slt i64 %new, %d\n", "icmp slt i64 %new, %n\n"),  # with nothing that the loop carries
        ("icmp slt i64 %new, %d\n", "icmp eq i64 %new, %d\n"),  # with no order
        ("icmp slt i64 %new, %d\n", "icmp slt i64 %new, %i\n"),  # with what the body does not change
        ("  %p = icmp slt i64 %new, %c\n", "  store i64 %i, ptr %out\n  %p = icmp slt i64 %new, %c\n"),
        ("  br label %join\njoin", "  %more = add i64 %a.1, %b.1\n  br label %join\njoin"),  # no choice comes last
    ],
)
def test_other_bodies_stay(change):
    assert change[0] in LEAST
    assert "choice" not in run_pass(keep_rare_branches, LEAST.replace(*change))


def test_short_body_stays():
    """It costs less under predicates."""
    text = re.sub(r"  %(p|d\.1|c\.0) = .*\n", "", LEAST).replace("%d.1", "%d").replace("%c.0", "%new")
    assert "choice" not in run_pass(keep_rare_branches, text)


def test_assembler_is_given_a_branch_for_each_insertion(assembled_compile):
    def nearest(item, x, y):
        i = item.get_id(0)
        best = kapi.PrivateArray(4, np.float32)
        for k in range(4):
            best[k] = np.float32(np.inf)
        for j in range(x.shape[0]):
            d = x[j] * y[i]
            if d < best[3]:
                best[3] = d
                for k in range(3, 0, -1):
                    if best[k] < best[k - 1]:
                        t = best[k]
                        best[k] = best[k - 1]
                        best[k - 1] = t
        y[i] = best[3]

    text = assembled_compile(nearest, "item1, float32[:], float32[:]").ptx
    bodies = re.findall(r"selp.*\n(?:.*\n){0,8}?\t@%p\d+ bra", text)
    assert len(bodies) >= 4
