"""Interface to where the kernels of algorithms run, and the shape of their launches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, KernelLaunchError
from kapi_sim.language import LocalAccessor, NdRange
from kapi_sim.language.intrinsics.operators import OPERATORS
from kapi_sim.language.launchables.device_function import device_func
from kapi_sim.language.launchables.launchable import Launchable
from kapi_sim.language.launchables.specialization import is_function, specialized
from kapi_sim.short_repr import short_repr
from kapi_sim.whole_arrays.group_steps import same

__all__ = [
    "Pieces",
    "Shape",
    "World",
    "as_element",
    "converter",
    "is_group_operator",
    "known_dtype",
    "one_dimensional",
    "operator_on",
    "require_own",
    "require_room",
    "same_length",
    "scratch",
]

_MAX_KERNELS = 512

_COMBINED_BY_GROUPS = frozenset("iuf")
"""Kinds of dtypes whose built-in operators are group algorithms on every target."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Work-groups that suit a device.

    - `local`: work-items of a group; 1 where each work-item goes over a long piece alone, as a core of a CPU does best.
    - `run`: neighbouring elements that a work-item takes at a time.
    - `groups`: groups that keep the device busy.
    - `sub_group`: the least work-items of a sub-group, at most 32, where groups may wait for groups that have started
      before them; otherwise 0.
    """

    local: int
    run: int
    groups: int
    sub_group: int = 0

    @property
    def tile(self) -> int:
        """Elements that a group takes at a time."""
        return self.local * self.run


@dataclass(frozen=True, slots=True)
class Pieces:
    """An array cut into pieces of equal length, one for each work-group; the last may be shorter.

    - `count`: pieces, at least 1.
    - `length`: elements of each, a multiple of the tile.
    - `space`: a work-group for each.
    """

    count: int
    length: int
    space: NdRange

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, elements: int, shape: Shape) -> Pieces:
        """Cut an array of so many elements."""
        tiles = -(-elements // shape.tile)
        length = max(1, -(-tiles // shape.groups)) * shape.tile
        count = max(1, -(-elements // length))
        return cls(count, length, NdRange(count * shape.local, shape.local))


class World(ABC):
    """A world: the kind of arrays, and the functions that launch kernels over them."""

    def __init__(self) -> None:
        self._kernels: dict[Hashable, Launchable] = {}

    @abstractmethod
    def kernel(self, function: Callable[..., None]) -> Launchable:
        """Make a kernel of a plain function."""

    @abstractmethod
    def launch(self, kernel: Launchable, space: NdRange, args: tuple[Any, ...]) -> None:
        """Launch after all earlier work on the arrays; wait where they are the host's."""

    @abstractmethod
    def dtype_of(self, array: Any) -> np.dtype[Any] | None:
        """Return the dtype of an array that kernels take; None for anything else."""

    @abstractmethod
    def empty(self, like: Any, extents: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return a new array of the library of another, on its device and queue, from the library's own pool."""

    @abstractmethod
    def bits_of(self, array: Any, dtype: np.dtype[Any]) -> Any:
        """Return a view of an array's memory as elements of another dtype of the same size."""

    @abstractmethod
    def graph(self) -> Any:
        """Return the graph that records the launches of this thread or task, or None."""

    @abstractmethod
    def number(self, array: Any, index: int) -> int:
        """Return an integer element, after the work that computes it."""

    @abstractmethod
    def has_done(self, work: Callable[[], None], *arrays: Any) -> bool:
        """Do work of NumPy's, in its order among the launches, if these arrays are all in place and nothing records.

        Returns whether it was done; if not, kernels do it.
        """

    @abstractmethod
    def shape(self, array: Any, purpose: str, itemsize: int) -> Shape:
        """Return the shape of launches over an array.

        - `purpose`: the kind of algorithm.
        - `itemsize`: bytes of an element.
        """

    def run(self, function: Callable[..., None], space: NdRange, args: tuple[Any, ...], **constants: Any) -> Launchable:
        """Launch the kernel of a plain function whose named parameters are constants: functions, `None`, types.

        - `function`: its source is the kernel's.
        - `space`: the work-groups.
        - `args`: the other arguments.
        - `**constants`: each combination of them is a kernel of its own.
        """
        key = function, *constants.items()
        kernel = self._kernels.get(key)
        if kernel is None:
            given = [each for each in constants.values() if each is not None]
            wrong = [each for each in given if not is_function(each)]
            made = None if wrong else specialized(function, constants)
            if made is None:
                raise KernelLaunchError(
                    f"functions given to an algorithm must be device functions or operators, got "
                    f"{', '.join(short_repr(each) for each in wrong or given)}",
                    code="algorithm-function",
                )
            while len(self._kernels) >= _MAX_KERNELS:
                self._kernels.pop(next(iter(self._kernels)), None)  # which another thread may have taken
            kernel = self._kernels[key] = self.kernel(made)
        self.launch(kernel, space, args)
        return kernel


def one_dimensional(world: World, name: str, array: Any) -> np.dtype[Any]:
    """Return the dtype of an array, which must have one dimension.

    Raises `DtypeError` if it is no array, or has another rank.
    """
    dtype = world.dtype_of(array)
    if dtype is None:
        raise DtypeError(
            f"{name} must be an array that kernels take, got {short_repr(array)}: NumPy's, or one of a device",
            code="algorithm-array",
        )
    if len(array.shape) != 1:
        raise DtypeError(
            f"{name} must have one dimension, got shape {tuple(array.shape)}: give `{name}.reshape(-1)`, or one row",
            code="algorithm-array",
        )
    return dtype


def known_dtype(world: World, array: Any) -> np.dtype[Any]:
    """Return the dtype of an array that the caller has looked at."""
    dtype = world.dtype_of(array)
    assert dtype is not None
    return dtype


def same_length(name: str, array: Any, other_name: str, other: Any) -> None:
    """Raise KernelLaunchError unless two arrays have one length."""
    if array.shape[0] != other.shape[0]:
        raise KernelLaunchError(
            f"{name} must be as long as {other_name}, got {array.shape[0]} and {other.shape[0]} elements",
            code="algorithm-length",
        )


def require_room(out: Any, array: Any) -> None:
    """Raise KernelLaunchError unless one array is at least as long as another."""
    if out.shape[0] < array.shape[0]:
        raise KernelLaunchError(
            f"out must have room for all elements, got {out.shape[0]} elements for {array.shape[0]}",
            code="algorithm-length",
        )


def is_group_operator(op: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether a group algorithm combines values of a dtype by this operator."""
    return dtype.kind in _COMBINED_BY_GROUPS and any(op is each.function for each in OPERATORS)


def converter(dtype: np.dtype[Any], wanted: np.dtype[Any] | None = None) -> Any:
    """Return the function of kernels from an element to a value of a dtype; for None, numbers stay as they are.

    An element of an array of records is a reference to it, so that records are copied.
    """
    if dtype.kind == "V":
        return _record_of(dtype)
    return same if wanted is None else dtype.type


def operator_on(op: Any, dtype: np.dtype[Any]) -> Any:
    """Return an operator for elements of a dtype: that of records takes and returns values, whatever `op` returns.

    Raises `DtypeError` if it is an operator of numbers, and the elements are records.
    """
    if dtype.kind != "V":
        return op
    require_own("combined", "op", dtype, is_own=all(op is not each.function for each in OPERATORS))
    return _on_records(op, dtype) if is_function(op) else op


def require_own(done: str, name: str, dtype: np.dtype[Any], *, is_own: bool) -> None:
    """Raise DtypeError where records have no function of one's own; numbers need none."""
    if dtype.kind == "V" and not is_own:
        raise DtypeError(
            f"records must be {done} by a function of your own, got none: give a `device_func` of two records as "
            f"`{name}`",
            code="algorithm-order",
        )


@lru_cache(maxsize=256)
def _record_of(dtype: np.dtype[Any]) -> Any:
    @device_func
    def record(value: Any) -> Any:
        """The value of a record, made of an element, a value or a tuple."""
        return np.void(value, dtype)

    return record


@lru_cache(maxsize=256)
def _on_records(op: Any, dtype: np.dtype[Any]) -> Any:
    @device_func
    def combined(x: Any, y: Any) -> Any:
        """The value of a record that an operator makes of two."""
        return np.void(op(np.void(x, dtype), np.void(y, dtype)), dtype)

    return combined


def as_element(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number as an element of a dtype; a record, a vector or a tuple of its fields, as a record.

    Raises `DtypeError` if it is more than a number, and the elements are numbers.
    """
    if dtype.kind == "V":
        is_record = isinstance(value, (tuple, np.void, np.ndarray)) or not isinstance(value, Iterable)
        return np.array(value if is_record else tuple(value), dtype)[()]
    made = dtype.type(value)
    if not isinstance(made, np.generic):
        raise DtypeError(
            f"init must be a number, as elements of {dtype} are, got {short_repr(value)}: give a dtype of records as "
            "`dtype`",
            code="stored-value",
        )
    return made


@lru_cache(maxsize=256)
def scratch(dtype: np.dtype[Any], elements: int) -> LocalAccessor:
    """Return local memory for a group."""
    return LocalAccessor(elements, dtype)
