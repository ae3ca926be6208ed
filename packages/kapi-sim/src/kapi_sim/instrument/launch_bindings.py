"""The names in a rewritten kernel that each launch binds anew."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from kapi_sim.errors import KernelCompilationError
from kapi_sim.instrument.mixed_types import CHECK_JOIN, MixedTypeChecker
from kapi_sim.language.intrinsics.atomics import AtomicRef, atomic_fence
from kapi_sim.language.intrinsics.memory import MemoryOrder, MemoryScope, PrivateArray
from kapi_sim.language.intrinsics.outside import fail_outside
from kapi_sim.memory.arguments import Bound
from kapi_sim.memory.atomics import References
from kapi_sim.memory.constant_arrays import BoundConstants
from kapi_sim.memory.infinite_loops import counted, iterations_before_hand_over
from kapi_sim.memory.private_memory import PrivateArrays
from kapi_sim.memory.records import make_record
from kapi_sim.memory.views import View
from kapi_sim.short_repr import short_repr

__all__ = ["hooks_of", "words_of"]


class _Fences:
    """The function that a kernel's `atomic_fence` becomes."""

    __slots__ = ("_bound",)

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def __call__(self, memory_order: MemoryOrder, memory_scope: MemoryScope) -> None:
        for name, value, kind in (
            ("memory_order", memory_order, MemoryOrder),
            ("memory_scope", memory_scope, MemoryScope),
        ):
            if not isinstance(value, kind):
                raise KernelCompilationError(
                    f"{name} of atomic_fence must be a member of {kind.__name__}, got {short_repr(value)}",
                    code="no-enum-member",
                )
        if self._bound.ordering is not None:
            self._bound.ordering.fence(memory_order, memory_scope, sys._getframe(1).f_lineno)


def hooks_of(bound: Bound) -> dict[str, object]:
    """Return the values of `kapi_sim.instrument.rewriter.HOOKS` for one launch."""
    recorder = bound.recorder

    def view_of_value(array: np.ndarray[Any, Any], name: str) -> View:
        return View(array, name, bound.clock, None, bound.has_bounds, 1, bound.has_fp64)

    return {
        "_kapi_changes": bound.changes,
        "_kapi_constant": BoundConstants(bound),
        "_kapi_fence": _Fences(bound),
        "_kapi_line": None if recorder is None else recorder.note_line,
        CHECK_JOIN: MixedTypeChecker(),
        "_kapi_print": _print_nothing if bound.is_rerun else print,
        "_kapi_private_array": PrivateArrays(bound),
        "_kapi_record": partial(make_record, view_of_value),
        "_kapi_range": partial(counted, bound),
        "_kapi_reference": References(bound.ordering, bound.has_atomic64),
        "_kapi_spin_limit": bound.spin_limit,
        "_kapi_hand_over_limit": iterations_before_hand_over(bound.spin_limit),
    }


def _print_nothing(*values: object, **options: object) -> None:
    """Print, but not again what a first run has printed."""


def words_of(hooks: Mapping[str, Any]) -> Callable[[Any, tuple[Any, ...]], Any]:
    """Return what carries out a word that was called under a name which could not be followed."""
    carriers: dict[int, Any] = {
        id(AtomicRef): hooks["_kapi_reference"],
        id(PrivateArray): hooks["_kapi_private_array"],
        id(atomic_fence): hooks["_kapi_fence"],
    }

    def carry_out(word: Any, arguments: tuple[Any, ...]) -> Any:
        carrier = carriers.get(id(word))
        if carrier is None:
            fail_outside(word)
        return carrier(*arguments)

    return carry_out
