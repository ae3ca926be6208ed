from __future__ import annotations

import dpnp
import pytest
from numba import types

import kapi_ptx
import kapi_runtime as kapi
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
