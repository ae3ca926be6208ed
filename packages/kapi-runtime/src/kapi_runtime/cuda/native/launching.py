"""Native code: the look at CuPy's arrays, and one call of the driver with what a plan has ready."""

from __future__ import annotations

from ctypes import sizeof
from typing import Any

from kapi_runtime.cuda.native.structures import CudaLaunch, CupyPair, CupyRow, CupyTable
from kapi_runtime.native.language import address, at, c_function, c_pointer, elements, int32, native, words
from kapi_sim.language.usm_structures import Object

__all__ = ["ENTRY_POINTS"]

WORD, ROW, PAIR = 8, sizeof(CupyRow), sizeof(CupyPair)

launch_at, table_at, row_at, pair_at = at(CudaLaunch), at(CupyTable), at(CupyRow), at(CupyPair)
object_at, ints = at(Object), elements(int32)

PyBool_FromLong = c_function("PyBool_FromLong", address, address)
PyLong_AsVoidPtr = c_function("PyLong_AsVoidPtr", address, address)
PyLong_FromLong = c_function("PyLong_FromLong", address, address)
PyEval_SaveThread = c_function("PyEval_SaveThread", address)
PyEval_RestoreThread = c_function("PyEval_RestoreThread", int32, address)
cu_launch_kernel = c_pointer(int32, address, *[int32] * 7, *[address] * 3)


@native
def send(_: Any, arguments: Any, __: Any) -> Any:
    """``send(launch)``: the driver's code.

    Other threads run meanwhile: the driver waits where too much is pending, and what is pending may need Python.
    """
    launch = launch_at(PyLong_AsVoidPtr(words(arguments)[0]))
    thread = PyEval_SaveThread()
    code = cu_launch_kernel(
        launch.cu_launch_kernel,
        launch.function,
        launch.grid_x,
        launch.grid_y,
        launch.grid_z,
        launch.block_x,
        launch.block_y,
        launch.block_z,
        launch.shared,
        launch.stream,
        launch.parameters,
        0,
    )
    PyEval_RestoreThread(thread)
    return PyLong_FromLong(code)


@native
def read_cupy(_: Any, arguments: Any, count: Any) -> Any:
    """``read_cupy(table, *arrays)``: whether they are what the table says; if they are, their addresses are packed."""
    table = table_at(PyLong_AsVoidPtr(words(arguments)[0]))
    if count != table.count + 1:
        return PyBool_FromLong(0)
    for index in range(table.count):
        if not pack_cupy(table, row_at(table.rows + index * ROW), words(arguments)[1 + index]):
            return PyBool_FromLong(0)
    for index in range(table.pair_count):
        if not are_apart(pair_at(table.pairs + index * PAIR)):
            return PyBool_FromLong(0)
    return PyBool_FromLong(1)


@native
def pack_cupy(table: Any, row: Any, array: Any) -> Any:
    """Pack an array's address; False if the array is none of CuPy's, or not as its row says."""
    if object_at(array).type != table.array_type or words(array + table.dtype_at)[0] != row.dtype:
        return False
    if not are_equal(array + table.shape_at, row.shape, row.rank):
        return False
    if not are_equal(array + table.strides_at, row.strides, row.rank):
        return False
    data = words(array + table.data_at)[0]
    if object_at(data).type != table.pointer_type or ints(data + table.device_at)[0] != table.device:
        return False
    place = words(data + table.address_at)[0]
    words(row.place)[0] = place
    return place % row.itemsize == 0


@native
def are_equal(vector: Any, expected: Any, count: Any) -> Any:
    """Whether a vector of C++ has these elements."""
    start, end = words(vector)[0], words(vector)[1]
    if end - start != count * WORD:
        return False
    for index in range(count):
        if words(start)[index] != words(expected)[index]:
            return False
    return True


@native
def are_apart(pair: Any) -> Any:
    """Whether two arrays that are packed share nothing, or may be one view and are."""
    first, second = words(pair.first)[0], words(pair.second)[0]
    if first + pair.first_high <= second + pair.second_low or second + pair.second_high <= first + pair.first_low:
        return True
    return pair.may_be_one != 0 and first == second


ENTRY_POINTS = (send, read_cupy)
