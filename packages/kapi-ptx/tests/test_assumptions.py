"""Code for launches that keep more than the language asks for: small extents, and reads apart from writes."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_lowering.emission.llvm_ir import parse_module
from kapi_lowering.emission.passes.narrow_counters import narrow_counters
from kapi_lowering.emission.pipeline import run_pass
from kapi_ptx import PtxTarget, compile_kernel, read_module, write_module
from kapi_ptx.emission.optimize.early_loads import schedule_loads_early
from kapi_ptx.emission.optimize.predictive_commoning import carry_values_across_iterations
from kapi_sim.language import KernelOptions

BOTH = PtxTarget(80, is_small=True, reads_apart=True)


def add(item, x, y):
    i = item.get_id(0)
    y[i] = x[i] + x[i + 1]


SIGNATURE = "item1, float32[:], float32[:]"


def first_entry(module):
    """The PTX of the entry point whose threads run one work-item each."""
    return module.ptx.split(".entry ")[1]


def test_reads_of_arrays_that_are_not_written_have_their_own_instruction(assembled_compile):
    ptx = first_entry(assembled_compile(add, SIGNATURE, target=BOTH))
    assert ptx.count("ld.global.nc.b32") == 2
    assert "ld.global.nc" not in assembled_compile(add, SIGNATURE, target=PtxTarget(80)).ptx


def test_what_is_written_is_read_plainly(assembled_compile):
    def swap(item, x, y):
        i = item.get_id(0)
        x[i], y[i] = y[i], x[i]

    assert "ld.global.nc" not in assembled_compile(swap, SIGNATURE, target=BOTH).ptx


def test_what_is_written_under_another_name_is_read_plainly(assembled_compile):
    """By a view, in a device function, or by an atomic."""

    def store(a, i):
        a[i] = 1

    def by_function(item, x, y):
        i = item.get_id(0)
        store(x, i + 1)
        y[i] = x[i]

    def by_atomic(item, x, y):
        i = item.get_id(0)
        kapi.AtomicRef(x, i + 1).fetch_add(x[0])
        y[i] = x[i]

    def by_view(item, x, y):
        i = item.get_id(0)
        part = x[2:]
        part[i] = 1
        y[i] = x[i]

    for kernel in (by_function, by_atomic, by_view):
        assert "ld.global.nc" not in assembled_compile(kernel, SIGNATURE, target=BOTH).ptx, kernel.__name__


def test_atomic_loads_stay_atomic(assembled_compile):
    def wait(item, flag, y):
        while kapi.AtomicRef(flag, 0).load() == 0:
            pass
        y[item.get_id(0)] = flag[1]

    ptx = assembled_compile(wait, "item1, int32[:], int32[:]", target=BOTH).ptx
    assert "ld.relaxed" in ptx


def test_arrays_of_tuples_are_known_each(assembled_compile):
    def add_pair(item, pair, y):
        i = item.get_id(0)
        pair[1][i] = pair[0][i] + y[i]

    ptx = first_entry(assembled_compile(add_pair, "item1, (float32[:], float32[:]), float32[:]", target=BOTH))
    assert (ptx.count("ld.global.nc"), ptx.count("st.global")) == (2, 1)


def test_small_ids_and_extents_are_computed_in_32_bits(assembled_compile):
    def transposed(item, x, y):
        i, j = item.get_id(0), item.get_id(1)
        y[j, i] = x[i, j]

    small, plain = (
        assembled_compile(transposed, "item2, float32[:, :], float32[:, :]", target=target).ptx
        for target in (PtxTarget(80, is_small=True), PtxTarget(80))
    )
    assert "ld.param.b64" in plain
    assert len(re.findall(r"mul\.(?:lo|wide)\.\w64", small)) < len(re.findall(r"mul\.(?:lo|wide)\.\w64", plain))
    assert "setp.lt.u64" not in small
    assert len(small) < len(plain)


def test_target_of_any_launch_takes_nothing_for_granted():
    assert BOTH.for_any_launch() == PtxTarget(80)
    assert BOTH != PtxTarget(80)
    assert (BOTH.index_bits, PtxTarget(80).index_bits) == (31, 64)


def test_module_file_keeps_what_its_code_takes_for_granted():
    module = compile_kernel(add, SIGNATURE, target=BOTH)
    assert read_module(write_module(module)).target == BOTH


# -- values that loops carry


def escape(item, steps, cx, cy, most):
    x = np.float32(0.0)
    y = np.float32(0.0)
    n = np.int32(0)
    while n < most and x * x + y * y <= 4.0:
        t = x * x - y * y + cx
        y = 2.0 * x * y + cy
        x = t
        n += 1
    steps[item.get_id(0)] = n


ESCAPE = "item1, int32[:], float32, float32, int32"


def test_condition_of_two_parts_is_one_branch_of_the_loop_and_squares_are_carried(assembled_compile):
    module = assembled_compile(escape, ESCAPE, target=PtxTarget(80))
    # Two squares, and the product for y, in the loop; the first squares are known, and the next iteration has those.
    loop = re.search(r"(\$L__BB0_\d+):[^:]*@%p\d+ bra \t\1;", module.ptx)
    assert loop is not None, module.ptx
    assert loop[0].count("mul.rn.f32") == 3
    assert loop[0].count("bra") == 1


def test_contraction_keeps_its_products(assembled_compile):
    options = KernelOptions(fastmath={"contract"})
    module = assembled_compile(escape, ESCAPE, target=PtxTarget(80), options=options)
    assert module.ptx.count("fma.rn.f32") >= 2


LOOP = """define void @f(float %c, i1 %e) {
entry:
  br label %loop

loop:                                             ; preds = %loop, %entry
  %x = phi float [ 1.5, %entry ], [ %next, %loop ]
  %square = fmul float %x, %x
  %next = OP
  %again = fmul float %next, %next
  %stop = fcmp ogt float %again, 4.000000e+00
  br i1 %stop, label %end, label %loop

end:                                              ; preds = %loop
  ret void
}
"""


def test_value_of_the_next_iteration_is_carried():
    carried = run_pass(carry_values_across_iterations, LOOP.replace("OP", "fadd float %square, %c"))
    assert "  %square.first = fmul float 1.5, 1.5\n  br label %loop\n" in carried
    assert "  %square = phi float [ %square.first, %entry ], [ %again, %loop ]\n" in carried
    assert "%square = fmul" not in carried


@pytest.mark.parametrize(
    "change",
    [
        ("%again = fmul float %next, %next", "%again = fmul float %next, %c"),
        ("%again = fmul float %next, %next", "%again = fmul contract float %next, %next"),
        ("%square = fmul float %x, %x", "%square = fmul contract float %x, %x"),
        ("%again = fmul float %next, %next", "%again = fadd float %next, %next"),
        ("label %end, label %loop", "label %end, label %entry"),
    ],
)
def test_other_values_stay_as_they_are(change):
    text = LOOP.replace("OP", "fadd float %square, %c").replace(*change)
    assert run_pass(carry_values_across_iterations, text) == str(parse_module(text))


def test_operands_with_flags_are_no_names():
    """Operations that may be contracted are left alone."""
    text = LOOP.replace("OP", "fadd float %square, %c")
    text = text.replace("%square = fmul float %x, %x", "%i = fadd contract float %c, %x\n  %square = fmul float %c, %c")
    assert run_pass(carry_values_across_iterations, text) == str(parse_module(text))


# -- loads before what takes long


def test_loads_come_before_roots_and_divisions(assembled_compile):
    def scaled(item, x, y, z):
        i = item.get_id(0)
        root = math.sqrt(x[i])
        z[i] = y[i] / root

    for target in (PtxTarget(80), BOTH):
        ptx = first_entry(assembled_compile(scaled, "item1, float32[:], float32[:], float32[:]", target=target))
        assert re.findall(r"ld\.global|sqrt|div", ptx) == ["ld.global", "ld.global", "sqrt", "div"]


BLOCK = """define void @f(ptr addrspace(1) %p, float %a, i64 %i) {
  %root = call float @llvm.sqrt.f32(float %a)
  BETWEEN
  %at = getelementptr float, ptr addrspace(1) %p, i64 %i
  %x = load float, ptr addrspace(1) %at, align 4
  store float %x, ptr addrspace(1) %p, align 4
  ret void
}
"""


@pytest.mark.parametrize(
    ("between", "moves"),
    [
        ("%y = fadd float %a, %a", True),
        ("%y = load float, ptr addrspace(1) %p, align 4", True),
        ("store float %a, ptr addrspace(1) %p, align 4", False),
        ("fence acquire", False),
        ("%y = load atomic i32, ptr addrspace(1) %p acquire, align 4", False),
        ("%y = load volatile i32, ptr addrspace(1) %p, align 4", False),
        ("%y = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic, align 4", False),
        ("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", False),
        ('%y = tail call i32 asm sideeffect "atom", "=r,~{memory}"()', False),
    ],
)
def test_loads_pass_nothing_that_orders_or_writes_memory(between, moves):
    text = BLOCK.replace("BETWEEN", between)
    moved = run_pass(schedule_loads_early, text)
    assert (moved.index("%x = load") < moved.index("%root = ")) == moves
    printed = str(parse_module(text))
    assert moves or moved == printed
    assert sorted(moved.splitlines()) == sorted(printed.splitlines())


def test_load_whose_address_is_slow_stays():
    text = BLOCK.replace("BETWEEN", "%j = fptosi float %root to i64").replace("i64 %i\n", "i64 %j\n")
    assert run_pass(schedule_loads_early, text) == str(parse_module(text))


def test_loads_of_constant_arrays_pass_stores():
    text = BLOCK.replace("BETWEEN", "store float %a, ptr addrspace(1) %p, align 4")
    text = text.replace("%at, align 4\n", "%at, align 4, !invariant.load !0\n")
    moved = run_pass(schedule_loads_early, text)
    assert moved.index("%x = load") < moved.index("%root = ")


# -- products and counters


def test_products_of_small_numbers_are_one_instruction(assembled_compile):
    def rows(item, x, y):
        i, j = item.get_id(0), item.get_id(1)
        total = np.float32(0)
        for k in range(x.shape[1]):
            total += x[i, k] * x[j, k]
        y[i, j] = total

    ptx = assembled_compile(rows, "item2, float32[:, :], float32[:, :]", target=BOTH).ptx
    assert ptx.count("mul.wide.u32") == 3
    assert "mul.lo.s64" not in ptx
    assert re.search(r"setp\.ne\.b32[^;]*;\s*@%p\d+ bra", ptx)


COUNTED = """define void @f(i32 %n, i64 %m) {
entry:
  %wide = zext nneg i32 %n to i64
  br label %loop

loop:                                             ; preds = %loop, %entry
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %next = add nuw nsw i64 %k, 1
  %stop = icmp eq i64 %next, %wide
  br i1 %stop, label %end, label %loop

end:                                              ; preds = %loop
  ret void
}
"""


def test_counter_of_iterations_is_narrow():
    narrow = run_pass(narrow_counters, COUNTED)
    assert "%k = phi i32 [ 0, %entry ], [ %next, %loop ]" in narrow
    assert "%next = add nuw nsw i32 %k, 1" in narrow
    assert re.search(r"(%\d+) = trunc i64 %wide to i32\n  %stop = icmp eq i32 %next, \1", narrow)


LEFT_AT_THE_TOP = """
define void @kernel(i32 %n, i1 %found) {
entry:
  %wide = zext nneg i32 %n to i64
  %last = add nsw i64 %wide, -1
  br label %loop

loop:                                             ; preds = %body, %entry
  %k = phi i64 [ -1, %entry ], [ %next, %body ]
  %next = add nsw i64 %k, 1
  %stop = icmp eq i64 %k, %last
  br i1 %stop, label %end, label %body

body:                                             ; preds = %loop
  br i1 %found, label %end, label %loop

end:                                              ; preds = %body, %loop
  ret void
}
"""


def test_counter_of_a_loop_with_a_further_exit_is_narrow():
    assert "%k = phi i32 [ -1, %entry ]" in run_pass(narrow_counters, LEFT_AT_THE_TOP)
    from_zero = LEFT_AT_THE_TOP.replace("[ -1,", "[ 0,").replace("i64 %k, %last", "i64 %k, %wide")
    assert "%k = phi i32 [ 0, %entry ]" in run_pass(narrow_counters, from_zero)


@pytest.mark.parametrize(
    "change",
    [
        ("[ -1, %entry ]", "[ 0, %entry ]"),  # of no iterations, 0 is beyond the end
        ("i64 %wide, -1", "i64 %wide, -2"),
        ("  br i1 %found", "  %used = uitofp i64 %k to float\n  br i1 %found"),
    ],
)
def test_counter_that_may_pass_its_end_keeps_64_bits(change):
    text = LEFT_AT_THE_TOP.replace(*change)
    assert change[0] in LEFT_AT_THE_TOP
    assert run_pass(narrow_counters, text) == str(parse_module(text))


@pytest.mark.parametrize(
    "change",
    [
        ("zext nneg i32 %n to i64", "sext i32 %n to i64"),
        ("zext nneg i32 %n to i64", "and i64 %m, 4294967295"),
        ("i64 %k, 1", "i64 %k, 2"),
        ("[ 0, %entry ]", "[ 1, %entry ]"),
        ("icmp eq i64 %next", "icmp ult i64 %next"),
        ("  br i1 %stop", "  %used = mul i64 %k, 3\n  br i1 %stop"),
        ("  br i1 %stop", "  %used = sitofp i64 %next to float\n  %other = sub i64 %next, %m\n  br i1 %stop"),
    ],
)
def test_other_counters_keep_64_bits(change):
    text = COUNTED.replace(*change)
    assert run_pass(narrow_counters, text) == str(parse_module(text))


def test_counter_by_several_is_narrow_where_its_end_is_a_multiple():
    text = COUNTED.replace("i64 %k, 1", "i64 %k, 4")
    assert "phi i32" in run_pass(narrow_counters, text.replace("zext nneg i32 %n to i64", "and i64 %m, 2147483644"))
    assert "phi i64" in run_pass(narrow_counters, text.replace("zext nneg i32 %n to i64", "and i64 %m, 2147483646"))
