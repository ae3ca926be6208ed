"""Records in kernels: an element of an array, each of whose fields is an access of its own, and a record's value.

As in NumPy, `a[i]` is no copy: an assigned field changes the array. A value, such as that of `a[i].copy()`, is
immutable, so that variables may share one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from kapi_sim.checks.bounds import spell
from kapi_sim.errors import DtypeError, KernelCompilationError
from kapi_sim.language.intrinsics.records import unmet_requirement
from kapi_sim.language.source import source_location
from kapi_sim.numbers.vectors import Vec
from kapi_sim.short_repr import short_repr

__all__ = ["Record", "RecordValue", "assignable", "kernel_frame", "make_record", "store"]

_getframe = sys._getframe


def kernel_frame(frame: FrameType) -> FrameType:
    """Return the kernel's frame of an access, behind those of functions such as `sum`, of `kapi_sim.numbers`."""
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("kapi_sim.numbers."):
        frame = frame.f_back
    return frame


class _Fields:
    """A record, whose fields have names and are attributes."""

    __slots__ = ()

    record_dtype: np.dtype[Any]

    def _take_out(self, name: str, frame: FrameType) -> Any:
        raise NotImplementedError

    def _checked(self, name: Any) -> str:
        """Return the name of a field, or raise an error that names the fields."""
        names = self.record_dtype.names or ()
        if name.__class__ is not str or name not in names:
            raise KernelCompilationError(
                f"field of {self!r} must be one of {', '.join(names)}, got {short_repr(name)}", code="attribute-unknown"
            )
        return str(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in (self.record_dtype.names or ()):
            if name == "copy":
                return _Copy(self)
            if name == "dtype":
                return self.record_dtype
        return self._take_out(self._checked(name), kernel_frame(_getframe(1)))

    def __getitem__(self, name: Any) -> Any:
        return self._take_out(self._checked(name), kernel_frame(_getframe(1)))

    def _refuse_record(self, *_: object) -> NoReturn:
        raise DtypeError(f"{self!r} must be used field by field in a kernel, got the whole record", code="whole-record")

    __hash__ = object.__hash__
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_record
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = _refuse_record
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = _refuse_record
    __bool__ = __iter__ = __len__ = __neg__ = __int__ = __float__ = _refuse_record


class _Copy:
    """The method `copy` of a record."""

    __slots__ = ("_record",)

    def __init__(self, record: Any) -> None:
        self._record = record

    def __call__(self) -> RecordValue:
        return _value_of(self._record, kernel_frame(_getframe(1)))


class Record(_Fields):
    """One element of an array of records."""

    __slots__ = ("_index", "_view")

    def __init__(self, view: Any, index: tuple[int, ...]) -> None:
        object.__setattr__(self, "_view", view)
        object.__setattr__(self, "_index", index)

    @property
    def record_dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """Its type, with the fields."""
        dtype: np.dtype[Any] = self._view.dtype
        return dtype

    def field_view(self, name: Any) -> tuple[Any, tuple[int, ...]]:
        """Return the view of a field of all records, and the index of this one."""
        return self._view.field(self._checked(name)), self._index

    def _take_out(self, name: str, frame: FrameType) -> Any:
        return self._view.field(name).take_out(self._index, frame)

    def __setattr__(self, name: str, value: Any) -> None:
        _store_field(self._view.field(self._checked(name)), self._index, value, kernel_frame(_getframe(1)))

    def __setitem__(self, name: Any, value: Any) -> None:
        _store_field(self._view.field(self._checked(name)), self._index, value, kernel_frame(_getframe(1)))

    def __repr__(self) -> str:
        return f"the record {spell(self._view.name, self._index)}"


class RecordValue(_Fields):
    """A record outside of arrays: an argument, a copy, or a result of `numpy.void`.

    - `held`: its fields; nothing else may change them.
    """

    __slots__ = ("_held",)

    def __init__(self, held: np.void) -> None:
        object.__setattr__(self, "_held", held)

    @property
    def record_dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """Its type, with the fields."""
        dtype: np.dtype[Any] = self._held.dtype
        return dtype

    def _take_out(self, name: str, frame: FrameType) -> Any:
        return _part(self._held[name])

    def _fail_changed(self, *_: object) -> NoReturn:
        raise KernelCompilationError(
            "a field must be of an array's element to be assigned to, got that of a record's value: make another with "
            "numpy.void((...), dtype), or keep the record in a PrivateArray",
            code="record-value-changed",
        )

    __setattr__ = __setitem__ = _fail_changed

    def __repr__(self) -> str:
        return f"the record {self._held!r}"


def _part(held: Any) -> Any:
    """Return a field of a value: a number, a record, or of a sub-array a tuple."""
    if isinstance(held, np.void):
        return RecordValue(held)
    return tuple(map(_part, held)) if isinstance(held, np.ndarray) else held


def _value_of(value: Any, frame: FrameType) -> RecordValue:
    """Return the value of a record, whose fields are read now."""
    if isinstance(value, RecordValue):
        return value
    held = np.zeros((), value.record_dtype)
    for name in held.dtype.names or ():
        view, index = value.field_view(name)
        _read_field(held[name], view, index, frame)
    return RecordValue(held[()])  # type: ignore[arg-type]  # a void


def _read_field(target: np.ndarray[Any, Any], view: Any, index: tuple[int, ...], frame: FrameType) -> None:
    if target.ndim:  # a sub-array, which names its elements
        view, index = view.take_out(index, frame), ()
    for offset in np.ndindex(*target.shape):
        value = view.take_out((*index, *offset), frame)
        target[offset] = value if target.dtype.names is None else _value_of(value, frame)._held


def store(view: Any, index: tuple[int, ...], value: Any, frame: FrameType) -> None:
    """Store a record, or a tuple of its fields, in an element of an array.

    Raises `DtypeError` if it is neither, of another dtype, or the tuple has not as many members as there are fields.
    """
    names: tuple[str, ...] = view.dtype.names
    if isinstance(value, _Fields):
        if value.record_dtype != view.dtype:
            _fail_stored(view, index, value, f"a record of its own dtype, {view.dtype}", frame)
        copied = _value_of(value, frame)
        members = tuple(copied[name] for name in names)
    elif isinstance(value, tuple):
        members = value
    else:
        _fail_stored(view, index, value, "a record, or a tuple of its fields", frame)
    if len(members) != len(names):
        _fail_stored(view, index, value, f"a tuple of {len(names)} members, {', '.join(names)}", frame)
    for name, member in zip(names, members, strict=True):
        _store_field(view.field(name), index, member, frame)


def _store_field(view: Any, index: tuple[int, ...], value: Any, frame: FrameType) -> None:
    extents = view.shape[len(index) :]
    if not extents:
        view.put_in(index, value, frame)
    elif not isinstance(value, tuple) or len(value) != extents[0]:
        _fail_stored(view, index, value, f"a tuple of {extents[0]} members", frame)
    else:
        part = view.take_out(index, frame)
        for offset, member in enumerate(value):
            _store_field(part, (offset,), member, frame)


def _fail_stored(view: Any, index: tuple[int, ...], value: Any, requirement: str, frame: FrameType) -> NoReturn:
    raise DtypeError(
        f"what is stored to {spell(view.name, index)} must be {requirement}, got {short_repr(value)} "
        f"at {source_location(frame.f_code, frame.f_lasti)}",
        code="stored-value",
    )


def make_record(view_of: Callable[[np.ndarray[Any, Any], str], Any], value: Any, dtype: Any) -> RecordValue:
    """Return what `numpy.void(value, dtype)` is in a kernel; `view_of` makes a view of an array by a name."""
    chosen = np.dtype(dtype) if isinstance(dtype, (np.dtype, type)) else None
    unmet = "must be that of a record" if chosen is None or chosen.names is None else unmet_requirement(chosen)
    if chosen is None or unmet:
        raise DtypeError(f"dtype of numpy.void() {unmet}, got {short_repr(dtype)}", code="array-dtype")
    held = np.zeros((), chosen)
    store(view_of(held, "numpy.void()[]"), (), value, kernel_frame(_getframe(1)))
    return RecordValue(held[()])  # type: ignore[arg-type]  # a void


def assignable(value: Any) -> Any:
    """Return the record whose field a kernel assigns.

    Raises `KernelCompilationError` if it has no fields.
    """
    if isinstance(value, tuple):
        raise KernelCompilationError(
            f"a {'Vec' if value.__class__ is Vec else 'tuple'} cannot be changed: make a new one, or use "
            "kapi.PrivateArray",
            code="tuple-changed",
        )
    if not isinstance(value, _Fields):
        raise KernelCompilationError(
            "a kernel cannot assign an attribute, only a field of a record: write to an array",
            code="attribute-assigned",
        )
    return value
