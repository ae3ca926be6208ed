"""Atomics and fences: SPIR-V's operations with their scopes and semantics, and loops where the target lacks them."""

from __future__ import annotations

import itertools
import re

import pytest
from numba import types

import kapi_sim as kapi
from kapi_sim import AddressSpace, MemoryOrder, MemoryScope
from kapi_sim.errors import KernelCompilationError
from kapi_sim.language.intrinsics.atomics import ATOMIC_DTYPES, ATOMIC_KINDS
from kapi_sim.testing.reports import raises
from kapi_spirv import SpirvTarget, compile_kernel
from kapi_types import ArrayType, ItemType, NdItemType

NATIVE = SpirvTarget(float_atomic_add=(32, 64), float_atomic_min_max=(32, 64))
SCOPES = {"SYSTEM": 0, "DEVICE": 1, "WORK_GROUP": 2, "SUB_GROUP": 3, "WORK_ITEM": 4}
SEMANTICS = {"RELAXED": 0, "ACQUIRE": 0x302, "RELEASE": 0x304, "ACQ_REL": 0x308, "SEQ_CST": 0x310}
READ_PART = {"RELEASE": "RELAXED", "ACQ_REL": "ACQUIRE"}
WRITE_PART = {"ACQUIRE": "RELAXED", "ACQ_REL": "RELEASE"}
ARGUMENTS = {"load": "", "compare_exchange": "seen, 5"}


def kernel(lines, parameters="item, a"):
    source = f"def kernel({parameters}):\n" + "".join(f"    {line}\n" for line in lines)
    namespace = {"kapi": kapi}
    exec(source, namespace)
    return namespace["kernel"]


def operations(names, order="RELAXED", scope="DEVICE"):
    """A kernel of one call of each operation on `a`'s first element."""
    lines = ["seen = kapi.PrivateArray(1, a.dtype, True)"]
    lines += [f"r = kapi.AtomicRef(a, 0, kapi.MemoryOrder.{order}, kapi.MemoryScope.{scope})"]
    lines += [f"r.{name}({ARGUMENTS.get(name, '3')})" for name in names]
    return kernel(lines)


def array(dtype, **options):
    return ArrayType(getattr(types, dtype), 1, "C", **options)


def called(module):
    """Each atomic operation and barrier of the optimised IR: its name, and its operands that are constants."""
    found = []
    for size, mangled, operands in re.findall(r"call [^@]*@_Z(\d+)(__spirv_\w+)\((.*)\)", module.optimized_llvm_ir):
        name = mangled[: int(size)].removeprefix("__spirv_").removeprefix("Atomic")
        found.append((name, [int(each) for each in re.findall(r"i32 (\d+)", operands)]))
    return found


@pytest.mark.parametrize("dtype", ATOMIC_DTYPES)
@pytest.mark.parametrize("target", [SpirvTarget(), NATIVE], ids=["core", "native"])
def test_atomic_operations_compile(validated_compile, dtype, target):
    """All that the dtype has, to a valid module that asks for no more than it needs."""
    kind = {"i": "i", "u": "u", "f": "f"}[dtype[0]]
    names = [name for name, kinds in ATOMIC_KINDS.items() if kind in kinds]
    module = validated_compile(operations(names), [ItemType(1), array(dtype)], target=target)
    is_native = kind == "f" and target is NATIVE
    assert ("FAddEXT" in dict(called(module))) == is_native
    assert module.extensions == (tuple(sorted(NATIVE.all_extensions)) if is_native else ())
    assert ("Int64Atomics" in module.capabilities) == ("64" in dtype)
    assert ("Float64" in module.capabilities) == (dtype == "float64")


@pytest.mark.parametrize("order", SEMANTICS)
def test_orders_and_scopes_become_operands(validated_compile, order):
    """A load takes what acquires, a store what releases, a failed comparison what a load does."""
    names = ["load"] if order != "RELEASE" else []
    names += ["store"] if order != "ACQUIRE" else []
    names += ["fetch_add", "compare_exchange"]
    for scope, number in SCOPES.items():
        module = validated_compile(operations(names, order, scope), [ItemType(1), array("int32")])
        found = dict(called(module))
        given, read = SEMANTICS[order], SEMANTICS[READ_PART.get(order, order)]
        assert found["IAdd"][:2] == [number, given]
        assert found["CompareExchange"][:3] == [number, given, read]
        if "load" in names:
            assert found["Load"] == [number, read]
        if "store" in names:
            assert found["Store"][:2] == [number, SEMANTICS[WRITE_PART.get(order, order)]]


def test_fences_become_memory_barriers(validated_compile):
    """With the semantics of their order; a relaxed one is nothing."""
    pairs = list(itertools.product(MemoryOrder, MemoryScope))
    named = [f"kapi.MemoryOrder.{order.name}, kapi.MemoryScope.{scope.name}" for order, scope in pairs]
    lines = [f"kapi.atomic_fence({arguments})" for arguments in named]
    found = called(validated_compile(kernel(lines), [ItemType(1), array("int32")]))
    wanted = [(SCOPES[scope.name], SEMANTICS[order.name]) for order, scope in pairs if order is not MemoryOrder.RELAXED]
    assert [tuple(operands) for _name, operands in found] == wanted
    assert {name for name, _operands in found} == {"MemoryBarrier"}


def test_barriers_of_both_kinds_of_group(validated_compile):
    """The group is the scope of execution; a fence for the work-item alone orders nothing."""
    lines = [
        f"kapi.group_barrier(item.{group}(), kapi.MemoryScope.{scope.name})"
        for group in ("get_group", "get_sub_group")
        for scope in MemoryScope
    ]
    found = called(validated_compile(kernel(lines), [NdItemType(1), array("int32")]))
    wanted = [
        (execution, SCOPES[scope.name], 0 if scope is MemoryScope.WORK_ITEM else SEMANTICS["ACQ_REL"])
        for execution in (2, 3)
        for scope in MemoryScope
    ]
    assert [tuple(operands) for _name, operands in found] == wanted


def test_atomics_on_local_memory_and_strided_arrays(validated_compile):
    """An index has one integer for each axis."""
    tile = ArrayType(types.int64, 2, "C", address_space=AddressSpace.LOCAL)
    strided = ArrayType(types.float32, 3, "A")
    lines = [
        "kapi.AtomicRef(tile, (0, 1), address_space=kapi.AddressSpace.LOCAL).fetch_add(a.shape[0])",
        "kapi.AtomicRef(a, (1, item.get_global_id(0), 2), address_space=kapi.AddressSpace.GENERIC).store(2)",
    ]
    module = validated_compile(kernel(lines, "item, a, tile"), [NdItemType(1), strided, tile])
    assert re.search(r"AtomicIAddPU3AS3l.*addrspace\(3\)", module.optimized_llvm_ir)
    assert re.search(r"AtomicStorePU3AS1i.*addrspace\(1\)", module.optimized_llvm_ir)


def test_atomic_reference_is_passed_to_device_functions(validated_compile):
    """It is a value as any other."""

    def count(reference, amount):
        return reference.fetch_add(amount)

    def counts(item, a):
        count(kapi.AtomicRef(a, item.get_id(0)), 2)

    assert "IAdd" in dict(called(validated_compile(counts, [ItemType(1), array("uint32")])))


def test_atomic_method_is_held_while_its_argument_is_chosen(validated_compile):
    """Python looks the method up before it goes one of two ways for the argument."""

    def chooses(item, a):
        kapi.AtomicRef(a, 0).fetch_add(1 if a[1] > 2 else a[3])

    assert "IAdd" in dict(called(validated_compile(chooses, [ItemType(1), array("int32")])))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
def test_atomics_of_64_bits_need_a_device_that_has_them(dtype):
    """The problem has its line."""
    with raises(KernelCompilationError, "needs-atomic64"):
        compile_kernel(operations(["fetch_add"]), [ItemType(1), array(dtype)], target=SpirvTarget(has_atomic64=False))
