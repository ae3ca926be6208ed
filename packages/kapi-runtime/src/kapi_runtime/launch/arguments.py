"""The arguments of one launch: read once, told apart by type, and packed for the compiled kernel."""

from __future__ import annotations

import math
import struct
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import dpctl
import numpy as np

from kapi_runtime.launch.host_arrays import HostArrays, Place
from kapi_runtime.launch.placement import placement_error
from kapi_runtime.sycl.dlpack import is_on_sycl_device
from kapi_runtime.sycl.queues import describe_queue, queue_of
from kapi_runtime.sycl.usm_array import copy_call, shared_array_of
from kapi_sim import DtypeError, LocalAccessor
from kapi_sim.language.usm_fields import ArrayFields, array_fields, is_usm_array
from kapi_spirv import SpirvModule

__all__ = ["Arguments", "native_arguments", "packed_arguments", "read_arguments"]


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a launch was given.

    Attributes
    ----------
    parameters : tuple of str
        The kernel's parameters after the work-item.
    names : tuple of str
        The same, with ``name[0]``, ``name[1]``, ... for what a tuple holds.
    given : tuple
        The arguments themselves.
    read : tuple
        One value for each name, with the fields of each array in its place.
    key : tuple
        What a compiled kernel depends on: equal for arguments of equal types.
    copied : HostArrays or None
        The NumPy arrays that were copied to the device, to be copied back.
    """

    parameters: tuple[str, ...]
    names: tuple[str, ...]
    given: tuple[Any, ...]
    read: tuple[Any, ...]
    key: tuple[Hashable, ...]
    copied: HostArrays | None = None

    @property
    def owners(self) -> list[tuple[str, Any]]:
        """Name and ``syclobj`` of each array."""
        return [
            (n, value.owner) for n, value in zip(self.names, self.read, strict=True) if isinstance(value, ArrayFields)
        ]

    @property
    def accessors(self) -> tuple[LocalAccessor, ...]:
        """The local memory asked for."""
        return tuple(value for value in self.read if isinstance(value, LocalAccessor))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = [value for value in self.read if isinstance(value, ArrayFields)]
        return sum(math.prod(array.shape) * array.dtype.itemsize for array in arrays)

    @property
    def nested(self) -> tuple[Any, ...]:
        """The arguments with the fields of each array in its place, tuples as they were given."""
        leaves = iter(self.read)
        return tuple(_nested(value, leaves) for value in self.given)

    def describe(self) -> str:
        """Names and types, for messages."""
        pairs = zip(self.names, self.read, strict=True)
        return ", ".join(f"{name}: {_type_name(value)}" for name, value in pairs) or "none"


def read_arguments(kernel: str, names: Sequence[str], given: Sequence[Any], place: Place | None = None) -> Arguments:
    """Read the arguments of a launch.

    Parameters
    ----------
    kernel : str
        Name of the kernel, for messages.
    names : sequence of str
        Its parameters after the work-item.
    given : sequence
        As many arguments.
    place : Place, optional
        Where NumPy arrays are moved to.

    Raises
    ------
    ExecutionPlacementError
        If one is a NumPy array, which lives on no device, and there is no place for it; or the USM arrays are
        elsewhere.
    """
    read: list[Any] = []
    key: list[Any] = []
    leaves = list(_leaves(names, given, key))
    moved = None if place is None else HostArrays(kernel, place)
    if moved is not None and any(isinstance(value, np.ndarray) for _, value in leaves):
        _require_place(kernel, leaves, moved.place)
    for name, value in leaves:
        _require_kind(kernel, name, value)
        if is_usm_array(value) or is_on_sycl_device(value):
            fields = array_fields(value if is_usm_array(value) else shared_array_of(value))
            read.append(fields)
            key.append(_array_key(fields))
        elif isinstance(value, np.ndarray):
            if moved is None:
                raise placement_error(_no_device(kernel, name, value, names, given), "array-on-host")
            fields = moved.fields(name, value)
            read.append(fields)
            key.append(_array_key(fields))
        else:
            read.append(value)
            key.append((value.dtype, value.shape) if isinstance(value, LocalAccessor) else type(value))
    flat = tuple(name for name, _ in leaves)
    copied = moved if moved is not None and moved.copies else None
    return Arguments(tuple(names), flat, tuple(given), tuple(read), tuple(key), copied)


def _leaves(names: Sequence[str], given: Sequence[Any], key: list[Any]) -> Iterator[tuple[str, Any]]:
    """Name and value of each argument or, of a tuple, of each of its members; `key` tells which tuples there are."""
    for name, value in zip(names, given, strict=True):
        if isinstance(value, tuple):
            # Fields by name, since a class may get others and keep its own.
            key.append((name, type(value), len(value), *getattr(value, "_fields", ())))
            yield from _leaves([f"{name}[{position}]" for position in range(len(value))], value, key)
        else:
            yield name, value


def packed_arguments(
    module: SpirvModule, extents: Sequence[int], arguments: Arguments, failure_address: int = 0
) -> bytes:
    """Return the packed argument that is submitted with a kernel.

    Parameters
    ----------
    module : SpirvModule
        The compiled kernel.
    extents : sequence of int
        What it says of the index space.
    arguments : Arguments
        What it was given.
    failure_address : int
        The launch's record, where the kernel has one.

    Raises
    ------
    DtypeError
        If a number does not fit its type in the kernel.
    """
    values: list[Any] = list(extents)
    for parameter, value in zip(module.parameters, arguments.read, strict=True):
        if parameter.kind == "array":
            values.append(value.pointer)
            values += value.shape
            if parameter.has_strides:
                values += value.strides
        elif parameter.kind == "local":
            values += value.shape
        else:
            number = value.item() if isinstance(value, np.generic) else value
            values += (number.real, number.imag) if isinstance(number, complex) else (number,)
    if module.failures:
        values.append(failure_address)
    try:
        return module.layout.pack(values)
    except (struct.error, OverflowError) as error:
        raise DtypeError(
            f"arguments of kernel `{module.name}` must fit their types, got {arguments.describe()}: {error}",
            code="number-unfit",
        ) from error


def native_arguments(packed: bytes, accessors: Sequence[LocalAccessor]) -> list[Any]:
    """Return what dpctl submits with a kernel: its packed argument, and its local memory."""
    return [dpctl.RawKernelArg(bytearray(packed)), *map(_local_memory, accessors)]


def _local_memory(accessor: LocalAccessor) -> Any:
    # Elements of 8 bytes serve every dtype: only the size and the alignment count.
    return dpctl.LocalAccessor("u8", (-(-accessor.nbytes // 8),))


def _nested(value: Any, leaves: Iterator[Any]) -> Any:
    if not isinstance(value, tuple):
        return next(leaves)
    members = [_nested(member, leaves) for member in value]
    return type(value)(*members) if hasattr(value, "_fields") else tuple(members)


_UNKNOWN = (type(None), str, bytes, list, dict, set, np.matrix)


def _require_kind(kernel: str, name: str, value: Any) -> None:
    """Raise for what is no argument on any device, whatever else there is."""
    if isinstance(value, np.ma.MaskedArray):
        raise DtypeError(
            f"argument `{name}` of kernel `{kernel}` must be an array without a mask, which kernels would not see, "
            f"got a MaskedArray: pass `{name}.data`, or `{name}.filled(value)`",
            code="argument-array-class",
        )
    if isinstance(value, _UNKNOWN):
        what = repr(value) if value is None or isinstance(value, str) else f"a {type(value).__name__}"
        cure = f": pass np.asarray({name})" if isinstance(value, np.ndarray) else ""
        raise DtypeError(
            f"argument `{name}` of kernel `{kernel}` must be a plain array, a number, a bool, a LocalAccessor or a "
            f"tuple of these, got {what}{cure}",
            code="argument-type",
        )
    if type(value) is int and not -(2**63) <= value < 2**64:
        raise DtypeError(
            f"argument `{name}` of kernel `{kernel}` must fit 64 bits as a Python integer, got {value}",
            code="integer-too-wide",
        )


def _array_key(fields: ArrayFields) -> tuple[Hashable, ...]:
    return fields.dtype, len(fields.shape), fields.layout, fields.readonly


def _require_place(kernel: str, leaves: Sequence[tuple[str, Any]], place: Place) -> None:
    """Raise unless the USM arrays are where the NumPy arrays are moved to."""
    host = next(name for name, value in leaves if isinstance(value, np.ndarray))
    for name, value in leaves:
        queue = queue_of(array_fields(value).owner) if is_usm_array(value) else place.queue
        if queue != place.queue:
            raise placement_error(
                f"arguments `{name}` and `{host}` of kernel `{kernel}` must share one queue, got\n"
                f"  `{name}` on {describe_queue(queue)}\n"
                f"  `{host}`, a numpy.ndarray, moved by device_context to {describe_queue(place.queue)}\n"
                f"Copy it to the other: `{host} = {copy_call(host, f'{name}.sycl_queue')}`",
                "different-queues",
            )


def _no_device(kernel: str, name: str, value: Any, names: Sequence[str], given: Sequence[Any]) -> str:
    other = next((n for n, each in zip(names, given, strict=True) if is_usm_array(each)), None)
    beside = f", while `{other}` is one on its device" if other else ""
    copied = copy_call(name, f"{other}.sycl_queue" if other else "")
    return (
        f"argument `{name}` of kernel `{kernel}` must be a USM array, got a numpy.ndarray of {value.dtype} "
        f"{value.shape}, which lives on no device{beside}.\n"
        f"Copy it there: `{name} = {copied}`; or let each launch copy: "
        "`with kapi.device_context(device): ...`"
    )


def _type_name(value: Any) -> str:
    if isinstance(value, ArrayFields):
        return f"{value.dtype} array {value.shape}"
    return repr(value) if isinstance(value, LocalAccessor) else type(value).__name__
