"""Host code of a kernel, and how it is called."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from host_target.code import POSITIONS
from host_target.target import HostTarget, host_machine
from kapi_lowering import FAILURE_RECORD_SIZE, Failure, FailureRecord, KernelModule, compiled_kernel
from kapi_lowering._numba_compat import as_dtype
from kapi_lowering.emission.client import EmissionError
from kapi_sim.errors import KernelCompilationError
from kapi_sim.language import KernelOptions
from kapi_sim.language.intrinsics.records import members_of
from kapi_types import ArrayType, ItemType, NdItemType, typeof_argument
from kapi_types.kernel_api import tuple_of

__all__ = ["HostKernel", "NotOnHost", "host_kernel", "signature_of"]

_TARGET = HostTarget()
_NO_OPTIONS = KernelOptions()


class NotOnHost(Exception):
    """A kernel uses what the host lacks; the message says what."""


def _next_half(start: int, end: int) -> int:
    x, y = np.array([start, end], np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        return int(np.array([np.nextafter(x, y)]).view(np.uint16)[0])


def _narrowed(x: float) -> float:
    """The float16 of a double, in the low half of a float: that is where compiled code looks for it."""
    with np.errstate(all="ignore"):
        bits = np.array([x]).astype(np.float16).view(np.uint16).astype(np.uint32)
    return float(bits.view(np.float32)[0])


_CALLED = {
    "kapi_nextafter16": ctypes.CFUNCTYPE(ctypes.c_uint16, ctypes.c_uint16, ctypes.c_uint16)(_next_half),
    # Processors without float16 arithmetic call it, and no library of Python's process has it.
    "__truncdfhf2": ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_double)(_narrowed),
}


@cache
def _prepare() -> None:
    """Make known what compiled code calls: C's mathematics, and what stands here."""
    llvm.load_library_permanently(ctypes.util.find_library("m") or "libm.so.6")
    for name, function in _CALLED.items():
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


class HostKernel:
    """A module's kernel as a function of the host.

    Parameters
    ----------
    module : KernelModule
        For `HostTarget`.
    """

    def __init__(self, module: KernelModule) -> None:
        _prepare()
        self.module = module
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), host_machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(module.code))
        self._engine.finalize_object()
        self._local = [each for each in module.parameters if each.kind == "local"]
        types = [ctypes.c_void_p] * (1 + len(self._local))
        self._function = ctypes.CFUNCTYPE(None, *types)(self._engine.get_function_address(module.entry_point))
        self._queries: dict[str, Any] = {}
        for query, name in POSITIONS.items():
            address = self._engine.get_global_value_address(name)
            self._queries[query] = (ctypes.c_int64 * 3).from_address(address) if address else (ctypes.c_int64 * 3)()

    def __call__(
        self, extents: Sequence[int], *arguments: Any, local: Sequence[int] | None = None
    ) -> tuple[Failure, FailureRecord] | None:
        """Run once for each work-item, one after the other; NumPy arrays are changed in place.

        Parameters
        ----------
        extents : sequence of int
            Work-items on each axis.
        *arguments : object
            What the kernel takes: arrays, numbers, and of local memory what has a shape.
        local : sequence of int, optional
            Those of a work-group, for a kernel over an NdRange.

        Returns
        -------
        tuple of Failure and FailureRecord, or None
            What went wrong first in debug mode.
        """
        groups = [1] * len(extents) if local is None else [n // m for n, m in zip(extents, local, strict=True)]
        local = list(extents) if local is None else list(local)
        record = ctypes.create_string_buffer(FAILURE_RECORD_SIZE)
        leaves = list(_leaves(arguments))
        owners = {each.name: leaf for each, leaf in zip(self.module.parameters, leaves, strict=True)}
        owners |= {"range": tuple(extents), "local_range": tuple(local), "group_range": tuple(groups)}
        packed = ctypes.create_string_buffer(self._packed(owners | {"failure": ctypes.addressof(record)}))
        self._set("global_size", extents)
        self._set("local_size", local)
        self._set("group_count", groups)
        for group in itertools.product(*map(range, groups)):
            self._set("group_id", group)
            memory = [_allocated(owners[each.name], each.type) for each in self._local]
            given = [ctypes.addressof(packed), *(each.ctypes.data for each in memory)]
            for local_id in itertools.product(*map(range, local)):
                self._set("local_id", local_id)
                self._set("global_id", [g * n + k for g, n, k in zip(group, local, local_id, strict=True)])
                self._function(*given)
        found = FailureRecord.read(record.raw)
        return None if found is None else (self.module.failures[found.number], found)

    def _set(self, query: str, values: Sequence[int]) -> None:
        fill = 0 if query.endswith("_id") else 1
        self._queries[query][:] = [*reversed(values), fill, fill][:3]

    def _packed(self, owners: dict[str, Any]) -> bytes:
        taken: dict[tuple[str, str], int] = {}
        values = []
        for each in self.module.layout.fields:
            index = taken.get((each.owner, each.role), 0)
            taken[each.owner, each.role] = index + 1
            values.append(_value(owners[each.owner], each.role, index))
        return self.module.layout.pack(values)


def host_kernel(
    function: Callable[..., Any],
    ndim: int,
    arguments: Sequence[Any],
    options: KernelOptions = _NO_OPTIONS,
    optimised: bool = True,
    *,
    has_groups: bool = False,
    target: HostTarget = _TARGET,
) -> HostKernel:
    """Compile a function for NumPy arrays and numbers.

    Parameters
    ----------
    function : function
        In the kernel language.
    ndim : int
        Axes of the index space.
    arguments : sequence of object
        Those of the launch: their types count.
    options : KernelOptions
        Those of `@kernel`.
    optimised : bool
        Whether LLVM's passes run, besides those that the back end needs.
    has_groups : bool
        Whether the index space is an NdRange.
    target : HostTarget
        What to compile for.

    Raises
    ------
    NotOnHost
        If the kernel uses what the host lacks.
    """
    signature = signature_of(ndim, arguments, has_groups)
    try:
        return HostKernel(compiled_kernel(function, signature, target, options, optimised))
    except KernelCompilationError as error:
        if isinstance(error.__cause__, EmissionError):
            raise NotOnHost("; ".join(error.__cause__.problems)) from None
        raise


def signature_of(ndim: int, arguments: Sequence[Any], has_groups: bool = False) -> list[Any]:
    """Return the types of a launch's arguments, NumPy's arrays among them, with the work-item's first.

    Parameters
    ----------
    ndim : int
        Axes of the index space.
    arguments : sequence of object
        Those of the launch.
    has_groups : bool
        Whether the index space is an NdRange.
    """
    return [(NdItemType if has_groups else ItemType)(ndim), *map(_type_of, arguments)]


def _type_of(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple_of(value, tuple(map(_type_of, value)))
    if not isinstance(value, np.ndarray):
        return typeof_argument(value)
    layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
    # The type that NumPy's is to kernels.
    return ArrayType(typeof_argument(np.zeros((), value.dtype)[()]), value.ndim, layout)


def _allocated(owner: Any, type_: Any) -> np.ndarray[Any, Any]:
    """Local memory of one group, in which nothing is zero that has not been set."""
    itemsize = as_dtype(type_.dtype).itemsize
    shape = owner.shape if isinstance(owner.shape, tuple) else (owner.shape,)
    return np.full(max(1, math.prod(shape)) * itemsize, 0xA5, np.uint8)


def _value(owner: Any, role: str, index: int) -> Any:
    if role in ("range", "local_range", "group_range"):
        return owner[index]
    if role == "failure":
        return owner
    if role == "pointer":
        return owner.ctypes.data
    if role == "shape":
        return (owner.shape if isinstance(owner.shape, tuple) else (owner.shape,))[index]
    if role == "stride":
        return owner.strides[index] // owner.itemsize
    if isinstance(owner, (complex, np.complexfloating)):
        return owner.imag if index else owner.real
    return owner.item() if isinstance(owner, np.generic) else owner


def _leaves(arguments: Any) -> Iterator[Any]:
    for each in arguments:
        if isinstance(each, (tuple, np.void)):
            yield from _leaves(members_of(each) if isinstance(each, np.void) else each)
        elif each is not None and not callable(each):  # of which the kernel is specialised
            yield each
