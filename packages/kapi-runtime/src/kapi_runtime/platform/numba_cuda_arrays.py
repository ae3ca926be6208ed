"""Methods of numba.cuda's device arrays that kapi's own and dpnp's lack, for ported programs.

References
----------
numba.cuda's reference, "Memory Management", "Device Objects".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kapi_runtime.platform.installed import platform_of_array
from kapi_runtime.platform.numpy_views import numpy_view
from kapi_sim.errors import DtypeError, KernelLaunchError
from kapi_sim.short_repr import short_repr

__all__ = ["HostReadableArray", "NumbaCudaArray", "wait_for_stream"]


def wait_for_stream(stream: Any) -> None:
    """Wait for the work of a stream argument of numba.cuda's, whose default 0 names none.

    Raises `KernelLaunchError` if it is neither 0 nor a queue.
    """
    if isinstance(stream, int) and stream == 0:
        return
    if not hasattr(stream, "synchronize"):
        raise KernelLaunchError(
            f"stream must be 0 or a queue of a device, got {short_repr(stream)}: `stream()` makes one", code="no-queue"
        )
    stream.synchronize()


class NumbaCudaArray:
    """A device array with the methods of numba.cuda's ``DeviceNDArray``.

    Copies wait for the array's own work and for that of `stream`, and the host waits for them: what numba.cuda's reader
    finds after ``stream.synchronize()`` is there at once.
    """

    __slots__ = ()

    def copy_to_host(self, ary: np.ndarray[Any, Any] | None = None, stream: Any = 0) -> np.ndarray[Any, Any]:
        """Copy the array to the host.

        - `ary`: what is written, of the same shape and type; by default a new array.
        - `stream`: whose work comes before.

        Returns `ary`, or the new array. Raises `DtypeError` if `ary` has another shape or type.
        """
        wait_for_stream(stream)
        platform = platform_of_array(self, "array")
        assert platform is not None  # it is an array of one
        if ary is not None:
            self._require_alike("ary of copy_to_host", ary)
        host = platform.to_host(self)
        if ary is None:
            return host
        ary[...] = host
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy an array of the host or of a device to this one.

        - `ary`: of the same shape and type.
        - `stream`: whose work comes before.

        Raises `DtypeError` if `ary` has another shape or type.
        """
        wait_for_stream(stream)
        theirs = platform_of_array(ary, "ary of copy_to_device")
        source = np.asarray(ary) if theirs is None else ary
        self._require_alike("ary of copy_to_device", source)
        if theirs is not None and theirs is not platform_of_array(self, "array"):
            source = theirs.to_host(source)
        self._copy_all(source)

    def is_c_contiguous(self) -> bool:
        """Whether the elements are in C's order without gaps."""
        return bool(self._array.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        """Whether the elements are in Fortran's order without gaps."""
        return bool(self._array.flags.f_contiguous)

    def split(self, section: int, stream: Any = 0) -> Iterator[Any]:
        """Yield views of `section` elements each, in order; the last may be shorter.

        - `section`: elements of a part.
        - `stream`: not needed: parts share the memory, and nothing is copied.

        Raises `DtypeError` if the array has more than one axis.
        """
        if len(self._array.shape) != 1:
            raise DtypeError(
                f"array must have one axis to be split, got shape {self._array.shape}: split `array.ravel()`",
                code="memory-shape",
            )
        return (self._array[start : start + section] for start in range(0, self._array.shape[0], section))

    @property
    def _array(self) -> Any:
        return self

    def _copy_all(self, source: Any) -> None:
        """Copy an array of the host, or of this one's platform, of the same shape and type."""
        self._array[...] = source

    def _require_alike(self, what: str, other: Any) -> None:
        mine, its = ((tuple(each.shape), np.dtype(each.dtype)) for each in (self._array, other))
        if mine != its:
            raise DtypeError(
                f"{what} must have the shape and the type of the array, {mine[0]} of {mine[1]}, got {its[0]} of "
                f"{its[1]}: copy an array that is made like it",
                code="copy-unlike",
            )


class HostReadableArray(np.ndarray[Any, Any]):
    """A NumPy array in memory that kernels use as well: what ``mapped_array`` and ``managed_array`` make.

    The host waits for kernels before it reads or writes, as by ``synchronize()``.  Views of it are such arrays, too; a
    copy is NumPy's alone.

    - `kapi_memory`: the memory that it is in; None of a copy.
    """

    kapi_memory: Any = None

    @classmethod
    def of(cls, memory: Any) -> HostReadableArray:
        """Return the bytes of a `KapiArray` in shared or host memory."""
        array: HostReadableArray = numpy_view(memory.fields, memory).view(cls)
        array.kapi_memory = memory
        return array

    @property
    def device_array(self) -> Any:
        """The `KapiArray` of the same elements; None of a copy."""
        return None if self.kapi_memory is None else self.kapi_memory.over(self)

    @property
    def usm_type(self) -> str:
        """The kind of memory, as that of device arrays: "shared" or "host"; empty of a copy, which is NumPy's."""
        return "" if self.kapi_memory is None else str(self.kapi_memory.usm_type)

    def __array_finalize__(self, parent: Any) -> None:
        memory = getattr(parent, "kapi_memory", None)
        self.kapi_memory = memory if memory is not None and _is_inside(self, memory) else None

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if array is self:  # what was computed is in place
            return array
        return array[()] if return_scalar else np.asarray(array)

    def __getattr__(self, name: str) -> Any:
        # Objects have the protocol of device arrays, and the class has not: a copy is no device array.
        memory = self.kapi_memory
        if memory is not None and name == memory.protocol:
            return getattr(self.device_array, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def copy_to_host(self, ary: np.ndarray[Any, Any] | None = None, stream: Any = 0) -> np.ndarray[Any, Any]:
        """Return a copy after the work of `stream` and of the array's queue, in `ary` if there is one."""
        wait_for_stream(stream)
        self._finish()
        if ary is None:
            return np.array(self, subok=False)
        ary[...] = self
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy an array of the host or of a device to this one, after the work of `stream` and of its queue."""
        wait_for_stream(stream)
        self._finish()
        theirs = platform_of_array(ary, "ary of copy_to_device")
        self[...] = ary if theirs is None else theirs.to_host(ary)

    def split(self, section: int, stream: Any = 0) -> Iterator[Any]:
        """Yield views of `section` elements each, in order; the last may be shorter."""
        return (self[start : start + section] for start in range(0, len(self), section))

    def is_c_contiguous(self) -> bool:
        """Whether the elements are in C's order without gaps."""
        return bool(self.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        """Whether the elements are in Fortran's order without gaps."""
        return bool(self.flags.f_contiguous)

    def _finish(self) -> None:
        """Wait for the work of the queue that the memory belongs to."""
        platform = platform_of_array(self, "array")
        fields = None if platform is None else platform.fields(self)
        if platform is not None and fields is not None:
            platform.wait_for(platform.queue_of("copy", [("array", fields)]))


def _is_inside(array: np.ndarray[Any, Any], memory: Any) -> bool:
    """Whether the elements of an array are in memory of kapi's."""
    if not array.size:
        return True
    (low, high), (start, end) = np.lib.array_utils.byte_bounds(array), memory.span
    return bool(start <= low and high <= end)
