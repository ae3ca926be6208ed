"""Arrays from outside: constants of the module, which are read where they are."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

from kapi_sim import Item, device_func
from kapi_sim.language import MAX_CONSTANT_BYTES
from kapi_types import ArrayType, ItemType

TABLE = np.linspace(0, 1, 256, dtype=np.float32)
OTHER = TABLE[::-1]
BYTES = np.arange(MAX_CONSTANT_BYTES).astype(np.int8)
ARRAY = ArrayType(types.float32, 1, "C")


@device_func
def looked_up(table, k):
    return table[k & 255]


def gather(item: Item, a, out):
    i = item.get_id(0)
    for j in range(5):
        out[i] += TABLE[(i + j) & 255] * TABLE[7]


def in_function(item: Item, a, out):
    i = item.get_id(0)
    out[i] = looked_up(TABLE, i) + looked_up(OTHER, i)


def of_bytes(item: Item, a, out):
    i = item.get_id(0)
    out[i] = BYTES[i % BYTES.shape[0]]


def either(item: Item, a, out):
    i = item.get_id(0)
    table = TABLE if a[i] > 0 else OTHER
    out[i] = table[i & 255]


@pytest.mark.parametrize("function", [gather, in_function, of_bytes])
def test_constant_is_read_in_place(validated_compile, function):
    """No work-item has a copy of its own."""
    module = validated_compile(function, [ItemType(1), ARRAY, ARRAY])
    assert "addrspace(2) constant" in module.optimized_llvm_ir.replace("internal unnamed_addr", "internal")
    assert "alloca" not in module.optimized_llvm_ir
    assert "memcpy" not in module.optimized_llvm_ir


def test_one_of_two_constants_is_copied(validated_compile):
    """A pointer to either is one to private memory."""
    assert "alloca" in validated_compile(either, [ItemType(1), ARRAY, ARRAY]).optimized_llvm_ir
