"""Layout of local memory, and the size that a launch has to ask for."""

from __future__ import annotations

import re

import pytest
from numba import types

import kapi_sim as kapi
from kapi_ptx import PtxTarget
from kapi_ptx.local_layout import SCRATCH_BYTES, STATIC_BYTES, dynamic_bytes, is_static
from kapi_sim import AddressSpace
from kapi_types import ArrayType, ItemType, NdItemType


def local(dtype, *extents):
    """Local memory of a shape that the types tell, or without extents of one that the launch decides."""
    rank = len(extents) or 1
    return ArrayType(getattr(types, dtype), rank, "C", address_space=AddressSpace.LOCAL, extents=extents or None)


def kernel(item, x, a, b):
    i = item.get_local_id(0)
    a[i] = x[i]
    b[i] = x[i] + 1
    kapi.group_barrier(item.get_group())
    x[i] = a[i + 1] + b[i + 1]


def shared_variables(module):
    return re.findall(r"^\s*(?:\.extern )?\.shared \.align (\d+) \.b\d+ (\w+)\[(\d*)\]", module.ptx, re.MULTILINE)


@pytest.fixture
def compiled(assembled_compile):
    def run(a, b):
        signature = [NdItemType(1), ArrayType(types.float32, 1, "C"), a, b]
        return assembled_compile(kernel, signature, target=PtxTarget(80))

    return run


def test_memory_of_a_known_size_is_the_module_s(compiled):
    module = compiled(local("float32", 100), local("float64", 30))
    assert sorted(shared_variables(module)) == [("16", "kapi_local_0", "400"), ("16", "kapi_local_1", "240")]
    assert module.local_itemsizes == ()
    assert module.dynamic_shared_bytes([100, 30]) == 0


@pytest.mark.parametrize(
    ("a", "b"), [(local("float32"), local("float64")), (local("float32", 100), local("float64")),
                 (local("float32", 10000), local("float64", 2000))],
    ids=["both by the launch", "one by the launch", "too much"],
)  # fmt: skip
def test_other_memory_is_one_piece_that_the_launch_asks_for(compiled, a, b):
    module = compiled(a, b)
    assert shared_variables(module) == [("16", "kapi_dynamic_shared", "")]
    assert module.local_itemsizes == (4, 8)
    assert module.dynamic_shared_bytes([101, 30]) == 416 + 240


def test_entry_point_takes_the_packed_argument_alone(compiled):
    module = compiled(local("float32"), local("float64"))
    assert re.findall(r"\.param \.align 8 \.b8 (\w+)\[(\d+)\]", module.ptx) == [
        ("kapi_kernel_param_0", str(module.layout.size))
    ]
    assert [field.role for field in module.layout.fields] == ["pointer", "shape", "shape", "shape"]


def test_second_parameter_begins_behind_the_first(compiled):
    """By its length, which the packed argument has: 4 bytes for each, to the next multiple of 16."""
    module = compiled(local("float32"), local("float64"))
    body = module.ptx.partition("{\n")[2]
    length = next(field.offset for field in module.layout.fields if field.owner == "a")
    assert re.search(rf"ld\.param\.b64 \s*%rd\d+, \[[^\]]*\+{length}\]", body)
    assert re.search(r"and\.b64 \s*%rd\d+, %rd\d+, -16;", body)


def test_counts_must_fit(compiled):
    module = compiled(local("float32"), local("float64"))
    with pytest.raises(ValueError, match="counts must have a number for each of 2 local parameters, got 1"):
        module.dynamic_shared_bytes([5])


def test_kernel_without_local_memory_asks_for_none(assembled_compile):
    def nothing(item, x):
        x[item.get_id(0)] = 0

    module = assembled_compile(nothing, [ItemType(1), ArrayType(types.float32, 1, "C")])
    assert shared_variables(module) == []
    assert module.dynamic_shared_bytes([]) == 0


def test_largest_static_memory_leaves_room_for_group_algorithms():
    most = STATIC_BYTES - SCRATCH_BYTES
    assert is_static([most])
    assert not is_static([most + 1])
    assert not is_static([most - 16, 17])
    assert not is_static([None])
    assert is_static([])


@pytest.mark.parametrize(("sizes", "expected"), [([], 0), ([1], 16), ([16], 16), ([17, 1], 48), ([0, 5], 16)])
def test_parts_begin_at_multiples_of_16(sizes, expected):
    assert dynamic_bytes(sizes) == expected
