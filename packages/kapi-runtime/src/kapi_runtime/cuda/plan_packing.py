"""Packing of the arguments of launches like one; others are refused.

Native code reads the arrays of the libraries that it knows, by tables.  All else is read by a function that is written
for the launch, in Python, since a loop over rows of what is to be checked takes twice as long.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kapi_ptx import PtxModule
from kapi_runtime.cuda.memory.arrays import cuda_fields, library_of
from kapi_runtime.cuda.native.array_tables import FilledTable
from kapi_runtime.cuda.native.cupy_arrays import cupy_table, current_stream_function
from kapi_runtime.cuda.native.torch_tensors import learned_layout, torch_table
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.native.packing_source import PackingSource, Pair, written_pairs
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["Packing", "is_current", "packing_function", "packing_of"]


class Packing(NamedTuple):
    """Function and tables that pack the arguments of a launch.

    - `function`: packs what the tables do not, and is False for arguments that are none of the launch; None if that is
      nothing.
    - `cupy`, `torch`: tables by which native code reads arrays and packs their addresses.
    """

    function: Callable[[tuple[Any, ...]], bool] | None
    cupy: FilledTable | None = None
    torch: FilledTable | None = None


def packing_of(
    module: PtxModule, queue: CudaQueue, given: tuple[Any, ...], buffer: Any, is_native: bool
) -> Packing | None:
    """Return what packs arguments like these, and refuses others; None if there is no such thing.

    - `given`: the arguments of a launch.
    - `buffer`: the packed argument of that launch, which is written.
    - `is_native`: whether native code is to read all arrays.
    """
    source = PackingSource()
    words = memoryview(buffer).cast("B").cast("Q")
    source.names |= {"words": words, "buffer": buffer}
    arrays: list[tuple[int, ArrayFields, bool]] = []
    offsets: list[int] = []
    libraries: set[str] = set()
    packed_fields = {each.name: module.layout.fields_of(each.name) for each in module.parameters}
    for index, (parameter, value) in enumerate(zip(module.parameters, given, strict=True)):
        if parameter.kind == "array":
            read = _READ.get(library_of(value))
            if read is None:
                return None
            fields = cuda_fields(value)
            assert fields is not None  # it was launched with
            libraries.add(library_of(value))
            arrays.append((index, fields, parameter.is_written))
            offsets.append(packed_fields[parameter.name][0].offset)
            if not is_native:
                read(source, index, value, fields)
                source.stores.append(f"words[{offsets[-1] // 8}] = p{index}")
        elif parameter.kind == "local":
            source.tests.append(f"a{index} == {source.name(value)}")
        elif not source.store_number(index, value, packed_fields[parameter.name]):
            return None
    if not arrays:
        return None  # where it goes is asked of the `device_context`
    pairs = list(written_pairs(arrays, module.target.reads_apart))
    if is_native:
        return _packing_natively(source, queue, given, arrays, offsets, pairs, buffer)
    for library in libraries:
        source.tests.append(is_current(source, library, queue))
    _require_disjoint(source, pairs)
    return Packing(packing_function(source, len(given)))


def _packing_natively(
    source: PackingSource,
    queue: CudaQueue,
    given: tuple[Any, ...],
    arrays: Sequence[tuple[int, ArrayFields, bool]],
    offsets: Sequence[int],
    pairs: Sequence[Pair],
    buffer: Any,
) -> Packing | None:
    """Tables of the arrays of each library, and a function for the rest; None if native code cannot read an array."""
    start, ordinal = ctypes.addressof(buffer), queue.device.ordinal
    address_of = {index: start + offset for (index, _, _), offset in zip(arrays, offsets, strict=True)}
    of_libraries = {
        library: [(index, given[index]) for index, _, _ in arrays if library_of(given[index]) == library]
        for library in _READ
    }
    named = [each._replace(first=address_of[each.first], second=address_of[each.second]) for each in pairs]
    cupy = torch = None
    if values := of_libraries["torch"]:
        addresses = [address_of[index] for index, _ in values]
        torch = torch_table(values, addresses, named, ordinal, queue.handle)
        named = []  # it is the last table, which finds all addresses packed
        if torch is None:
            return None
        if learned_layout(type(values[0][1])) is None:  # type: ignore[arg-type]  # classes are hashable
            complex_ones = {index for index, fields, _ in arrays if fields.dtype.kind == "c"}
            source.tests += [_holds_its_values(index, index in complex_ones) for index, _ in values]
    if values := of_libraries["cupy"]:
        addresses = [address_of[index] for index, _ in values]
        cupy = cupy_table(values, addresses, named, ordinal, queue.handle)
        if cupy is None:
            return None
        if not current_stream_function():
            source.tests.append(is_current(source, "cupy", queue))
    has_more = source.tests or source.stores
    return Packing(packing_function(source, len(given)) if has_more else None, cupy, torch)


def packing_function(source: PackingSource, count: int) -> Callable[[tuple[Any, ...]], bool]:
    """The function of a launch's arguments that makes the tests and stores of a source."""
    arguments = ", ".join(f"a{index}" for index in range(count))
    lines = [
        "def pack(given):",
        f"    if len(given) != {count}: return False",
        f"    {arguments}, = given",
        "    try:",
        *(f"        if not ({test}): return False" for test in source.tests),
        *(f"        {store}" for store in source.stores),
        "    except (error, OverflowError, AttributeError): return False",
        "    return True",
    ]
    pack: Callable[[tuple[Any, ...]], bool] = source.function(lines)
    return pack


def _read_cupy(source: PackingSource, index: int, value: Any, fields: ArrayFields) -> None:
    a = f"a{index}"
    source.tests += [
        f"type({a}) is {source.name(type(value))}",
        f"{a}.shape == {source.name(value.shape)}",
        f"{a}.strides == {source.name(value.strides)}",
        f"{a}.dtype is {source.name(value.dtype)}",
        f"(d{index} := {a}.data).device_id == {fields.owner.ordinal}",
        f"(p{index} := d{index}.ptr) % {fields.dtype.itemsize} == 0",
    ]


def _read_torch(source: PackingSource, index: int, value: Any, fields: ArrayFields) -> None:
    a = f"a{index}"
    source.tests += [
        f"type({a}) is {source.name(type(value))}",
        f"{a}.shape == {source.name(value.shape)}",
        f"{a}.stride() == {source.name(value.stride())}",
        f"{a}.dtype is {source.name(value.dtype)}",
        f"{a}.get_device() == {fields.owner.ordinal}",
        _holds_its_values(index, fields.dtype.kind == "c"),
        f"(p{index} := {a}.data_ptr()) % {fields.dtype.itemsize} == 0",
    ]


def _holds_its_values(index: int, is_complex: bool) -> str:
    """A check that nothing is recorded for a tensor's gradient, and that its memory holds its values."""
    conjugated = f" or a{index}.is_conj()" if is_complex else ""
    return f"not (a{index}.requires_grad or a{index}.is_neg(){conjugated})"


_READ: dict[str, Callable[[PackingSource, int, Any, ArrayFields], None]] = {"cupy": _read_cupy, "torch": _read_torch}


def is_current(source: PackingSource, library: str, queue: CudaQueue) -> str:
    """A check that the current stream of a library is a queue's."""
    return f"{_stream(source, library, queue.device.ordinal)} == {queue.handle}"


def _stream(source: PackingSource, library: str, ordinal: int) -> str:
    """The expression of a library's current stream handle; 0 is 1 by its other name."""
    if library == "cupy":
        return f"({source.name(sys.modules['cupy'].cuda.get_current_stream)}({ordinal}).ptr or 1)"
    torch = sys.modules["torch"]
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # the handle alone: a tenth of the time
    if raw is not None:
        return f"({source.name(raw)}({ordinal}) or 1)"
    return f"({source.name(torch.cuda.current_stream)}({ordinal}).cuda_stream or 1)"


def _require_disjoint(source: PackingSource, pairs: Sequence[Pair]) -> None:
    """Let the arrays of each pair be as `written_pairs` says."""
    for i, j, (low, high), (low_other, high_other), may_be_one, distance in pairs:
        tests = [
            f"p{i} + {high} <= p{j} + {low_other}", f"p{j} + {high_other} <= p{i} + {low}", f"p{j} - p{i} == {distance}"
        ]  # fmt: skip
        if may_be_one:
            tests.append(f"p{i} == p{j}")
        source.tests.append(" or ".join(tests))
