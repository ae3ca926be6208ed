"""Kernels that kapi's compiler made somewhere else, such as in another process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kapi_lowering import KernelModule
from kapi_runtime.build.uninterrupted_compilation import run_uninterrupted
from kapi_runtime.host.events import listed_events
from kapi_runtime.kernels.launchables import DeviceLaunchable, stand_in
from kapi_runtime.launch.arguments import Arguments, read_arguments
from kapi_runtime.launch.preparation import Prepared, compiled, prepare
from kapi_runtime.platform import recorder
from kapi_runtime.platform.current import host_array_target
from kapi_runtime.platform.handles import HostEvent
from kapi_runtime.platform.interface import BuiltKernel, Platform
from kapi_sim import DtypeError, KernelLaunchError, NdRange, Range
from kapi_sim.errors import code_of, message_of
from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.launchables.launch_parameters import parameters_for_launch
from kapi_sim.short_repr import short_repr

__all__ = ["ModuleKernel"]


class ModuleKernel(DeviceLaunchable):
    """A kernel that kapi compiled, maybe in another process; `load_spirv` makes it of a `SpirvModule`."""

    def __init__(self, module: KernelModule) -> None:
        # A tuple's members are parameters of their own, `name[0]` and so on.
        names = dict.fromkeys(each.name.partition("[")[0] for each in module.parameters)
        super().__init__(stand_in(module.name, list(names)), module.options)
        self.module = module

    def submit(
        self, space: Range | NdRange, dependent_events: Iterable[Any], given: tuple[Any, ...]
    ) -> tuple[HostEvent, Any]:
        """Launch, and return the events of `call_kernel_async`."""
        if recorder.is_watching and (graph := recorder.graph()) is not None:
            return graph.launch(self, space, given, dependent_events)
        events = self.prepared(space, given).submit(listed_events(dependent_events))
        self.count_launch()
        return events

    def prepared(self, space: Range | NdRange, given: tuple[Any, ...]) -> Prepared:
        """Validate a launch."""
        module = self.module
        names = parameters_for_launch(self.py_func, space, given)
        self.options.require_launchable(self.__name__, space)
        wanted = (Range if module.index_space == "item" else NdRange, module.ndim)
        if (type(space), space.ndim) != wanted:
            raise KernelLaunchError(
                f"index space of kernel `{self.__name__}` must be that which it was compiled for, a "
                f"{wanted[0].__name__} of {wanted[1]} dimensions, got {short_repr(space)}",
                code="compiled-for-other-space",
            )
        host_target = host_array_target.get()
        arguments = read_arguments(self.__name__, names, given, host_target)
        self._check(arguments)
        make = compiled(space, arguments, lambda platform, target, refused: module)
        return prepare(self.__name__, space, arguments, make)

    def built(self, platform: Platform, queue: Any) -> dict[str, BuiltKernel]:
        """Return its kernel for a queue's device, by its signature."""
        return {self.module.typed_ir.split("\n", 1)[0]: platform.built(self.module, queue)}

    def _module_count(self) -> int:
        return 1

    def _check(self, arguments: Arguments) -> None:
        typeof_argument, array_type = run_uninterrupted(_typing)
        expected = tuple(each.name for each in self.module.parameters)
        if arguments.names != expected:
            raise DtypeError(
                f"arguments of kernel `{self.__name__}` must be those for which it was compiled, "
                f"{', '.join(expected) or 'none'}, got {', '.join(arguments.names) or 'none'}",
                code="compiled-for-other-arguments",
            )
        for parameter, value in zip(self.module.parameters, arguments.read, strict=True):
            try:
                found = array_type(value) if isinstance(value, ArrayFields) else typeof_argument(value)
            except (DtypeError, TypeError) as error:
                raise DtypeError(
                    f"argument `{parameter.name}` of kernel `{self.__name__}`: {message_of(error)}",
                    code=code_of(error, "argument-dtype"),
                ) from error
            if str(found) != str(parameter.type):  # a module that was read from a file has only the names of types
                raise DtypeError(
                    f"argument `{parameter.name}` of kernel `{self.__name__}` must be {parameter.type}, for which it "
                    f"was compiled, got {found}",
                    code="compiled-for-other-arguments",
                )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.module,)


def _typing() -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Import the functions that type arguments; they bring Numba, which making the kernel does without."""
    from kapi_types import typeof_argument
    from kapi_types.arrays import array_type

    return typeof_argument, array_type
