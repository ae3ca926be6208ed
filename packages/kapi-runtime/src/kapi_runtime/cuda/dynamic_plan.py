"""Plan of launches over arrays of the same types, whatever their shapes, and over global ranges of one rank.

Native code packs shapes, strides and extents as they are at each launch, and chooses the work-group: see
`native.dynamic_launching`.  There is no such plan without native code, or for other arrays than CuPy's.  As any plan,
it packs the arguments that it was made for before it is used, and the bytes must be those of the slow path.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, Literal

from kapi_ptx import PtxModule
from kapi_runtime.cuda.devices.device import CudaDevice
from kapi_runtime.cuda.memory.arrays import cuda_fields, library_of
from kapi_runtime.cuda.native.cupy_arrays import current_stream_function, unfilled_table
from kapi_runtime.cuda.native.native_functions import cu_launch_kernel, native_functions
from kapi_runtime.cuda.native.structures import CupyTable, DynamicLaunch, DynamicRow
from kapi_runtime.cuda.plan import LIGHT, LOOK_SELDOM, fill_launch
from kapi_runtime.cuda.plan_packing import is_current, packing_function
from kapi_runtime.cuda.programs.program import CudaKernel
from kapi_runtime.cuda.programs.work_group_size import GROUP_SIZE
from kapi_runtime.cuda.queues.keep_alive import LOOK_AFTER, PlannedLaunch
from kapi_runtime.cuda.queues.native_timeline import knows_events
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.cuda.submission import COARSE_BLOCKS_ALONG_X, COARSE_BLOCKS_PER_UNIT, shared_bytes
from kapi_runtime.native.packing_source import PackingSource
from kapi_sim import LocalAccessor, NdRange, Range

__all__ = ["CudaDynamicPlan", "make_dynamic_plan"]

_LAYOUTS = {"A": 0, "C": 1, "F": 2}
_DEEPEST = -3  # of the limits along axes, the slowest of three
_PACKED = ("range", "pointer", "shape", "stride", "value")  # what native code, and `pack`, write


class CudaDynamicPlan:
    """A launch that is ready but for its arguments and index space; `make_dynamic_plan` makes it.

    - `launch`: as `DynamicPlan` says.
    - `yields_to_plans`: as `DynamicPlan` says.
    """

    __slots__ = ("_kept", "launch", "queue")

    yields_to_plans = False

    def __init__(self, queue: CudaQueue, words: DynamicLaunch, kept: tuple[Any, ...]) -> None:
        functions = native_functions()
        assert functions is not None
        self.queue, self._kept = queue, (words, kept)
        self.launch: Callable[
            [Range, tuple[Any, ...], list[Any]], tuple[PlannedLaunch, PlannedLaunch] | Literal[False] | None
        ] = partial(functions.launch_dynamic, ctypes.addressof(words))

    @property
    def device(self) -> CudaDevice:
        """The device that it launches on."""
        return self.queue.device


def make_dynamic_plan(
    kernel: CudaKernel,
    queue: CudaQueue,
    space: Range | NdRange,
    given: tuple[Any, ...],
    packed: bytes,
    local_range: Sequence[int],
) -> CudaDynamicPlan | None:
    """Return the plan of a launch that was validated, or None; see `Launcher.make_dynamic_plan`."""
    module, functions = kernel.module, native_functions() if knows_events() and cu_launch_kernel() else None
    if module is None or functions is None or queue.others or not queue.stream.is_lasting:
        return None
    if len(given) != len(module.parameters) or not module.target.is_small:
        return None
    buffer = (ctypes.c_char * len(packed)).from_buffer_copy(packed)
    found = _table_of(module, queue, given, buffer)
    if found is None:
        return None
    source, table, kept = found
    words = DynamicLaunch(
        cupy=ctypes.addressof(table), shares=not module.target.reads_apart,
        light=LIGHT, look_often=LOOK_AFTER, look_seldom=LOOK_SELDOM,
    )  # fmt: skip
    if module.is_linear or not _has_grid_of_own(words, kernel, space, local_range):
        return None
    extents = [each.offset for each in module.layout.fields if each.role == "range"]
    words.extents = ctypes.addressof(buffer) + extents[0] if extents else None
    words.shared = shared_bytes(kernel, [value for value in given if isinstance(value, LocalAccessor)])
    pack = packing_function(source, len(given)) if source.tests or source.stores else None
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
    filled = fill_launch(words, queue, ctypes.addressof(pointers), len(given), pack, LOOK_AFTER)
    plan = CudaDynamicPlan(queue, words, (kernel, buffer, pointers, table, *kept, *filled))
    accessors = {each.name for each in module.parameters if each.kind == "local"}
    for field in module.layout.fields:
        if field.role in _PACKED and field.owner not in accessors:
            ctypes.memset(ctypes.addressof(buffer) + field.offset, 0xA5, struct.calcsize("<" + field.code))
    full = space if isinstance(space, Range) else space.global_range
    is_like = functions.pack_dynamic(ctypes.addressof(words), full, given)
    return plan if is_like and bytes(buffer) == packed else None


def _table_of(
    module: PtxModule, queue: CudaQueue, given: tuple[Any, ...], buffer: Any
) -> tuple[PackingSource, CupyTable, tuple[Any, ...]] | None:
    """The source of what packs numbers, the table of arrays, and what it is made of; None if an array is not CuPy's."""
    source, rows = PackingSource(), []
    source.names["buffer"] = buffer
    for index, (parameter, value) in enumerate(zip(module.parameters, given, strict=True)):
        fields = module.layout.fields_of(parameter.name)
        if parameter.kind == "array":
            if library_of(value) != "cupy":
                return None
            seen = cuda_fields(value)
            assert seen is not None  # it was launched with
            rows.append(
                DynamicRow(
                    index=index,
                    element=id(value.dtype),
                    rank=len(seen.shape),
                    itemsize=seen.dtype.itemsize,
                    layout=_LAYOUTS[seen.layout],
                    has_strides=parameter.has_strides,
                    is_written=parameter.is_written,
                    place=ctypes.addressof(buffer) + fields[0].offset,
                )
            )
        elif parameter.kind == "local":
            source.tests.append(f"a{index} == {source.name(value)}")
        elif not source.store_number(index, value, fields):
            return None
    arrays = [given[row.index] for row in rows]
    table = unfilled_table(arrays, queue.device.ordinal, queue.handle) if rows else None
    if table is None:
        return None
    if not current_stream_function():
        source.tests.append(is_current(source, "cupy", queue))
    all_rows = (DynamicRow * len(rows))(*rows)
    table.count, table.rows = len(rows), ctypes.addressof(all_rows)
    return source, table, (all_rows, type(arrays[0]), type(arrays[0].data), [each.dtype for each in arrays])


def _has_grid_of_own(
    words: DynamicLaunch, kernel: CudaKernel, space: Range | NdRange, local_range: Sequence[int]
) -> bool:
    """Put down how a launch is cut into groups; False where `work_group_size` has more to look at."""
    size, sizes, coarse = min(GROUP_SIZE, kernel.group_size), kernel.max_work_item_sizes, kernel.coarse
    if isinstance(space, NdRange):
        words.block_x, words.block_y, words.block_z = [*reversed(local_range), 1, 1][:3]
        size = prod(local_range)
    elif size & (size - 1) or min(sizes[-2:]) < size:
        return False
    else:
        words.group_size, words.deepest = size, _power_below(sizes[_DEEPEST])
    words.rank, words.range_type, words.most_groups = len(local_range), id(Range), min(kernel.max_group_counts[:-1])
    words.own_function = int(kernel.function_for(size).native)
    if coarse is not None and size <= coarse.function.max_threads:
        words.coarse_function, words.coarse_blocks = int(coarse.function.native), coarse.blocks
        words.coarse_along_x = COARSE_BLOCKS_ALONG_X
        words.coarse_groups = COARSE_BLOCKS_PER_UNIT * kernel.device.max_compute_units
    return True


def _power_below(size: int) -> int:
    """The highest power of two that is not above."""
    return 1 << (size.bit_length() - 1)
