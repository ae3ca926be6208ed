"""kapi's own arrays in a device's memory, whatever the platform: shape, views, and values stored and read.

They hold data for kernels, and compute nothing.  NumPy works out their views: it gets an array at the same address, of
which it reads no element.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from kapi_runtime.platform.dlpack import capsule_of
from kapi_runtime.platform.interface import MemoryKind
from kapi_runtime.platform.numba_cuda_arrays import NumbaCudaArray
from kapi_runtime.platform.numpy_views import fields_of_numpy, numpy_view
from kapi_sim.errors import DtypeError
from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.short_repr import short_repr

__all__ = ["ArrayFlags", "KapiArray"]

_CPU = 1  # kDLCPU of DLPack


@dataclass(frozen=True, slots=True)
class ArrayFlags:
    """Flags that callers ask for before they copy an array; ``flags["W"]`` is NumPy's way to write it."""

    c_contiguous: bool
    f_contiguous: bool
    writable: bool

    def __getitem__(self, name: str) -> bool:
        return {"C": self.c_contiguous, "F": self.f_contiguous, "W": self.writable}[name]


class KapiArray(NumbaCudaArray, ABC):
    """An array in a device's memory; a platform says how its bytes are copied, and who keeps them.

    It has the methods of numba.cuda's arrays as well: `NumbaCudaArray`.

    - `fields`: where the elements are, and of what type.
    - `usm_type`: the kind of memory.
    - `protocol`: the attribute by which libraries read arrays of the platform.
    """

    __slots__ = ("__weakref__", "_fields", "usm_type")

    protocol: str

    __array_ufunc__ = None  # NumPy's functions and operators leave it alone, and say so

    def __init__(self, fields: ArrayFields, usm_type: MemoryKind) -> None:
        self._fields = fields
        self.usm_type: MemoryKind = usm_type

    # -- what a platform answers

    @abstractmethod
    def _with(self, fields: ArrayFields) -> Self:
        """Return an array of other fields in the same memory."""

    @abstractmethod
    def _new(self) -> Self:
        """Return a new C-contiguous array like this one, on the same queue, of the same kind."""

    @abstractmethod
    def _of_platform(self, values: Any) -> Self | None:
        """Return values that are in memory of this platform as such an array, and None for all others."""

    @abstractmethod
    def _copy_from(self, source: Self) -> None:
        """Copy the elements of another array; both are C-contiguous, of one shape and type."""

    @abstractmethod
    def _store(self, values: np.ndarray[Any, Any]) -> None:
        """Copy from the host, after the work of the queue; both arrays are C-contiguous, of one size."""

    @abstractmethod
    def _load(self, values: np.ndarray[Any, Any]) -> None:
        """Copy to the host, after the work of the queue; both arrays are C-contiguous, of one size."""

    @abstractmethod
    def _order_for(self, stream: Any) -> None:
        """Let the consumer of a capsule, who works on a stream, find the array as this one's work leaves it.

        Raises `BufferError` if the memory cannot be handed on, or the stream is none.
        """

    @abstractmethod
    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's kind of device, and the device's number."""

    # -- what is asked of an array

    @property
    def shape(self) -> tuple[int, ...]:
        return self._fields.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._fields.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(stride * self.itemsize for stride in self._fields.strides)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def flags(self) -> ArrayFlags:
        flags = self._shadow().flags
        return ArrayFlags(flags.c_contiguous, flags.f_contiguous, not self._fields.readonly)

    @property
    def fields(self) -> ArrayFields:
        """Address, layout and type of the elements."""
        return self._fields

    @property
    def span(self) -> tuple[int, int]:
        """The addresses at which its elements begin and end."""
        return self._fields.span

    # -- views and copies

    def over(self, array: np.ndarray[Any, Any]) -> Self:
        """Return NumPy's array of this memory, which the host reads, as one of the device's."""
        return self._with(fields_of_numpy(array, self._fields.owner))

    def strided(self, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...]) -> Self:
        """Return an array of other form from where this one begins; strides in elements."""
        fields = self._fields
        return self._with(ArrayFields(fields.pointer, shape, strides, dtype, fields.readonly, fields.owner))

    @property
    def T(self) -> Self:
        """The axes in reverse order, of the same memory."""
        return self.transpose()

    def transpose(self, *axes: int) -> Self:
        """Return the axes in another order, the reverse if none is given, of the same memory."""
        return self._view(self._shadow().transpose(*axes))

    def reshape(self, *newshape: int | tuple[int, ...], **kws: Literal["C", "F"]) -> Self:
        """Return the elements in another shape; of the same memory if this array is contiguous, else a copy.

        `order`, the only keyword, says in which order elements are counted, "C" or "F".
        """
        order = kws.pop("order", "C")
        if kws:
            raise TypeError(f"reshape must be given no keyword but order, got {', '.join(kws)}")
        if order not in ("C", "F"):
            raise DtypeError(f'order of reshape must be "C" or "F", got {short_repr(order)}', code="copy-order")
        if order == "F":  # the same, with the axes in reverse order
            shape = newshape[0] if isinstance(newshape[0], tuple) else newshape
            return self.T.reshape(tuple(shape)[::-1]).T  # type: ignore[arg-type]
        source = self if self.flags.c_contiguous else self.copy()
        return source._view(source._shadow().reshape(*newshape))

    def ravel(self, order: Literal["C", "F"] = "C", stream: Any = 0) -> Self:
        """Return the elements along one axis, in C's order or Fortran's; of the same memory if it is contiguous so.

        `stream` is numba.cuda's, and not needed: a copy waits.
        """
        return self.reshape((-1,), order=order)

    def copy(self, order: str = "C") -> Self:
        """Return a C-contiguous copy on the same queue, of the same kind; `order` may be "C" alone."""
        if order != "C":
            raise DtypeError(
                f'order of a copy must be "C", got {short_repr(order)}: NumPy makes others of what asnumpy() returns',
                code="copy-order",
            )
        copied = self._new()
        copied[...] = self
        return copied

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """Return a copy in the host's memory, after the work that fills the array."""
        view = self._over(self._bytes_on_host())
        return view if view.flags.c_contiguous else np.ascontiguousarray(view)

    def item(self) -> Any:
        """Return the one element as a number of Python's."""
        return self.asnumpy().item()

    def __getitem__(self, index: Any) -> Self:
        return self._view(self._shadow()[self._basic(index)])

    def __setitem__(self, index: Any, values: Any) -> None:
        target = self[index]
        if not target.flags.writable:
            raise DtypeError(
                "array must be writable to be assigned to, got a read-only one: assign to a copy of it",
                code="copy-to-read-only",
            )
        source = self._of_platform(values)
        if source is not None:
            are_alike = (source.shape, source.dtype) == (target.shape, target.dtype)
            if are_alike and source.flags.c_contiguous and target.flags.c_contiguous:
                target._copy_from(source)
                return
            values = source.asnumpy()
        if target.flags.c_contiguous:
            dense = np.empty(target.shape, target.dtype)
            dense[...] = values
            target._store(dense)
            return
        # What lies between the elements is written back as it was.
        raw = target._bytes_on_host()
        target._over(raw)[...] = values
        target._bytes()._store(raw)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("array must have an axis to have a length, got an array of rank 0")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(self.asnumpy())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            f"array must be copied to the host to be NumPy's, got a {type(self).__name__}: call its asnumpy()"
        )

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        """Return a capsule of the memory, or of a copy on the host if that is the device that is asked for."""
        if dl_device is not None and int(dl_device[0]) == _CPU:
            if copy is False:
                raise BufferError("array must be copied to be on the host, got copy=False")
            return self.asnumpy().__dlpack__()
        if dl_device is not None and tuple(map(int, dl_device)) != self.__dlpack_device__():
            raise BufferError(f"array must stay where it is, {self.__dlpack_device__()}, got dl_device={dl_device}")
        if self.dtype.names is not None:
            raise BufferError(f"elements must be numbers to be handed on by DLPack, got {self.dtype}")
        if self._fields.readonly:
            raise BufferError("array must be writable to be handed on by DLPack, got a read-only one: hand on a copy")
        array = self.copy() if copy else self
        array._order_for(stream)
        fields = array._fields
        kind, device = array.__dlpack_device__()
        return capsule_of(fields.pointer, fields.shape, fields.strides, fields.dtype, kind, device, array)

    def __repr__(self) -> str:
        name = type(self).__name__
        values = np.array2string(self.asnumpy(), separator=", ", prefix=f"{name}(")
        return f"{name}({values}, dtype={self.dtype}, usm_type={self.usm_type!r})"

    def _basic(self, index: Any) -> tuple[Any, ...]:
        """The index as one that makes a view, also of a single element."""
        parts = index if isinstance(index, tuple) else (index,)
        for part in parts:
            if part is None or part is Ellipsis or isinstance(part, slice):
                continue
            try:
                if isinstance(part, (bool, np.bool_)):
                    raise TypeError
                operator.index(part)
            except TypeError:
                raise DtypeError(
                    f"index of a {type(self).__name__} must be integers, slices, ... and None, "
                    f"got {type(part).__name__}: index the copy that asnumpy() makes",
                    code="index-type",
                ) from None
        return parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)

    def _shadow(self) -> np.ndarray[Any, Any]:
        """An array for NumPy at the same address: views of it are made, and no element may be touched."""
        return numpy_view(self._fields)

    def _view(self, shadow: np.ndarray[Any, Any]) -> Self:
        strides = tuple(stride // self.itemsize for stride in shadow.strides)
        pointer = shadow.__array_interface__["data"][0]
        fields = self._fields
        return self._with(ArrayFields(pointer, shadow.shape, strides, fields.dtype, fields.readonly, fields.owner))

    def _bytes(self) -> Self:
        """The bytes from the lowest element to the end of the highest."""
        (low, high), fields = self._fields.span, self._fields
        return self._with(ArrayFields(low, (high - low,), (1,), np.dtype(np.uint8), fields.readonly, fields.owner))

    def _bytes_on_host(self) -> np.ndarray[Any, Any]:
        span = self._bytes()
        raw = np.empty(span.shape, np.uint8)
        span._load(raw)
        return raw

    def _over(self, raw: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The same array over a copy of its bytes."""
        offset = self._fields.pointer - self._fields.span[0]
        if not raw.size:
            return np.empty(self.shape, self.dtype)
        array: np.ndarray[Any, Any] = np.ndarray(self.shape, self.dtype, raw, offset, self.strides)
        return array
