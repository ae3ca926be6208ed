"""From the text of a signature to Numba's types."""

from __future__ import annotations

import pytest
from numba import types

from kapi_sim import AddressSpace, KernelCompilationError
from kapi_sim.testing.reports import raises
from kapi_types import ArrayType, ItemType, NdItemType, parse_signature, weak_complex, weak_float

F64 = ArrayType(types.float64, 2, "A", readonly=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("item1", ItemType(1)),
        ("nd_item3", NdItemType(3)),
        ("bool", types.boolean),
        ("uint8", types.uint8),
        ("c8", types.complex64),
        ("double", types.float64),
        ("weak_float", weak_float),
        ("weak_complex", weak_complex),
        ("int32[:]", ArrayType(types.int32, 1, "C")),
        ("readonly strided float64[:, :]", F64),
        ("local f4[16, 2]", ArrayType(types.float32, 2, "C", address_space=AddressSpace.LOCAL, extents=(16, 2))),
        ("local f4[:]", ArrayType(types.float32, 1, "C", address_space=AddressSpace.LOCAL)),
        ("(int64, readonly strided f8[:, :])", types.Tuple((types.int64, F64))),
    ],
)
def test_text_is_a_type(text, expected):
    assert parse_signature(text) == (expected,)


def test_text_that_is_no_type_is_refused():
    with raises(KernelCompilationError, "signature-text"):
        parse_signature("item1, flaot")
