"""numba.cuda's programs, as a dialect of the kernel language."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from enum import Enum
from types import FunctionType
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, KernelLaunchError
from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.intrinsics.index_space import NdRange, Range
from kapi_sim.memory.arguments import Bound
from kapi_sim.memory.dialect import Dialect
from kapi_sim.memory.views import View
from kapi_sim.numba_cuda.cg import GridGroup, grid_sync
from kapi_sim.numba_cuda.host.device_arrays import as_host_array
from kapi_sim.numba_cuda.launches.call_rewriter import with_library_calls
from kapi_sim.numba_cuda.launches.device_signatures import converting, with_declared_types
from kapi_sim.numba_cuda.launches.unset_variables import has_unset_variables, with_unset_variables
from kapi_sim.numba_cuda.threads.running import CudaClock, begin
from kapi_sim.numba_cuda.values.dtypes import conversion_of
from kapi_sim.numba_cuda.values.views import (
    CudaView,
    NarrowCudaView,
    OwnedCudaView,
    OwnedNarrowCudaView,
    TracedCudaView,
    TracedNarrowCudaView,
)

__all__ = ["CUDA"]

WARP_SIZE = 32


class CudaDialect(Dialect):
    """Kernels without a work-item of their own, whose words know which thread runs."""

    has_item = False
    is_strict = False
    has_recursion = True
    is_always_viewed = True
    marks_returns = True
    fences_cross_barriers = True
    converging_methods = frozenset({"sync"})

    def clock(self, space: Range | NdRange, sub_group_size: int) -> ScheduleState:
        # Whatever the profile: a warp is one of 32.
        return CudaClock(space, WARP_SIZE)

    def parameters(self, function: Callable[..., Any], space: Range | NdRange, args: tuple[Any, ...]) -> list[str]:
        code = function.__code__
        names = list(code.co_varnames[: code.co_argcount])
        if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount:
            if not code.co_flags & inspect.CO_VARARGS:
                raise KernelLaunchError(
                    f"kernel `{function.__name__}` must have plain parameters only, got ** or keyword-only ones",
                    code="kernel-parameters",
                )
            star = code.co_varnames[code.co_argcount]
            return [*names, *(f"{star}[{i}]" for i in range(len(args) - len(names)))]
        if len(args) != len(names):
            is_left_out = len(args) < len(names) and function.__defaults__
            hint = ": numba.cuda has no defaults for a kernel's arguments" if is_left_out else ""
            raise ArgumentCountError(
                f"kernel `{function.__name__}` must be launched with {len(names)} arguments ({', '.join(names)}), "
                f"got {len(args)}{hint}",
                code="argument-count",
            )
        return names

    def argument(self, value: Any) -> Any:
        if isinstance(value, np.integer) and not isinstance(value, (np.uint64, np.timedelta64)):
            return int(value)
        if isinstance(value, tuple):
            parts = [self.argument(each) for each in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if isinstance(value, (np.generic, int, float, complex)) or value is None:
            return value
        return as_host_array(value)

    def is_dtype(self, dtype: np.dtype[Any]) -> bool:
        return dtype.kind != "O" and (dtype.names is not None or dtype.isnative)

    def is_value(self, value: object) -> bool:
        return isinstance(value, Enum)

    def view(self, clock: ScheduleState) -> type[View]:
        return NarrowCudaView if _asks_for_widths(clock) else CudaView

    def owned_view(self, clock: ScheduleState) -> type[View]:
        return OwnedNarrowCudaView if _asks_for_widths(clock) else OwnedCudaView

    def traced_view(self, clock: ScheduleState) -> Any:
        return TracedNarrowCudaView if _asks_for_widths(clock) else TracedCudaView

    def conversion(self, kind: object, is_literal: bool) -> Callable[[Any], Any] | None:
        return conversion_of(kind)

    def makes_undefined(self, tree: ast.FunctionDef) -> bool:
        return has_unset_variables(tree)

    def adapted(self, tree: ast.FunctionDef, function: Callable[..., Any]) -> dict[str, Any]:
        assert isinstance(function, FunctionType)
        made = with_unset_variables(tree, function) | with_library_calls(tree, function)
        return made | with_declared_types(tree, function)

    def index_keyword(self, called: object) -> str | None:
        return "idx" if isinstance(called, DialectIntrinsic) and called.is_atomic else None

    def without_source(self, function: Callable[..., Any], made: Callable[..., Any]) -> Callable[..., Any]:
        return converting(function, made)

    def convergent_method(self, site: tuple[Any, ...], method: Any, *args: Any) -> tuple[Any, ...]:
        owner = getattr(method, "__self__", None)
        if not isinstance(owner, GridGroup):
            raise DtypeError(f"sync() must be a method of cuda.cg.this_grid(), got one of {owner!r}", code="no-group")
        return grid_sync.arrive(site)

    def start(self, bound: Bound) -> None:
        begin(bound)


class ArgumentCountError(KernelLaunchError, TypeError):
    """A kernel is given too few or too many arguments."""


def _asks_for_widths(clock: ScheduleState) -> bool:
    return any(getattr(word, "asks_for_width", False) for word in clock.words)


CUDA = CudaDialect()
