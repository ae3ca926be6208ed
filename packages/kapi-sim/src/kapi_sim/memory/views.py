"""Arrays as kernels see them, and the poison that fresh local memory holds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from kapi_sim.checks.bounds import fail_outside, fail_rank, spell
from kapi_sim.checks.device_limits import fail_wide
from kapi_sim.checks.initialisation import PrivateShadowMemory
from kapi_sim.checks.ordered_races import HappensBeforeShadowMemory
from kapi_sim.checks.races import AccessRecord, ShadowMemory
from kapi_sim.errors import DtypeError, KernelCompilationError
from kapi_sim.items.misused_intrinsics import index_hint
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.items.undefined_values import Undefined
from kapi_sim.language.intrinsics.index_space import Group, Item, NdItem, SubGroup
from kapi_sim.language.intrinsics.records import field_view_problem
from kapi_sim.language.source import SourceLocation, source_location
from kapi_sim.memory import records
from kapi_sim.numbers.arithmetic import stored_integer
from kapi_sim.short_repr import short_repr
from kapi_sim.tracebacks import users_frame

__all__ = ["FromEnd", "SaturatingArray", "View", "poison"]

_WIDE = (np.float64, np.complex128)
_COMPLEX = (complex, np.complex64, np.complex128)
_NUMBERS = (int, float, complex, np.generic)
_WORK_ITEMS = (Item, NdItem, Group, SubGroup)  # NumPy refuses these, which `items.misused_intrinsics` tells
MAX_SHOWN = 64
"""Elements of an array that a debugger is shown; of a larger one, the first and last few."""
_getframe = sys._getframe


def poison(array: np.ndarray[Any, Any]) -> None:
    """Fill `array` with what no program expects: nan, or bytes of 0xCD."""
    if array.dtype.kind in "fc":
        array.fill(np.nan)
    elif array.dtype.kind == "b":
        array.fill(True)
    else:
        array.view(np.uint8).fill(0xCD)


class FromEnd(int):
    """A negative index that the source says as it is: it counts from the end of its axis."""


class SaturatingArray(np.ndarray[Any, np.dtype[Any]]):
    """An array of integers in an unchecked kernel: numbers stored to it saturate or wrap, as on a device."""

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, stored_integer(value, self.dtype))


class View:
    """An array in a kernel, with each access looked at.

    - `array`: any rank, shape, strides and dtype; accesses read and write it.
    - `name`: the kernel's name for it.
    - `clock`: names the running work-item in messages.
    - `shadow`: where accesses are recorded; `None` records nothing.
    - `has_bounds`: whether an index outside its axis is an error; else it is what NumPy makes of it.
    - `granule`: bytes that one recorded address stands for; the itemsize where elements of different arrays either
      coincide or are disjoint, else 1.
    - `has_fp64`: whether the pretended device computes in float64; if not, a stored float64 is an error.
    - `space`: where it lies: ``"global"``, ``"local"`` or ``"private"``.
    - `starts_unwritten`: whether a read is an error unless a work-item wrote the element.
    """

    __slots__ = (
        "_array",
        "_base",
        "_clock",
        "_granule",
        "_has_bounds",
        "_has_fp64",
        "_is_integer",
        "_is_matrix",
        "_is_vector",
        "_length",
        "_shadow",
        "_span",
        "_stored",
        "_stride",
        "_width",
        "_width_stride",
        "kind",
        "name",
        "shape",
        "space",
        "starts_unwritten",
    )

    def __init__(
        self,
        array: np.ndarray[Any, Any],
        name: str,
        clock: ScheduleState,
        shadow: ShadowMemory | PrivateShadowMemory | None,
        has_bounds: bool,
        granule: int,
        has_fp64: bool = True,
        space: str = "global",
        starts_unwritten: bool = False,
    ) -> None:
        self._array = array
        self._base: int = array.__array_interface__["data"][0]
        self._clock = clock
        self._shadow = shadow
        self._has_bounds = has_bounds
        self._granule = granule
        self._has_fp64 = has_fp64
        self._span = 1 if granule >= array.itemsize else array.itemsize
        self._is_integer = array.dtype.kind in "iu"
        is_of_numbers = array.dtype.names is None
        self._is_vector = array.ndim == 1 and is_of_numbers
        self._length = array.shape[0] if array.ndim else 0
        self._stride = array.strides[0] if array.ndim else 0
        self._is_matrix = array.ndim == 2 and is_of_numbers
        self._width = array.shape[1] if self._is_matrix else 0
        self._width_stride = array.strides[1] if self._is_matrix else 0
        self.kind: type[Any] = array.dtype.type
        self._stored = self.kind if has_fp64 and is_of_numbers else None
        self.name = name
        self.shape = array.shape
        self.space = space
        self.starts_unwritten = starts_unwritten

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        dtype: np.dtype[Any] = self._array.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._array.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._array.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, by axis."""
        return self._array.strides

    @property
    def T(self) -> View:
        """The array with its axes reversed."""
        return self._like(self._array.T, f"{self.name}.T")

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self._array)):
            yield self._get(i, records.kernel_frame(_getframe(1)))

    def __bool__(self) -> bool:
        raise DtypeError(
            f"a condition must be a number or bool, got the array `{self.name}` at {self._site(_getframe(1))}",
            code="array-as-condition",
        )

    def __contains__(self, value: object) -> bool:
        raise DtypeError(
            f"operator in must have a tuple on its right in a kernel, got the array `{self.name}`: write a loop",
            code="in-array",
        )

    def __array__(self, *args: object, **kwargs: object) -> np.ndarray[Any, Any]:
        self._fail_on_array()

    def element(self, index: Any, frame: FrameType) -> tuple[int, Any]:
        """Return address and index of one element that an atomic operation is to use.

        Raises `OutOfBoundsError` if the index lies outside; `DtypeError` if it names no element.
        """
        found = self._locate(index, frame)
        if found is None:
            raise DtypeError(
                f"index of an AtomicRef of `{self.name}` must name one element, got {spell(self.name, index)}, "
                f"shape {self.shape}\n  {self._clock.describe()} at {self._site(frame)}",
                code="atomic-index",
            )
        return found

    def field(self, name: str) -> View:
        """The view of one field of all records."""
        return self._like(self._array[name], f"{self.name}.{name}" if "[]" in self.name else f"{self.name}[].{name}")

    def _field_of_all(self, name: str) -> View:
        names = self.dtype.names or ()
        if name not in names:
            raise KernelCompilationError(
                f"field of `{self.name}` must be one of {', '.join(names)}, got {name!r}", code="attribute-unknown"
            )
        problem = field_view_problem(self.dtype, name)
        if problem:
            raise KernelCompilationError(problem, code="field-of-all")
        return self.field(name)

    def take_out(self, index: Any, frame: FrameType) -> Any:
        """Read an element for the kernel that stands at `frame`."""
        return self._get(index, frame)

    def put_in(self, index: Any, value: Any, frame: FrameType) -> None:
        """Write an element for the kernel that stands at `frame`."""
        self._set(index, value, frame)

    def note_atomic(
        self,
        address: int,
        index: Any,
        frame: FrameType,
        reads: bool,
        writes: bool,
        changes: bool,
        order: int,
        scope: int,
    ) -> None:
        """Record an atomic operation on one element."""
        shadow = self._shadow
        if isinstance(shadow, HappensBeforeShadowMemory):
            for offset in range(self._span):
                shadow.note_atomic(address + offset, self, index, frame, reads, writes, changes, order, scope)
        elif shadow is not None:
            raise KernelCompilationError(
                "AtomicRef must be called by its own name, got a call through a variable: write `kapi.AtomicRef(...)`",
                code="atomic-by-variable",
            )

    def trace_atomic(self, index: Any, frame: FrameType) -> None:
        """Tell a trace, if there is one, that an atomic operation is done."""

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The array that the view is of."""
        return self._array

    @property
    def clock(self) -> ScheduleState:
        """The launch's position."""
        return self._clock

    def peek(self, index: Any) -> Any:
        """Return what the element holds, without an access of a work-item."""
        return self._array[index]

    def __repr__(self) -> str:
        values = np.array2string(self._array, threshold=MAX_SHOWN, prefix=" " * len(self.name))
        return f"<{self.name}: array of shape {self.shape}, {self.dtype}: {values}>"

    def __getitem__(self, index: Any) -> Any:
        # Nearly all accesses are these two, and nearly all time of a checked kernel is theirs.
        if index.__class__ is int and self._is_vector and 0 <= index < self._length:
            address = self._base + index * self._stride
        elif index.__class__ is tuple and self._is_matrix and len(index) == 2:
            i, j = index
            if i.__class__ is not int or j.__class__ is not int or not (0 <= i < self._length and 0 <= j < self._width):
                return self._get(index, _getframe(1))
            address = self._base + i * self._stride + j * self._width_stride
        else:
            return self._get(index, _getframe(1))
        shadow = self._shadow
        if shadow is not None:
            frame = _getframe(1)
            # What is evaluated at a debugger's prompt is no access of the work-item.
            if frame.f_code.co_name != "<module>":
                shadow.note_read(address, self, index, frame)
                if self._span > 1:
                    for offset in range(1, self._span):
                        shadow.note_read(address + offset, self, index, frame)
        return self._array[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        shadow = self._shadow
        if (
            value.__class__ is not self._stored
            or index.__class__ is not int
            or not self._is_vector
            or not 0 <= index < self._length
            or self._span > 1
            or shadow is None
        ):
            self._set(index, value, _getframe(1))
            return
        # The value has the type of the elements, as most have: nothing is left to check but the access.
        frame = _getframe(1)
        equal = shadow.note_write(self._base + index * self._stride, self, index, frame, value)
        self._array[index] = value
        if equal is not None:
            assert isinstance(shadow, ShadowMemory)  # private memory has no races
            shadow.note_benign(equal, self, index, frame)

    def _set(self, index: Any, value: Any, frame: FrameType) -> None:
        if index.__class__ is int and self._is_vector:
            if not 0 <= index < self._length:
                index = self._outside(index, 0, index, frame)
            address = self._base + index * self._stride
        elif (
            index.__class__ is tuple
            and self._is_matrix
            and len(index) == 2
            and index[0].__class__ is int
            and index[1].__class__ is int
            and 0 <= index[0] < self._length
            and 0 <= index[1] < self._width
        ):
            address = self._base + index[0] * self._stride + index[1] * self._width_stride
        else:
            found = self._locate(index, frame)
            if found is None:
                self._set_part(index, value, frame)
                return
            address, index = found
            if self._array.dtype.names is not None:
                records.store(self, index, value, frame)
                return
        if value.__class__ is Undefined:
            raise value.fail(f"in a store to {spell(self.name, index)} by {self._clock.describe()}")
        if value.__class__ in _COMPLEX and self._array.dtype.kind not in "cb":
            raise DtypeError(
                f"an element of the {self.dtype} array `{self.name}` cannot hold an imaginary part, got "
                f"{short_repr(value)} "
                f"at {self._site(frame)}; store its .real",
                code="imaginary-part",
            )
        if value.__class__ is np.ndarray and not value.ndim:
            value = value[()]  # of NumPy's own `where`, in a kernel that has no source to be rewritten
        if not isinstance(value, _NUMBERS) and not isinstance(value, _WORK_ITEMS) and not self._takes_text(value):
            raise DtypeError(
                f"an element of the {self.dtype} array `{self.name}` must be a number, got {short_repr(value)} "
                f"at {self._site(frame)}",
                code="stored-value",
            )
        if self._is_integer:
            value = stored_integer(value, self._array.dtype)
        if not self._has_fp64 and value.__class__ in _WIDE:
            fail_wide(spell(self.name, index), value, self._clock, self._site(frame))
        shadow = self._shadow
        if shadow is None:
            self._array[index] = value
            return
        if self._span == 1:
            equal = shadow.note_write(address, self, index, frame, value)
        else:
            equal = self._note_bytes(shadow, address, index, frame, value)
        self._array[index] = value
        if equal is not None:
            assert isinstance(shadow, ShadowMemory)  # private memory has no races
            shadow.note_benign(equal, self, index, frame)

    def _note_bytes(
        self, shadow: ShadowMemory | PrivateShadowMemory, address: int, index: Any, frame: FrameType, value: Any
    ) -> AccessRecord | None:
        """Record a write byte by byte, for the element overlaps others in part."""
        stored = np.empty((), self._array.dtype)
        stored[()] = value
        equal = None
        for offset, byte in enumerate(stored.tobytes()):
            equal = shadow.note_write(address + offset, self, index, frame, bytes((byte,))) or equal
        return equal

    def _get(self, index: Any, frame: FrameType) -> Any:
        if index.__class__ is int and self._is_vector:
            if not 0 <= index < self._length:
                index = self._outside(index, 0, index, frame)
            address = self._base + index * self._stride
        elif index.__class__ is str and self.dtype.names is not None:
            return self._field_of_all(index)
        else:
            found = self._locate(index, frame)
            if found is None:
                return self._part(index, frame)
            address, index = found
            if self._array.dtype.names is not None:
                return records.Record(self, index)
        shadow = self._shadow
        # What is evaluated at a debugger's prompt is no access of the work-item.
        if shadow is not None and frame.f_code.co_name != "<module>":
            shadow.note_read(address, self, index, frame)
            for offset in range(1, self._span):
                shadow.note_read(address + offset, self, index, frame)
        return self._array[index]

    def _site(self, frame: FrameType) -> SourceLocation:
        return source_location(frame.f_code, frame.f_lasti)

    def _outside(self, index: Any, axis: int, position: int, frame: FrameType) -> int:
        """Handle an index outside its axis: raise, or return what NumPy makes of it."""
        extent = self.shape[axis]
        if (position.__class__ is FromEnd or not self._has_bounds) and -extent <= position < extent:
            return int(position + extent)
        fail_outside(self.name, index, axis, position, self.shape, self._clock, frame)

    def _locate(self, index: Any, frame: FrameType) -> tuple[int, tuple[int, ...]] | None:
        """Return address and index of one element, or `None` if the index names a part of the array."""
        components = index if index.__class__ is tuple else (index,)
        if len(components) > len(self.shape):
            fail_rank(self.name, components, self.shape, self._clock, self._site(frame))
        address = self._base
        strides = self._array.strides
        position: list[int] = []
        for axis, component in enumerate(components):
            if component.__class__ is not int:
                if isinstance(component, np.integer):
                    component = int(component)
                elif component.__class__ is FromEnd:
                    pass
                elif isinstance(component, slice):
                    return None
                elif component.__class__ is Undefined:
                    raise component.fail(f"as an index of `{self.name}` by {self._clock.describe()}")
                else:
                    kind = type(component).__name__.removeprefix("Sim")
                    of_type = "" if kind == "method" else f" of type {kind}"
                    raise DtypeError(
                        f"index of `{self.name}` along axis {axis} must be an integer, got {short_repr(component)}"
                        f"{of_type}\n"
                        f"  {self._clock.describe()} at {self._site(frame)}\n"
                        f"  {index_hint(kind) or 'convert it with int(...)'}",
                        code="index-type",
                    )
            if not 0 <= component < self.shape[axis]:
                component = self._outside(index, axis, component, frame)
            position.append(component)
            address += component * strides[axis]
        return (address, tuple(position)) if len(position) == len(self.shape) else None

    def _like(self, array: np.ndarray[Any, Any], name: str) -> View:
        return type(self)(
            array,
            name,
            self._clock,
            self._shadow,
            self._has_bounds,
            self._granule,
            self._has_fp64,
            self.space,
            self.starts_unwritten,
        )

    def _part(self, index: Any, frame: FrameType) -> View:
        components = index if isinstance(index, tuple) else (index,)
        for axis, component in enumerate(components):
            if isinstance(component, (int, np.integer)) and not 0 <= component < self.shape[axis]:
                self._outside(index, axis, component if component.__class__ is FromEnd else int(component), frame)
        return self._like(self._array[index], spell(self.name, index))

    def _fail_on_array(self, *_: object) -> NoReturn:
        raise DtypeError(
            f"`{self.name}` must be used element by element in a kernel, got the whole array as a value "
            f"at {self._site(users_frame(_getframe(1)))}: loop over its elements",
            code="whole-array",
        )

    # An array has no value of its own: Python would compare identities, or speak of this class.
    __hash__ = object.__hash__
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _fail_on_array
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __divmod__ = __pow__ = __matmul__ = (
        _fail_on_array
    )
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rdivmod__ = __rpow__ = _fail_on_array
    __rmatmul__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _fail_on_array
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _fail_on_array
    __neg__ = __pos__ = __abs__ = __invert__ = __round__ = _fail_on_array
    __int__ = __float__ = __complex__ = _fail_on_array

    def _takes_text(self, value: object) -> bool:
        # numba.cuda's arrays may hold texts; kapi's own launches refuse such arrays.
        return isinstance(value, (str, bytes)) and self._array.dtype.kind in "US"

    def _set_part(self, index: Any, value: Any, frame: FrameType) -> None:
        raise DtypeError(
            f"`{self.name}` must be written element by element in a kernel, got an assignment to "
            f"{spell(self.name, index)} of shape {self._array[index].shape}\n"
            f"  {self._clock.describe()} at {self._site(frame)}\n  loop over the elements",
            code="whole-array",
        )
