"""`PtxTarget`: architectures and versions."""

from __future__ import annotations

import pytest
from numba import types

from kapi_ptx import KAPI_DEFAULT_TARGET, PtxTarget, compile_kernel
from kapi_ptx.target import ARCHITECTURES
from kapi_sim import KernelCompilationError, LimitError
from kapi_sim.language import KernelOptions
from kapi_sim.testing.reports import raises
from kapi_types import ArrayType, ItemType, NdItemType

ARRAY = ArrayType(types.float64, 1, "C")


def double(item, x):
    x[item.get_id(0)] *= 2


@pytest.mark.parametrize("sm", ARCHITECTURES)
def test_module_names_its_architecture_and_the_lowest_version(sm):
    """LLVM chooses the lowest version by itself where none is named: the table says the same."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu=f"sm_{sm}")
    text = machine.emit_assembly(llvm.parse_assembly('target triple = "nvptx64-nvidia-cuda"'))
    module = compile_kernel(double, [ItemType(1), ARRAY], target=PtxTarget(sm))
    header = f".version {ARCHITECTURES[sm]}\n.target sm_{sm}\n.address_size 64"
    assert header in text
    assert header in module.ptx


def test_version_may_be_higher(assembled_compile):
    module = assembled_compile(double, [ItemType(1), ARRAY], target=PtxTarget(80, "8.0"))
    assert ".version 8.0\n.target sm_80" in module.ptx


@pytest.mark.parametrize("sm", [70, 81, "80", True, 8.0])
def test_unknown_architecture_is_refused(sm):
    with pytest.raises(ValueError, match="sm must be one of 75, 80, .*: take the largest that the devices have"):
        PtxTarget(sm)


@pytest.mark.parametrize("version", ["6.9", "7", "9.1", "6.5"])
def test_version_that_does_not_know_the_architecture_is_refused(version):
    with pytest.raises(ValueError, match=f"version must be one of 7.0, .* for sm_80, got '{version}'"):
        PtxTarget(80, version)


def test_targets_of_one_meaning_are_equal():
    assert PtxTarget(80) == PtxTarget(80, "7.0")
    assert hash(PtxTarget(80)) == hash(PtxTarget(80, "7.0"))
    assert KAPI_DEFAULT_TARGET == PtxTarget(75, "6.3")


def test_kernel_with_a_float_that_the_target_lacks_is_refused():
    with raises(KernelCompilationError, "needs-fp64"):
        compile_kernel(double, [ItemType(1), ARRAY], target=PtxTarget(80, has_fp64=False))


def test_sub_groups_of_another_size_are_refused():
    def kernel(item, x):
        x[item.get_global_id(0)] = item.get_sub_group().get_local_range()[0]

    with raises(LimitError, "sub-group-size-unknown"):
        compile_kernel(kernel, [NdItemType(1), ARRAY], options=KernelOptions(sub_group_size=16))


def test_data_layout_is_the_back_end_s():
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_80")
    assert str(machine.target_data) == PtxTarget(80).data_layout
