"""Each row of the intrinsic table has a type, and nothing else does."""

from __future__ import annotations

import pytest
from numba import types

import kapi_sim
from kapi_sim import MemoryScope, group_barrier
from kapi_sim.spec.intrinsics import INTRINSICS
from kapi_types import GroupType, ItemType, NdItemType, weak_bool, weak_int
from kapi_types.kernel_api import ConstantType
from kapi_types.kernel_typing.language import intrinsic_function

OWNERS = {"Item": ItemType, "NdItem": NdItemType, "Group": GroupType}
RETURNS = {"weak int": weak_int, "bool": weak_bool, "weak bool": weak_bool, "none": types.none}
INDEX_ROWS = [row for row in INTRINSICS if row.owner in OWNERS]
MATH_ROWS = [row for row in INTRINSICS if row.owner == "math"]
FUNCTION_ROWS = [row for row in INTRINSICS if row.owner is None]


def key(row):
    return row.key


def test_intrinsic_rows_are_all_tested_here():
    """A row of a new family needs a type and a test."""
    assert len(INDEX_ROWS) + len(MATH_ROWS) + len(FUNCTION_ROWS) == len(INTRINSICS)
    assert min(len(INDEX_ROWS), len(MATH_ROWS), len(FUNCTION_ROWS)) > 0


@pytest.mark.parametrize("row", INDEX_ROWS, ids=key)
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_index_row_has_a_type(typing_context, row, ndim):
    """The type that the table's `returns` column names, of the receiver's dimensions."""
    receiver = OWNERS[row.owner](ndim)
    wanted = OWNERS[row.returns](ndim) if row.returns in OWNERS else RETURNS[row.returns]
    attribute = typing_context.resolve_getattr(receiver, row.name)
    if row.kind == "property":
        assert attribute == wanted
        return
    args = (weak_int,) * len(row.parameters)
    assert typing_context.resolve_function_type(attribute, args, {}).return_type == wanted
    keywords = {name: weak_int for name, *_ in row.parameters}
    assert typing_context.resolve_function_type(attribute, (), keywords).return_type == wanted


@pytest.mark.parametrize("row", MATH_ROWS, ids=key)
@pytest.mark.parametrize("strong", [types.float32, types.float64], ids=str)
def test_math_row_has_a_type(typing_context, row, strong):
    """The argument's float type, or what the table's `returns` column names."""
    function = typing_context.resolve_value_type(intrinsic_function(row))
    signature = typing_context.resolve_function_type(function, (strong,) * len(row.parameters), {})
    assert signature.return_type == (strong if row.returns == "argument float" else RETURNS[row.returns])
    assert set(signature.args) == {strong}


def test_group_barrier_has_a_type(typing_context):
    """With and without a scope, by position and by name."""
    assert [row.name for row in FUNCTION_ROWS] == ["group_barrier"]
    function = typing_context.resolve_value_type(group_barrier)
    scope = ConstantType(MemoryScope.DEVICE)
    for args, kws in (((GroupType(1),), {}), ((GroupType(2), scope), {}), ((GroupType(3),), {"fence_scope": scope})):
        assert typing_context.resolve_function_type(function, args, kws).return_type == types.none


def test_intrinsic_function_is_the_very_object_that_kernels_name():
    """A kernel's globals hold kapi's own functions, which are recognised by identity."""
    assert intrinsic_function(FUNCTION_ROWS[0]) is kapi_sim.group_barrier


def test_memory_scopes_are_constants(typing_context):
    """Each member has a type of its own."""
    enumeration = typing_context.resolve_value_type(MemoryScope)
    found = {typing_context.resolve_getattr(enumeration, scope.name) for scope in MemoryScope}
    assert found == {ConstantType(scope) for scope in MemoryScope}
