"""Changes of loops before the back end: narrow counters, hoisted loads, disjoint arrays, simple functions."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from kapi_lowering.emission.llvm_ir import parse_module
from kapi_lowering.emission.passes.invariant_loads import hoist_invariant_loads
from kapi_lowering.emission.passes.narrow_counters import narrow_counters
from kapi_lowering.emission.pipeline import run_pass
from kapi_sim.language import KernelOptions
from kapi_spirv import SpirvTarget, compile_kernel
from kapi_spirv.emission.optimize.grid_stride_loops import split_grid_stride_loops
from kapi_spirv.emission.optimize.noalias import set_noalias_metadata
from kapi_spirv.emission.optimize.simple_functions import expand_simple_functions
from kapi_spirv.target import ALIASING

DISJOINT = SpirvTarget(extensions=(ALIASING,), reads_apart=True)


def as_printed(text):
    """A text as it is printed where nothing is changed."""
    return str(parse_module(text))


COUNTER = """define void @f(ptr %p, i1 %more) {{
entry:
  br label %turn

turn:
  %k = phi i64 [ {start}, %entry ], [ %next, %turn ]
  {use}
  %next = add {flags}i64 %k, 1
  %done = icmp eq i64 %{tested}, {end}
  br i1 %done, label %end, label %turn

end:
  ret void
}}
"""


def counter(start="0", use="", flags="nuw nsw ", tested="next", end="100"):
    return COUNTER.format(start=start, use=use, flags=flags, tested=tested, end=end)


@pytest.mark.parametrize(
    ("use", "made"),
    [
        ("%u = trunc i64 %k to i32\n  store i32 %u, ptr %p, align 4", "store i32 %k, ptr %p"),
        ("%u = trunc nuw nsw i64 %k to i8", "%u = trunc i32 %k to i8"),
        ("%u = uitofp nneg i64 %k to double", "%u = uitofp nneg i32 %k to double"),
        ("%u = icmp samesign ult i64 %k, 7", "%u = icmp samesign ult i32 %k, 7"),
    ],
)
def test_counter_of_known_ends_has_32_bits(use, made):
    text = run_pass(narrow_counters, counter(use=use))
    assert made in text
    assert "%k = phi i32 [ 0, %entry ], [ %next, %turn ]" in text
    assert "%next = add nuw nsw i32 %k, 1" in text
    assert "icmp eq i32 %next, 100" in text
    llvm.parse_assembly(text).verify()


@pytest.mark.parametrize(
    "loop",
    [
        {"use": "%u = getelementptr i8, ptr %p, i64 %k"},
        {"use": "%u = mul i64 %k, %k"},
        {"use": "%u = icmp slt i64 %k, -1"},
        {"use": "%u = icmp ult i64 %k, 4294967296"},
        {"end": "2147483648"},
        {"end": "0"},
        {"start": "7", "end": "7"},
        {"start": "-2"},
        {"start": "4294967296", "end": "4294967297"},
    ],
    ids=str,
)
def test_counter_that_may_need_64_bits_keeps_them(loop):
    text = counter(**loop)
    assert run_pass(narrow_counters, text) == as_printed(text)


def test_counter_that_is_tested_at_its_start_may_begin_at_the_end():
    assert "phi i32" in run_pass(narrow_counters, counter(start="7", end="7", tested="k"))


def pull(item, x, index, y):
    i = item.get_id(0)
    total = 0.0
    for j in range(index.shape[0]):
        if index[j] != i:
            total += x[i] * index[j]
    y[i] = total


def store(item, x, index, y):
    i = item.get_id(0)
    for j in range(index.shape[0]):
        if index[j] != i:
            y[j] = x[i]


def wait(item, x, index, y):
    i = item.get_id(0)
    for j in range(index.shape[0]):
        if index[j] != i:
            y[i] += x[i]


SIGNATURE = "item1, float64[:], int64[:], float64[:]"


def test_element_that_stays_the_same_is_read_before_the_loop_if_it_exists():
    text = compile_kernel(pull, SIGNATURE).optimized_llvm_ir
    assert text.count("%kapi.hoisted = phi double [ %kapi.hoisted.value") == 1
    assert "!kapi.arrays" not in text


def test_element_is_not_read_early_across_a_store_that_may_change_it():
    assert "kapi.hoisted" not in compile_kernel(store, SIGNATURE).optimized_llvm_ir
    assert "kapi.hoisted" in compile_kernel(store, SIGNATURE, target=DISJOINT).optimized_llvm_ir


def test_element_that_the_loop_writes_is_not_read_early():
    text = compile_kernel(wait, SIGNATURE, target=DISJOINT)
    reads = [
        line for line in text.optimized_llvm_ir.splitlines() if "%kapi.hoisted.value" in line and " load double" in line
    ]
    assert len(reads) == 1  # x, and not y


def test_checked_kernel_reads_nothing_early():
    options = KernelOptions(boundscheck=True)
    assert "kapi.hoisted" not in compile_kernel(pull, SIGNATURE, options=options).optimized_llvm_ir


def test_text_without_arrays_is_left_alone():
    text = counter()
    assert run_pass(hoist_invariant_loads, text, are_noalias=True) == as_printed(text)
    assert run_pass(set_noalias_metadata, text, is_enabled=True) == as_printed(text)


def test_arrays_are_distinguished_only_for_targets_that_take_it():
    plain, apart = (compile_kernel(pull, SIGNATURE, target=target) for target in (SpirvTarget(), DISJOINT))
    assert "!noalias" not in plain.optimized_llvm_ir
    assert ALIASING not in plain.extensions
    accesses = [
        line for line in apart.optimized_llvm_ir.splitlines() if "addrspace(1) %" in line and ", align 8" in line
    ]
    accesses = [
        line for line in accesses if " load double" in line or " load i64, ptr addrspace" in line or "  store" in line
    ]
    assert len(accesses) == 3
    assert all("!alias.scope" in line and "!noalias" in line for line in accesses)
    assert ALIASING in apart.extensions
    assert "!noalias" not in compile_kernel(pull, SIGNATURE, target=DISJOINT.for_any_launch()).optimized_llvm_ir
    llvm.parse_assembly(apart.optimized_llvm_ir).verify()


SMALL = SpirvTarget(is_small=True)


def search(item, sorted_, wanted, indices):
    i = item.get_id(0)
    low, high = 0, sorted_.shape[0]
    while low < high:
        middle = (low + high) // 2
        if sorted_[middle] < wanted[i]:
            low = middle + 1
        else:
            high = middle
    indices[i] = low


def search_to_an_end(item, sorted_, wanted, indices, end):
    i = item.get_id(0)
    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        if sorted_[middle] < wanted[i]:
            low = middle + 1
        else:
            high = middle
    indices[i] = low


def search_with_elements(item, sorted_, wanted, indices):
    i = item.get_id(0)
    low, high = 0, sorted_.shape[0]
    while low < high:
        middle = (low + high) // 2
        if sorted_[i] < middle:
            low = middle + 1
        else:
            high = middle
    indices[i] = low


def search_farther(item, sorted_, wanted, indices):
    i = item.get_id(0)
    low, high = 0, sorted_.shape[0]
    while low < high:
        middle = (low + high) // 2
        if sorted_[middle] < wanted[i]:
            low = middle + 3
        else:
            high = middle
    indices[i] = low


def count(item, sorted_, wanted, indices):
    i = item.get_id(0)
    total = 0
    for k in range(sorted_.shape[0]):
        if sorted_[k] < wanted[i]:
            total += 1
    indices[i] = total


SEARCHED = "item1, float32[:], float32[:], int32[:]"


def test_search_in_small_arrays_has_32_bits():
    text = compile_kernel(search, SEARCHED, target=SMALL).optimized_llvm_ir
    assert text.count("= phi i32") >= 2
    assert "= phi i64" not in text
    assert text.count("= lshr i32") == 1
    llvm.parse_assembly(text).verify()


@pytest.mark.parametrize(
    ("kernel", "signature", "target"),
    [
        (search, SEARCHED, SpirvTarget()),
        (search, SEARCHED, SMALL.for_any_launch()),
        (search_to_an_end, f"{SEARCHED}, int64", SMALL),
        (search_with_elements, SEARCHED, SMALL),
        (search_farther, SEARCHED, SMALL),
        (count, SEARCHED, SMALL),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_indices_that_may_be_none_of_an_array_keep_their_64_bits(kernel, signature, target):
    assert ".narrow" not in compile_kernel(kernel, signature, target=target).optimized_llvm_ir


def test_checked_search_keeps_its_64_bits():
    options = KernelOptions(boundscheck=True)
    assert ".narrow" not in compile_kernel(search, SEARCHED, target=SMALL, options=options).optimized_llvm_ir


SHARED = """
declare spir_func i64 @_Z13get_global_idj(i32)
declare spir_func i64 @_Z12get_local_idj(i32)
declare spir_func i64 @_Z15get_global_sizej(i32)
declare spir_func void @_Z22__spirv_ControlBarrierjjj(i32, i32, i32)

define spir_func void @own() {
entry:
  ret void
}

define spir_kernel void @f(ptr byval({ ptr addrspace(1), i64 }) %packed) {
entry:
  %x = load ptr addrspace(1), ptr %packed, align 8
  %field = getelementptr inbounds nuw i8, ptr %packed, i64 8
  %end = load i64, ptr %field, align 8
  %lane = call spir_func i64 @_Z13get_global_idj(i32 0)
  %step = call spir_func i64 @_Z15get_global_sizej(i32 0)
  %start = add i64 %lane, 3
  %begins = icmp slt i64 %start, %end
  br i1 %begins, label %turn, label %behind

turn:
  %i = phi i64 [ %next, %turn ], [ %start, %entry ]
  %sum = phi float [ 0.0, %entry ], [ %more, %turn ]
  %place = getelementptr float, ptr addrspace(1) %x, i64 %i
  %0 = load float, ptr addrspace(1) %place, align 4
  %more = fadd float %sum, %0
  %next = add i64 %i, %step
  %rest = sub i64 %end, %i
  %is.left = icmp ugt i64 %rest, %step
  br i1 %is.left, label %turn, label %behind

behind:
  %total = phi float [ 0.0, %entry ], [ %more, %turn ]
  %own.place = getelementptr float, ptr addrspace(1) %x, i64 %lane
  store float %total, ptr addrspace(1) %own.place, align 4
  ret void
}
"""
BEFORE_LOOP = """label %before, label %behind

before:
  %twice = shl i64 %end, 1
  br label %turn
"""


def test_shared_loop_iterates_while_the_step_is_left():
    text = run_pass(split_grid_stride_loops, SHARED)
    llvm.parse_assembly(text).verify()
    for code in (
        "is.any = icmp sgt i64 %end, %kapi.uniform.first",
        "first = add i64 0, 3",
        "goes.on = icmp uge i64 %kapi.uniform.rest",
        "is.lane = icmp ult i64 %lane, %kapi.uniform.rest",
    ):
        assert code in text
    assert text.count("load float") == 2


def test_shared_loop_behind_what_may_always_be_done():
    """Code between the condition and the loop runs before the condition."""
    text = SHARED.replace("label %turn, label %behind", BEFORE_LOOP, 1)
    text = text.replace("%start, %entry ]", "%start, %before ]").replace(
        "0.0, %entry ], [ %more, %turn ]", "0.0, %before ], [ %more, %turn ]", 1
    )
    changed = run_pass(split_grid_stride_loops, text)
    llvm.parse_assembly(changed).verify()
    assert "goes.on" in changed
    assert "br i1 %begins" not in changed
    divided = text.replace("shl i64 %end, 1", "sdiv i64 %end, %lane")
    assert run_pass(split_grid_stride_loops, divided) == as_printed(divided)


@pytest.mark.parametrize(
    ("code", "other"),
    [
        ("call spir_func i64 @_Z15get_global_sizej(i32 0)", "add i64 0, 16"),
        ("call spir_func i64 @_Z13get_global_idj(i32 0)", "call spir_func i64 @_Z13get_global_idj(i32 1)"),
        ("call spir_func i64 @_Z13get_global_idj(i32 0)", "call spir_func i64 @_Z12get_local_idj(i32 0)"),
        ("add i64 %lane, 3", "add i64 %lane, %lane"),
        ("add i64 %lane, 3", "mul i64 %lane, 3"),
        ("icmp slt i64 %start, %end", "icmp ult i64 %start, %end"),
        ("icmp slt i64 %start, %end", "icmp slt i64 %lane, %end"),
        ("load i64, ptr %field", "load i64, ptr addrspace(1) %x"),
        ("sub i64 %end, %i", "sub i64 %step, %i"),
        ("add i64 %i, %step", "add i64 %i, 1"),
        ("icmp ugt i64 %rest, %step", "icmp sgt i64 %rest, %step"),
        ("  %more =", "  call spir_func void @own()\n  %more ="),
        ("  %more =", "  call spir_func void @_Z22__spirv_ControlBarrierjjj(i32 2, i32 2, i32 776)\n  %more ="),
    ],
)
def test_other_loop_stays(code, other):
    text = SHARED.replace(code, other)
    assert text != SHARED
    llvm.parse_assembly(text).verify()
    assert run_pass(split_grid_stride_loops, text) == as_printed(text)


SIMPLE = """declare i32 @llvm.smin.i32(i32, i32)
declare i64 @llvm.umax.i64(i64, i64)
declare i16 @llvm.abs.i16(i16, i1)
declare double @llvm.fabs.f64(double)
declare double @llvm.sqrt.f64(double)

define i32 @f(i32 %a, i64 %b, i16 %c, double %d, i32 %count) {
entry:
  %before = call i32 @llvm.smin.i32(i32 %a, i32 3)
  br label %turn

turn:
  %k = phi i32 [ 0, %entry ], [ %next, %turn ]
  %0 = tail call range(i32 -9, 6) i32 @llvm.smin.i32(i32 %k, i32 noundef 5)
  %1 = call i64 @llvm.umax.i64(i64 %b, i64 7), !range !0
  %"2 x" = call i16 @llvm.abs.i16(i16 %c, i1 false) #0
  %h = call nnan double @llvm.fabs.f64(double %d)
  %s = call double @llvm.sqrt.f64(double %h)
  %next = add i32 %k, 1
  %done = icmp eq i32 %next, %count
  br i1 %done, label %end, label %turn

end:
  ret i32 %before
}

attributes #0 = { nounwind }
!0 = !{i64 0, i64 9}
"""


def test_loops_compare_and_choose_without_calls():
    text = run_pass(expand_simple_functions, SIMPLE)
    llvm.parse_assembly(text).verify()
    body = text[text.index("turn:") : text.index("end:")]
    assert [line for line in body.split("\n") if " call " in line] == ["  %s = call double @llvm.sqrt.f64(double %h)"]
    assert "  %before = call i32 @llvm.smin.i32(i32 %a, i32 3)" in text
    chosen = ["icmp slt i32 %k, 5", "icmp ugt i64 %b, 7", "icmp slt i16 %c, 0", f", {2**63 - 1}"]
    assert all(each in body for each in chosen)


def test_what_has_no_loop_keeps_its_calls():
    text = SIMPLE.replace("br i1 %done, label %end, label %turn", "br label %end")
    assert run_pass(expand_simple_functions, text) == as_printed(text)
