"""The language of native functions, beyond Python: structures at addresses, words, and C functions.

All values are integers of 64 bits, addresses too.  A module of native functions imports this one, and is itself
imported by nobody but `compilation`, for it brings Numba.  It names what it is made of:

``ENTRY_POINTS``
    The functions that Python is to call.
``SOURCES``
    The other modules that their code depends on.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from kapi_runtime._numba_compat import ExternalFunction, NativeCompiler, Record, call_pointer, intrinsic, njit, types
from kapi_runtime.native.loading import TABLE

__all__ = [
    "address",
    "at",
    "c_function",
    "c_functions",
    "c_pointer",
    "double",
    "elements",
    "int32",
    "native",
    "octets",
    "reals",
    "shared",
    "uint8",
    "words",
]

address = types.intp
"""The type of addresses, sizes and all other words."""

double, int32, uint8 = types.float64, types.int32, types.uint8

_FIELDS = {
    ctypes.c_void_p: address,
    ctypes.c_ssize_t: address,
    ctypes.c_size_t: address,
    ctypes.c_uint64: address,
    ctypes.POINTER(ctypes.c_int64): address,
    ctypes.c_int: int32,
    ctypes.c_uint16: types.uint16,
    ctypes.c_uint8: uint8,
    ctypes.c_char: uint8,
}


def native(function: Callable[..., Any]) -> Any:
    """Make a function one that native functions call, or an entry point; it raises nothing.

    An entry point has CPython's fast calling convention, ``PyObject *f(PyObject *self, PyObject *const *arguments,
    Py_ssize_t count)``, is called with the GIL held, and holds it all along.  Its ``self`` is for `shared` alone.
    """
    options = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(function, pipeline_class=NativeCompiler, **options)


def at(structure: type[ctypes.Structure]) -> Any:
    """Return the function that takes an address for that of a structure, whose fields can then be read and set."""
    fields = []
    for each in reversed(structure.__mro__):
        for name, kind in vars(each).get("_fields_", ()):
            fields.append((name, {"type": _FIELDS[kind], "offset": getattr(structure, name).offset}))
    record = Record(fields, ctypes.sizeof(structure), aligned=True)

    @intrinsic
    def at_address(_: Any, number: Any) -> Any:
        return record(address), _reinterpreted(record)

    return at_address


def elements(kind: Any) -> Any:
    """Return the function that takes an address for that of elements: ``it(start)[index]``, read or set."""
    pointer = types.CPointer(kind)

    @intrinsic
    def at_address(_: Any, number: Any) -> Any:
        return pointer(address), _reinterpreted(pointer)

    return at_address


words, reals, octets = elements(address), elements(double), elements(uint8)


c_functions: dict[str, Any] = {}
"""The signature of each C function that native functions call, by its name."""


def c_function(name: str, result: Any, *parameters: Any) -> Any:
    """Return the C function of a name, which `loading` finds the address of."""
    c_functions[name] = result(*parameters)
    return ExternalFunction(name, c_functions[name])


@native
def shared(self: Any) -> Any:
    """Return the word that all functions of a module share, from the ``self`` of an entry point."""
    return words(self + TABLE)[0]


def c_pointer(result: Any, *parameters: Any) -> Any:
    """Return the function that calls a C function by its address: ``it(pointer, *arguments)``."""
    signature = result(address, types.StarArgTuple(parameters))

    @intrinsic
    def call_at(_: Any, pointer: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, its: Any, values: Any) -> Any:
            given = [builder.extract_value(values[1], index) for index in range(len(parameters))]
            return call_pointer(context, builder, values[0], given, result, parameters)

        return signature, generate

    return call_at


def _reinterpreted(kind: Any) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(kind))

    return generate
