"""Native code: the look at CuPy's arrays and PyTorch's, and one call of the driver with what a plan has ready."""

from __future__ import annotations

from ctypes import sizeof
from typing import Any

from kapi_runtime.cuda.native.structures import ArrayPair, ArrayRow, ArrayTable, CudaLaunch, CupyTable, TorchTable
from kapi_runtime.native.language import address, at, c_function, c_pointer, elements, int32, native, words
from kapi_runtime.platform.dlpack import CUDA, DlpackTensor
from kapi_types.usm.structures import Object

__all__ = ["ENTRY_POINTS", "SOURCES"]

WORD, ROW, PAIR = 8, sizeof(ArrayRow), sizeof(ArrayPair)
DEVICE_KIND = int(CUDA)

launch_at, table_at, row_at, pair_at = at(CudaLaunch), at(ArrayTable), at(ArrayRow), at(ArrayPair)
cupy_at, torch_at, tensor_at = at(CupyTable), at(TorchTable), at(DlpackTensor)
object_at, ints = at(Object), elements(int32)

PyBool_FromLong = c_function("PyBool_FromLong", address, address)
PyLong_AsVoidPtr = c_function("PyLong_AsVoidPtr", address, address)
PyLong_FromLong = c_function("PyLong_FromLong", address, address)
PyErr_Clear = c_function("PyErr_Clear", int32)
PyObject_GetAttr = c_function("PyObject_GetAttr", address, address, address)
Py_DecRef = c_function("Py_DecRef", int32, address)
PyEval_SaveThread = c_function("PyEval_SaveThread", address)
PyEval_RestoreThread = c_function("PyEval_RestoreThread", int32, address)
cu_launch_kernel = c_pointer(int32, address, *[int32] * 7, *[address] * 3)
tensor_of_object = c_pointer(int32, address, address)
current_stream = c_pointer(int32, int32, int32, address)


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
    start = PyLong_AsVoidPtr(words(arguments)[0])
    table = cupy_at(start)
    if count != table.count + 1:
        return PyBool_FromLong(0)
    for index in range(table.count):
        if not pack_cupy(table, row_at(table.rows + index * ROW), words(arguments)[1 + index]):
            return PyBool_FromLong(0)
    return PyBool_FromLong(are_all_disjoint(table_at(start)))


@native
def pack_cupy(table: Any, row: Any, array: Any) -> Any:
    """Pack an array's address; False if the array is none of CuPy's, or not as its row says."""
    if object_at(array).type != table.array_type or words(array + table.dtype_at)[0] != row.element:
        return False
    if not is_vector(array + table.shape_at, row.shape, row.rank):
        return False
    if not is_vector(array + table.strides_at, row.strides, row.rank):
        return False
    data = words(array + table.data_at)[0]
    if object_at(data).type != table.pointer_type or ints(data + table.device_at)[0] != table.device:
        return False
    place = words(data + table.address_at)[0]
    words(row.place)[0] = place
    return place % row.itemsize == 0


@native
def read_torch(_: Any, arguments: Any, count: Any) -> Any:
    """``read_torch(table, *tensors)``: as `read_cupy`, of PyTorch's, and only if the table's stream is current."""
    start = PyLong_AsVoidPtr(words(arguments)[0])
    table = torch_at(start)
    if count != table.count + 1:
        return PyBool_FromLong(0)
    for index in range(table.count):
        if not pack_torch(table, row_at(table.rows + index * ROW), words(arguments)[1 + index]):
            return PyBool_FromLong(0)
    if current_stream(table.current_stream, DEVICE_KIND, table.device, table.told_stream) != 0:
        PyErr_Clear()
        return PyBool_FromLong(0)
    stream = words(table.told_stream)[0]
    if stream != table.stream and not (stream == 0 and table.stream == 1):  # two names of one stream
        return PyBool_FromLong(0)
    return PyBool_FromLong(are_all_disjoint(table_at(start)))


@native
def pack_torch(table: Any, row: Any, tensor: Any) -> Any:
    """Pack a tensor's address; False if it is none of PyTorch's, or not as its row says."""
    if object_at(tensor).type != table.array_type:
        return False
    if table.implementation_at != 0 and not holds_its_values(table, row, tensor):
        return False
    if tensor_of_object(table.tensor_of_object, tensor, table.tensor) != 0:
        PyErr_Clear()
        return False
    seen = tensor_at(table.tensor)
    if seen.device_type != DEVICE_KIND or seen.device_id != table.device or seen.rank != row.rank:
        return False
    if seen.code + 256 * seen.bits + 65536 * seen.lanes != row.element:
        return False
    if not are_equal(seen.shape, row.shape, row.rank) or not are_equal(seen.strides, row.strides, row.rank):
        return False
    place = seen.data + seen.byte_offset
    words(row.place)[0] = place
    return place % row.itemsize == 0


@native
def holds_its_values(table: Any, row: Any, tensor: Any) -> Any:
    """Whether a tensor is of the kinds that its row names, and nothing is recorded for its gradient."""
    implementation = words(tensor + table.implementation_at)[0]
    if words(implementation + table.keys_at)[0] != row.keys:
        return False
    if words(implementation + table.gradient_at)[0] == 0:
        return True
    answer = PyObject_GetAttr(tensor, table.requires_grad)  # views have something there, too
    if answer == 0:
        PyErr_Clear()
        return False
    Py_DecRef(answer)
    return answer == table.false


@native
def is_vector(vector: Any, expected: Any, count: Any) -> Any:
    """Whether a vector of C++ has these elements."""
    start, end = words(vector)[0], words(vector)[1]
    return end - start == count * WORD and are_equal(start, expected, count)


@native
def are_equal(found: Any, expected: Any, count: Any) -> Any:
    """Whether words are these."""
    for index in range(count):
        if words(found)[index] != words(expected)[index]:
            return False
    return True


@native
def are_all_disjoint(table: Any) -> Any:
    """Whether the arrays of each pair are as `packing_source.Pair` says."""
    for index in range(table.pair_count):
        if not are_disjoint(pair_at(table.pairs + index * PAIR)):
            return False
    return True


@native
def are_disjoint(pair: Any) -> Any:
    """Whether two arrays that are packed share nothing, or may be one view and are, or lie as the plan's do."""
    first, second = words(pair.first)[0], words(pair.second)[0]
    if first + pair.first_high <= second + pair.second_low or second + pair.second_high <= first + pair.first_low:
        return True
    return second - first == pair.distance or (pair.may_be_one != 0 and first == second)


ENTRY_POINTS = (send, read_cupy, read_torch)

SOURCES = (
    "kapi_runtime.cuda.native.structures",
    "kapi_runtime.platform.dlpack",
    "kapi_types.usm.structures",
)
