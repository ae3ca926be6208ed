"""Native code: launches by a plan that knows the types of its arrays, whatever their shapes and the index space.

It packs shapes, strides and extents, chooses the work-group as `work_group_size` does, and looks for arrays that share
memory.  What it cannot tell, it leaves to the slow path.
"""

from __future__ import annotations

from ctypes import sizeof
from typing import Any

from kapi_lowering.target import SMALL_EXTENT
from kapi_runtime.cuda.native.launching import (
    Py_DecRef,
    Py_IncRef,
    PyBool_FromLong,
    PyErr_Clear,
    PyLong_AsVoidPtr,
    PyObject_CallOneArg,
    PyTuple_GetItem,
    PyTuple_Size,
    cupy_at,
    cupy_stream,
    ints,
    is_stream,
    object_at,
    sent,
)
from kapi_runtime.cuda.native.structures import DynamicLaunch, DynamicRow
from kapi_runtime.native.language import address, at, c_function, native, words
from kapi_sim.language import array_memory

__all__ = ["ENTRY_POINTS", "SOURCES"]

WORD, ROW = 8, sizeof(DynamicRow)
SMALL, LINE = SMALL_EXTENT, 32  # work-items along the fastest axis: see `work_group_size`
OTHER, C_ORDER, F_ORDER = 0, 1, 2  # of `DynamicRow.layout`

plan_at, row_at = at(DynamicLaunch), at(DynamicRow)
may_share, is_same_view = native(array_memory.may_share), native(array_memory.is_same_view)

PyLong_AsSsize_t = c_function("PyLong_AsSsize_t", address, address)


@native
def launch_dynamic(_: Any, arguments: Any, __: Any) -> Any:
    """``launch_dynamic(plan, global_range, arguments, events)``: as `launch` of `launching`."""
    plan, space = plan_at(PyLong_AsVoidPtr(words(arguments)[0])), words(arguments)[1]
    given, before = words(arguments)[2], words(arguments)[3]
    if plan.is_busy != 0:
        return PyBool_FromLong(0)
    plan.is_busy = 1
    events = 0
    answer = are_packed(plan, space, given)
    if answer > 0:
        events = sent(plan, given, before)
    elif answer == 0:
        events = plan.none
        Py_IncRef(events)
    plan.is_busy = 0
    return events


@native
def pack_dynamic(_: Any, arguments: Any, __: Any) -> Any:
    """``pack_dynamic(plan, global_range, arguments)``: as `pack` of `launching`."""
    plan = plan_at(PyLong_AsVoidPtr(words(arguments)[0]))
    answer = are_packed(plan, words(arguments)[1], words(arguments)[2])
    if answer < 0:
        return 0
    return PyBool_FromLong(answer)


@native
def are_packed(plan: Any, space: Any, given: Any) -> Any:
    """1 if global range and arguments are of the plan's types, and are packed; 0 if not; -1 after an exception."""
    if PyTuple_Size(given) != plan.given_count or not are_arrays(plan, given):
        return 0
    if not is_in_reach(plan, space):
        return 0
    if plan.pack != 0:
        answer = PyObject_CallOneArg(plan.pack, given)
        if answer == 0:
            return -1
        Py_DecRef(answer)
        if answer != plan.true:
            return 0
    return 1


@native
def are_arrays(plan: Any, given: Any) -> Any:
    """Whether arguments are arrays of the plan's types that share memory as it expects; they are packed then."""
    table = cupy_at(plan.cupy)
    if table.current_stream != 0 and not is_stream(table, cupy_stream(table.current_stream, table.device)):
        PyErr_Clear()
        return False
    nbytes = 0
    for index in range(table.count):
        row = row_at(table.rows + index * ROW)
        size = pack_array(table, row, PyTuple_GetItem(given, row.index))
        if size < 0:
            return False
        nbytes += size
    plan.look_after = plan.look_seldom if nbytes < plan.light else plan.look_often
    return is_sharing_as_planned(plan, table)


@native
def pack_array(table: Any, row: Any, array: Any) -> Any:
    """Pack an array's address, shape and strides, and return its bytes; -1 if it is not of its row's type."""
    if object_at(array).type != table.array_type or words(array + table.dtype_at)[0] != row.element:
        return -1
    data = words(array + table.data_at)[0]
    if object_at(data).type != table.pointer_type or ints(data + table.device_at)[0] != table.device:
        return -1
    row.pointer = words(data + table.address_at)[0]
    row.shape, row.strides = words(array + table.shape_at)[0], words(array + table.strides_at)[0]
    if words(array + table.shape_at)[1] - row.shape != row.rank * WORD or row.pointer % row.itemsize != 0:
        return -1
    count, at = 1, row.place + WORD
    words(row.place)[0] = row.pointer
    for axis in range(row.rank):
        extent, stride = words(row.shape)[axis], words(row.strides)[axis]
        if extent >= SMALL or stride % row.itemsize != 0:
            return -1
        count *= extent
        words(at)[axis] = extent
        if row.has_strides != 0:
            words(at)[row.rank + axis] = stride // row.itemsize
    if layout_of(row, count) != row.layout or (row.is_written != 0 and row.layout == OTHER and not is_nested(row)):
        return -1
    measure(row, count)
    return count * row.itemsize


@native
def layout_of(row: Any, count: Any) -> Any:
    """Order of an array's elements, as `ArrayFields.layout` has it."""
    if count == 0:
        return C_ORDER
    step, is_c = row.itemsize, True
    for behind in range(row.rank):
        axis = row.rank - 1 - behind
        is_c = is_c and (words(row.shape)[axis] == 1 or words(row.strides)[axis] == step)
        step *= words(row.shape)[axis]
    if is_c:
        return C_ORDER
    step = row.itemsize
    for axis in range(row.rank):
        if words(row.shape)[axis] != 1 and words(row.strides)[axis] != step:
            return OTHER
        step *= words(row.shape)[axis]
    return F_ORDER


@native
def is_nested(row: Any) -> Any:
    """Whether each axis steps over all that those of shorter steps cover, so that no two elements share a byte."""
    for axis in range(row.rank):
        step, reach = distance(words(row.strides)[axis]), row.itemsize
        if words(row.shape)[axis] > 1:
            for other in range(row.rank):
                its = distance(words(row.strides)[other])
                if other != axis and (its < step or (its == step and other < axis)):
                    reach += its * (words(row.shape)[other] - 1)
            if step < reach:
                return False
    return True


@native
def distance(step: Any) -> Any:
    """The absolute value of a step."""
    return -step if step < 0 else step


@native
def measure(row: Any, count: Any) -> Any:
    """Put down an array's lowest byte and the end of its highest, equal where it has no element."""
    low = high = row.pointer
    if count != 0:
        for axis in range(row.rank):
            reach = (words(row.shape)[axis] - 1) * words(row.strides)[axis]
            if reach < 0:
                low += reach
            else:
                high += reach
        high += row.itemsize
    row.low, row.high = low, high


@native
def is_sharing_as_planned(plan: Any, table: Any) -> Any:
    """Whether arrays that share memory, one of them written, are one view; and inputs share some as the plan says."""
    shares = 0
    for index in range(table.count):
        one = row_at(table.rows + index * ROW)
        for behind in range(table.count - 1 - index):
            other = row_at(table.rows + (index + 1 + behind) * ROW)
            if one.is_written == 0 and other.is_written == 0:
                continue
            if may_share(one.low, one.high, other.low, other.high):
                if one.rank != other.rank or one.itemsize != other.itemsize:
                    return False
                if not is_same_view(
                    one.pointer, words(one.shape), words(one.strides),
                    other.pointer, words(other.shape), words(other.strides), one.rank,
                ):  # fmt: skip
                    return False
                if one.is_written != other.is_written:
                    shares = 1
    return shares == plan.shares


@native
def is_in_reach(plan: Any, space: Any) -> Any:
    """Whether a global range is of the plan's rank, and needs no larger groups; its grid is put down then."""
    if object_at(space).type != plan.range_type or PyTuple_Size(space) != plan.rank:
        return False
    for axis in range(plan.rank):
        extent = extent_of(space, axis)
        if extent <= 0 or extent >= SMALL:
            return False
        if plan.extents != 0:
            words(plan.extents)[axis] = extent
    x = extent_of(space, plan.rank - 1)
    y = extent_of(space, plan.rank - 2) if plan.rank > 1 else 1
    z = extent_of(space, 0) if plan.rank > 2 else 1
    size = plan.group_size
    if size == 0:
        wide, high, deep = plan.block_x, plan.block_y, plan.block_z
    elif plan.rank == 1:
        wide, high, deep = power_within(max(x, LINE), size), 1, 1
    else:
        wide = power_within(x, min(LINE, size))
        high = power_within(y, size // wide)
        deep = power_within(z, min(size // (wide * high), plan.deepest))
        wide = power_within(x, size // (high * deep))
    groups_x, groups_y, groups_z = (x + wide - 1) // wide, (y + high - 1) // high, (z + deep - 1) // deep
    if groups_y > plan.most_groups or groups_z > plan.most_groups:
        return False
    is_coarse = plan.coarse_function != 0 and groups_x >= plan.coarse_along_x
    if is_coarse and groups_x * groups_y * groups_z >= plan.coarse_groups:
        plan.function = plan.coarse_function
        groups_x = (groups_x + plan.coarse_blocks - 1) // plan.coarse_blocks
    else:
        plan.function = plan.own_function
    plan.grid_x, plan.grid_y, plan.grid_z = groups_x, groups_y, groups_z
    plan.block_x, plan.block_y, plan.block_z = wide, high, deep
    return True


@native
def extent_of(space: Any, axis: Any) -> Any:
    """An extent of an index space."""
    return PyLong_AsSsize_t(PyTuple_GetItem(space, axis))


@native
def power_within(extent: Any, most: Any) -> Any:
    """The lowest power of two that is not below an extent, or `most`, a power of two, if that is less."""
    power = 1
    while power < extent and power < most:
        power *= 2
    return power


ENTRY_POINTS = (launch_dynamic, pack_dynamic)

SOURCES = (
    "kapi_runtime.cuda.native.launching",
    "kapi_runtime.cuda.native.structures",
    "kapi_runtime.platform.dlpack",
    "kapi_sim.language.array_memory",
    "kapi_types.usm.structures",
)
