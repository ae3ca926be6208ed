"""Atomic operations, fences and barriers have the order and the scope that the kernel names.

The expected instructions are written down from PTX's memory model. They must be compared as text, since no run shows
them: devices give right results without any order, most of the time.
"""

from __future__ import annotations

import re

import pytest
from numba import types

import kapi_sim as kapi
from kapi_ptx import PtxTarget, compile_kernel
from kapi_sim import AddressSpace
from kapi_sim.language.intrinsics.atomics import ATOMIC_DTYPES, ATOMIC_KINDS
from kapi_types import ArrayType, NdItemType

SCOPES = {"SYSTEM": "sys", "DEVICE": "gpu", "WORK_GROUP": "cta", "SUB_GROUP": "cta", "WORK_ITEM": "cta"}
ORDERS = {"RELAXED": "relaxed", "ACQUIRE": "acquire", "RELEASE": "release", "ACQ_REL": "acq_rel"}
ARGUMENTS = {"load": "", "compare_exchange": "seen, 5"}
_INSTRUCTION = re.compile(r"^\s*((?:atom|red|fence|membar|bar|ld|st)[.\w]*)", re.MULTILINE)


def kernel(*lines):
    source = "def kernel(item, a):\n" + "".join(f"    {line}\n" for line in lines)
    namespace = {"kapi": kapi}
    exec(source, namespace)
    return namespace["kernel"]


def operation(name, order, scope, space="GLOBAL"):
    call = f"{name}({ARGUMENTS.get(name, '3')})"
    constants = f"kapi.MemoryOrder.{order}, kapi.MemoryScope.{scope}, kapi.AddressSpace.{space}"
    return kernel("seen = kapi.PrivateArray(1, a.dtype, True)", f"kapi.AtomicRef(a, 0, {constants}).{call}")


def array(dtype, **options):
    return ArrayType(getattr(types, dtype), 1, "C", **options)


@pytest.fixture
def memory_instructions(assembled_compile):
    """The instructions of a kernel that order memory, in order: ptxas has taken it."""

    def run(function, dtype="int32", sm=80, **options):
        module = assembled_compile(function, [NdItemType(1), array(dtype, **options)], target=PtxTarget(sm))
        found = _INSTRUCTION.findall(module.ptx)
        return [each for each in found if not re.match(r"(ld|st)\.(param|global|local|shared)", each)]

    return run


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("order", ORDERS)
def test_update_has_order_and_scope(memory_instructions, order, scope):
    """LLVM's own `atomicrmw` loses both, and PTX then takes relaxed order and the device's scope."""
    is_least = order == "RELAXED" and scope != "SYSTEM"
    words = "" if is_least else f".{ORDERS[order]}.{SCOPES[scope]}"
    assert memory_instructions(operation("fetch_add", order, scope)) == [f"atom{words}.global.add.u32"]


@pytest.mark.parametrize("scope", SCOPES)
def test_compare_exchange_has_order_and_scope(memory_instructions, scope):
    found = [memory_instructions(operation("compare_exchange", order, scope)) for order in ORDERS]
    assert found == [[f"atom.{word}.{SCOPES[scope]}.global.cas.b32"] for word in ORDERS.values()]


@pytest.mark.parametrize("scope", SCOPES)
def test_loads_and_stores_have_order_and_scope(memory_instructions, scope):
    word = SCOPES[scope]
    assert memory_instructions(operation("load", "RELAXED", scope)) == [f"ld.relaxed.{word}.global.b32"]
    assert memory_instructions(operation("load", "ACQUIRE", scope)) == [f"ld.acquire.{word}.global.b32"]
    assert memory_instructions(operation("store", "RELAXED", scope)) == [f"st.relaxed.{word}.global.b32"]
    assert memory_instructions(operation("store", "RELEASE", scope)) == [f"st.release.{word}.global.b32"]


@pytest.mark.parametrize("scope", SCOPES)
def test_sequential_consistency_is_a_fence_before_the_operation(memory_instructions, scope):
    """As PTX's mapping of C++ has it: the fence puts the operation in its place in the one order."""
    word = SCOPES[scope]
    expected = {
        "load": f"ld.acquire.{word}.global.b32",
        "store": f"st.relaxed.{word}.global.b32",
        "fetch_add": f"atom.acquire.{word}.global.add.u32",
        "compare_exchange": f"atom.acquire.{word}.global.cas.b32",
    }
    for name, instruction in expected.items():
        assert memory_instructions(operation(name, "SEQ_CST", scope)) == [f"fence.sc.{word}", instruction], name


@pytest.mark.parametrize("dtype", ATOMIC_DTYPES)
@pytest.mark.parametrize("space", [AddressSpace.GLOBAL, AddressSpace.LOCAL], ids=lambda space: space.name)
def test_all_operations_assemble_in_both_memories(assemble, dtype, space):
    names = [name for name, kinds in ATOMIC_KINDS.items() if dtype[0] in kinds]
    signature = [NdItemType(1), array(dtype, address_space=space)]
    kernels = [operation(name, "RELAXED", "DEVICE", space.name) for name in names]
    modules = [compile_kernel(each, signature, target=PtxTarget(80)) for each in kernels]
    assert assemble(modules) == ""
    word = {AddressSpace.GLOBAL: ".global", AddressSpace.LOCAL: ".shared"}[space]
    assert all(re.search(rf"(\.relaxed\.gpu|atom){re.escape(word)}\.", module.ptx) for module in modules)


@pytest.mark.parametrize(
    ("dtype", "name", "suffix"),
    [
        ("int32", "fetch_min", "min.s32"),
        ("uint64", "fetch_min", "min.u64"),
        ("int64", "fetch_max", "max.s64"),
        ("uint32", "fetch_and", "and.b32"),
        ("int64", "fetch_sub", "add.u64"),
        ("float32", "fetch_add", "add.f32"),
        ("float64", "fetch_sub", "add.f64"),
        ("float64", "exchange", "exch.b64"),
        ("float32", "compare_exchange", "cas.b32"),
        ("uint32", "fetch_inc", "inc.u32"),
        ("uint32", "fetch_dec", "dec.u32"),
    ],
)
def test_operation_is_one_instruction_of_its_type(memory_instructions, dtype, name, suffix):
    found = memory_instructions(operation(name, "RELAXED", "DEVICE"), dtype)
    words = ".relaxed.gpu" if suffix.startswith("cas") else ""  # an update of LLVM's, which has these two for none
    assert found == [f"atom{words}.global.{suffix}"]


@pytest.mark.parametrize("name", ["fetch_min", "fetch_max"])
def test_smallest_and_largest_floats_are_compare_exchanges(memory_instructions, name):
    found = memory_instructions(operation(name, "ACQ_REL", "DEVICE"), "float32")
    assert found == ["ld.relaxed.gpu.global.b32", "atom.acq_rel.gpu.global.cas.b32"]


@pytest.mark.parametrize(
    ("order", "scope", "expected"),
    [
        ("ACQUIRE", "DEVICE", ["fence.acq_rel.gpu"]),
        ("RELEASE", "WORK_GROUP", ["fence.acq_rel.cta"]),
        ("ACQ_REL", "SYSTEM", ["fence.acq_rel.sys"]),
        ("SEQ_CST", "SYSTEM", ["fence.sc.sys"]),
        ("RELAXED", "SYSTEM", []),
    ],
)
def test_fence_has_order_and_scope(memory_instructions, order, scope, expected):
    assert (
        memory_instructions(kernel(f"kapi.atomic_fence(kapi.MemoryOrder.{order}, kapi.MemoryScope.{scope})"))
        == expected
    )


@pytest.mark.parametrize(
    ("group", "scope", "expected"),
    [
        ("item.get_group()", None, ["bar.sync"]),
        ("item.get_group()", "WORK_ITEM", ["bar.sync"]),
        ("item.get_group()", "DEVICE", ["fence.acq_rel.gpu", "bar.sync", "fence.acq_rel.gpu"]),
        ("item.get_group()", "SYSTEM", ["fence.acq_rel.sys", "bar.sync", "fence.acq_rel.sys"]),
        ("item.get_sub_group()", "SUB_GROUP", ["bar.warp.sync"]),
        ("item.get_sub_group()", "WORK_GROUP", ["fence.acq_rel.cta", "bar.warp.sync", "fence.acq_rel.cta"]),
    ],
)
def test_barrier_orders_memory_for_its_scope(memory_instructions, group, scope, expected):
    """A member hands on what the others wrote: so it fences before it waits, and again after."""
    argument = "" if scope is None else f", kapi.MemoryScope.{scope}"
    assert memory_instructions(kernel(f"kapi.group_barrier({group}{argument})")) == expected


def test_histogram_orders_nothing_that_it_does_not_name(memory_instructions):
    found = memory_instructions(
        kernel("kapi.AtomicRef(a, a[item.get_global_id(0)]).fetch_add(1)"),
    )
    assert found == ["atom.global.add.u32"]
