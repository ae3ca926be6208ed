from __future__ import annotations

import importlib
import inspect

import dpnp
import pytest
from numba import types

import kapi_cpu
import kapi_ptx
import kapi_runtime as kapi
import kapi_spirv
from kapi_lowering import Target
from kapi_sim.language import KernelOptions
from kapi_types import ArrayType, ItemType


def fill(item: kapi.Item, x):
    x[item.get_id(0)] = 1


def test_kernel_that_was_compiled_for_cuda_refuses_arrays_of_sycl():
    signature = (ItemType(1), ArrayType(types.float64, 1, "C"))
    module = kapi_ptx.compile_kernel(fill, signature, target=kapi_ptx.PtxTarget(80), options=KernelOptions())
    with pytest.raises(kapi.ExecutionPlacementError) as refused:
        kapi.load_ptx(module)[kapi.Range(4)](dpnp.zeros(4))
    assert refused.value.code == "different-platforms"


@pytest.mark.parametrize("target", [kapi_spirv.SpirvTarget(), kapi_ptx.PtxTarget(), kapi_cpu.CpuTarget()])
def test_targets_write_each_instruction_that_lowering_asks_for(target):
    """A method of `Target` calls the function of its name in the target's `code`, with all of its arguments."""
    code = importlib.import_module(target.code)
    methods = {
        name: len(inspect.signature(method).parameters) - 1
        for name, method in vars(Target).items()
        if inspect.isfunction(method) and "_instructions" in method.__code__.co_names
    }
    assert len(methods) == 19
    called = {name: n for name, n in methods.items() if getattr(type(target), name) is getattr(Target, name)}
    assert sorted(code.__all__) == sorted(called)
    for name, count in called.items():
        inspect.signature(getattr(code, name)).bind(*range(count))
