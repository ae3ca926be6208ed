"""The module of a kernel for the types of its arguments: from memory, from disk, or compiled.

Numba is imported only if something has to be compiled.
"""

from __future__ import annotations

import json
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Protocol

from kapi_lowering import KernelModule, Target
from kapi_lowering.emission.client import prepare
from kapi_runtime import cache
from kapi_runtime.build.fingerprint import NoFingerprintError, compiler_fingerprint, fingerprint
from kapi_runtime.build.uninterrupted_compilation import run_uninterrupted
from kapi_runtime.platform.entry_points import package_of
from kapi_runtime.platform.interface import Platform
from kapi_sim import DtypeError, MixedTypesWarning, NdRange, Range
from kapi_sim.errors import code_of, message_of
from kapi_sim.forks import block_forks, reinit_after_fork
from kapi_sim.language import KernelOptions
from kapi_sim.log import LOGGER
from kapi_sim.progress import progress_text

if TYPE_CHECKING:
    from types import FunctionType

__all__ = ["Modules", "TypedArguments"]

_CAPACITY = 256


class TypedArguments(Protocol):
    """Arguments of a launch, as far as a compilation needs them."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The kernel's parameters after the work-item."""

    @property
    def nested(self) -> tuple[Any, ...]:
        """The arguments with the fields of each array in its place, tuples as they were given."""

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Equal for arguments of equal types."""


class Modules:
    """The modules of one kernel, one for each list of argument types; those unused the longest are forgotten.

    Threads that need the same module at once wait for the first of them to compile it.
    """

    def __init__(self, function: Any, options: KernelOptions) -> None:
        self._function: FunctionType = function
        self._options = options
        self._modules: OrderedDict[Hashable, KernelModule] = OrderedDict()
        self._from_disk: dict[int, str] = {}  # keys of modules that are held, by id
        self._lock = reinit_after_fork(threading.Lock())

    def get(
        self,
        platform: Platform,
        space: Range | NdRange,
        arguments: TypedArguments,
        target: Target,
        refused: KernelModule | None = None,
    ) -> KernelModule:
        """Return the module for arguments of these types.

        - `space`: what the kernel is launched over; its kind and rank count.
        - `refused`: what a driver refused. If it came from the disk, it is removed there and compiled anew, once.

        Raises `DtypeError` if an argument is of a type that kernels do not take; `KernelCompilationError` if the kernel
        cannot be compiled for these arguments.
        """
        key = (type(space), space.ndim, arguments.key, target)
        with block_forks(), self._lock:
            module = self._modules.get(key)
            if module is not None and module is refused and id(module) in self._from_disk:
                cache.drop(self._from_disk.pop(id(module)), "a driver refused it")
                del self._modules[key]
                module = None
            if module is None:
                module = self._modules[key] = self._from_disk_or_compiled(platform, space, arguments, target)
                while len(self._modules) > _CAPACITY:
                    _, forgotten = self._modules.popitem(last=False)
                    self._from_disk.pop(id(forgotten), None)
            else:
                self._modules.move_to_end(key)
            return module

    def values(self) -> list[KernelModule]:
        """Return the modules, the one used last at the end."""
        with self._lock:
            return list(self._modules.values())

    def _from_disk_or_compiled(
        self, platform: Platform, space: Range | NdRange, arguments: TypedArguments, target: Target
    ) -> KernelModule:
        name, start = self._function.__name__, time.perf_counter()
        try:
            digest = fingerprint(
                self._function,
                compiler_fingerprint(package_of(platform.target)),
                json.dumps([type(space).__name__, space.ndim, _plain(arguments.key)]),
                repr(self._options),
                repr(target),
                has_source_locations=self._options.checks_bounds or self._options.lineinfo,
            )
        except NoFingerprintError as error:
            cache.note_unknown(name, str(error))
            made = compile_module(platform, self._function, space, arguments, target, self._options)
            _log(f"compiled for {target.name}; not kept on disk, since it uses {error}", name, start)
            return made
        key = f"{digest}.{platform.module_suffix}"
        module = cache.load(key, platform.read_module)
        if module is None:
            module = compile_module(platform, self._function, space, arguments, target, self._options)
            cache.store(key, module, platform.write_module)
            where = "was not in the disk cache" if cache.is_on() else "the disk cache is off"
            _log(f"compiled for {target.name}; {where}", name, start)
        else:
            self._from_disk[id(module)] = key
            self._warn_of_notes(module)
            _log("found in the disk cache", name, start)
        return module

    def _warn_of_notes(self, module: KernelModule) -> None:
        """Warn as the compiler did, at the kernel's first line: since then, lines may have moved."""
        code = self._function.__code__
        for text in module.notes:
            warnings.warn_explicit(text, MixedTypesWarning, code.co_filename, code.co_firstlineno)


def compile_module(
    platform: Platform,
    function: FunctionType,
    space: Range | NdRange,
    arguments: TypedArguments,
    target: Target,
    options: KernelOptions,
) -> KernelModule:
    """Compile a kernel for arguments of these types.

    Raises `DtypeError` if an argument is of a type that kernels do not take; `KernelCompilationError` if the kernel
    cannot be compiled.
    """

    def compiled() -> KernelModule:
        prepare(target)  # the helper gets ready while Numba is imported
        from kapi_types import ItemType, NdItemType, typeof_argument

        signature: list[Any] = [ItemType(space.ndim) if isinstance(space, Range) else NdItemType(space.ndim)]
        for parameter, value in zip(arguments.parameters, arguments.nested, strict=True):
            try:
                signature.append(typeof_argument(value))
            except (DtypeError, TypeError) as error:
                raise DtypeError(
                    f"argument `{parameter}` of kernel `{function.__name__}`: {message_of(error)}",
                    code=code_of(error, "argument-dtype"),
                ) from error
        return platform.compile(function, tuple(signature), target, options)

    with progress_text(f"compiling kernel `{function.__name__}`"):
        return run_uninterrupted(compiled)


def _log(what: str, kernel: str, start: float) -> None:
    LOGGER.info("kernel `%s`: %s, %.3f s", kernel, what, time.perf_counter() - start)


def _plain(key: Any) -> Any:
    """The key of a list of arguments in JSON's terms, the same in every process."""
    if isinstance(key, tuple):
        return [_plain(each) for each in key]
    if isinstance(key, type):
        return [f"{key.__module__}.{key.__qualname__}", *getattr(key, "_fields", ())]
    return str(key)
