"""Base class of all that `call_kernel` takes on devices, and the queries that it answers."""

from __future__ import annotations

import itertools
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from keyword import iskeyword
from types import FunctionType
from typing import Any

from kapi_runtime.host.devices import find_device, platform_of_device
from kapi_runtime.host.queues import require_queue
from kapi_runtime.kernels.kernel_information import Statistics, suggested_local_range
from kapi_runtime.launch.preparation import Prepared
from kapi_runtime.platform.current import caller
from kapi_runtime.platform.interface import BuiltKernel, KernelInformation, Platform
from kapi_sim import KernelCompilationError, NdRange, Range
from kapi_sim.errors import KapiError
from kapi_sim.forks import reinit_after_fork
from kapi_sim.language import KernelOptions
from kapi_sim.language.launchables.declared_signatures import Signature
from kapi_sim.language.launchables.launchable import Launchable
from kapi_sim.language.launchables.tuning import Candidate, Tuning
from kapi_sim.short_repr import short_repr
from kapi_sim.tracebacks import shorten

__all__ = ["DeviceLaunchable", "stand_in"]


class DeviceLaunchable(Launchable):
    """A kernel that runs on devices: compiled by `@kernel`, or made elsewhere."""

    def __init__(
        self,
        py_func: Callable[..., None],
        options: KernelOptions | None = None,
        signatures: tuple[Signature, ...] = (),
    ) -> None:
        super().__init__(py_func, options, signatures)
        # One step of the interpreter, unlike an addition.
        self.count_launch: Callable[[], int] = itertools.count().__next__
        self._reads = 0
        self._reading = reinit_after_fork(threading.Lock())

    def run(self, index_space: Range | NdRange, args: tuple[Any, ...]) -> None:
        """Launch on the device of the arrays, and wait."""
        try:
            caller.waits = True
            try:
                host_event, _ = self.submit(index_space, (), args)
            finally:
                caller.waits = False
            host_event.wait()
        except KapiError as error:
            shorten(error, is_reported=True)
            raise

    @abstractmethod
    def prepared(self, space: Range | NdRange, given: tuple[Any, ...]) -> Prepared:
        """Validate a launch, and build its kernel if it is not yet."""

    @abstractmethod
    def built(self, platform: Platform, queue: Any) -> dict[str, BuiltKernel]:
        """Return each module's kernel for a queue's device, by the module's signature; for `information`."""

    def built_for(self, queue: Any) -> dict[str, Any]:
        """Return the native kernel of each module for a queue's device, such as a `dpctl.program.SyclKernel`.

        Parameters
        ----------
        queue : Queue
            Of any platform, native ones included.

        Returns
        -------
        dict of str to object
            By the module's signature.
        """
        found = require_queue(queue)
        return {name: kernel.native for name, kernel in self.built(*found).items()}

    @property
    def statistics(self) -> Statistics:
        """Numbers of launches and of compiled modules."""
        with self._reading:
            launches = self.count_launch() - self._reads  # to read it is to count
            self._reads += 1
        return Statistics(launches, self._module_count())

    def information(self, device: Any = None) -> dict[str, KernelInformation]:
        """Return what a device says of each module that was compiled for it, by the module's signature.

        Parameters
        ----------
        device : int or str or dpctl.SyclDevice, optional
            A device, as `select_device` takes it; by default the current one.

        Returns
        -------
        dict of str to KernelInformation
            Empty before the first launch.

        Raises
        ------
        DeviceNotFoundError
            If there is no such device.

        Examples
        --------
        >>> import dpnp
        >>> import kapi_runtime as kapi
        >>> @kapi.kernel
        ... def fill(item: kapi.Item, target):
        ...     target[item.get_id(0)] = 1
        >>> fill[10](dpnp.zeros(10))
        >>> information, = fill.information().values()
        >>> information.max_work_group_size == kapi.devices.current.max_work_group_size
        True
        """
        found = find_device(device)
        platform = platform_of_device(found)
        queue = platform.default_queue(found)
        return {
            name: platform.kernel_information(kernel, queue) for name, kernel in self.built(platform, queue).items()
        }

    def suggest_local_range(self, global_range: Any, device: Any = None) -> Range:
        """Return a local range that divides a global one and suits the device, and this kernel as far as it is built.

        Its last dimension is as large as it can be, for there neighbours touch neighbouring memory.  An extent
        without good divisors, such as a prime, has no good work-group: launch a multiple of 64, and guard.

        Parameters
        ----------
        global_range : Range or int or tuple of int
            The work-items of the launch.
        device : int or str or dpctl.SyclDevice, optional
            A device, as `select_device` takes it; by default the current one.

        Returns
        -------
        Range
            To be the local range of an `NdRange`.

        Raises
        ------
        DeviceNotFoundError
            If there is no such device.
        LimitError
            If `global_range` is no range.

        Examples
        --------
        >>> import kapi_runtime as kapi
        >>> @kapi.kernel
        ... def fill(item: kapi.NdItem, target):
        ...     target[item.get_global_id(0)] = 1
        >>> fill.suggest_local_range(1_000_000)
        Range(250)
        """
        chosen = find_device(device)
        if self.options.work_group_size is not None:
            fixed = self.options.work_group_size
            return Range(*fixed) if isinstance(fixed, tuple) else Range(fixed)
        known = list(self.information(chosen).values())
        limits = platform_of_device(chosen).limits(chosen)
        return suggested_local_range(global_range, limits, known, self.options.max_work_group_size)

    def _tuned(
        self, candidates: tuple[Candidate, ...], args: tuple[Any, ...], named: dict[str, Any], renew: bool
    ) -> Tuning:
        """Choose the candidate that takes least time on the device of the arrays."""
        from kapi_runtime.kernels.tuning import tuned  # launches do without it

        return tuned(self, candidates, args, named, renew)

    @abstractmethod
    def _module_count(self) -> int:
        """Number of compiled modules."""


def stand_in(name: str, parameters: Sequence[str]) -> Callable[..., None]:
    """Return a function of a kernel's name and parameters, in place of Python source that it does not have.

    The parameters may come from a file: nothing of them is evaluated, they are put into a code object as they are.

    - `parameters`: identifiers, each another one.

    Raises `KernelCompilationError` if one is no identifier, is a keyword, or comes twice.

    Examples
    --------
    >>> import inspect
    >>> inspect.signature(stand_in("scale", ["factor", "x"]))
    <Signature (item, factor, x)>
    """
    seen: set[str] = set()
    for parameter in parameters:
        if not parameter.isidentifier() or iskeyword(parameter) or parameter in seen:
            raise KernelCompilationError(
                f"name of a parameter of kernel `{name}` must be an identifier of its own, got {short_repr(parameter)}",
                code="parameter-name",
            )
        seen.add(parameter)
    first = "item"
    while first in parameters:
        first = f"_{first}"
    names = (first, *parameters)
    code = _nothing.__code__.replace(co_argcount=len(names), co_nlocals=len(names), co_varnames=names)
    function: Callable[..., None] = FunctionType(code, {}, name)
    function.__qualname__ = name
    return function


def _nothing() -> None:
    """Do nothing: the code of each stand-in."""
