"""Native code: one call of the driver, with what a plan has ready."""

from __future__ import annotations

from typing import Any

from kapi_runtime.cuda.native.structures import CudaLaunch
from kapi_runtime.native.language import address, at, c_function, c_pointer, int32, native, words

__all__ = ["ENTRY_POINTS"]

launch_at = at(CudaLaunch)

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


ENTRY_POINTS = (send,)
