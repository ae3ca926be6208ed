"""`ArrayLibrary`: what offload must know of a library of device arrays.

A library answers for its arrays, and for the queues of its devices.  It is to offload what a `Platform` is to launches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_runtime.launch.overlaps import shares_memory
from kapi_sim.language.array_memory import ArrayFields, may_share

__all__ = ["ArrayLibrary", "DeviceFacts", "function_named", "has_same_steps"]


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """The properties of a device that schedules depend on.

    Attributes
    ----------
    name : str
        The device's name.
    units : int
        Its parallel compute units.
    max_work_group_size : int
        Largest work-group, in work-items.
    is_cpu : bool
        Whether it is a processor, whose work-items are lanes of vectors.
    has_host_memory : bool
        Whether its own memory is the host's.
    missing_dtypes : frozenset of str
        Names of the library's dtypes that it lacks.
    """

    name: str
    units: int
    max_work_group_size: int
    is_cpu: bool
    has_host_memory: bool
    missing_dtypes: frozenset[str] = frozenset()


def function_named(module: Any, name: str) -> Any:
    """A module's function of a name such as `sum` or `linalg.norm`; None if it has none."""
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def has_same_steps(shape: Sequence[int], strides: Sequence[int], others: Sequence[int]) -> bool:
    """Whether strides step alike along each axis that has more than one element: those of others are any."""
    return strides == others or all(
        one == other for length, one, other in zip(shape, strides, others, strict=True) if length > 1
    )


class ArrayLibrary(ABC):
    """A library of device arrays.

    Its arrays have NumPy's attributes `dtype`, `shape`, `ndim`, `size`, `nbytes`, `flags.c_contiguous`,
    `flags.f_contiguous`, the methods `astype` and `copy`, and NumPy's subscripts.

    Attributes
    ----------
    name : str
        The name of its module.
    functions : module
        Its functions, by NumPy's names for them.
    array_class : type
        The class of its arrays.
    mended : frozenset of str
        Its functions with a fault that this package mends.
    parameter_names : dict of str to str
        Its names of parameters, by NumPy's, where they differ.
    required_parameters : dict of str to dict
        By the names of functions, parameters that have a default in NumPy alone, with that.
    has_slow_reductions : bool
        Whether kernels reduce its arrays in less time than its functions.
    replays_graphs : bool
        Whether the driver of its devices replays a graph by itself, so that it takes less time than its launches.
    has_read_only_arrays : bool
        Whether it knows arrays that may not be written: `set_writable`.
    has_numpy_signatures : bool
        Whether its functions take what NumPy's take by the same names; by position as many as are at NumPy's place.
    is_host : bool
        Whether its arrays are NumPy's in the host's memory, and its launches are waited for.
    meaningless_parameters : dict of str to tuple
        Values of parameters that its functions need not be given.
    """

    name: str
    functions: Any
    array_class: type
    mended: frozenset[str] = frozenset()
    parameter_names: Mapping[str, str] = {}
    required_parameters: Mapping[str, Mapping[str, Any]] = {}
    has_slow_reductions = False
    replays_graphs = False
    has_read_only_arrays = True
    has_numpy_signatures = False
    is_host = False
    meaningless_parameters: Mapping[str, tuple[Any, ...]] = {
        "subok": (True, False), "like": (None,), "device": (None, "cpu"), "out": (None,),
    }  # fmt: skip

    # ------------------------------------------------------------------------------------------------- functions

    def function(self, name: str) -> Any:
        """The library's function of a name such as `sum` or `linalg.norm`; None if it has none."""
        return function_named(self.functions, name)

    @abstractmethod
    def creating(self, queue: Any, keywords: Mapping[str, Any]) -> AbstractContextManager[dict[str, Any]]:
        """A context in which a function makes arrays on a queue, unless its keywords say where; what they become."""

    @abstractmethod
    def copy_call(self, name: str) -> str:
        """The call that copies the NumPy array `name` to the default device, for messages."""

    @abstractmethod
    def host_copy_call(self, name: str) -> str:
        """The call that copies the device array `name` to the host, for messages."""

    # ---------------------------------------------------------------------------------------------------- queues

    @abstractmethod
    def queue_of(self, array: Any) -> Any:
        """The queue that orders the library's work with an array at present."""

    def is_on(self, array: Any, queue: Any) -> bool:
        """Whether a queue that `queue_of` gave a moment ago for another array is that of this one."""
        own = self.queue_of(array)
        return bool(own is queue or own == queue)

    @abstractmethod
    def execution_queue(self, function: str, arrays: Sequence[tuple[str, Any]]) -> Any:
        """The one queue of named arrays; ExecutionPlacementError, with their names, where they have several."""

    @abstractmethod
    def facts(self, queue: Any) -> DeviceFacts:
        """The properties of a queue's device."""

    def work_group(self, queue: Any, space: Sequence[int], has_loops: bool) -> Sequence[int] | None:
        """The work-group size that a launch over `space` gets; None where the driver chooses it."""
        return None

    # ---------------------------------------------------------------------------------------------------- memory

    @abstractmethod
    def fields(self, array: Any) -> ArrayFields:
        """Address, shape, strides in elements, dtype, and whether an array is read-only."""

    @abstractmethod
    def kind_of(self, array: Any) -> str:
        """The kind of an array's memory: "device", "shared" or "host"."""

    @abstractmethod
    def block_of(self, array: Any) -> tuple[int, int]:
        """Address and bytes of the allocation that an array is in."""

    @abstractmethod
    def layout_key(self, array: Any) -> tuple[Any, ...]:
        """Strides, dtype and kind of memory of an array, in whatever form is read fastest."""

    def pointer_of(self, array: Any) -> int:
        """The address of an array's first element."""
        return self.fields(array).pointer

    def is_writable(self, array: Any) -> bool:
        """Whether an array's elements may be stored to."""
        return not self.fields(array).readonly

    def set_writable(self, array: Any, is_writable: bool) -> None:  # noqa: B027  # a library may have no such flag
        """Let an array be written or not, where the library knows such arrays."""

    def byte_bounds(self, array: Any) -> tuple[int, int]:
        """The addresses of an array's lowest byte, and of the one after its highest."""
        fields = self.fields(array)
        if 0 in fields.shape:
            return fields.pointer, fields.pointer
        size = fields.dtype.itemsize
        steps = [(length - 1) * stride * size for length, stride in zip(fields.shape, fields.strides, strict=True)]
        low = fields.pointer + sum(step for step in steps if step < 0)
        return low, fields.pointer + sum(step for step in steps if step > 0) + size

    def has_repeated_elements(self, array: Any) -> bool:
        """Whether an axis steps nowhere, so that an element is in several places."""
        return 0 in self.fields(array).strides and array.size > 1

    def is_reachable(self, array: Any) -> bool:
        """Whether the host can read and write an array's memory where it lies."""
        return self.kind_of(array) != "device" or self.facts(self.queue_of(array)).has_host_memory

    def is_same_view(self, first: Any, second: Any) -> bool:
        """Whether an index means the same element, of the same dtype, in both arrays."""
        one, other = self.fields(first), self.fields(second)
        return (one.pointer, one.shape, one.dtype) == (other.pointer, other.shape, other.dtype) and has_same_steps(
            one.shape, one.strides, other.strides
        )

    def may_overlap(self, first: Any, second: Any) -> bool:
        """Whether two arrays share memory without being the same view of it.

        Views that lie between each other, as columns of one matrix do, share none.  Where that is too hard to tell,
        they do.
        """
        if self.is_same_view(first, second) or not (first.size and second.size):
            return False
        if not may_share(*self.byte_bounds(first), *self.byte_bounds(second)):
            return False
        return shares_memory(self.fields(first), self.fields(second))

    # ---------------------------------------------------------------------------------------------------- arrays

    @abstractmethod
    def allocator(self, shape: tuple[int, ...], dtype: np.dtype[Any], kind: str) -> Callable[[Any], Any]:
        """A function of a queue that makes C-contiguous arrays like this, their values undefined.

        The queue is one that `queue_of` gave in the same call of an offloaded function.
        """

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any], kind: str, queue: Any) -> Any:
        """A new C-contiguous array, its values undefined.

        Parameters
        ----------
        shape : tuple of int
            Elements along each axis.
        dtype : numpy.dtype
            Type of one element.
        kind : {"device", "shared", "host"}
            Kind of the memory.
        queue : object
            Whose device it belongs to.
        """
        return self.allocator(shape, dtype, kind)(queue)

    @abstractmethod
    def from_host(self, value: Any, queue: Any, kind: str = "device") -> Any:
        """A copy of a NumPy array or number, on a queue's device."""

    @abstractmethod
    def adopted(self, value: Any) -> Any:
        """An array of this library over the memory of another device array of the same platform."""

    @abstractmethod
    def flat_view(self, array: Any) -> Any:
        """A C-contiguous array's elements along one axis, in the same memory."""

    @abstractmethod
    def view_of(self, owner: Any, address: int, like: np.ndarray[Any, Any], *, writable: bool = True) -> Any:
        """The array at an address of `owner`'s memory that lies there as the NumPy array `like` lies in its own."""

    # ------------------------------------------------------------------------------------------------ host memory

    @abstractmethod
    def host_copy(self, array: Any) -> np.ndarray[Any, Any]:
        """An array's elements in the host's memory, after all that its queue has been given."""

    @abstractmethod
    def host_bytes(self, owner: Any, low: int, high: int) -> np.ndarray[Any, Any]:
        """The memory from one address to another as bytes; a copy if the host cannot reach it.

        It waits for all that the queue of the array `owner` has been given.
        """

    @abstractmethod
    def store_elements(self, array: Any, values: np.ndarray[Any, Any]) -> None:
        """Store into each element of an array what the NumPy array has there that lies in memory as it does."""

    def host_views(self, queue: Any, arrays: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Arrays whose memory the host reaches, as NumPy arrays in it, after what their queue has been given."""
        raise NotImplementedError(f"the host reaches no memory of {self.name}'s arrays")
