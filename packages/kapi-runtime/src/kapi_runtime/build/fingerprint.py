"""A digest of all that a compiled kernel depends on: the key of the disk cache.

A function is known by its bytecode and by all that it takes from outside: defaults, closures, the globals that it uses
and the functions that it calls, and theirs.  A value that has no plain description, such as an object of a user's own
class, makes the kernel unknown to the disk cache; it is then compiled in every process.  Nothing here is imported from
Numba, which a kernel from the cache does without.
"""

from __future__ import annotations

import enum
import hashlib
import importlib.util
import os
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kapi_runtime.build.free_variables import EMPTY, FreeVariableVisitor, is_known_object, named_tuple_defaults
from kapi_sim import DeviceFunction
from kapi_sim.language.attributes import has_constants
from kapi_sim.language.launchables.declared_signatures import signatures_of
from kapi_sim.language.launchables.launchable import Launchable

__all__ = ["NoFingerprintError", "compiler_fingerprint", "fingerprint"]

_COMPILER = ("kapi_sim", "kapi_types", "kapi_lowering")  # and the target's
_VERSIONED = ("numba", "llvmlite", "numpy")
_LARGEST_ARRAY = 1 << 20  # bytes


class NoFingerprintError(Exception):
    """A function takes something from outside that has no plain description; the message says what."""


def fingerprint(function: types.FunctionType, *more: str, has_source_locations: bool = False) -> str:
    """Return a digest of `function`, all that it uses, and more texts.

    - `function`: a plain Python function.
    - `*more`: what else distinguishes it.
    - `has_source_locations`: whether the file and the lines of the functions count, too: where messages name them.

    Returns 64 hexadecimal digits, the same in every process for the same things. Raises `NoFingerprintError` if it uses
    something that cannot be described.

    Examples
    --------
    >>> def double(x):
    ...     return x * 2
    >>> fingerprint(double) == fingerprint(double)
    True
    >>> fingerprint(double) == fingerprint(lambda x: x * 3)
    False
    """
    description = _Description(has_source_locations)
    try:
        description.function(function)
    except RecursionError:
        raise NoFingerprintError("values that hold each other") from None
    for text in more:
        description.add(text)
    return description.digest()


@lru_cache(maxsize=8)
def compiler_fingerprint(target_package: str) -> str:
    """Return a digest of what compiles: Python, the sources of the compiler, and the versions of what it needs."""
    digest = hashlib.sha256(f"{sys.implementation.cache_tag} {sys.version_info}".encode())
    for package in (*_COMPILER, target_package):
        try:
            for source in sorted(_sources(_folder(package))):
                digest.update(source.encode())
        except OSError as error:  # imported from an archive, say
            raise NoFingerprintError(f"the package {package}, whose files cannot be listed ({error})") from error
    for package in _VERSIONED:
        for name in ("_version.py", "version.py"):
            path = _folder(package) / name
            if path.exists():
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources(folder: str | Path) -> Iterator[str]:
    """Name, size and time of each source file in a folder and those below."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns}\n"


def _folder(package: str) -> Path:
    """The folder of a package, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise NoFingerprintError(f"the package {package} has no file")
    return Path(spec.origin).parent


def _described(dtype: np.dtype[Any]) -> str:
    """A dtype as a text, of records with the fields."""
    return dtype.str if dtype.names is None else repr(dtype)


class _Description(FreeVariableVisitor):
    """A digest that grows by what is found."""

    def __init__(self, has_source_locations: bool) -> None:
        super().__init__()
        self._digest = hashlib.sha256()
        self._has_source_locations = has_source_locations

    def digest(self) -> str:
        return self._digest.hexdigest()

    # -- what the walk visits

    def visit_function(self, function: types.FunctionType) -> None:
        self._text("function", function.__name__, *map(str, signatures_of(function)))
        self._code(function.__code__)

    def visit_again(self, number: int) -> None:
        self._text("function again", str(number))

    def visit_known(self, value: Any) -> None:
        self._text("function", value.__module__, value.__qualname__)

    def visit_cell(self, cell: types.CellType, name: str, value: Any) -> None:
        self._text("empty" if value is EMPTY else "closure", name)

    def visit_item(self, mapping: Mapping[str, Any], name: str, value: Any) -> None:
        self._text("item", name)

    def visit_absent(self, mapping: Mapping[str, Any], names: Iterable[str]) -> None:
        self._text("builtin", *names)

    def visit_attribute(self, owner: Any, name: str, value: Any) -> None:
        self._text("attribute", name)

    def visit_wrapped(self, wrapper: DeviceFunction[..., Any] | Launchable) -> None:
        self._text(type(wrapper).__name__)

    def visit_tuple(self, value: tuple[Any, ...]) -> None:
        self._text(_name(type(value)), str(len(value)), *getattr(value, "_fields", ()))

    def visit_value(self, value: Any) -> None:
        if not isinstance(value, types.ModuleType) and has_constants(value):
            # What the code may take of it follows; the rest does not matter.
            self._text("constants", _name(value if isinstance(value, type) else type(value)))
        else:
            self.add(value)

    # -- values

    def add(self, value: Any) -> None:
        """Add one value, with its type."""
        if isinstance(value, np.generic):
            self._text("scalar", _described(value.dtype), value.tobytes().hex())
        elif isinstance(value, enum.Enum):
            self._text("member", _name(type(value)), value.name)
            self.add(value.value)
        elif value is None or value is Ellipsis or type(value) in (bool, int, str, bytes):
            self._text(type(value).__name__, repr(value))
        elif type(value) in (float, complex):
            self._text(type(value).__name__, np.asarray(value).tobytes().hex())  # the sign of a zero and of a nan count
        elif isinstance(value, np.dtype):
            self._text("dtype", repr(value))  # of records, the fields
        elif isinstance(value, (tuple, list)):
            self._text(_name(type(value)), str(len(value)), *getattr(value, "_fields", ()))
            for each in value:
                self.add(each)
        elif isinstance(value, frozenset):
            self._text("frozenset", *sorted(f"{type(each)} {each!r}" for each in value))
        elif isinstance(value, np.ndarray):
            self._array(value)
        elif isinstance(value, types.CodeType):
            self._code(value)
        elif isinstance(value, type):
            self._class(value)
        else:
            self._object(value)

    def _text(self, *parts: str) -> None:
        for part in parts:
            data = part.encode()
            self._digest.update(len(data).to_bytes(8, "little") + data)

    def _array(self, value: np.ndarray[Any, Any]) -> None:
        if value.dtype.hasobject or value.nbytes > _LARGEST_ARRAY:
            raise NoFingerprintError(f"an array of {value.dtype} {value.shape}")
        self._text("array", _described(value.dtype), str(value.shape))
        self._digest.update(np.ascontiguousarray(value).tobytes())

    def _class(self, value: type) -> None:
        self._text("class", _name(value))
        if issubclass(value, enum.Enum):
            for name, member in value.__members__.items():  # second names of members, too
                self._text(name)
                self.add(member.value)
        elif issubclass(value, tuple) and hasattr(value, "_fields"):
            self._text(*value._fields)
            self.add(named_tuple_defaults(value))
        elif not is_known_object(value):
            raise NoFingerprintError(f"the class {_name(value)}")

    def _object(self, value: Any) -> None:
        if isinstance(value, types.ModuleType):
            self._text("module", value.__name__)
        elif isinstance(value, np.ufunc):
            name = str(value.__name__)
            if getattr(np, name, None) is not value:
                raise NoFingerprintError(f"{value!r}, which is none of NumPy's")
            self._text("ufunc", name)
        elif hasattr(value, "__module__") and hasattr(value, "__qualname__") and is_known_object(value):
            self._text("builtin", value.__module__ or "", value.__qualname__)  # also NumPy's functions for arrays
        elif is_known_object(type(value)) and " at 0x" not in repr(value):
            self._text("object", _name(type(value)), repr(value))
        else:
            raise NoFingerprintError(f"{value!r} of {_name(type(value))}")

    def _code(self, code: types.CodeType) -> None:
        self._text("code", str(code.co_argcount), str(code.co_posonlyargcount), str(code.co_kwonlyargcount))
        self._text(str(code.co_flags), code.co_name)
        for names in (code.co_varnames, code.co_names, code.co_freevars, code.co_cellvars):
            self._text(str(len(names)), *names)
        if self._has_source_locations:
            self._text(code.co_filename, str(list(code.co_lines())))
        self._digest.update(code.co_code)
        for constant in code.co_consts:
            self.add(constant)


def _name(value: type) -> str:
    return f"{value.__module__}.{value.__qualname__}"
