"""Native code: the arguments of a launch are compared with a plan, and packed."""

from __future__ import annotations

from ctypes import sizeof
from typing import Any

from kapi_runtime.native.language import address, at, c_function, double, native, octets, reals, uint8, words
from kapi_runtime.sycl.native.structures import (
    ARRAY,
    BOOL,
    FLOAT,
    INT,
    NUMBER,
    TUPLE,
    WRAPPED_ARRAY,
    Pair,
    Row,
    World,
)
from kapi_sim.language import array_memory
from kapi_types.usm.structures import C_CONTIGUOUS, DpnpArray, Object, Scalar, UsmNdarray

__all__ = ["match_and_pack", "world_at"]

WORD, ROW, PAIR = 8, sizeof(Row), sizeof(Pair)
VALUE = Scalar.value.offset

world_at, row_at, pair_at = at(World), at(Row), at(Pair)
object_at, array_at, dpnp_array_at = at(Object), at(UsmNdarray), at(DpnpArray)

PyTuple_Size = c_function("PyTuple_Size", address, address)
PyTuple_GetItem = c_function("PyTuple_GetItem", address, address, address)
PyLong_AsLong = c_function("PyLong_AsLong", address, address)
PyLong_AsLongLongAndOverflow = c_function("PyLong_AsLongLongAndOverflow", address, address, address)
PyFloat_AsDouble = c_function("PyFloat_AsDouble", double, address)
Memory_GetQueueRef = c_function("Memory_GetQueueRef", address, address)
DPCTLQueue_AreEq = c_function("DPCTLQueue_AreEq", uint8, address, address)

# The rule of which arrays may be given to one launch, as the slow path has it.
span = native(array_memory.span)
may_share = native(array_memory.may_share)
is_between = native(array_memory.is_between)
is_same_view = native(array_memory.is_same_view)


@native
def match_and_pack(plan: Any, given: Any) -> Any:
    """Whether the arguments are the plan's; if they are, they are packed."""
    if PyTuple_Size(given) != plan.given_count:
        return False
    holders = words(plan.holders)
    holders[0] = given
    for index in range(plan.row_count):
        row = row_at(plan.rows + index * ROW)
        value = PyTuple_GetItem(holders[row.parent], row.position)
        if object_at(value).type != row.type:
            return False
        if row.kind == TUPLE:
            if PyTuple_Size(value) != row.size:
                return False
            holders[index + 1] = value
        elif row.kind == WRAPPED_ARRAY:
            inner = dpnp_array_at(value).inner
            if object_at(inner).type != row.inner_type or not pack_array(plan, row, array_at(inner)):
                return False
        elif row.kind == ARRAY:
            if not pack_array(plan, row, array_at(value)):
                return False
        elif not pack_number(plan, row, value):
            return False
    return are_disjoint(plan)


@native
def pack_array(plan: Any, row: Any, array: Any) -> Any:
    """Pack an array; False if its type, its order or its queue is not the plan's, or an extent is too large."""
    if array.rank != row.rank or array.element != row.element or array.flags & row.flags_mask != row.flags:
        return False
    queue = Memory_GetQueueRef(array.base)
    if queue != plan.queue and not DPCTLQueue_AreEq(queue, plan.queue):  # two references may be of one queue
        return False
    packed, shape, strides = words(plan.packed + row.offset), words(array.shape), words(row.strides)
    find_strides(array, strides)
    packed[0] = array.data
    for axis in range(array.rank):
        if shape[axis] >= row.below:
            return False
        packed[1 + axis] = shape[axis]
    if row.strides_offset != 0:
        packed_strides = words(plan.packed + row.strides_offset)
        for axis in range(array.rank):
            packed_strides[axis] = strides[axis]
    low, high = span(array.data, shape, strides, array.rank, row.size)
    row.low = low
    row.high = high
    return True


@native
def find_strides(array: Any, strides: Any) -> Any:
    """Write the strides of an array, in elements: those that it has, or those that its flags imply."""
    shape, own = words(array.shape), words(array.strides)
    step = 1
    for position in range(array.rank):
        axis = array.rank - 1 - position if array.flags & C_CONTIGUOUS else position
        strides[axis] = step if array.strides == 0 else own[axis]
        step *= shape[axis]


@native
def pack_number(plan: Any, row: Any, value: Any) -> Any:
    """Pack a number; False for an integer of more than 64 bits."""
    target = plan.packed + row.offset
    if row.kind == INT:
        world = world_at(plan.world)
        overflow = words(world.overflow)
        overflow[0] = 0
        words(target)[0] = PyLong_AsLongLongAndOverflow(value, world.overflow)
        return overflow[0] == 0
    if row.kind == FLOAT:
        reals(target)[0] = PyFloat_AsDouble(value)
    elif row.kind == BOOL:
        octets(target)[0] = PyLong_AsLong(value)
    elif row.kind == NUMBER:
        for index in range(row.size):
            octets(target)[index] = octets(value + VALUE)[index]
    return True


@native
def are_disjoint(plan: Any) -> Any:
    """Whether each array that the kernel writes lies between other addresses, or may be another one's view and is."""
    for index in range(plan.pair_count):
        pair = pair_at(plan.pairs + index * PAIR)
        one, other = row_at(pair.first), row_at(pair.second)
        if not may_share(one.low, one.high, other.low, other.high):
            continue
        if is_one_view(plan, one, other):
            if pair.may_be_one:
                continue
            return False
        if not are_interlocking(plan, one, other):
            return False
    return True


@native
def are_interlocking(plan: Any, one: Any, other: Any) -> Any:
    """Whether two arrays that are packed lie between each other without a common byte."""
    if one.rank != other.rank:
        return False
    return is_between(
        one.low,
        one.high,
        words(plan.packed + one.offset + WORD),
        words(one.strides),
        one.size,
        other.low,
        other.high,
        words(plan.packed + other.offset + WORD),
        words(other.strides),
        other.size,
        one.rank,
    )


@native
def is_one_view(plan: Any, one: Any, other: Any) -> Any:
    """Whether two arrays that are packed are the same view."""
    if one.rank != other.rank or one.size != other.size:
        return False
    mine, its = plan.packed + one.offset, plan.packed + other.offset
    return is_same_view(
        words(mine)[0],
        words(mine + WORD),
        words(one.strides),
        words(its)[0],
        words(its + WORD),
        words(other.strides),
        one.rank,
    )
