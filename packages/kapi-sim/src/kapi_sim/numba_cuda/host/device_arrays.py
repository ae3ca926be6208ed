"""Arrays on the device, which the simulator keeps in host memory; and what of them nothing was written to yet."""

from __future__ import annotations

import weakref
from collections.abc import Container, Iterable, Iterator, Set
from contextlib import contextmanager
from typing import Any

import numpy as np

from kapi_sim.checks.marking import Uninitialised
from kapi_sim.errors import DtypeError, KernelLaunchError
from kapi_sim.memory.views import poison
from kapi_sim.numba_cuda.values.dtypes import dtype_of

__all__ = [
    "DeviceArray",
    "Fresh",
    "FreshArguments",
    "In",
    "InOut",
    "Out",
    "as_cuda_array",
    "as_host_array",
    "device_array",
    "device_array_like",
    "is_cuda_array",
    "is_hint",
    "managed_array",
    "mapped_array",
    "mapped_array_like",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "mapped",
    "to_device",
]


class Fresh:
    """Memory that nothing has been written to since it was allocated, element by element.

    Parameters
    ----------
    array : numpy.ndarray
        All of it.
    """

    __slots__ = ("array", "is_written", "start")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.start: int = array.__array_interface__["data"][0]
        self.is_written = np.zeros(max(array.nbytes, 1), bool)

    def note_all(self, part: np.ndarray[Any, Any]) -> None:
        """Take note that the host has written a part; of one that is a copy, all."""
        low, high = _bounds(part)
        if not np.may_share_memory(part, self.array):
            self.is_written[:] = True
            return
        if part.flags.c_contiguous or part.flags.f_contiguous:
            self.is_written[low - self.start : high - self.start] = True
            return
        for offset in _offsets(part):
            self.is_written[offset + part.__array_interface__["data"][0] - self.start] = True


def _bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return the first byte of an array's memory and the one behind its last."""
    low = high = int(array.__array_interface__["data"][0])
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides, strict=True):
        reach = (extent - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + array.itemsize


def _offsets(part: np.ndarray[Any, Any]) -> Iterable[int]:
    for index in np.ndindex(*part.shape):
        yield sum(i * step for i, step in zip(index, part.strides, strict=True))


class FreshArguments(Uninitialised):
    """The memory of a launch's arguments that may hold nothing, and what the user has marked.

    Parameters
    ----------
    fresh : list of Fresh
        Of device arrays.
    given : Uninitialised or None
        The user's.
    """

    __slots__ = ("_fresh", "_given")

    def __init__(self, fresh: list[Fresh], given: Uninitialised | None) -> None:
        super().__init__([], [])
        self._fresh = fresh
        self._given = given

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        if any(np.may_share_memory(array, each.array) for each in self._fresh):
            return True
        return self._given is not None and self._given.holds(array)

    def marked_in(self, copies: Any) -> Container[int]:
        return _Unwritten(self._fresh, None if self._given is None else self._given.marked_in(copies))

    def written_before(self, copies: Any) -> set[int]:
        return set() if self._given is None else self._given.written_before(copies)

    def note_written(self, addresses: Set[int], copies: Any) -> None:
        if self._given is not None:
            self._given.note_written(addresses, copies)
        written = np.fromiter(addresses, np.int64, len(addresses))
        for each in self._fresh:
            offsets = written - each.start
            each.is_written[offsets[(offsets >= 0) & (offsets < len(each.is_written))]] = True


class _Unwritten:
    __slots__ = ("_fresh", "_marked")

    def __init__(self, fresh: list[Fresh], marked: Container[int] | None) -> None:
        self._fresh = fresh
        self._marked = marked

    def __contains__(self, address: Any) -> bool:
        for each in self._fresh:
            if 0 <= address - each.start < len(each.is_written):
                return not each.is_written[address - each.start]
        return self._marked is not None and address in self._marked


_alive: weakref.WeakSet[DeviceArray] = weakref.WeakSet()


class DeviceArray:
    """An array on the device, as `to_device` and `device_array` make it.

    Parameters
    ----------
    array : numpy.ndarray
        Its memory.
    fresh : Fresh or None
        Where it is noted which elements hold something; `None` if all do.

    Attributes
    ----------
    shape, strides, dtype, ndim, size, nbytes, alloc_size
        As NumPy's arrays have them.
    """

    __slots__ = ("__weakref__", "_array", "_fresh", "stream")

    __array_priority__ = 100

    def __init__(self, array: np.ndarray[Any, Any], fresh: Fresh | None = None) -> None:
        self._array = array
        self._fresh = fresh
        self.stream: Any = 0
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
        """Where it is noted which elements hold something; `None` if all do."""
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
        return type(self)(array, self._fresh)

    def __len__(self) -> int:
        return len(self._array)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        made = self._array.copy()
        return made if dtype is None else made.astype(dtype)

    def __getitem__(self, index: Any) -> Any:
        found = self._array[index]
        return self._part(found) if isinstance(found, np.ndarray) and found.ndim else found

    def __setitem__(self, index: Any, value: Any) -> None:
        self.setitem(index, value)

    def getitem(self, index: Any, stream: Any = 0) -> Any:
        """Return ``array[index]``."""
        return self[index]

    def setitem(self, index: Any, value: Any, stream: Any = 0) -> None:
        """Copy `value` to ``array[index]``."""
        given = as_host_array(value) if hasattr(value, "__cuda_array_interface__") else np.asarray(value)
        target = self._array[index]
        if self._array.dtype.names is None and given.ndim > np.ndim(target):
            raise ConversionError(
                f"a value of {given.ndim} axes must fit array[{index!r}], which has {np.ndim(target)}",
                code="copy-unlike",
            )
        self._array[index] = given
        if self._fresh is not None:
            part = self._array[index if isinstance(index, tuple) else (index,)]
            if not isinstance(part, np.ndarray):
                full = index if isinstance(index, tuple) else (index,)
                part = self._array[tuple(slice(i, i + 1) if i != -1 else slice(i, None) for i in full)]
            self._fresh.note_all(part)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """Return a copy on the host, in `ary` if that is given.

        Parameters
        ----------
        ary : numpy.ndarray, optional
            Of the same type and shape.
        stream : object
            Not looked at.
        """
        if ary is None:
            return self._array.copy(order="K")
        _require_alike(ary, self._array)
        np.copyto(ary, self._array)
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy `ary`, which is on the host or on the device, here.

        Parameters
        ----------
        ary : array_like
            Of the same type and shape.
        stream : object
            Not looked at.
        """
        is_there = hasattr(ary, "__cuda_array_interface__")
        given = as_host_array(ary) if is_there else np.asarray(ary)
        _require_contiguous(self._array)
        if is_there:
            _require_contiguous(given)
            _require_order(given, self._array)
        if given.ndim and given.shape != self.shape:
            _require_alike(given, self._array)
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
        made = self._part(self._array)
        made.stream = stream
        return made

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


class ConversionError(KernelLaunchError, ValueError):
    """Arrays do not fit each other."""


class ArrayTypeError(DtypeError):
    """Something is no array that the device can take."""


def _require_contiguous(array: np.ndarray[Any, Any]) -> None:
    low, high = _bounds(array)
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
    """Tell whether `obj` is an array on the device."""
    return hasattr(obj, "__cuda_array_interface__")


def _known(interface: dict[str, Any]) -> tuple[np.ndarray[Any, Any], Fresh | None]:
    """Return the memory of a device array that another object shows."""
    address = interface["data"][0]
    for each in list(_alive):
        owner = each.host
        low, high = _bounds(owner) if owner.size else (0, 0)
        if low <= address < high:
            base = owner
            while isinstance(base.base, np.ndarray):
                base = base.base
            whole = base if base.flags.c_contiguous else base.T
            if not whole.flags.c_contiguous:
                break
            shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
            if dtype.kind == "V":
                dtype = owner.dtype
            raw = whole.reshape(-1).view(np.uint8)
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
    if isinstance(value, _Hint):
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
    return DeviceArray(*_known(obj.__cuda_array_interface__))


class _Hint:
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
    """Tell whether an argument is one of `In`, `Out` and `InOut`."""
    return isinstance(value, _Hint)


class In(_Hint):
    """A host array that a kernel only reads: what it writes to it is lost."""

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        super().__init__(value if isinstance(value, DeviceArray) else np.array(value))


class Out(_Hint):
    """A host array that a kernel only writes."""

    __slots__ = ()


class InOut(_Hint):
    """A host array that a kernel reads and writes."""

    __slots__ = ()


def _empty(shape: Any, dtype: Any, strides: Any, order: str) -> np.ndarray[Any, Any]:
    kind = dtype_of(dtype, "a device array")
    array: np.ndarray[Any, Any] = np.empty(shape, kind, order=order)  # type: ignore[call-overload]
    if strides is not None:
        wanted = (strides,) if isinstance(strides, int) else tuple(strides)
        if wanted != array.strides:
            array = np.ndarray(array.shape, kind, np.empty(_bytes_of(array.shape, wanted, kind), np.uint8), 0, wanted)
    if kind.names is None and kind.kind != "O":
        array.view(np.ndarray)[...] = _poisoned(kind)
    return array


def _poisoned(kind: np.dtype[Any]) -> Any:
    one = np.empty(1, kind)
    poison(one)
    return one[0]


def _bytes_of(shape: tuple[int, ...], strides: tuple[int, ...], kind: np.dtype[Any]) -> int:
    return sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + kind.itemsize


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceArray:
    """Return a device array that holds nothing yet: a kernel that reads of it what nothing has written is an error.

    Parameters
    ----------
    shape : int or tuple of int
        Extents.
    dtype : dtype
        Type of the elements.
    strides : tuple of int, optional
        Bytes from one element to the next, by axis.
    order : str
        ``"C"`` or ``"F"``.
    stream : object
        Not looked at.
    """
    array = _empty(shape, dtype, strides, order)
    made = DeviceArray(array, Fresh(array))
    made.stream = stream
    return made


def device_array_like(ary: Any, stream: Any = 0) -> DeviceArray:
    """Return a device array of the shape, type and order of `ary`, which holds nothing yet."""
    host = as_host_array(ary) if hasattr(ary, "__cuda_array_interface__") else np.asarray(ary)
    array = np.empty_like(host, subok=False)
    if array.dtype.names is None:
        array[...] = _poisoned(array.dtype)
    return DeviceArray(array, Fresh(array))


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: DeviceArray | None = None) -> DeviceArray:
    """Return a device array with a copy of `obj`.

    Parameters
    ----------
    obj : array_like
        On the host or on the device.
    stream : object
        Not looked at.
    copy : bool
        Whether the contents are copied; else it holds nothing yet.
    to : DeviceArray, optional
        Where they are copied to.
    """
    host = as_host_array(obj) if hasattr(obj, "__cuda_array_interface__") else np.asarray(obj)
    if to is not None:
        to.copy_to_device(host)
        return to
    if not copy:
        return device_array_like(host)
    return DeviceArray(np.array(host, copy=True, order="K", subok=False))


def _host_array(shape: Any, dtype: Any, strides: Any, order: str) -> np.ndarray[Any, Any]:
    return _empty(shape, dtype, strides, order)


class MappedArray(np.ndarray[Any, np.dtype[Any]]):
    """An array that the host and the device both reach."""


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> np.ndarray[Any, Any]:
    """Return a host array in memory that is never paged out."""
    return _host_array(shape, dtype, strides, order)


def pinned_array_like(ary: Any) -> np.ndarray[Any, Any]:
    """Return a pinned array of the shape, type and order of `ary`."""
    return np.empty_like(as_host_array(ary), subok=False)


def mapped_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    portable: bool = False,
    wc: bool = False,
) -> Any:
    """Return an array that the host and the device both reach."""
    return _host_array(shape, dtype, strides, order).view(MappedArray)


def mapped_array_like(ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False) -> Any:
    """Return a mapped array of the shape, type and order of `ary`."""
    return np.empty_like(as_host_array(ary), subok=False).view(MappedArray)


def managed_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    attach_global: bool = True,
) -> Any:
    """Return an array that moves between the host and the device as it is used."""
    return _host_array(shape, dtype, strides, order).view(MappedArray)


@contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """Do nothing for the ``with`` block: the simulator's host memory needs no pinning."""
    yield


@contextmanager
def mapped(*arylist: Any, **options: Any) -> Iterator[Any]:
    """Give the ``with`` block device arrays of the memory of these host arrays."""
    made = [DeviceArray(array) for array in arylist]
    yield made[0] if len(made) == 1 else made
