"""Device arrays of any library: what is asked of them most often."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

import numpy as np

from kapi_numba_offload.libraries.installed import library_named, library_of, library_of_platform, library_of_queue
from kapi_numba_offload.libraries.interface import ArrayLibrary, DeviceFacts
from kapi_types import is_usm_array
from kapi_types.device_arrays.libraries import library_of_class

__all__ = [
    "GUESTS",
    "Guest",
    "adopted",
    "allocate",
    "any_share_memory",
    "arrays_among",
    "device_facts",
    "flat_view",
    "guest_of",
    "host_copy",
    "is_device_array",
    "is_numpy_array",
    "is_same_view",
    "kind_of",
    "library",
    "have_disjoint_spans",
    "like",
    "may_overlap",
    "may_share_memory",
    "numpy_arrays_among",
    "queue_of",
]


@dataclass(frozen=True, slots=True)
class Guest:
    """A library of arrays on devices that another library answers for.

    - `host`: the name of that library.
    - `given_back`: makes the guest's array of the host's, over the same memory, by DLPack.
    - `is_constant`: whether its arrays never change: a function that stores into one has a copy.
    """

    host: str
    given_back: Callable[[Any], Any]
    is_constant: bool = False


def _as_torch(array: Any) -> Any:
    return importlib.import_module("torch").from_dlpack(array)


def _as_jax(array: Any) -> Any:
    return importlib.import_module("jax.dlpack").from_dlpack(array)


GUESTS = {"torch": Guest("cupy", _as_torch), "jax": Guest("cupy", _as_jax, is_constant=True)}
"""By the names that their Numba types have."""


def is_device_array(value: Any) -> TypeGuard[Any]:
    """Whether a value is an array of a library that is offloaded."""
    return library_of(value) is not None


def is_numpy_array(value: Any) -> bool:
    """Whether a value is an array of NumPy's that is on no device."""
    return isinstance(value, np.ndarray) and not is_device_array(value)


def library(array: Any) -> ArrayLibrary:
    """The library of a value that is a device array."""
    return cast(ArrayLibrary, library_of(array))


def queue_of(array: Any) -> Any:
    """The queue that orders the work with an array."""
    return library(array).queue_of(array)


def kind_of(array: Any) -> str:
    """The kind of an array's memory: "device", "shared" or "host"."""
    return library(array).kind_of(array)


def device_facts(queue: Any) -> DeviceFacts:
    """The properties of a queue's device."""
    return library_of_queue(queue).facts(queue)


def allocate(shape: tuple[int, ...], dtype: np.dtype[Any], kind: str, queue: Any) -> Any:
    """A new array on a queue, as `ArrayLibrary.allocate` makes it."""
    return library_of_queue(queue).allocate(shape, dtype, kind, queue)


def flat_view(array: Any) -> Any:
    """A C-contiguous array's elements along one axis, in the same memory."""
    return library(array).flat_view(array)


def host_copy(array: Any) -> np.ndarray[Any, Any]:
    """An array's elements in the host's memory, after all that its queue has been given."""
    return library(array).host_copy(array)


def is_same_view(first: Any, second: Any) -> bool:
    """Whether an index means the same element, of the same dtype, in both arrays."""
    return library(first).is_same_view(first, second)


def may_overlap(first: Any, second: Any) -> bool:
    """Whether two arrays share memory without being the same view of it, as `ArrayLibrary.may_overlap` tells."""
    return library(first).may_overlap(first, second)


def may_share_memory(first: Any, second: Any) -> bool:
    """Whether two arrays share memory, as the same view or otherwise."""
    return is_same_view(first, second) or may_overlap(first, second)


def have_disjoint_spans(positions: Collection[int], values: Sequence[Any]) -> bool:
    """Whether the device arrays at these positions have no byte in the reach of another one; a quick answer."""
    reaches = [(position, own.byte_bounds(each)) for position, each in enumerate(values)
               if (own := library_of(each)) is not None]  # fmt: skip
    return not any(
        low < other_high and other_low < high
        for one, (low, high) in reaches if one in positions
        for other, (other_low, other_high) in reaches if other != one
    )  # fmt: skip


def any_share_memory(values: Iterable[Any]) -> bool:
    """Whether two of the device arrays among values share memory."""
    return any(itertools.starmap(may_share_memory, itertools.combinations(arrays_among(values), 2)))


def arrays_among(values: Iterable[Any]) -> Iterator[Any]:
    """The device arrays among values, those in tuples and lists included."""
    for each in values:
        if isinstance(each, (tuple, list)):
            yield from arrays_among(each)
        elif is_device_array(each):
            yield each


def numpy_arrays_among(values: Iterable[Any]) -> Iterator[Any]:
    """The NumPy arrays among values, those in tuples and lists included."""
    for each in values:
        if isinstance(each, (tuple, list)):
            yield from numpy_arrays_among(each)
        elif is_numpy_array(each):
            yield each


def like(value: Any, items: Iterable[Any]) -> Any:
    """A tuple or list of other items; a named tuple stays one."""
    return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)


def adopted(value: Any, seen: dict[int, tuple[Any, Any]], *, may_store: bool) -> Any:
    """A value whose arrays of other classes, those in tuples and lists included, are a library's over the same memory.

    Those have the USM protocol, or are of a library in `GUESTS`.

    - `seen`: gets each array that another one stands for, with that one, by the identity of the latter.
    - `may_store`: whether an array may be stored to: one that is constant is copied then.
    """
    if isinstance(value, (tuple, list)):
        return like(value, [adopted(each, seen, may_store=may_store) for each in value])
    guest = guest_of(value)
    if is_device_array(value) or not (guest is not None or is_usm_array(value)):
        return value
    for original, view in seen.values():
        if original is value:
            return view
    host = library_of_platform("sycl") if guest is None else library_named(guest.host)
    view = host.adopted(value)
    if may_store and guest is not None and guest.is_constant:
        return view.copy()
    seen[id(view)] = value, view
    return view


def guest_of(value: Any) -> Guest | None:
    """The library of `GUESTS` that a value's array is of, the first of a tuple's, where it is on a device."""
    if isinstance(value, (tuple, list)):
        return next(filter(None, map(guest_of, value)), None)
    found = library_of_class(type(value))
    guest = None if found is None else GUESTS.get(found.name)
    return None if guest is None or found is None or found.fields(value) is None else guest
