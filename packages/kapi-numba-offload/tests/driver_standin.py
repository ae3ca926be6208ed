"""The double of CUDA's driver that runs kernels: each launch runs as the same kernel of the CPU platform.

The double is kapi-runtime's; its memory is the host's.  What is launched is read from the launch itself, the packed
argument of its function, so that all of the launch's own way is passed: plans, bound launches and graphs.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import kapi_runtime as kapi
from kapi_runtime.build.modules import Modules
from kapi_runtime.cuda.devices import driver
from kapi_runtime.platform.current import host_array_target
from kapi_runtime.platform.numpy_views import numpy_view
from kapi_sim import LocalAccessor
from kapi_sim.language.array_memory import ArrayFields, c_strides

__all__ = ["install"]

DRIVER: Driver | None = None
"""The double, once it is installed."""

DOUBLE = Path(__file__).parents[2] / "kapi-runtime" / "tests" / "cuda_double.py"


def _double() -> Any:
    specification = importlib.util.spec_from_file_location("cuda_double", DOUBLE)
    assert specification is not None
    assert specification.loader is not None
    module = sys.modules["cuda_double"] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


cuda_double = _double()


@dataclass(frozen=True)
class Source:
    """The kernel that a module was compiled of.

    Attributes
    ----------
    kernel : kapi_runtime.Kernel
        The same for the CPU.
    module : PtxModule
        The module.
    nested : tuple
        Arguments that it was compiled for, with the fields of each array in its place.
    """

    kernel: kapi.Kernel
    module: Any
    nested: tuple[Any, ...]


class Driver(cuda_double.Driver):  # type: ignore[misc]
    """The double, whose launches run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sources: dict[bytes, Source] = {}  # by PTX
        self.images: dict[int, bytes] = {}  # by module, and by function

    def _cuModuleLoadData(self, image: bytes) -> Any:
        given = super()._cuModuleLoadData(image)
        self.images[given[0]] = image.split(b"\n", 2)[2].rstrip(b"\0")
        return given

    def _cuModuleGetFunction(self, module: int, name: bytes) -> Any:
        given = super()._cuModuleGetFunction(module, name)
        self.images[given[0]] = self.images[module]
        return given

    def _cuLaunchKernel(self, function: int, *launch: Any) -> Any:
        submitted = len(self.launches)
        failed = super()._cuLaunchKernel(function, *launch)
        for each in self.launches[submitted:]:
            self._run(each)
        return failed

    def _cuGraphLaunch(self, executable: int, stream: int) -> None:
        for work in self.graphs[executable].values():
            if isinstance(work, cuda_double.Launch):
                self.launches.append(replace(work, stream=int(stream)))
                self._run(self.launches[-1])
            else:
                cuda_double.ctypes.memmove(*work)

    def _launch_of(self, function: int, *launch: Any) -> Any:
        self.packed_size = self.sources[self.images[function]].module.layout.size
        return super()._launch_of(function, *launch)

    def _run(self, launch: Any) -> None:
        source = self.sources[self.images[launch.function]]
        values = self._values(source.module, launch.packed)
        arguments = tuple(_filled(each, values) for each in source.nested)
        token = host_array_target.set(None)  # NumPy's arrays are the CPU's here, in every context
        try:
            kapi.call_kernel(source.kernel, self._space(source.module, launch), *arguments)
        finally:
            host_array_target.reset(token)

    def _values(self, module: Any, packed: bytes) -> Iterator[list[Any]]:
        """The packed values of each parameter, in order."""
        unpacked = list(module.layout._struct.unpack(packed))
        fields = dict(zip(module.layout.fields, unpacked, strict=True))
        for parameter in module.parameters:
            yield [fields[each] for each in module.layout.fields_of(parameter.name)]

    def _space(self, module: Any, launch: Any) -> Any:
        extents: dict[str, list[int]] = {}
        for field, value in zip(module.layout.fields, module.layout._struct.unpack(launch.packed), strict=True):
            extents.setdefault(field.role, []).append(value)
        if module.index_space == "item":
            return kapi.Range(*extents["range"])
        assert launch.entry == module.entry_point  # whose threads run one work-item each
        local = extents.get("local_range", launch.block[: module.ndim][::-1])
        groups = extents.get("group_range", launch.grid[: module.ndim][::-1])
        return kapi.NdRange(tuple(one * many for one, many in zip(local, groups, strict=True)), tuple(local))


def _filled(like: Any, values: Iterator[list[Any]]) -> Any:
    """An argument like this one with the next packed values."""
    if isinstance(like, tuple):
        items = [_filled(each, values) for each in like]
        return type(like)(*items) if hasattr(like, "_fields") else tuple(items)
    packed = next(values)
    if isinstance(like, ArrayFields):
        rank = len(like.shape)
        pointer, shape, strides = packed[0], tuple(packed[1 : 1 + rank]), tuple(packed[1 + rank :])
        return numpy_view(ArrayFields(pointer, shape, strides or c_strides(shape), like.dtype, False, None), None)
    if isinstance(like, LocalAccessor):
        return LocalAccessor(tuple(packed), like.dtype)
    return type(like)(*packed) if len(packed) == 1 else type(like)(complex(*packed))


def install(devices: int = 2) -> Driver:
    """Put the double in place of CUDA's driver, for as long as the process runs."""
    made = Driver(devices=devices, gives_addresses=False)
    driver._loaded = made
    compiled = Modules.get

    def get(self: Modules, platform: Any, space: Any, arguments: Any, target: Any, refused: Any = None) -> Any:
        module = compiled(self, platform, space, arguments, target, refused)
        if platform.name == "cuda" and module.code not in made.sources:
            kernel = kapi.Kernel(self._function, self._options)
            made.sources[module.code] = Source(kernel, module, arguments.nested)
        return module

    Modules.get = get  # type: ignore[method-assign]
    return made
