"""Native code: the look at CuPy's arrays and PyTorch's, and one call of the driver with what a plan has ready.

Two threads never pack into one plan: the GIL is held, or the plan is busy.
"""

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
NO_CONTEXT, INVALID_HANDLE = 201, 400  # the driver's codes where another context, or none, is current

plan_at, table_at, row_at, pair_at = at(CudaLaunch), at(ArrayTable), at(ArrayRow), at(ArrayPair)
cupy_at, torch_at, tensor_at = at(CupyTable), at(TorchTable), at(DlpackTensor)
object_at, ints = at(Object), elements(int32)

PyList_Append = c_function("PyList_Append", int32, address, address)
PyList_Size = c_function("PyList_Size", address, address)
PyObject_CallNoArgs = c_function("PyObject_CallNoArgs", address, address)
PyObject_CallOneArg = c_function("PyObject_CallOneArg", address, address, address)
PyTuple_GetItem = c_function("PyTuple_GetItem", address, address, address)
PyTuple_New = c_function("PyTuple_New", address, address)
PyTuple_SetItem = c_function("PyTuple_SetItem", int32, address, address, address)
PyTuple_Size = c_function("PyTuple_Size", address, address)
PyType_GenericAlloc = c_function("PyType_GenericAlloc", address, address, address)
Py_IncRef = c_function("Py_IncRef", int32, address)
PyBool_FromLong = c_function("PyBool_FromLong", address, address)
PyLong_AsVoidPtr = c_function("PyLong_AsVoidPtr", address, address)
PyErr_Clear = c_function("PyErr_Clear", int32)
PyObject_GetAttr = c_function("PyObject_GetAttr", address, address, address)
Py_DecRef = c_function("Py_DecRef", int32, address)
PyEval_SaveThread = c_function("PyEval_SaveThread", address)
PyEval_RestoreThread = c_function("PyEval_RestoreThread", int32, address)
cu_launch_kernel = c_pointer(int32, address, *[int32] * 7, *[address] * 3)
tensor_of_object = c_pointer(int32, address, address)
cupy_stream = c_pointer(address, int32)
tensor_stream = c_pointer(int32, int32, int32, address)


@native
def launch(_: Any, arguments: Any, __: Any) -> Any:
    """``launch(plan, arguments, events)``: the host's event and the device's.

    None if the arguments are not the plan's; False if another thread uses it, an event is none of CUDA's, or the driver
    refuses.
    """
    plan, given, before = plan_at(PyLong_AsVoidPtr(words(arguments)[0])), words(arguments)[1], words(arguments)[2]
    if plan.is_busy != 0:
        return PyBool_FromLong(0)
    plan.is_busy = 1
    events = 0
    answer = are_packed(plan, given)
    if answer > 0:
        events = sent(plan, given, before)
    elif answer == 0:
        events = plan.none
        Py_IncRef(events)
    plan.is_busy = 0
    return events


@native
def pack(_: Any, arguments: Any, __: Any) -> Any:
    """``pack(plan, arguments)``: whether the arguments are the plan's, in which case they are packed."""
    answer = are_packed(plan_at(PyLong_AsVoidPtr(words(arguments)[0])), words(arguments)[1])
    if answer < 0:
        return 0
    return PyBool_FromLong(answer)


@native
def send(_: Any, arguments: Any, __: Any) -> Any:
    """``send(plan, owners, events)``: as `launch`, with what was packed last, and `owners` held until it has run."""
    return sent(plan_at(PyLong_AsVoidPtr(words(arguments)[0])), words(arguments)[1], words(arguments)[2])


@native
def resend(_: Any, arguments: Any, __: Any) -> Any:
    """``resend(plan, owners)``: as `send`, after events that the stream waits for already."""
    plan = plan_at(PyLong_AsVoidPtr(words(arguments)[0]))
    if submitted(plan) != 0:
        return PyBool_FromLong(0)
    return remembered(plan, words(arguments)[1])


@native
def are_packed(plan: Any, given: Any) -> Any:
    """1 if arguments are the plan's, and are packed; 0 if they are not; -1 after an exception."""
    if PyTuple_Size(given) != plan.given_count:
        return 0
    if plan.pack != 0:
        answer = PyObject_CallOneArg(plan.pack, given)
        if answer == 0:
            return -1
        Py_DecRef(answer)
        if answer != plan.true:
            return 0
    if plan.cupy != 0 and not are_cupy_arrays(plan.cupy, given):
        return 0
    if plan.torch != 0 and not are_tensors(plan.torch, given):
        return 0
    return 1


@native
def sent(plan: Any, owners: Any, before: Any) -> Any:
    """Launch what was packed after these events, and return both events, False, or null after an exception."""
    if PyList_Size(before) != 0:
        answer = PyObject_CallOneArg(plan.wait, before)
        if answer != plan.true:
            return answer
        Py_DecRef(answer)
    code = submitted(plan)
    if code == 0:
        return remembered(plan, owners)
    if code == NO_CONTEXT or code == INVALID_HANDLE:
        return PyObject_CallOneArg(plan.resend, owners)
    return PyBool_FromLong(0)


@native
def submitted(plan: Any) -> Any:
    """The driver's code for a launch.

    Other threads run meanwhile: the driver waits where too much is pending, and what is pending may need Python.
    """
    thread = PyEval_SaveThread()
    code = cu_launch_kernel(
        plan.cu_launch_kernel,
        plan.function,
        plan.grid_x,
        plan.grid_y,
        plan.grid_z,
        plan.block_x,
        plan.block_y,
        plan.block_z,
        plan.shared,
        plan.stream,
        plan.parameters,
        0,
    )
    PyEval_RestoreThread(thread)
    return code


@native
def remembered(plan: Any, owners: Any) -> Any:
    """The event of a launch, for host and device, after the timeline holds what it uses; null after an exception."""
    event = PyType_GenericAlloc(plan.event_type, 0)
    batch = words(plan.timeline + plan.batch_of_timeline)[0]
    if event == 0 or PyList_Append(batch, owners) != 0:
        Py_IncRef(owners)  # with no memory to hold the launch in, what it uses is never let go
        return 0
    Py_IncRef(batch)
    words(event + plan.batch_of_event)[0] = batch
    if PyList_Size(batch) >= plan.look_after:
        answer = PyObject_CallNoArgs(plan.look)
        if answer == 0:
            Py_DecRef(event)
            return 0
        Py_DecRef(answer)
    pair = PyTuple_New(2)
    if pair == 0:
        Py_DecRef(event)
        return 0
    Py_IncRef(event)
    PyTuple_SetItem(pair, 0, event)
    PyTuple_SetItem(pair, 1, event)
    return pair


@native
def are_cupy_arrays(start: Any, given: Any) -> Any:
    """Whether arguments are what a table of CuPy's arrays says, and its stream is current; they are packed then."""
    table = cupy_at(start)
    if table.current_stream != 0 and not is_stream(table, cupy_stream(table.current_stream, table.device)):
        PyErr_Clear()
        return False
    for index in range(table.count):
        row = row_at(table.rows + index * ROW)
        if not pack_cupy(table, row, PyTuple_GetItem(given, row.index)):
            return False
    return are_all_disjoint(table_at(start))


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
    address = words(data + table.address_at)[0]
    words(row.place)[0] = address
    return address % row.itemsize == 0


@native
def are_tensors(start: Any, given: Any) -> Any:
    """Whether arguments are what a table of PyTorch's tensors says, and its stream is current; they are packed then."""
    table = torch_at(start)
    for index in range(table.count):
        row = row_at(table.rows + index * ROW)
        if not pack_torch(table, row, PyTuple_GetItem(given, row.index)):
            return False
    if tensor_stream(table.current_stream, DEVICE_KIND, table.device, table.told_stream) != 0:
        PyErr_Clear()
        return False
    return is_stream(table, words(table.told_stream)[0]) and are_all_disjoint(table_at(start))


@native
def is_stream(table: Any, stream: Any) -> Any:
    """Whether a stream is a table's; 0 and 1 are two names of one."""
    return stream == table.stream or (stream == 0 and table.stream == 1)


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
    address = seen.data + seen.byte_offset
    words(row.place)[0] = address
    return address % row.itemsize == 0


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


ENTRY_POINTS = (launch, pack, send, resend)

SOURCES = (
    "kapi_runtime.cuda.native.structures",
    "kapi_runtime.platform.dlpack",
    "kapi_types.usm.structures",
)
