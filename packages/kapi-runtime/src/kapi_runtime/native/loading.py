"""Native functions for those who call them: the machine code that kapi ships, put where it can be run.

A file holds the code of one module's entry points for each system, and the names of the C functions that they call.
``tools/native_code.py`` makes it of the module, see `compilation`.  Neither Numba nor LLVM takes part here, and nothing
is compiled: the first launch of a process has native code as the thousandth has.
"""

from __future__ import annotations

import base64
import ctypes
import functools
import itertools
import json
import pkgutil
import platform
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

from kapi_types.usm.structures import Object

__all__ = [
    "MACHINES",
    "TABLE",
    "TARGETS",
    "UnlikeError",
    "WORD",
    "address_of",
    "calling",
    "capsule_address",
    "capsule_name",
    "file_of",
    "load",
    "methods",
    "python_function",
    "require_known_interpreter",
]

TARGETS = {"linux": "x86_64-unknown-linux-gnu", "win32": "x86_64-pc-windows-elf"}
"""The systems that there is code for, as `sys.platform` names them, and LLVM's triple of each."""

MACHINES = ("x86_64", "AMD64")
"""The names that systems have for the one architecture that there is code for."""

WORD = 8
TABLE = 32
"""At which byte of a `bytes` object its contents begin: ``self`` of each function is one, which holds the table.

The table is a word that all functions of a module share, and the addresses of the C functions, in the file's order.
"""

_VARARGS_AND_KEYWORDS, _ONE_ARGUMENT, _FASTCALL = 0x3, 0x8, 0x80
_ALIGNMENT = 64  # of functions, in bytes: a line of the processor's caches


class UnlikeError(Exception):
    """Something is not what native code takes it for; the message says what."""


class _MethodDefinition(ctypes.Structure):
    """`PyMethodDef` of CPython's ``methodobject.h``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_kept: list[Any] = []  # what loaded functions are made of


def load(
    module: str, names: Sequence[str], address_of_function: Callable[[str], int], shared: int = 0
) -> list[Callable[..., Any]]:
    """Return native functions of a module as builtins.

    - `module`: the module that they are written in; it is not imported.
    - `names`: their names.
    - `address_of_function`: the address of a C function by its name.
    - `shared`: what `language.shared` gives them.

    Raises `UnlikeError` if there is no code for this machine, or the interpreter is not what it expects.
    """
    require_known_interpreter()
    file = json.loads(file_of(module))
    addresses = [address_of_function(name) for name in file["calls"]]
    table = struct.pack(f"={1 + len(addresses)}Q", shared, *addresses)
    if bytes.__basicsize__ != TABLE + 1 or ctypes.string_at(id(table) + TABLE, len(table)) != table:
        raise UnlikeError(f"a bytes object must have its contents at byte {TABLE}, got them elsewhere")
    blocks = [base64.b64decode("".join(file[sys.platform][name])) for name in names]
    padded = [block + b"\xcc" * (-len(block) % _ALIGNMENT) for block in blocks]
    starts = itertools.accumulate(map(len, padded[:-1]), initial=_executable(b"".join(padded)))
    return [_builtin(name, start, table) for name, start in zip(names, starts, strict=True)]


def file_of(module: str) -> bytes:
    """Return the contents of the file with a module's machine code; it may be in an archive."""
    package, _, name = module.rpartition(".")
    data = pkgutil.get_data(package, f"{name}.json")
    assert data is not None  # it is installed with the module
    return data


def require_known_interpreter() -> None:
    """Raise `UnlikeError` unless there is code for this machine, and this interpreter's objects begin as it expects."""
    if platform.python_implementation() != "CPython":
        raise UnlikeError(f"Python must be CPython, got {platform.python_implementation()}")
    if sys.platform not in TARGETS or platform.machine() not in MACHINES or ctypes.sizeof(ctypes.c_void_p) != WORD:
        seen = f"{platform.machine()} with {sys.platform}"
        raise UnlikeError(f"the machine must be x86-64 with Linux or Windows, got {seen}")
    if not object.__basicsize__ == ctypes.sizeof(Object) == 16:
        raise UnlikeError(f"objects must begin with two words of 64 bits, got {object.__basicsize__} bytes")
    if Object.from_address(id(_kept)).type != id(list):
        raise UnlikeError("the second word of an object must be its class, got another one")


def python_function(name: str) -> int:
    """Return the address of a function of Python's C interface."""
    return address_of(getattr(ctypes.pythonapi, name))


def address_of(function: Any) -> int:
    """Return the address of a function of a library that `ctypes` has loaded."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def capsule_address(capsule: Any) -> int:
    """Return the address of a C function that a module of Cython's publishes."""
    get = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return int(get(capsule, capsule_name(capsule)) or 0)


def capsule_name(capsule: Any) -> bytes | None:
    """Return the name of a capsule: Cython's is the function's signature in C."""
    name: bytes | None = _python("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)(capsule)
    return name


def calling(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a builtin that calls a Python object, for those who take nothing else; it is `__self__` of the builtin."""
    return _bound(_call(), function)


@functools.cache
def _call() -> _MethodDefinition:
    # PyObject_Call has the parameters of a builtin's function: what it is bound to, a tuple, a dictionary or nothing.
    return _MethodDefinition(b"call", python_function("PyObject_Call"), _VARARGS_AND_KEYWORDS, None)


def methods(name: str, address: int) -> Callable[[bytes], Callable[[Any], Any]]:
    """Return what makes builtins of one native function: each takes an object, and has the bytes that it was made with.

    - `address`: of a function that takes a `bytes` object and the argument, and returns a new reference.
    """
    definition = _MethodDefinition(name.encode(), address, _ONE_ARGUMENT, None)
    _kept.append(definition)
    return functools.partial(_bound, definition)


def _builtin(name: str, address: int, table: bytes) -> Callable[..., Any]:
    definition = _MethodDefinition(name.encode(), address, _FASTCALL, None)
    _kept.append(definition)
    return _bound(definition, table)


def _bound(definition: _MethodDefinition, what: Any) -> Callable[..., Any]:
    make = _python("PyCFunction_NewEx", ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    made: Callable[..., Any] = make(ctypes.addressof(definition), what, None)
    return made


def _executable(code: bytes) -> int:
    """The address of code in memory of its own, which can be run, and no longer written; it is never let go."""
    if sys.platform == "win32":
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.VirtualAlloc.restype = ctypes.c_void_p
        kernel.VirtualAlloc.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_uint32)
        commit_and_reserve, read_write, execute_read = 0x3000, 0x04, 0x20
        address = kernel.VirtualAlloc(None, len(code), commit_and_reserve, read_write)
        if not address:
            raise ctypes.WinError(ctypes.get_last_error())
        ctypes.memmove(address, code, len(code))
        kernel.VirtualProtect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_void_p)
        if not kernel.VirtualProtect(address, len(code), execute_read, ctypes.byref(ctypes.c_uint32())):
            raise ctypes.WinError(ctypes.get_last_error())
        return int(address)
    import mmap
    import os

    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    library.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    address = library.mmap(
        None, len(code), mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0
    )
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), f"{os.strerror(ctypes.get_errno())}: no memory for native code")
    ctypes.memmove(address, code, len(code))
    if library.mprotect(address, len(code), mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise OSError(ctypes.get_errno(), f"{os.strerror(ctypes.get_errno())}: memory must be executable")
    return int(address)


def _python(name: str, result: Any, *parameters: Any) -> Any:
    """A function of Python's C interface, as an object of our own: others set the types of the shared one."""
    return ctypes.PYFUNCTYPE(result, *parameters)((name, ctypes.pythonapi))
