"""Each row of the intrinsic table has a type, and nothing else does."""

from __future__ import annotations

import pytest
from numba import types

import kapi_sim
from kapi_sim import AddressSpace, MemoryOrder, MemoryScope, group_barrier
from kapi_sim.language.table.intrinsics import INTRINSICS
from kapi_types import (
    ArrayType,
    AtomicRefType,
    GroupType,
    ItemType,
    NdItemType,
    SubGroupType,
    weak_bool,
    weak_int,
)
from kapi_types.kernel_api import ConstantType, VecType
from kapi_types.kernel_typing.calls.intrinsic_calls import parameters_of
from kapi_types.kernel_typing.calls.intrinsic_types import ACCEPTED, CONSTANT_WORDS, RETURNED

OWNERS = {"Item": ItemType, "NdItem": NdItemType, "Group": GroupType, "SubGroup": SubGroupType}
RETURNS = {"weak int": weak_int, "bool": weak_bool, "weak bool": weak_bool, "none": types.none}
INDEX_ROWS = [row for row in INTRINSICS if row.owner in OWNERS]
MATH_ROWS = [row for row in INTRINSICS if row.family == "math"]  # see test_functions
CALLABLE_ROWS = [row for row in INTRINSICS if row.owner in (None, "AtomicRef", "Vec", "random")]

I32 = ArrayType(types.int32, 1, "C")
REFERENCE = AtomicRefType(I32, MemoryOrder.RELAXED, MemoryScope.DEVICE)
VECTOR = VecType(types.float32, 3)
PRIVATE = ArrayType(types.float32, 2, "C", address_space=AddressSpace.PRIVATE)
EXAMPLES = {
    "group": GroupType(1), "SubGroup": SubGroupType(1), "scalar": types.int32, "number": types.int32,
    "predicate": types.int32, "integer": types.int8, "bound": types.int64,
    "uniform integer": weak_int, "element": types.float64,
    "MemoryOrder": ConstantType(MemoryOrder.SEQ_CST), "MemoryScope": ConstantType(MemoryScope.DEVICE),
    "AddressSpace": ConstantType(AddressSpace.GENERIC), "atomic array": I32, "index": weak_int,
    "array of element": I32, "shape": ConstantType((2, 3)), "dtype": types.DType(types.float32),
    "constant bool": ConstantType(True), "bits": types.int32, "factor": types.int32,
    "float type": types.DType(types.float64), "elements": VECTOR, "vector": VECTOR, "array of vectors": PRIVATE,
    "index of a vector": weak_int, "vector length": ConstantType(3),
}  # fmt: skip
"""A type for each word that a parameter can have, but for "operator", which a function has."""
WANTED = {
    "none": types.none, "bool": weak_bool, "argument": types.int32, "element": types.int32,
    "AtomicRef": AtomicRefType(I32, MemoryOrder.SEQ_CST, MemoryScope.DEVICE), "private array": PRIVATE,
    "weak int": weak_int, "product": types.int32, "float type": types.float64,
    "four words": types.UniTuple(types.uint32, 4), "vector": VECTOR,
    "vector's": types.none,  # what the stand-in for the compiler says of each function
}  # fmt: skip


def key(row):
    return row.key


def test_intrinsic_rows_are_all_tested_here():
    """A row of a new family needs a type and a test."""
    assert len(INDEX_ROWS) + len(MATH_ROWS) + len(CALLABLE_ROWS) == len(INTRINSICS)
    assert min(len(INDEX_ROWS), len(MATH_ROWS), len(CALLABLE_ROWS)) > 0


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


def callee(typing_context, row):
    if row.owner == "AtomicRef":
        return typing_context.resolve_getattr(REFERENCE, row.name)
    if row.key == "Vec.store":
        return typing_context.resolve_getattr(VECTOR, row.name)
    owner = kapi_sim if row.owner is None else getattr(kapi_sim, row.owner)
    return typing_context.resolve_value_type(getattr(owner, row.name))


@pytest.mark.parametrize("row", CALLABLE_ROWS, ids=key)
def test_callable_row_has_a_type(typing_context, row):
    """All arguments by position, all by name, and only those without a default."""
    operator = typing_context.resolve_value_type(kapi_sim.plus)
    given = {name: EXAMPLES.get(word, operator) for name, word, _default in row.parameters}
    wanted = WANTED[row.returns]
    function = callee(typing_context, row)
    required = tuple(given[name] for name, _word, default in row.parameters if default is None)
    least = {"AtomicRef": AtomicRefType(I32, MemoryOrder.RELAXED, MemoryScope.DEVICE), "float type": types.float32}
    # Those of random numbers are compiled as they are typed.
    with typing_context.compiling(lambda function, args: types.none):
        assert typing_context.resolve_function_type(function, tuple(given.values()), {}).return_type == wanted
        if row.key != "Vec":  # which takes any number of arguments
            assert typing_context.resolve_function_type(function, (), given).return_type == wanted
        found = typing_context.resolve_function_type(function, required, {}).return_type
    assert found == least.get(row.returns, wanted)


@pytest.mark.parametrize("row", CALLABLE_ROWS, ids=key)
def test_callable_row_has_the_parameters_of_its_function(row):
    """Names, order and defaults in the table are those that kernels are written against."""
    found = parameters_of(row).parameters
    assert list(found) == [name for name, *_ in row.parameters]
    for name, _word, default in row.parameters:
        value = found[name].default
        is_member = isinstance(value, (MemoryOrder, MemoryScope, AddressSpace))
        spelled = f"{type(value).__name__}.{value.name}" if is_member else value
        assert (None if spelled is found[name].empty else spelled) == default


def test_intrinsics_are_those_of_the_table():
    """Each word of a callable row has a meaning here, and no other has."""
    assert set(ACCEPTED) == {word for row in CALLABLE_ROWS for _name, word, _default in row.parameters}
    assert set(RETURNED) == {row.returns for row in CALLABLE_ROWS}
    assert CONSTANT_WORDS < set(ACCEPTED)


def test_group_barrier_takes_both_kinds_of_group(typing_context):
    """With and without a scope, by position and by name."""
    function = typing_context.resolve_value_type(group_barrier)
    scope = ConstantType(MemoryScope.DEVICE)
    for args, kws in (((GroupType(1),), {}), ((GroupType(2), scope), {}), ((SubGroupType(3),), {"fence_scope": scope})):
        assert typing_context.resolve_function_type(function, args, kws).return_type == types.none


def test_memory_scopes_are_constants(typing_context):
    """Each member has a type of its own."""
    enumeration = typing_context.resolve_value_type(MemoryScope)
    found = {typing_context.resolve_getattr(enumeration, scope.name) for scope in MemoryScope}
    assert found == {ConstantType(scope) for scope in MemoryScope}
