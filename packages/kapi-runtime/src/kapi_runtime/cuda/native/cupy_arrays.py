"""CuPy's arrays for native code: where they keep what, and what those of a plan must be.

CuPy publishes no C interface.  Where an array keeps shape, strides, dtype and data is therefore learned once, of arrays
that are made for it and that differ in each, and is used for the very class of these arrays.  If anything is not found
where it is expected, CuPy's arrays are read by their attributes.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from kapi_runtime.cuda.native.array_tables import LOWEST, WORD, FilledTable, filled, offset_of, word_at
from kapi_runtime.cuda.native.structures import CupyTable
from kapi_runtime.native.loading import capsule_address, capsule_name
from kapi_runtime.native.packing_source import Pair

__all__ = ["cupy_table", "current_stream_function", "learned_layout", "unfilled_table"]

_DEVICE = 0x5A5A  # of memory that is never used


def cupy_table(
    values: Sequence[tuple[int, Any]], addresses: Sequence[int], pairs: Iterable[Pair], ordinal: int, stream: int
) -> FilledTable | None:
    """Return the table of arrays like these; None if native code cannot read CuPy's arrays.

    - `values`: arrays of a launch, and which argument each is.
    - `addresses`: where the address of each is packed.
    - `pairs`: what must be apart, or one view.
    - `ordinal`: the device.
    - `stream`: the stream that must be CuPy's current one, where `current_stream_function` tells it.
    """
    table = unfilled_table([value for _, value in values], ordinal, stream)
    if table is None:
        return None
    rows = [
        {
            "index": index, "element": id(value.dtype), "rank": value.ndim, "shape": value.shape,
            "strides": value.strides, "itemsize": value.itemsize, "place": address,
        }
        for (index, value), address in zip(values, addresses, strict=True)
    ]  # fmt: skip
    first = values[0][1]
    return filled(table, rows, pairs, type(first), type(first.data), [value.dtype for _, value in values])


def unfilled_table(values: Sequence[Any], ordinal: int, stream: int) -> CupyTable | None:
    """Return a table for arrays of one class, without rows; None if native code cannot read CuPy's arrays."""
    array_type = type(values[0])
    layout = learned_layout(array_type)  # type: ignore[arg-type]  # classes are hashable
    if layout is None or any(type(value) is not array_type for value in values):
        return None
    return CupyTable(
        array_type=id(array_type),
        pointer_type=id(type(values[0].data)),
        device=ordinal,
        stream=stream,
        current_stream=current_stream_function(),
        **layout,
    )


@cache
def current_stream_function() -> int:
    """Return the address of the C function by which CuPy's own code asks for a device's stream; 0 if there is none."""
    try:
        capsule = sys.modules["cupy_backends.cuda.stream"].__pyx_capi__["get_stream_ptr"]
        return capsule_address(capsule) if capsule_name(capsule) == b"intptr_t (int)" else 0
    except Exception:  # whatever a version has changed, Python tells
        return 0


@cache
def learned_layout(array_type: type) -> dict[str, int] | None:
    """Return the offsets of what a class of CuPy's arrays keeps, by the names of `CupyTable`; None if unknown."""
    cupy = sys.modules.get("cupy")
    if cupy is None or array_type is not cupy.ndarray or not hasattr(array_type, "__pyx_vtable__"):
        return None
    try:
        return _learned(cupy)
    except Exception:  # whatever a version has changed, attributes serve
        return None


def _learned(cupy: Any) -> dict[str, int] | None:
    room = ctypes.create_string_buffer(256)
    memory = cupy.cuda.UnownedMemory(ctypes.addressof(room), 128, room, _DEVICE)
    first, later = (cupy.cuda.MemoryPointer(memory, offset) for offset in (0, 64))
    probes = [
        cupy.ndarray((2, 3, 5), "float32", memptr=first),
        cupy.ndarray((7, 2), "int16", memptr=later, strides=(8, 4)),
        cupy.ndarray((4,), "complex128", memptr=first, strides=(-16,)),
    ]
    layout = {
        "shape_at": _offset(probes, lambda probe, at: _vector(probe, at) == probe.shape),
        "strides_at": _offset(probes, lambda probe, at: _vector(probe, at) == probe.strides),
        "dtype_at": _offset(probes, lambda probe, at: _word(probe, at) == id(probe.dtype)),
        "data_at": _offset(probes, lambda probe, at: _word(probe, at) == id(probe.data)),
        "address_at": _offset([first, later], lambda probe, at: _word(probe, at) == probe.ptr),
        "device_at": _offset([first, later], lambda probe, at: _word(probe, at) & 0xFFFFFFFF == _DEVICE),
    }
    found = {name: at for name, at in layout.items() if at is not None}
    return found if len(found) == len(layout) else None


def _offset(probes: Sequence[Any], is_there: Callable[[Any, int], bool]) -> int | None:
    """The only offset at which all objects of a class have something."""
    return offset_of(probes, type(probes[0]).__basicsize__, is_there)


def _word(value: Any, at: int) -> int:
    return word_at(id(value) + at)


def _vector(value: Any, at: int) -> tuple[int, ...] | None:
    """The elements of a vector of C++ at an offset, if it can be one of as many words as the array has axes."""
    if at + 3 * WORD > type(value).__basicsize__:
        return None
    start, end, room = (_word(value, at + address * WORD) for address in range(3))
    if not (start > LOWEST and start % WORD == 0 and end - start == value.ndim * WORD and room >= end):
        return None
    return tuple((ctypes.c_ssize_t * value.ndim).from_address(start))
