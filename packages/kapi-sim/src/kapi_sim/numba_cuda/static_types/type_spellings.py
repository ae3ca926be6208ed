"""Types as programs spell them: by kapi's names, by Numba's own objects, by NumPy's types, or as text."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, KapiError
from kapi_sim.numba_cuda.static_types.kinds import (
    NOTHING,
    Array,
    Kind,
    Number,
    Optional,
    Other,
    Pointer,
    Record,
    Signature,
    SignatureError,
    Text,
    Tuple,
)
from kapi_sim.numba_cuda.values.dtypes import dtype_of, is_numba_type
from kapi_sim.short_repr import short_repr

__all__ = ["CONSTRUCTORS", "NUMBERS", "kind_of_type", "of_text"]

_NUMPY_NAMES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp", "uintp")
_FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
_NAMES = {name: name for name in (*_NUMPY_NAMES, *_FLOATS)}
_NAMES |= {"boolean": "bool", "bool_": "bool", "b1": "bool", "byte": "uint8", "char": "int8", "uchar": "uint8"}
_NAMES |= {"i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64"}
_NAMES |= {"u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64"}
_NAMES |= {"f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128"}
_NAMES |= {"short": "int16", "ushort": "uint16", "intc": "int32", "uintc": "uint32", "int_": "intp", "uint": "uintp"}
_NAMES |= {"long_": "intp", "ulong": "uintp", "longlong": "int64", "ulonglong": "uint64"}
_NAMES |= {"size_t": "uintp", "ssize_t": "intp", "double": "float64"}

NUMBERS: dict[str, Number] = {name: Number(np.dtype(kind)) for name, kind in _NAMES.items()}
"""Types of numbers, by the names that ``numba.types`` has for them."""


def _array(dtype: Any, ndim: int, layout: str = "A", readonly: bool = False, **_: Any) -> Array:
    element = kind_of_type(dtype)
    if not isinstance(element, (Number, Record)) or layout not in ("A", "C", "F"):
        raise SignatureError(
            f"an array's type must have numbers or records and layout 'A', 'C' or 'F', got {element} and {layout!r}",
            code="signature-text",
        )
    return Array(element.dtype, int(ndim), layout, bool(readonly))


def _uni_tuple(dtype: Any, count: int) -> Tuple:
    return Tuple((kind_of_type(dtype),) * int(count))


def _tuple(types: Any) -> Tuple:
    return Tuple(tuple(map(kind_of_type, types)))


def _named_tuple(types: Any, made_by: type[Any]) -> Tuple:
    return Tuple(tuple(map(kind_of_type, types)), made_by)


def _optional(of: Any) -> Optional:
    return Optional(kind_of_type(of))


def _pointer(of: Any, **_: Any) -> Pointer:
    return Pointer(kind_of_type(of))


CONSTRUCTORS: dict[str, Callable[..., Kind]] = {
    "Array": _array,
    "UniTuple": _uni_tuple,
    "Tuple": _tuple,
    "NamedTuple": _named_tuple,
    "Optional": _optional,
    "optional": _optional,
    "CPointer": _pointer,
}
"""The functions that make types of others, by their names in ``numba.types``."""


def kind_of_type(given: Any) -> Kind:
    """Return the type that a program means.

    Parameters
    ----------
    given : object
        A type of `kapi_sim.numba_cuda`'s, of Numba's or of NumPy's, or its text.

    Raises
    ------
    SignatureError
        If it is none.
    """
    if isinstance(given, Kind):
        return given
    if isinstance(given, str):
        made = of_text(given)
        if isinstance(made, Kind):
            return made
    elif given is None:
        return NOTHING
    elif is_numba_type(given):
        return _of_numba(given)
    elif isinstance(given, np.dtype) or (isinstance(given, type) and issubclass(given, np.generic)):
        return _of_dtype(dtype_of(given, "a signature"))
    raise SignatureError(
        f"a type in a signature must be one of numba.types', got {short_repr(given)}: write float32, or float32[:]",
        code="signature-text",
    )


def _of_dtype(dtype: np.dtype[Any]) -> Kind:
    if dtype.names is not None:
        return Record(dtype)
    return Number(dtype) if dtype.kind in "biufc" else Other(str(dtype))


def _of_numba(given: Any) -> Kind:
    """Return the type for one of Numba's, which are told by their classes: Numba may be absent."""
    classes = {each.__name__ for each in type(given).__mro__}
    if "Optional" in classes:
        return Optional(_of_numba(given.type))
    if "NoneType" in classes:
        return NOTHING
    if "CPointer" in classes:
        return Pointer(_of_numba(given.dtype))
    if "BaseTuple" in classes:
        members = tuple(map(_of_numba, given.types if hasattr(given, "types") else (given.dtype,) * given.count))
        return Tuple(members, getattr(given, "instance_class", None))
    if "UnicodeType" in classes:
        return Text()
    is_array = "Array" in classes
    try:
        dtype = dtype_of(given.dtype if is_array else given, "a signature")
    except DtypeError:
        return Other(str(given))
    return Array(dtype, given.ndim, given.layout, not given.mutable) if is_array else _of_dtype(dtype)


def of_text(text: str) -> Kind | Signature | tuple[Kind, ...]:
    """Return what a text means: a type, ``float32[:]``, a signature, ``void(float32[:])``, or types alone.

    Numba evaluates such a text as Python with the names of ``numba.types``.  Here only names, calls of types,
    subscripts, tuples and constants mean something.

    Raises
    ------
    SignatureError
        If the text means none of these.
    """
    try:
        made = _Evaluation(text).value(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        raise SignatureError(
            f"a signature must be written as Python, got {text!r}: write 'void(float32[:], int32)'",
            code="signature-text",
        ) from None
    if isinstance(made, (Kind, Signature)) or (isinstance(made, tuple) and all(isinstance(m, Kind) for m in made)):
        return made
    raise SignatureError(
        f"a signature must be made of types, got {text!r}: write 'void(float32[:], int32)'", code="signature-text"
    )


class _Evaluation:
    """Evaluates a signature's text, without running any code of its own."""

    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, node: ast.expr | None) -> Any:
        match node:
            case None:
                return None
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._named(node.id)
            case ast.Attribute(ast.Name("types" | "numba" | "cuda")):
                return self._named(node.attr)
            case ast.Tuple() | ast.List():
                return tuple(map(self.value, node.elts))
            case ast.Slice():
                return slice(*map(self.value, (node.lower, node.upper, node.step)))
            case ast.Subscript():
                return self._made(lambda: self.value(node.value)[self.value(node.slice)])
            case ast.Call():
                named = {str(each.arg): self.value(each.value) for each in node.keywords}
                return self._made(lambda: self.value(node.func)(*map(self.value, node.args), **named))
        return self._fail(ast.unparse(node))

    def _named(self, name: str) -> Any:
        if name in ("void", "none"):
            return NOTHING
        if name in ("string", "unicode_type"):
            return Text()
        found = NUMBERS.get(name) or CONSTRUCTORS.get(name)
        return self._fail(name) if found is None else found

    def _made(self, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except KapiError:
            raise
        except (TypeError, ValueError, AttributeError):
            return self._fail(self._text)

    def _fail(self, part: str) -> Any:
        raise SignatureError(
            f"a signature must be made of the types of numba.types, got {part!r} in {self._text!r}: write "
            "'void(float32[:], int32)'",
            code="signature-text",
        )
