"""Memory of the kernel language: scopes, orders, address spaces, local and private memory.

References
----------
SYCL 2020 specification, section 4.15, "Synchronization and atomics", 4.7.6.11, "Local accessor",
and 4.7.7, "Address space classes".
"""

from __future__ import annotations

import enum
import operator
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, KernelLaunchError, LimitError
from kapi_sim.language.intrinsics.outside import carry_out
from kapi_sim.language.intrinsics.records import is_kernel_dtype, unmet_requirement
from kapi_sim.short_repr import short_repr

__all__ = [
    "MAX_CONSTANT_BYTES",
    "MAX_PRIVATE_BYTES",
    "MAX_RANK",
    "AddressSpace",
    "LocalAccessor",
    "MemoryOrder",
    "MemoryScope",
    "PrivateArray",
    "constant_layout",
    "is_kernel_dtype",
]

MAX_RANK = 6
"""Axes that an array in a kernel may have."""

MAX_CONSTANT_BYTES = 1 << 15
"""Most bytes of one array that a kernel takes from outside as a constant."""

MAX_PRIVATE_BYTES = 1 << 18
"""Bytes that the private arrays of a kernel, and of what it calls, may have in all for a work-item.

They are on the work-item's stack, which is no place for more, and drivers take minutes to compile for it.
"""


class MemoryScope(enum.IntEnum):
    """The work-items that see the memory operations which a fence or an atomic orders, from few to all."""

    WORK_ITEM = 0
    SUB_GROUP = 1
    WORK_GROUP = 2
    DEVICE = 3
    SYSTEM = 4


class MemoryOrder(enum.IntEnum):
    """The memory order of a fence or an atomic."""

    RELAXED = 0
    ACQUIRE = 1
    RELEASE = 2
    ACQ_REL = 3
    SEQ_CST = 4


class AddressSpace(enum.IntEnum):
    """The address space of a memory location."""

    PRIVATE = 0
    GLOBAL = 1
    LOCAL = 3
    GENERIC = 4


def constant_layout(owner: str, shape: Any, dtype: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and dtype of local or private memory.

    Parameters
    ----------
    owner : str
        What it is asked for, as errors call it.
    shape : int or tuple of int
        Extents, in elements.
    dtype : dtype_like
        Type of the elements.

    Raises
    ------
    LimitError
        If the shape is empty, has more than six axes, or an extent is not a positive integer.
    DtypeError
        If kernels do not know the dtype.
    """
    __tracebackhide__ = True
    given = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    requirement = f"shape of {owner} must be one to six integers of at least 1, got {short_repr(shape)}"
    try:
        extents = tuple(operator.index(extent) for extent in given)
    except TypeError:
        raise LimitError(requirement, code="array-shape") from None
    if not 1 <= len(extents) <= MAX_RANK or min(extents) < 1:
        raise LimitError(requirement, code="array-shape")
    try:
        made: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise DtypeError(
            f"dtype of {owner} must name a NumPy dtype, got {short_repr(dtype)}", code="array-dtype"
        ) from None
    unmet = unmet_requirement(made)
    if unmet:
        raise DtypeError(f"dtype of {owner} {unmet}", code="array-dtype")
    return extents, made


class LocalAccessor:
    """Local memory for each work-group, passed as an argument of a launch.

    In the kernel the parameter is the group's own array, shared by its work-items.  It starts
    uninitialised for every group.

    Parameters
    ----------
    shape : int or tuple of int
        Extents, in elements; one to six axes.
    dtype : dtype_like
        Type of the elements.

    Raises
    ------
    LimitError
        If the shape is empty, has more than six axes, or an extent is not a positive integer.
    DtypeError
        If kernels do not know the dtype.

    Examples
    --------
    >>> LocalAccessor(256, "float32").nbytes
    1024
    >>> LocalAccessor((16, 0), "float32")
    Traceback (most recent call last):
      ...
    kapi_sim.errors.LimitError: shape of a LocalAccessor must be one to six integers of at least 1, got (16, 0) \
[array-shape]
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any, dtype: Any) -> None:
        __tracebackhide__ = True  # pytest shows the user's line, not this
        self._shape, self._dtype = constant_layout("a LocalAccessor", shape, dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, in elements."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def nbytes(self) -> int:
        """Memory that one work-group needs, in bytes."""
        size = self._dtype.itemsize
        for extent in self._shape:
            size *= extent
        return size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LocalAccessor):
            return NotImplemented
        return self._shape == other._shape and self._dtype == other._dtype

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype))

    def __repr__(self) -> str:
        return f"LocalAccessor({self._shape}, {self._dtype.name!r})"


class PrivateArray:
    """Memory of one work-item alone, made inside a kernel.

    It is used like an array argument, and lives as long as the work-item runs.

    Parameters
    ----------
    shape : int or tuple of int
        Extents, in elements; one to six axes.  A constant: a literal, a global or a tuple of these.
    dtype : dtype_like
        Type of the elements: a NumPy dtype or scalar type, or ``x.dtype`` of an array.
    fill_zeros : bool
        Whether the elements start as 0; else they must be written before they are read.  A constant.

    Raises
    ------
    LimitError
        In the simulator, if the shape is no constant shape. In both worlds, if the private arrays of a kernel, and of
        the functions that it calls, have more than `MAX_PRIVATE_BYTES` in all for a work-item.
    DtypeError
        In the simulator, if kernels do not know the dtype.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def reverse_rows(item: kapi.Item, a):
    ...     i = item.get_id(0)
    ...     row = kapi.PrivateArray(3, a.dtype)
    ...     for k in range(3):
    ...         row[k] = a[i, 2 - k]
    ...     for k in range(3):
    ...         a[i, k] = row[k]
    >>> a = np.arange(6).reshape(2, 3)
    >>> kapi.call_kernel(reverse_rows, kapi.Range(2), a)
    >>> a
    array([[2, 1, 0],
           [5, 4, 3]])
    """

    __slots__ = ()

    def __new__(cls, shape: int | tuple[int, ...], dtype: Any, fill_zeros: bool = False) -> PrivateArray:
        made: PrivateArray = carry_out(PrivateArray, shape, dtype, fill_zeros)
        return made

    def __getitem__(self, index: Any) -> Any:
        """Return an element."""
        raise KernelLaunchError(
            "a PrivateArray must be used inside a kernel, got a use outside of one", code="outside-kernel"
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write an element."""
        raise KernelLaunchError(
            "a PrivateArray must be used inside a kernel, got a use outside of one", code="outside-kernel"
        )
