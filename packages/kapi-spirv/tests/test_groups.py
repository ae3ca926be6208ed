"""Group algorithms: SPIR-V's own operations for both kinds of group, and loops of broadcasts where there are none."""

from __future__ import annotations

import re

import pytest
from numba import types

import kapi_sim as kapi
from kapi_sim.language.intrinsics.operators import OPERATORS
from kapi_sim.language.table.intrinsics import rows
from kapi_spirv import SpirvTarget
from kapi_types import ArrayType, NdItemType

EXTENSION = "SPV_KHR_uniform_group_instructions"
EXTENDED = SpirvTarget(version="1.3", extensions=(EXTENSION,))
DTYPES = ["boolean", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
KINDS = {"boolean": "b", "int": "i", "uint": "u", "float": "f"}
SHUFFLES = ("shift_group_left", "shift_group_right", "permute_group_by_xor", "select_from_group")


def kernel(lines):
    source = "def kernel(item, a):\n    group = item.get_group()\n"
    if any("sub" in line for line in lines):
        source += "    sub = item.get_sub_group()\n"
    source += "    i = item.get_global_linear_id()\n" + "".join(f"    {line}\n" for line in lines)
    namespace = {"kapi": kapi}
    exec(source, namespace)
    return namespace["kernel"]


def signature(dtype, ndim=1):
    return [NdItemType(ndim), ArrayType(getattr(types, dtype), 1, "C")]


def called(module):
    """Names of the group operations in the optimised IR."""
    found = re.findall(r"call [^@]*@_Z(\d+)(\w*[gG]roup\w*)\(", module.optimized_llvm_ir)
    return {name[: int(size)].removeprefix("__spirv_") for size, name in found if "get_" not in name}


def combinations(dtype):
    kind = KINDS[dtype.rstrip("0123456789")]
    return [
        f"a[i] = kapi.{name}_over_group({group}, a[i], kapi.{row.name})"
        for row in OPERATORS
        if kind in row.kinds
        for name in ("reduce", "inclusive_scan", "exclusive_scan")
        for group in ("group", "sub")
    ]


@pytest.mark.parametrize("dtype", DTYPES)
def test_combinations_compile(validated_compile, dtype):
    """All operators that take the dtype: with the core alone, and with the extension, which integers and floats use."""
    function = kernel(combinations(dtype))
    core = validated_compile(function, signature(dtype))
    assert core.extensions == ()
    assert "Groups" in core.capabilities
    extended = validated_compile(function, signature(dtype), target=EXTENDED)
    assert extended.extensions == ((EXTENSION,) if dtype != "boolean" else ())
    assert ("Float64" in core.capabilities) == (dtype == "float64")


@pytest.mark.parametrize(("dtype", "operation"), [("int32", "GroupIAdd"), ("float64", "GroupFAdd")])
@pytest.mark.parametrize("group", ["group", "sub"])
def test_sum_is_one_operation(validated_compile, dtype, operation, group):
    """No loop, no local memory, no barrier of ours."""
    module = validated_compile(kernel([f"a[i] = kapi.reduce_over_group({group}, a[i], kapi.plus)"]), signature(dtype))
    assert called(module) == {operation}
    assert " phi " not in module.optimized_llvm_ir


@pytest.mark.parametrize("group", ["group", "sub"])
def test_votes_are_operations(validated_compile, group):
    """None is the opposite of any."""
    for name, operation in (("any", "GroupAny"), ("all", "GroupAll"), ("none", "GroupAny")):
        lines = [f"a[i] = kapi.{name}_of_group({group}, a[i])"]
        assert called(validated_compile(kernel(lines), signature("int32"))) == {operation}


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_broadcast_finds_the_lane_of_a_linear_id(validated_compile, ndim):
    """In groups of any number of dimensions."""
    of_group, of_sub = "a[i] = kapi.group_broadcast(group, a[i], 3)", "a[i] = kapi.group_broadcast(sub, a[i])"
    module = validated_compile(kernel([of_group]), signature("float32", ndim))
    assert {"work_group_broadcast"} <= called(module)
    assert len(re.findall(r"= udiv ", module.optimized_llvm_ir)) <= ndim - 1
    # Sub-groups make linear work-groups of it, whose ids are divided as well.
    both = validated_compile(kernel([of_group, of_sub]), signature("float32", ndim))
    assert {"work_group_broadcast", "sub_group_broadcast"} <= called(both)


@pytest.mark.parametrize("dtype", DTYPES)
def test_exchanges_compile(validated_compile, dtype):
    """Shuffles from SPIR-V 1.3 on; before, broadcasts of which one is kept."""
    names = [row.name for row in rows(family="group") if row.name in SHUFFLES]
    assert sorted(names) == sorted(SHUFFLES)
    function = kernel([f"a[i] = kapi.{name}(sub, a[i], 2)" for name in names])
    core = validated_compile(function, signature(dtype))
    assert not any("Shuffle" in name for name in (*called(core), *core.capabilities))
    shuffled = validated_compile(function, signature(dtype), target=SpirvTarget(version="1.3"))
    assert {"GroupNonUniformShuffle", "GroupNonUniformShuffleRelative"} <= set(shuffled.capabilities)
    assert not any("broadcast" in name for name in called(shuffled))


def test_sub_group_queries_compile(validated_compile):
    """All of them, and as weak ints: what is computed with them keeps the array's type."""
    queries = [row.name for row in rows(owner="SubGroup") if row.kind == "method"]
    lines = [f"a[i] = a[i] * 0.5 + sub.{name}()" for name in queries] + ["a[i] += sub.leader"]
    module = validated_compile(kernel(lines), signature("float32"))
    assert "Float64" not in module.capabilities
    assert len(queries) == 5


def test_device_functions_are_generic_over_groups(validated_compile):
    """A function gets a group of either kind, and an operator."""

    def total(group, value, operation):
        return kapi.reduce_over_group(group, value, operation)

    def sums(item, a):
        i = item.get_global_id(0)
        a[i] = total(item.get_group(), a[i], kapi.plus) + total(item.get_sub_group(), a[i], kapi.maximum)

    assert called(validated_compile(sums, signature("int32"))) == {"GroupIAdd", "GroupSMax"}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_negations_are_hidden_where_groups_converge(validated_compile, dtype):
    """A driver mixes them up at barriers; kernels without any keep theirs."""
    convergent = kernel(["x = -a[i]", "kapi.group_barrier(group)", "a[i] = x"])
    assert " fneg " not in validated_compile(convergent, signature(dtype)).optimized_llvm_ir
    plain = kernel(["a[i] = -a[i]"])
    assert " fneg " in validated_compile(plain, signature(dtype)).optimized_llvm_ir
    apart = kernel(["x = -a[i]", "kapi.group_barrier(sub)", "a[i] = x"])
    assert " fneg " in validated_compile(apart, signature(dtype)).optimized_llvm_ir
