"""Arrays on the device, which the simulator keeps in host memory."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, KernelLaunchError
from kapi_sim.memory.views import poison
from kapi_sim.numba_cuda.host.stream_order import DEFAULT, Accesses, order, root_of
from kapi_sim.numba_cuda.host.streams import key_of, name_of
from kapi_sim.numba_cuda.host.uninitialized import Fresh, bounds_of
from kapi_sim.numba_cuda.host.watched_arrays import WatchedArray, plain
from kapi_sim.numba_cuda.support import refuse
from kapi_sim.numba_cuda.values.dtypes import dtype_of

__all__ = [
    "ArrayTypeError",
    "ConversionError",
    "DeviceArray",
    "Hint",
    "as_cuda_array",
    "as_host_array",
    "empty_memory",
    "is_cuda_array",
    "is_hint",
    "poisoned",
]


_alive: weakref.WeakSet[DeviceArray] = weakref.WeakSet()


class DeviceArray:
    """An array on the device, as `to_device` and `device_array` make it.

    Parameters
    ----------
    shape : int or tuple of int
        Extents.
    strides : tuple of int or None
        Bytes from one element to the next, by axis.
    dtype : dtype
        Type of the elements.
    stream : Stream or 0
        The stream of copies that are given none.
    gpu_data : object
        Memory of a driver's, which the simulator has not.

    Attributes
    ----------
    shape, strides, dtype, ndim, size, nbytes, alloc_size
        As NumPy's arrays have them.
    """

    __slots__ = ("__weakref__", "_array", "_fresh", "stream")

    __array_priority__ = 100

    def __init__(self, shape: Any, strides: Any, dtype: Any, stream: Any = 0, gpu_data: Any = None) -> None:
        if gpu_data is not None:
            refuse("MemoryPointer")
        self._keep(array := empty_memory(shape, dtype, strides, "C"), Fresh(array), stream)

    @classmethod
    def of(cls, array: np.ndarray[Any, Any], fresh: Fresh | None = None, stream: Any = 0) -> DeviceArray:
        """Return the device array of this memory.

        Parameters
        ----------
        array : numpy.ndarray
            Its memory.
        fresh : Fresh or None
            The record of the elements that are initialised; `None` if all are.
        stream : Stream or 0
            The stream of copies that are given none.
        """
        made = cls.__new__(cls)
        made._keep(array, fresh, stream)
        return made

    def _keep(self, array: np.ndarray[Any, Any], fresh: Fresh | None, stream: Any) -> None:
        self._array = array
        self._fresh = fresh
        self.stream = stream
        _alive.add(self)

    shape = property(lambda self: self._array.shape)
    strides = property(lambda self: self._array.strides)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    size = property(lambda self: self._array.size)
    itemsize = property(lambda self: self._array.itemsize)
    nbytes = property(lambda self: self._array.nbytes)
    alloc_size = property(lambda self: self._array.nbytes)
    flags = property(lambda self: self._array.flags)
    is_c_contiguous = property(lambda self: lambda: bool(self._array.flags.c_contiguous))
    is_f_contiguous = property(lambda self: lambda: bool(self._array.flags.f_contiguous))
    T = property(lambda self: self._part(self._array.T))

    @property
    def host(self) -> np.ndarray[Any, Any]:
        """The memory, as an array of NumPy's."""
        return self._array

    @property
    def fresh(self) -> Fresh | None:
        """The record of the elements that are initialised; `None` if all are."""
        return self._fresh

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        array = self._array
        return {
            "shape": array.shape,
            "strides": None if array.flags.c_contiguous else array.strides,
            "data": (array.__array_interface__["data"][0], False),
            "typestr": array.dtype.str,
            "version": 3,
            "stream": None,
        }

    def _part(self, array: np.ndarray[Any, Any]) -> DeviceArray:
        return type(self).of(array, self._fresh)

    def __len__(self) -> int:
        return len(self._array)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        made = self._array.copy()
        return made if dtype is None else made.astype(dtype)

    def __getitem__(self, index: Any) -> Any:
        return self.getitem(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.setitem(index, value)

    def getitem(self, index: Any, stream: Any = 0) -> Any:
        """Return ``array[index]``."""
        found = self._array[index]
        if isinstance(found, np.ndarray) and found.ndim:
            return type(self).of(found, self._fresh, stream or self.stream)
        self._put_copy("to the host", stream, reads=[self._element(index)])
        order.wait_for_stream(key_of(stream, self.stream))
        return found

    def setitem(self, index: Any, value: Any, stream: Any = 0) -> None:
        """Copy `value` to ``array[index]``."""
        given = as_host_array(value) if hasattr(value, "__cuda_array_interface__") else np.asarray(value)
        target = self._array[index]
        if self._array.dtype.names is None and given.ndim > np.ndim(target):
            raise ConversionError(
                f"a value of {given.ndim} axes must fit array[{index!r}], which has {np.ndim(target)}",
                code="copy-unlike",
            )
        part = self._element(index)
        self._put_copy("to the device", stream, reads=_on_device(value), writes=[part])
        self._array[index] = given
        if not stream:
            order.wait_for_stream(key_of(stream, self.stream))
        if self._fresh is not None:
            self._fresh.note_all(part)

    def _element(self, index: Any) -> np.ndarray[Any, Any]:
        """Return the part of the memory at an index, as an array of one element if it is a number."""
        full = index if isinstance(index, tuple) else (index,)
        part = self._array[full]
        if not isinstance(part, np.ndarray):
            part = self._array[tuple(slice(i, i + 1) if i != -1 else slice(i, None) for i in full)]
        return part

    def put_copy_from(self, value: Any, stream: Any) -> None:
        """Put a copy of `value` to all of this array into a stream."""
        self._put_copy("to the device", stream, _on_device(value), [self._array])
        if not hasattr(value, "__cuda_array_interface__") and key_of(stream, self.stream) == DEFAULT:
            order.wait_for_stream(DEFAULT)

    def _put_copy(
        self,
        where: str,
        stream: Any,
        reads: Sequence[np.ndarray[Any, Any]] = (),
        writes: Sequence[np.ndarray[Any, Any]] = (),
    ) -> None:
        """Put a copy of this array, to or from it, into a stream."""
        key = key_of(stream, self.stream)
        is_shared = bool(reads) and bool(writes)
        accesses = Accesses.of_copy(reads, writes) if order.follows(key, is_shared) else None
        order.put(key, f"a copy {where} on {name_of(stream, self.stream)}", accesses)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """Return a copy on the host, in `ary` if that is given.

        Parameters
        ----------
        ary : numpy.ndarray, optional
            Of the same type and shape.
        stream : Stream or 0
            Does the copy; the array's own if it is left out.
        """
        if ary is not None:
            _require_alike(ary, self._array)
        shared = _on_device(ary)
        self._put_copy("to the host", stream, [self._array], shared)
        if not shared or key_of(stream, self.stream) == DEFAULT:
            # Into memory that may be paged out, the copy is done when the call returns.
            order.wait_for_stream(key_of(stream, self.stream))
        if ary is None:
            return self._array.copy(order="K")
        np.copyto(plain(ary), self._array)
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy `ary`, which is on the host or on the device, here.

        Parameters
        ----------
        ary : array_like
            Of the same type and shape.
        stream : Stream or 0
            Does the copy; the array's own if it is left out.
        """
        is_there = hasattr(ary, "__cuda_array_interface__")
        given = as_host_array(ary) if is_there else np.asarray(plain(ary))
        _require_contiguous(self._array)
        if is_there:
            _require_contiguous(given)
            _require_order(given, self._array)
        if given.ndim and given.shape != self.shape:
            _require_alike(given, self._array)
        self.put_copy_from(ary, stream)
        self._array[...] = given
        if self._fresh is not None:
            self._fresh.note_all(self._array)

    def split(self, section: int, stream: Any = 0) -> Iterator[DeviceArray]:
        """Yield parts of so many elements each."""
        if self.ndim != 1:
            raise ConversionError(f"an array must have one axis to be split, got {self.ndim}", code="cuda-shape")
        for start in range(0, self.size, section):
            yield self[start : start + section]

    def reshape(self, *shape: Any, order: Any = "C") -> DeviceArray:
        """Return the same memory with other axes."""
        made = self._array.reshape(*shape, order=order)
        if made.size and not np.shares_memory(made, self._array):
            raise NotImplementedError("reshape must need no copy on the device, got an array that is not contiguous")
        return self._part(made)

    def ravel(self, order: Any = "C", stream: Any = 0) -> DeviceArray:
        """Return the same memory with one axis."""
        made = self._array.ravel(order=order)
        if made.size and not np.shares_memory(made, self._array):
            raise NotImplementedError("ravel must need no copy on the device, got an array that is not contiguous")
        return self._part(made)

    def bind(self, stream: Any = 0) -> DeviceArray:
        """Return the array for work on a stream."""
        return type(self).of(self._array, self._fresh, stream)

    def squeeze(self, axis: Any = None, stream: Any = 0) -> DeviceArray:
        """Return the same memory without axes of one element."""
        return self._part(self._array.squeeze(axis))

    def transpose(self, axes: Any = None) -> DeviceArray:
        """Return the elements with the axes in another order."""
        return self._part(self._array.transpose(axes))

    def view(self, dtype: Any) -> DeviceArray:
        """Return the same memory as elements of another type."""
        return self._part(self._array.view(dtype))

    def __repr__(self) -> str:
        return f"<device array of shape {self.shape}, {self.dtype}>"


def _on_device(value: Any) -> list[np.ndarray[Any, Any]]:
    """Return the memory of an array that streams work on, in a list; an empty one for other values."""
    if isinstance(value, (DeviceArray, WatchedArray)) or hasattr(value, "__cuda_array_interface__"):
        return [plain(as_host_array(value))]
    return []


class ConversionError(KernelLaunchError, ValueError):
    """Arrays do not fit each other."""


class ArrayTypeError(DtypeError):
    """Something is no array that the device can take."""


def _require_contiguous(array: np.ndarray[Any, Any]) -> None:
    low, high = bounds_of(array)
    if high - low != array.nbytes:
        raise ConversionError(
            f"an array on the device must be contiguous to be copied as a whole, got strides {array.strides}: "
            "assign to its elements, `array[...] = values`",
            code="copy-unlike",
        )


def _require_order(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> None:
    steps = [
        [step for extent, step in zip(array.shape, array.strides, strict=True) if extent > 1] for array in (one, other)
    ]
    if one.shape == other.shape and steps[0] != steps[1]:
        raise ConversionError(
            f"arrays on the device must lie alike to be copied, got strides {one.strides} and {other.strides}: assign "
            "to the elements, `array[...] = values`",
            code="copy-unlike",
        )


def _require_alike(one: Any, other: np.ndarray[Any, Any]) -> None:
    if one.dtype != other.dtype:
        raise ArrayTypeError(
            f"dtype of the copy must be {other.dtype}, got {one.dtype}: convert it with astype", code="copy-unlike"
        )
    if one.shape != other.shape:
        raise ConversionError(
            f"shape of the copy must be {other.shape}, got {one.shape}: make it of that shape", code="copy-unlike"
        )


def is_cuda_array(obj: Any) -> bool:
    """Return whether `obj` is an array on the device."""
    return hasattr(obj, "__cuda_array_interface__")


def _known(interface: dict[str, Any]) -> tuple[np.ndarray[Any, Any], Fresh | None]:
    """Return the memory of a device array that another object shows."""
    address = interface["data"][0]
    for each in list(_alive):
        owner = each.host
        low, high = bounds_of(owner) if owner.size else (0, 0)
        if low <= address < high:
            base = root_of(owner)
            full = base if base.flags.c_contiguous else base.T
            if not full.flags.c_contiguous:
                break
            shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
            if dtype.kind == "V":
                dtype = owner.dtype
            raw = full.reshape(-1).view(np.uint8)
            offset = address - raw.__array_interface__["data"][0]
            made: np.ndarray[Any, Any] = np.ndarray(shape, dtype, raw, offset, interface.get("strides"))
            return made, each.fresh
    if 0 in tuple(interface["shape"]):
        return np.empty(interface["shape"], interface["typestr"]), None
    raise DtypeError(
        f"an array must be on the host or made by kapi_sim.numba_cuda, got memory at {address:#x} of a device: "
        "pass a NumPy array",
        code="cuda-memory",
    )


def as_host_array(value: Any) -> Any:
    """Return the NumPy array that a kernel works on, or `value` if it is no array.

    Raises
    ------
    DtypeError
        If it is memory of a real device.
    """
    if isinstance(value, DeviceArray):
        return value.host
    if isinstance(value, Hint):
        return as_host_array(value.value)
    if isinstance(value, np.ndarray) or not hasattr(value, "__cuda_array_interface__"):
        return value
    made = _known(value.__cuda_array_interface__)[0]
    mask = value.__cuda_array_interface__.get("mask")
    if mask is not None:
        raise NotImplementedError("an array must have no mask, got one with a mask: pass the mask as an array")
    return made


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceArray:
    """Return a device array of the memory that `obj` shows.

    Parameters
    ----------
    obj : object
        With ``__cuda_array_interface__``.
    sync : bool
        Not looked at.
    """
    if isinstance(obj, DeviceArray):
        return obj
    if not is_cuda_array(obj):
        raise ArrayTypeError(
            f"obj must be an array on the device, got {obj!r}: use cuda.to_device", code="copy-without-array"
        )
    return DeviceArray.of(*_known(obj.__cuda_array_interface__))


class Hint:
    """An argument with what is to be copied for it.

    Parameters
    ----------
    value : array
        On the host.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def is_hint(value: object) -> bool:
    """Return whether an argument is one of `In`, `Out` and `InOut`."""
    return isinstance(value, Hint)


def empty_memory(shape: Any, dtype: Any, strides: Any, order: str) -> np.ndarray[Any, Any]:
    """Return memory of a device, poisoned: its values are not known."""
    kind = dtype_of(dtype, "a device array")
    array: np.ndarray[Any, Any] = np.empty(shape, kind, order=order)  # type: ignore[call-overload]
    if strides is not None:
        wanted = (strides,) if isinstance(strides, int) else tuple(strides)
        if wanted != array.strides:
            array = np.ndarray(array.shape, kind, np.empty(_bytes_of(array.shape, wanted, kind), np.uint8), 0, wanted)
    if kind.names is None and kind.kind != "O":
        array.view(np.ndarray)[...] = poisoned(kind)
    return array


def poisoned(kind: np.dtype[Any]) -> Any:
    """Return a value of a type that no program computes."""
    one = np.empty(1, kind)
    poison(one)
    return one[0]


def _bytes_of(shape: tuple[int, ...], strides: tuple[int, ...], kind: np.dtype[Any]) -> int:
    return sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + kind.itemsize
