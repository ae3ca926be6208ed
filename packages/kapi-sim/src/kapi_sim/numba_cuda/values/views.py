"""Arrays as CUDA kernels see them: elements have Numba's types, records have fields, parts can be assigned."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from kapi_sim.checks.bounds import fail_outside, spell
from kapi_sim.errors import DtypeError, OutOfBoundsError
from kapi_sim.language.source import source_location
from kapi_sim.memory.owned_views import OwnedView
from kapi_sim.memory.recorder import TracedView
from kapi_sim.memory.views import FromEnd, View
from kapi_sim.numba_cuda.values.dtypes import Narrow, wrapped

__all__ = [
    "CudaView",
    "NarrowCudaView",
    "OwnedCudaView",
    "OwnedNarrowCudaView",
    "Record",
    "TracedCudaView",
    "TracedNarrowCudaView",
]

_getframe = sys._getframe
_OWN = frozenset(name for view in (View, TracedView) for name in view.__slots__)
_AS_PYTHON = frozenset(np.dtype(code).type for code in "bhilqBHI")
"""Integers that Numba computes with in 64 bits, as Python's integers are here."""


def _is_special(component: object) -> bool:
    """Return whether an index is an integer of another class than Python's own: a bool, a member of an enumeration."""
    return component.__class__ is not int and isinstance(component, (int, np.bool_))


class Record:
    """One element of an array of records."""

    __slots__ = ("_index", "_view")

    def __init__(self, view: Any, index: Any) -> None:
        object.__setattr__(self, "_view", view)
        object.__setattr__(self, "_index", index)

    def _field(self, name: Any) -> Any:
        view = self._view
        if isinstance(name, (int, np.integer)):
            name = view.dtype.names[name]
        if view.dtype.names is None or name not in view.dtype.names:
            raise DtypeError(
                f"field of a record of `{view.name}` must be one of {view.dtype.names}, got {name!r}",
                code="attribute-unknown",
            )
        return view.field(name)

    def __getattr__(self, name: str) -> Any:
        return self._field(name).take_out(self._index, _getframe(1))

    def __setattr__(self, name: str, value: Any) -> None:
        self._field(name).put_in(self._index, value, _getframe(1))

    def __getitem__(self, name: Any) -> Any:
        return self._field(name).take_out(self._index, _getframe(1))

    def __setitem__(self, name: Any, value: Any) -> None:
        self._field(name).put_in(self._index, value, _getframe(1))

    @property
    def record_dtype(self) -> np.dtype[Any]:
        """Its type, with the fields."""
        dtype: np.dtype[Any] = self._view.dtype
        return dtype

    def copy_to(self, view: Any, index: Any, frame: FrameType) -> None:
        """Store the record, field by field, in an element of another array."""
        for name in view.dtype.names:
            view.field(name).put_in(index, self._field(name).take_out(self._index, frame), frame)


class _Elements:
    """The attributes that only arrays of CUDA kernels have."""

    __slots__ = ()

    def field(self: Any, name: str) -> Any:
        """Return one field of all records."""
        return self._like(self._array[name], f"{self.name}.{name}")

    def _record_at(self: Any, index: Any, frame: FrameType) -> Any:
        if index.__class__ is int and not self.shape:
            index = self.dtype.names[index]
        if index.__class__ is str:
            field = self.field(index)
            return field if field.shape else field.take_out((), frame)
        found = self._locate(index, frame)
        return self._part(index, frame) if found is None else Record(self, found[1])

    def __getitem__(self: Any, index: Any) -> Any:
        return self._get(index, _getframe(1))

    def _get(self: Any, index: Any, frame: FrameType) -> Any:
        if self._array.dtype.names is not None:
            return self._record_at(index, frame)
        value = super()._get(index, frame)  # type: ignore[misc]
        return value.item() if value.__class__ in _AS_PYTHON else value

    def _set(self: Any, index: Any, value: Any, frame: FrameType) -> None:
        dtype = self._array.dtype
        if dtype.names is not None:
            if index.__class__ is int and not self.shape:
                index = dtype.names[index]
            if index.__class__ is str:
                self.field(index)._set((), value, frame)
                return
            found = self._locate(index, frame)
            if found is None:
                self._set_part(index, value, frame)
            elif isinstance(value, Record):
                value.copy_to(self, found[1], frame)
            else:
                for name, each in zip(dtype.names, value, strict=True):
                    self.field(name).put_in(found[1], each, frame)
            return
        if self._is_integer and isinstance(value, int):
            value = wrapped(value, dtype)
        super()._set(index, value, frame)  # type: ignore[misc]

    def _locate(self: Any, index: Any, frame: FrameType) -> Any:
        components = index if index.__class__ is tuple else (index,)
        if any(component is Ellipsis or component is None for component in components):
            if len(components) > 1 or self.shape:
                return None
            index = ()
        elif any(_is_special(component) for component in components):
            index = self._from_start(components, frame)
        return super()._locate(index, frame)  # type: ignore[misc]

    def _outside(self: Any, index: Any, axis: int, position: int, frame: FrameType) -> int:
        extent: int = self.shape[axis]
        if self.clock.wraps_around and -extent <= position < 0:
            return position + extent
        return super()._outside(index, axis, position, frame)  # type: ignore[misc, no-any-return]

    def _part(self: Any, index: Any, frame: FrameType) -> Any:
        index = self._from_start(index, frame)
        components = index if index.__class__ is tuple else (index,)
        for axis, component in zip(self._axes(components), components, strict=True):
            if isinstance(component, (int, np.integer)) and axis < len(self.shape):
                if not 0 <= component < self.shape[axis]:
                    self._outside(index, axis, int(component), frame)
        return self._like(self._array[index], spell(self.name, index))

    def _axes(self: Any, components: tuple[Any, ...]) -> list[int]:
        """Return the axis that each part of an index stands for: an ellipsis is as many as nothing else names."""
        named = sum(component is not None and component is not Ellipsis for component in components)
        axes, axis = [], 0
        for component in components:
            axes.append(axis)
            axis += len(self.shape) - named if component is Ellipsis else int(component is not None)
        return axes

    def _from_start(self: Any, index: Any, frame: FrameType) -> Any:
        """Return an index with plain integers, counted from the start of each axis if that is in reach."""
        components = index if index.__class__ is tuple else (index,)
        if not any(map(_is_special, components)):
            return index
        counted = []
        for axis, component in zip(self._axes(components), components, strict=True):
            if component.__class__ is FromEnd and axis < len(self.shape):
                if component < -self.shape[axis]:
                    self._fail_beyond_start(components, axis, frame)
                counted.append(component + self.shape[axis])
            else:
                counted.append(int(component) if _is_special(component) else component)
        return tuple(counted)

    def _fail_beyond_start(self: Any, index: tuple[Any, ...], axis: int, frame: FrameType) -> NoReturn:
        raise OutOfBoundsError(
            f"index {index[axis]} counts beyond the start: axis {axis} of `{self.name}` has length {self.shape[axis]}, "
            f"in {spell(self.name, index)} of shape {self.shape}\n  {self.clock.describe()} at "
            f"{source_location(frame.f_code, frame.f_lasti)}\n  write an index from -{self.shape[axis]} on",
            code="index-out-of-bounds",
        )

    def _set_part(self: Any, index: Any, value: Any, frame: FrameType) -> None:
        part = self._part(index, frame)
        given = np.broadcast_to(_read(value, frame), part.shape) if not isinstance(value, Record) else None
        for position in np.ndindex(*part.shape):
            part.put_in(position, value if given is None else given[position], frame)

    def __array_ufunc__(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        frame = _getframe(1)
        targets = options.pop("out", ())
        if method != "__call__" or options:
            raise DtypeError(
                f"{ufunc.__name__} must be called with arrays alone in a kernel, got {method!r} with "
                f"{', '.join(options) or 'no options'}: write a loop",
                code="whole-array",
            )
        results = ufunc(*(_read(each, frame) for each in inputs))
        if not targets:
            return results
        for target, result in zip(targets, results if isinstance(results, tuple) else (results,), strict=True):
            target._set_part(Ellipsis, result, frame)
        return targets[0] if len(targets) == 1 else targets

    @property
    def real(self: Any) -> Any:
        """The real parts."""
        return self._like(self._array.real, f"{self.name}.real")

    @property
    def imag(self: Any) -> Any:
        """The imaginary parts."""
        return self._like(self._array.imag, f"{self.name}.imag")

    def reshape(self: Any, *shape: Any) -> Any:
        """Return the same memory with other axes."""
        made = self._array.view()
        try:
            made.shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        except (AttributeError, ValueError) as error:
            raise DtypeError(
                f"shape of `{self.name}` must be changed without a copy, got {shape}: {error}", code="array-shape"
            ) from None
        return self._like(made, self.name)

    def ravel(self: Any) -> Any:
        """Return the same memory with one axis."""
        return self.reshape(self._array.size)

    def view(self: Any, dtype: Any) -> Any:
        """Return the same memory as elements of another type."""
        from kapi_sim.numba_cuda.values.dtypes import dtype_of

        made = self._array.view(dtype_of(dtype, f"a view of {self.name}"))
        like = self._like(made, self.name)
        like._span = made.itemsize
        return like

    def transpose(self: Any, *axes: int) -> Any:
        """Return the same memory with its axes in another order."""
        return self._like(self._array.transpose(*axes), self.name)

    def item(self: Any, *index: int) -> Any:
        """Return an element."""
        position = index or (0,) * self.ndim
        return self._get(position if len(position) != 1 else position[0], _getframe(1))

    def fill(self: Any, value: Any) -> None:
        """Store a number in all elements."""
        frame = _getframe(1)
        for position in np.ndindex(*self.shape):
            self.put_in(position, value, frame)

    @property
    def flat(self: Any) -> Flat:
        """The elements in the order of the axes, whatever they are."""
        return Flat(self)

    @property
    def flags(self: Any) -> Any:
        """The layout of the elements in memory."""
        return self._array.flags


class _Fields:
    """The fields of an array of records, as attributes; Python looks up each attribute slower where it may be one."""

    __slots__ = ()

    def __setattr__(self: Any, name: str, value: Any) -> None:
        # A record's field; what is not one is the view's own.
        if name in _OWN:
            object.__setattr__(self, name, value)
        else:
            self._set(name, value, _getframe(1))

    def __getattr__(self: Any, name: str) -> Any:
        dtype = object.__getattribute__(self, "_array").dtype
        if dtype.names is not None and name in dtype.names:
            field = self.field(name)
            return field if field.shape else field.take_out((), _getframe(1))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


class Flat:
    """The elements of an array as those of one axis."""

    __slots__ = ("_view",)

    def __init__(self, view: Any) -> None:
        self._view = view

    def __len__(self) -> int:
        return int(self._view.size)

    def __getitem__(self, index: Any) -> Any:
        return self._view.take_out(self._offset(index), _getframe(1))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._view.put_in(self._offset(index), value, _getframe(1))

    def __iter__(self) -> Iterator[Any]:
        frame = _getframe(1)
        return (self._view.take_out(position, frame) for position in np.ndindex(*self._view.shape))

    def _offset(self, index: Any) -> tuple[int, ...]:
        view = self._view
        is_from_end = index.__class__ is FromEnd or (view.clock.wraps_around and index < 0)
        number = int(index) + (len(self) if is_from_end else 0)
        if not 0 <= number < len(self):
            fail_outside(f"{view.name}.flat", index, 0, int(index), (len(self),), view.clock, _getframe(2))
        return tuple(map(int, np.unravel_index(number, view.shape)))


def _read(value: Any, frame: FrameType) -> Any:
    """Return the elements of what may be an array of the kernel's."""
    if not isinstance(value, View):
        return value
    read = np.empty(value.shape, value.dtype)
    for position in np.ndindex(*value.shape):
        read[position] = value.take_out(position, frame)
    return read


class CudaView(_Fields, _Elements, View):
    """An array in a CUDA kernel, with each access looked at."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        shadow = self._shadow
        if (
            index.__class__ is not int
            or not self._is_vector
            or not 0 <= index < self._length
            or self._span > 1
            or shadow is None
            or self._array.dtype.names is not None
        ):
            return self._get(index, _getframe(1))
        frame = _getframe(1)
        if frame.f_code.co_name != "<module>":
            shadow.note_read(self._base + index * self._stride, self, index, frame)
        value = self._array[index]
        return value.item() if value.__class__ in _AS_PYTHON else value


class OwnedCudaView(_Elements, OwnedView):
    """A `CudaView` whose elements are to be proved of one thread each; records are not."""

    __slots__ = ()

    as_python = _AS_PYTHON
    __getitem__ = OwnedView.__getitem__


class TracedCudaView(_Fields, _Elements, TracedView):
    """A `CudaView` that notes each access."""

    __slots__ = ()


class _NarrowElements:
    """Elements for kernels that ask how many bits an integer has."""

    __slots__ = ()

    def __getitem__(self: Any, index: Any) -> Any:
        return self._get(index, _getframe(1))

    def _get(self: Any, index: Any, frame: FrameType) -> Any:
        value = super()._get(index, frame)  # type: ignore[misc]
        return Narrow(value) if value.__class__ is int and self.itemsize <= 4 else value


class NarrowCudaView(_NarrowElements, CudaView):
    """A `CudaView` whose integers know how many bits they have."""

    __slots__ = ()


class OwnedNarrowCudaView(_NarrowElements, OwnedCudaView):
    """A `NarrowCudaView` whose elements are to be proved of one thread each."""

    __slots__ = ()


class TracedNarrowCudaView(_NarrowElements, TracedCudaView):
    """A `NarrowCudaView` that notes each access."""

    __slots__ = ()
