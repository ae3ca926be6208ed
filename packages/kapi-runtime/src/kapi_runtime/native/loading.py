"""Native functions for those who call them: their object code from the disk cache, or compiled, and loaded by llvmlite.

A process that finds the code in the cache imports llvmlite, and no Numba.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from kapi_runtime import cache

__all__ = ["NativeLibrary", "Worth", "address_of", "capsule_address", "python_addresses"]

_FASTCALL = 0x80
_DIGEST = 32  # bytes of a checksum
_COMPILERS = ("numba", "llvmlite")
_OURS = ("kapi_runtime._numba_compat", "kapi_runtime.native.language", "kapi_runtime.native.compilation")


_LAUNCHES_WITHOUT, _LAUNCHES_UNCOMPILED = 100, 500  # before llvmlite is imported, and before Numba compiles


class Worth:
    """When native functions are worth their cost: after as many launches as take as long.

    Parameters
    ----------
    is_kept : callable
        Whether the disk cache has the code.
    """

    def __init__(self, is_kept: Callable[[], bool]) -> None:
        self._is_kept = functools.cache(is_kept)
        self.asked = 0

    def is_worth_it(self) -> bool:
        """Whether there were that many launches, one for each time that this is asked."""
        self.asked += 1
        if self.asked <= _LAUNCHES_WITHOUT and "llvmlite.binding" not in sys.modules:
            return False
        return self.asked > _LAUNCHES_UNCOMPILED or self._is_kept()


class _MethodDefinition(ctypes.Structure):
    """`PyMethodDef` of CPython's ``methodobject.h``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class NativeLibrary:
    """The native functions of one module.

    Parameters
    ----------
    module : str
        The module, which has them as `ENTRY_POINTS`; it is imported only if they must be compiled.
    sources : sequence of str
        Further modules that they are made of.
    functions : mapping of str to int
        The address of each C function that they call.
    """

    def __init__(self, module: str, sources: Sequence[str], functions: Mapping[str, int]) -> None:
        self._module, self._functions = module, functions
        self._sources = (module, *sources, *_OURS)
        self._kept: list[Any] = []

    @property
    def is_kept(self) -> bool:
        """Whether the disk cache has the code, so that it needs not be compiled; raises nothing."""
        try:
            return self._read() is not None
        except (OSError, ValueError, ImportError):  # it has no key: `load` says why
            return False

    def load(self, names: Sequence[str], self_: Any) -> list[Callable[..., Any]]:
        """Return the functions of these names as builtins that are bound to an object.

        Raises
        ------
        ValueError
            If they are not what native functions must be, or their sources cannot be read.
        """
        llvm = import_module("llvmlite.binding")
        for name, place in self._functions.items():
            llvm.add_symbol(name, place)
        code = self._read() or self._compile()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(codemodel="jitdefault", jit=True)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        self._kept += [engine, self_]
        return [self._builtin(name, engine.get_function_address(name), self_) for name in names]

    def _builtin(self, name: str, place: int, self_: Any) -> Callable[..., Any]:
        definition = _MethodDefinition(name.encode(), place, _FASTCALL, None)
        self._kept.append(definition)
        make = _python("PyCFunction_NewEx", ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        made: Callable[..., Any] = make(ctypes.addressof(definition), self_, None)
        return made

    def _read(self) -> bytes | None:
        """The code that the cache has, if it is whole."""
        kept = cache.load_bytes(self._key)
        if kept is None:
            return None
        digest, code = kept[:_DIGEST], kept[_DIGEST:]
        if digest != hashlib.sha256(self._key.encode() + code).digest():
            cache.drop(self._key, "native functions must be as they were written")
            return None
        return code

    def _compile(self) -> bytes:
        compilation = import_module("kapi_runtime.native.compilation")
        code: bytes = compilation.object_code(import_module(self._module).ENTRY_POINTS, self._functions.keys())
        digest = hashlib.sha256(self._key.encode() + code).digest()
        cache.store_bytes(self._key, digest + code, "the native functions of launches")
        return code

    @property
    def _key(self) -> str:
        """A digest of what the code depends on: its sources, the structures among them, Python, compilers, machine."""
        digest = hashlib.sha256(f"{sys.implementation.cache_tag} {sys.version} {sys.platform} ".encode())
        digest.update(import_module("platform").machine().encode())
        for package in _COMPILERS:
            digest.update(importlib.metadata.version(package).encode())
        for module in self._sources:
            digest.update(_source(module))
        return digest.hexdigest()


def _source(module: str) -> bytes:
    """The source of a module that is not imported; it may be in an archive."""
    specification = importlib.util.find_spec(module)
    loader: Any = None if specification is None else specification.loader
    if specification is None or specification.origin is None or not hasattr(loader, "get_data"):
        raise ValueError(f"the module {module} must have a source that can be read, got none")
    data: bytes = loader.get_data(specification.origin)
    return data


def python_addresses(names: Sequence[str]) -> dict[str, int]:
    """Return the addresses of functions of Python's C interface."""
    return {name: address_of(getattr(ctypes.pythonapi, name)) for name in names}


def address_of(function: Any) -> int:
    """Return the address of a function of a library that `ctypes` has loaded."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def capsule_address(capsule: Any) -> int:
    """Return the address of a C function that a module of Cython's publishes."""
    name = _python("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)(capsule)
    return int(_python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(capsule, name) or 0)


def _python(name: str, result: Any, *parameters: Any) -> Any:
    """A function of Python's C interface, as an object of our own: others set the types of the shared one."""
    return ctypes.PYFUNCTYPE(result, *parameters)((name, ctypes.pythonapi))
