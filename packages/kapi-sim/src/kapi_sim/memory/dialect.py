"""Dialects of the kernel language: other names for the same work-items, memory and barriers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.integers import as_plain
from kapi_sim.language.intrinsics.atomics import AtomicRef
from kapi_sim.language.intrinsics.index_space import NdRange, Range
from kapi_sim.language.intrinsics.records import is_element_dtype
from kapi_sim.language.launchables.launch_parameters import parameters_for_launch
from kapi_sim.memory.declared_types import converting, declared_conversions
from kapi_sim.memory.owned_views import OwnedView
from kapi_sim.memory.views import View
from kapi_sim.numbers.arithmetic import conversion

if TYPE_CHECKING:
    from kapi_sim.memory.arguments import Bound

__all__ = ["KAPI", "Dialect"]


class Dialect:
    """The dialect that kernels are written in; this one is kapi's own, and others are subclasses.

    - `has_item`: whether a kernel's first parameter is the work-item.
    - `is_strict`: whether what kapi's compiler refuses is refused, and integers and literals are held to their types.
    - `has_recursion`: whether a function may call itself.
    - `is_always_viewed`: whether accesses go through views even if nothing is checked.
    - `marks_returns`: whether a work-item that left by a `return` ahead of a barrier is none that the barrier waits
      for.
    - `fences_cross_barriers`: whether a fence counts for the atomics of those whom a barrier joins with its work-item.
    - `converging_methods`: methods, of objects that only a run knows, at which work-items may converge.
    """

    has_item = True
    is_strict = True
    has_recursion = False
    is_always_viewed = False
    marks_returns = False
    fences_cross_barriers = False
    converging_methods: frozenset[str] = frozenset()

    def clock(self, space: Range | NdRange, sub_group_size: int) -> ScheduleState:
        """Return the clock of a launch, which names its work-items."""
        return ScheduleState(space, sub_group_size)

    def parameters(self, function: Callable[..., Any], space: Range | NdRange, args: tuple[Any, ...]) -> list[str]:
        """Return the names of the parameters that take the launch's arguments."""
        return parameters_for_launch(function, space, args)

    def argument(self, value: Any) -> Any:
        """Return an argument as the simulator knows it."""
        return as_plain(value)

    def is_dtype(self, dtype: np.dtype[Any]) -> bool:
        """Return whether arrays may be of this dtype."""
        return is_element_dtype(dtype)

    def is_value(self, value: object) -> bool:
        """Return whether an argument that is neither a number nor an array may be passed as it is."""
        return False

    def view(self, clock: ScheduleState) -> type[View]:
        """Return the class of arrays in kernels."""
        return View

    def owned_view(self, clock: ScheduleState) -> type[View]:
        """Return the class of arrays in kernels whose elements are to be proved of one work-item each."""
        return OwnedView

    def traced_view(self, clock: ScheduleState) -> Any:
        """Return the class of arrays in kernels that are traced."""
        from kapi_sim.memory.recorder import TracedView

        return TracedView

    def conversion(self, kind: object, is_literal: bool) -> Callable[[Any], Any] | None:
        """Return what a call of `kind` is replaced by, where that is a real type; floats take literals as they are."""
        if not isinstance(kind, type):
            return None
        is_integer = kind is int or issubclass(kind, np.integer)
        is_float = issubclass(kind, (float, np.floating)) and not is_literal
        return conversion(kind) if is_integer or is_float else None

    def makes_undefined(self, tree: ast.FunctionDef) -> bool:
        """Return whether variables of a function may have no value, and are passed on nevertheless."""
        return False

    def adapted(self, tree: ast.FunctionDef, function: Callable[..., Any]) -> dict[str, Any]:
        """Change the source of a function, ahead of all else that is done to it, and return what its new names mean."""
        return declared_conversions(tree, function)

    def index_keyword(self, called: object) -> str | None:
        """Return the name of the second parameter of what is called, if that is an index of the first."""
        return "index" if called is AtomicRef else None

    def without_source(self, function: Callable[..., Any], made: Callable[..., Any]) -> Callable[..., Any]:
        """Return what a kernel calls for a function whose source is not had, and of which `made` was made."""
        return converting(function, made)

    def convergent_method(self, site: tuple[Any, ...], method: Any, *args: Any) -> tuple[Any, ...]:
        """Return what a work-item yields that calls one of `converging_methods`."""
        raise NotImplementedError

    def start(self, bound: Bound) -> None:
        """Begin a launch whose arguments are bound."""


KAPI = Dialect()
"""kapi's own."""
