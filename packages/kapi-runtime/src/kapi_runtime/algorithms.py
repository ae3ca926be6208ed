"""Algorithms over full arrays on devices: ``kapi.algorithms``.

The names are those of the C++ standard and of oneDPL.  Operators, predicates and comparisons are kapi's operators or
functions under `device_func`.  The arrays have one dimension, and are of any platform: the CPU works on NumPy's in
place, devices on theirs, on their queue, after all earlier work there.  Nothing is copied between host and device but
the counts that the docstrings name.

>>> import numpy as np, kapi_runtime as kapi
>>> kapi.algorithms.inclusive_scan(np.array([3, 1, 4, 1]))
array([3, 4, 8, 9])
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_runtime import memory
from kapi_runtime.kernels.kernel import Kernel, kernel
from kapi_runtime.platform import recorder
from kapi_runtime.platform.current import host_array_target
from kapi_runtime.platform.installed import platform_of_array
from kapi_sim import NdRange
from kapi_sim.language.intrinsics.records import is_element_dtype
from kapi_sim.language.launchables.launchable import Launchable
from kapi_sim.whole_arrays.histograms import Histograms
from kapi_sim.whole_arrays.reductions import Reductions
from kapi_sim.whole_arrays.scans import Scans
from kapi_sim.whole_arrays.segments import Segments
from kapi_sim.whole_arrays.selections import Selections
from kapi_sim.whole_arrays.sorts import Sorts
from kapi_sim.whole_arrays.world import Shape, World

__all__ = [
    "copy_if",
    "exclusive_scan",
    "histogram",
    "inclusive_scan",
    "reduce",
    "reduce_by_segment",
    "sort",
    "sort_by_key",
    "stable_sort",
    "transform_reduce",
    "unique",
]

_LOCAL = 256  # work-items of a group on a GPU
_WAVES, _SORT_WAVES = 8, 4  # groups for each unit of a GPU
_SCANNED = 4096  # pieces of a scan on a GPU: short ones, of which the last are in its cache when they are read again
_TILE_RUN, _TILE_BYTES, _SUB_GROUP = 23, 30720, 32  # where groups wait for others: NVIDIA's GPUs
_VECTOR = 64  # bytes that a core of a CPU reads at a time
_CPU_PIECES = 64  # for a CPU, whatever its cores: a result does not depend on them
_CPU_LEAST, _CPU_REDUCED = 8192, 1 << 17  # elements that are worth a piece


@dataclass(frozen=True, slots=True)
class _Device:
    """Properties of a device that decide the shapes of launches."""

    units: int
    groups_finish: bool


class Devices(World):
    """Kernels on the devices of their arrays."""

    def __init__(self) -> None:
        super().__init__()
        self._devices: dict[Any, _Device] = {}

    def kernel(self, function: Callable[..., None]) -> Kernel:
        """Make a kernel of a plain function."""
        return kernel(function)

    def launch(self, kernel: Launchable, space: NdRange, args: tuple[Any, ...]) -> None:
        """Launch on the queue of the arrays; wait for NumPy's."""
        if isinstance(args[0], np.ndarray):
            kernel.run(space, args)
        else:
            kernel.submit(space, (), args)

    def dtype_of(self, array: Any) -> np.dtype[Any] | None:
        """Return the dtype of an array."""
        dtype = getattr(array, "dtype", None)
        if isinstance(dtype, np.dtype) and hasattr(array, "shape"):
            return dtype
        platform = platform_of_array(array, "array")
        fields = None if platform is None else platform.fields(array)
        return None if fields is None else fields.dtype

    def empty(self, like: Any, extents: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return a new array of the same library; without one, of kapi's own class."""
        if isinstance(like, np.ndarray):
            return np.empty(extents, dtype)
        library = type(like).__module__.partition(".")[0]
        make = _EMPTY.get(library)
        return memory.like(like, shape=extents, dtype=dtype) if make is None else make(like, extents, dtype)

    def bits_of(self, array: Any, dtype: np.dtype[Any]) -> Any:
        """Return a view of another dtype."""
        if type(array).__module__.partition(".")[0] == "torch":
            return array.view(getattr(sys.modules["torch"], dtype.name))
        return array.view(dtype)

    def graph(self) -> Any:
        """Return the graph that is recording, or None."""
        return recorder.graph()

    def number(self, array: Any, index: int) -> int:
        """Return an integer element, which is copied to the host."""
        return int(array[index])

    def has_done(self, work: Callable[[], None], *arrays: Any) -> bool:
        """Do it where kernels would run on the CPU, over the arrays in place."""
        if recorder.graph() is not None or not all(map(_is_in_place, arrays)):
            return False
        target = host_array_target.get()
        if target is not None and not target.platform.is_host:
            return False
        if len(arrays) > 1 and np.may_share_memory(*arrays):
            return False
        from kapi_runtime.cpu.queues.queue import default_queue  # a platform, which may be absent

        queue = default_queue() if target is None else target.queue
        queue.run_here(work)
        return True

    def shape(self, array: Any, purpose: str, itemsize: int) -> Shape:
        """Return groups of one work-item with a long run for CPUs, and wide groups for GPUs."""
        if isinstance(array, np.ndarray):
            if purpose == "reduce":
                local = max(4, _VECTOR // itemsize)
                return Shape(local, _CPU_REDUCED // local, _CPU_PIECES)
            return Shape(1, 64 if purpose == "merge" else _CPU_LEAST, _CPU_PIECES)
        device = self._device_of(array)
        # A scan by tiles needs twice the local memory of one in two passes, which wide records may not find.
        is_narrow = _LOCAL * itemsize <= _TILE_BYTES
        if device.groups_finish and (purpose == "sort" or (purpose == "scan" and is_narrow)):
            return _tiles(itemsize, _WAVES * device.units)
        if purpose == "scan":
            return Shape(_LOCAL, 4, _SCANNED)
        waves = _SORT_WAVES if purpose == "sort" else _WAVES
        return Shape(_LOCAL, 8 if purpose in ("sort", "merge") else 4, waves * device.units)

    def _device_of(self, array: Any) -> _Device:
        """Return the properties of the device of an array."""
        device = getattr(array, "sycl_device", None) or getattr(array, "device", None)
        key = type(array), device if device.__hash__ else repr(device)
        found = self._devices.get(key)
        if found is None:
            platform = platform_of_array(array, "array")
            fields = None if platform is None else platform.fields(array)
            assert platform is not None  # `dtype_of` has read the array
            assert fields is not None
            queue = platform.queue_of("algorithms", [("array", fields)])
            units = platform.limits(platform.device_of(queue)).compute_units
            found = self._devices[key] = _Device(units, platform.groups_finish)
        return found


def _tiles(itemsize: int, groups: int) -> Shape:
    """Return the shape of launches whose groups wait for others.

    The elements of a tile are in registers and in local memory, of which several groups want a part. Runs in local
    memory have an odd length, so that neighbours read different banks.
    """
    run = max(1, min(_TILE_RUN, _TILE_BYTES // (_LOCAL * itemsize)))
    return Shape(_LOCAL, run - 1 + run % 2, groups, _SUB_GROUP)


def _is_in_place(array: Any) -> bool:
    """Whether a launch takes an array of NumPy as it is; if not, its own errors say why."""
    return (
        type(array) is np.ndarray
        and array.flags.aligned
        and is_element_dtype(array.dtype)
        and not array.strides[0] % array.itemsize
        and (array.strides[0] != 0 or not array.flags.writeable)
    )


def _cupy_empty(like: Any, extents: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    cupy = sys.modules["cupy"]
    if like.device.id == cupy.cuda.runtime.getDevice():
        return cupy.empty(extents, dtype)
    with like.device:
        return cupy.empty(extents, dtype)


def _torch_empty(like: Any, extents: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    torch = sys.modules["torch"]
    return torch.empty(extents, dtype=getattr(torch, dtype.name), device=like.device)


_EMPTY: dict[str, Callable[[Any, tuple[int, ...], np.dtype[Any]], Any]] = {
    "cupy": _cupy_empty,
    "torch": _torch_empty,
}

_WORLD = Devices()
_reductions, _scans, _sorts = Reductions(_WORLD), Scans(_WORLD), Sorts(_WORLD)
_selections, _segments, _histograms = Selections(_WORLD), Segments(_WORLD), Histograms(_WORLD)

reduce = _reductions.reduce
transform_reduce = _reductions.transform_reduce
inclusive_scan = _scans.inclusive_scan
exclusive_scan = _scans.exclusive_scan
sort = _sorts.sort
stable_sort = _sorts.stable_sort
sort_by_key = _sorts.sort_by_key
copy_if = _selections.copy_if
unique = _selections.unique
histogram = _histograms.histogram
reduce_by_segment = _segments.reduce_by_segment
