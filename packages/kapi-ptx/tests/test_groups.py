"""Group algorithms: shuffles, masks of partial sub-groups, one pass through shared memory."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numba import types

import kapi_sim as kapi
from kapi_ptx import PtxTarget, compile_ptx
from kapi_sim.language import KernelOptions
from kapi_types import ArrayType, GroupType, NdItemType

ALGORITHMS = {
    "reduce": "kapi.reduce_over_group(group, a[i], kapi.plus)",
    "inclusive": "kapi.inclusive_scan_over_group(group, a[i], kapi.plus)",
    "exclusive": "kapi.exclusive_scan_over_group(group, a[i], kapi.plus)",
    "broadcast": "kapi.group_broadcast(group, a[i], 3)",
}


@pytest.fixture
def instructions(assembled_compile):
    """The names of the instructions of one algorithm, in their order."""

    def run(expression, group, dtype="int32", sm=80, ndim=1):
        getter = {"work_group": "get_group", "sub_group": "get_sub_group"}[group]
        source = (
            f"def kernel(item, a):\n    i = item.get_global_linear_id()\n    group = item.{getter}()\n"
            f"    a[i] = {expression}\n"
        )
        namespace = {"kapi": kapi, "np": np}
        exec(source, namespace)
        signature = [NdItemType(ndim), ArrayType(getattr(types, dtype), 1, "C")]
        module = assembled_compile(namespace["kernel"], signature, target=PtxTarget(sm))
        return re.findall(r"^\s+(?:@!?%p\d+ )?([a-z][\w.]+)", module.ptx.partition("{\n")[2], re.MULTILINE)

    return run


def count(found, start):
    return sum(each.startswith(start) for each in found)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_work_group_algorithm_is_one_pass_through_shared_memory(instructions, name):
    """All write, converge and read; without a next algorithm they do not converge again."""
    found = instructions(ALGORITHMS[name], "work_group")
    assert count(found, "bar.sync") == 1
    assert count(found, "st.shared") == 1
    assert count(found, "ld.shared") >= 1


@pytest.mark.parametrize("name", ALGORITHMS)
def test_sub_group_algorithm_uses_neither_barriers_nor_memory(instructions, name):
    found = instructions(ALGORITHMS[name], "sub_group")
    assert count(found, "bar") == count(found, "st.shared") == count(found, "ld.shared") == 0


@pytest.mark.parametrize(
    ("dtype", "operator", "sm", "expected"),
    [
        ("int32", "plus", 80, "redux.sync.add"),
        ("int32", "minimum", 80, "redux.sync.min.s32"),
        ("uint32", "minimum", 90, "redux.sync.min.u32"),
        ("int8", "maximum", 80, "redux.sync.max.s32"),
        ("uint32", "bit_xor", 100, "redux.sync.xor.b32"),
        ("int32", "plus", 75, "shfl.sync.down.b32"),
        ("int64", "plus", 80, "shfl.sync.down.b32"),
        ("int32", "multiplies", 80, "shfl.sync.down.b32"),
        ("float32", "minimum", 80, "shfl.sync.down.b32"),
        ("float64", "plus", 90, "shfl.sync.down.b32"),
    ],
)
def test_reduction_is_one_instruction_where_the_device_has_it(instructions, dtype, operator, sm, expected):
    """On sm_75, LLVM ends its process on it."""
    found = instructions(f"kapi.reduce_over_group(group, a[i], kapi.{operator})", "sub_group", dtype, sm)
    assert count(found, expected) >= 1
    assert count(found, "redux") == (1 if "redux" in expected else 0)


def test_values_of_64_bits_are_shuffled_in_halves(instructions):
    assert count(instructions("kapi.shift_group_left(group, a[i], 1)", "sub_group", "float64"), "shfl.sync.down") == 2
    assert count(instructions("kapi.shift_group_left(group, a[i], 1)", "sub_group", "float32"), "shfl.sync.down") == 1


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("kapi.shift_group_left(group, a[i], 1)", "down"),
        ("kapi.shift_group_right(group, a[i], 1)", "up"),
        ("kapi.permute_group_by_xor(group, a[i], 1)", "bfly"),
        ("kapi.select_from_group(group, a[i], 1)", "idx"),
        ("kapi.group_broadcast(group, a[i], 1)", "idx"),
    ],
)
def test_exchange_is_one_shuffle(instructions, expression, kind):
    found = instructions(expression, "sub_group")
    assert [each for each in found if each.startswith("shfl")] == [f"shfl.sync.{kind}.b32"]


@pytest.mark.parametrize("kind", ["any", "all"])
def test_votes_are_instructions(instructions, kind):
    assert count(instructions(f"kapi.{kind}_of_group(group, a[i] > 0)", "sub_group"), f"vote.sync.{kind}.pred") == 1
    word = {"any": "or", "all": "and"}[kind]
    assert count(instructions(f"kapi.{kind}_of_group(group, a[i] > 0)", "work_group"), f"bar.red.{word}.pred") == 1


TWICE = f"{ALGORITHMS['reduce']} + {ALGORITHMS['reduce'].replace('plus', 'maximum')}"


def test_members_converge_before_the_next_algorithm(instructions):
    assert count(instructions(TWICE, "work_group"), "bar.sync") == 3


def test_members_converge_before_the_next_iteration_of_a_loop(assembled_compile):
    def kernel(item, a, n):
        group = item.get_group()
        i = item.get_global_id(0)
        for _ in range(n):
            a[i] = kapi.inclusive_scan_over_group(group, a[i], kapi.plus)

    signature = [NdItemType(1), ArrayType(types.int32, 1, "C"), types.int32]
    assert assembled_compile(kernel, signature, target=PtxTarget(80)).ptx.count("bar.sync") == 2


def test_members_converge_where_another_function_may_use_the_memory(assembled_compile):
    """Its caller does not know whether it does."""

    def total(group, value):
        return kapi.reduce_over_group(group, value, kapi.plus)

    def kernel(item, a):
        a[item.get_global_id(0)] = total(item.get_group(), a[item.get_global_id(0)])

    signature = [NdItemType(1), ArrayType(types.int32, 1, "C")]
    options = KernelOptions(inline="never")
    assert assembled_compile(kernel, signature, target=PtxTarget(80), options=options).ptx.count("bar.sync") == 2
    code, _ = compile_ptx(total, [GroupType(1), types.int32], device_function=True, target=PtxTarget(80))
    assert code.count(b"bar.sync") == 2


@pytest.mark.parametrize(("ndim", "axes"), [(1, "x"), (2, "xy"), (3, "xyz")])
def test_axes_that_a_kernel_does_not_have_are_not_read(assembled_compile, ndim, axes):
    def kernel(item, a):
        a[item.get_global_linear_id()] = item.get_sub_group().get_group_id()

    module = assembled_compile(kernel, [NdItemType(ndim), ArrayType(types.int32, 1, "C")], target=PtxTarget(80))
    assert {each[-1] for each in re.findall(r"%(?:n?tid|n?ctaid)\.[xyz]", module.ptx)} == set(axes)


def test_two_algorithms_use_the_same_memory(assembled_compile):
    """And so do those of functions, each of which is a module of its own before they are linked."""

    def total(group, value):
        return kapi.reduce_over_group(group, value, kapi.plus)

    def kernel(item, a):
        group = item.get_group()
        i = item.get_global_id(0)
        a[i] = total(group, a[i]) + kapi.reduce_over_group(group, a[i] * 2, kapi.maximum)

    module = assembled_compile(kernel, [NdItemType(1), ArrayType(types.int64, 1, "C")], target=PtxTarget(80))
    assert module.ptx.count("kapi_group_scratch[256]") == 1


def test_sub_groups_follow_linear_ids_in_groups_of_every_rank(assembled_compile):
    """Nothing has to be launched in another way: CUDA's order is SYCL's, with the last dimension as x."""

    def kernel(item, a):
        a[item.get_global_linear_id()] = item.get_sub_group().get_group_id()

    module = assembled_compile(kernel, [NdItemType(3), ArrayType(types.int32, 1, "C")], target=PtxTarget(80))
    assert not module.is_linear
    assert {"%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y"} <= set(re.findall(r"%\w+\.[xyz]", module.ptx))


def test_members_of_a_group_are_convergent(assembled_compile):
    """LLVM takes the attribute off where a function holds nothing that all must come to, and leaves it here."""

    def kernel(item, a):
        kapi.group_barrier(item.get_group())
        a[item.get_global_id(0)] = 1

    module = assembled_compile(kernel, [NdItemType(1), ArrayType(types.int32, 1, "C")], target=PtxTarget(80))
    definitions = re.findall(r"^define .*$", module.llvm_ir, re.MULTILINE)
    assert len(definitions) == 2
    assert all("convergent" in each for each in definitions)
    assert re.search(r"attributes #\d+ = \{ [^}]*\bconvergent\b[^}]*nounwind", module.optimized_llvm_ir)


@pytest.mark.parametrize("choice", ["bit if a[i] > 0 else zero", "zero if a[i] > 0 else bit"])
@pytest.mark.parametrize(("lane", "is_ballot"), [("get_local_id", True), ("get_group_id", False)])
def test_bits_of_work_items_are_combined_by_a_ballot(instructions, choice, lane, is_ballot):
    chosen = choice.replace("bit", f"np.uint32(1) << np.uint32(group.{lane}())").replace("zero", "np.uint32(0)")
    found = instructions(f"kapi.reduce_over_group(group, {chosen}, kapi.bit_or)", "sub_group")
    assert count(found, "vote.sync.ballot") == is_ballot
    assert count(found, "redux") == (not is_ballot)
