"""Compilation of a parallel loop: a kernel for the types of its values, or why it cannot be one."""

from __future__ import annotations

import linecache
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

import kapi_runtime
from kapi_numba_offload._numba_compat import as_dtype
from kapi_numba_offload.elements.statements import warn_of_integers
from kapi_numba_offload.libraries.arrays import allocate, is_device_array, library, like, queue_of
from kapi_numba_offload.loops.body.pipeline import LoweredBody
from kapi_numba_offload.loops.body.state import NotInKernelError
from kapi_numba_offload.loops.body.views import ArrayFacts, LaunchFacts, LaunchNumbers
from kapi_numba_offload.loops.captured_values import lower_bound, specialization_key
from kapi_numba_offload.loops.coarsening import has_long_rows, traversed_rows
from kapi_numba_offload.loops.cooperation.schedule import Cooperation, Team, cooperation
from kapi_numba_offload.loops.loop_kernel import LoopFunctions
from kapi_numba_offload.loops.loop_syntax import LoopSyntax
from kapi_numba_offload.loops.privatization import PrivatizedBody, privatize_in_groups, privatize_reductions
from kapi_numba_offload.loops.simulated_loop import identities
from kapi_numba_offload.run.fallback import Refusal
from kapi_numba_offload.run.options import OffloadOptions
from kapi_sim.errors import DtypeError, KernelCompilationError
from kapi_sim.forks import reinit_after_fork
from kapi_types import is_weak, typeof_argument
from kapi_types.kernel_typing import ProblemsFound, as_strong, describe_problems, return_type

__all__ = ["BuiltLoop", "LoopBuilder", "reduction_types"]

_KernelAndTypes = tuple[kapi_runtime.Kernel, list[np.dtype[Any]], list[bool], list[Any]]
"""A kernel, the dtypes of its reductions, which of them are Python's own numbers, and their identities."""


class BuiltLoop(NamedTuple):
    """A loop as a kernel.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    dtypes, weak, identities : sequence
        The dtypes of its reductions, whether they are Python's own numbers, and what each work-item starts with.
    disjoint : sequence of tuple
        Pairs of captured arrays, by their positions, that must share no memory, and whether they may be one view.
    is_coarsened : bool
        Whether a work-item runs many iterations.
    private : PrivatizedBody or None
        The body with private rows of arrays, if it has some.
    private_at : sequence of int
        The positions of these arrays.
    cooperation : Cooperation or None
        The iterations as work-groups do them, if the kernel has these.
    has_checks : bool
        Whether the kernel raises where operands have different lengths.
    have_equal_lengths : callable
        Whether operands have the same lengths, as far as captured values decide them.
    decide_all_lengths : bool
        Whether these decide all of them, and not iterations.
    """

    kernel: kapi_runtime.Kernel
    dtypes: Sequence[np.dtype[Any]]
    weak: Sequence[bool]
    identities: Sequence[Any]
    disjoint: Sequence[tuple[int, int, bool]]
    is_coarsened: bool
    private: PrivatizedBody | None
    private_at: Sequence[int]
    cooperation: Cooperation | None
    has_checks: bool
    have_equal_lengths: Callable[..., bool]
    decide_all_lengths: bool


@dataclass(eq=False)
class LoopBuilder:
    """Builds the kernels of a parallel loop, and keeps them.

    Attributes
    ----------
    functions : LoopFunctions
        The loop as Python functions.
    syntax : LoopSyntax
        The loop.
    location : StatementLocation
        Its source location.
    options : OffloadOptions
        Those of the function.
    has_checks : bool
        Whether kernels check asserts and the lengths of operands.
    numba_types : bool
        Whether numbers have the types that Numba gives them; else those of the kernel language.
    has_one_sign : bool
        As that of `LaunchFacts`.
    """

    functions: LoopFunctions
    syntax: LoopSyntax
    location: Any
    options: OffloadOptions
    has_checks: bool
    numba_types: bool
    has_one_sign: bool = False
    _made: dict[tuple[Any, ...], BuiltLoop | Refusal] = field(default_factory=dict, init=False)
    _cooperations: dict[tuple[Any, ...], Cooperation | Literal["alone"]] = field(default_factory=dict, init=False)
    _together: dict[tuple[Any, ...], BuiltLoop | Literal["alone"]] = field(default_factory=dict, init=False)
    _asked: tuple[str, ...] = field(default=(), init=False)
    _asked_by_teams: frozenset[int] = field(default=frozenset(), init=False)
    _has_lengths_of_integers: bool = field(default=False, init=False)
    _lock: Any = field(default_factory=lambda: reinit_after_fork(threading.Lock()), init=False)

    def prepared(
        self,
        spans: Sequence[range],
        captured: Sequence[Any],
        initial: Sequence[Any],
        coarsens: bool,
        small: tuple[int, ...] = (),
        cooperates: Callable[[Cooperation], Team] | None = None,
    ) -> BuiltLoop | Refusal:
        """The kernel for such values, built when it is needed first; or why there is none.

        Parameters
        ----------
        spans : sequence of range
            The values of the loop variables, axis by axis.
        captured, initial : sequence
            As the loop is given them.
        coarsens : bool
            Whether work-items may run many iterations.
        small : tuple of int
            Positions of arrays that are small enough to be privatized.
        cooperates : callable, optional
            Tells which work-groups are to do iterations together, where they can.
        """
        given = spans, captured, initial, coarsens, small
        key = self._key(*given)
        if cooperates is not None:
            plan = self._cooperations.get(key)
            if plan is None:
                with self._lock:
                    plan = self._cooperation(spans, captured)
                    if isinstance(plan, Cooperation):
                        self._asked_by_teams |= set(map(self.syntax.captured.index, plan.asked))
                    # By a key with the numbers that were asked for.
                    key = self._key(*given)
                    self._cooperations[key] = plan
            team = cooperates(plan) if isinstance(plan, Cooperation) else None
            if isinstance(plan, Cooperation) and team is not None and team.size:
                together = self._together.get((key, team.is_inward))
                if together is None:
                    with self._lock:
                        together = self._made_together(plan, team, captured, initial)
                        self._together[key, team.is_inward] = together
                if isinstance(together, BuiltLoop):
                    return together
        made = self._made.get(key)
        if made is None:
            with self._lock:
                made = self._made.get(self._key(*given))
                if made is None:
                    made = self._make(*given)
                    if isinstance(made, Refusal) and small:
                        made = self._make(spans, captured, initial, coarsens, ())
                    # By a key with the numbers that were asked for.
                    self._made[self._key(*given)] = made
        return made

    def asked_integers(self) -> frozenset[int]:
        """Positions of the captured variables whose values, where they are integers, a launch may depend on.

        A kernel is made for them, or they decide lengths of operands, or the work-groups that do iterations.
        """
        names = self.syntax.captured
        if self._asked or self._has_lengths_of_integers:
            return frozenset(range(len(names)))
        return self._asked_by_teams

    def _cooperation(self, spans: Sequence[range], captured: Sequence[Any]) -> Cooperation | Literal["alone"]:
        """The loop as work-groups do it together, if they can."""
        try:
            lowered = self.lowered(spans, captured)
        except NotInKernelError:
            return "alone"  # which has a report of its own
        values = dict(zip(self.syntax.captured, captured, strict=True))
        variables = [axis.variable for axis in self.syntax.axes]
        found = cooperation(
            lowered, self.functions.value_of(lowered.outside), values, variables, self.syntax.reductions
        )
        return "alone" if found is None else found

    def _made_together(
        self, plan: Cooperation, team: Team, captured: Sequence[Any], initial: Sequence[Any]
    ) -> BuiltLoop | Literal["alone"]:
        try:
            found = self._cooperative_kernel(plan, team, captured, initial)
        except (ProblemsFound, KernelCompilationError, DtypeError):
            return "alone"  # work-items may do what groups cannot, as to add complex numbers
        self._warn(plan.source)
        return BuiltLoop(*found, [], False, None, [], plan, *self._about_lengths(plan.source))

    def _about_lengths(self, lowered: LoweredBody) -> tuple[bool, Callable[..., bool], bool]:
        """The last fields of the loop as a kernel."""
        return self.has_checks, lowered.lengths.function(self.syntax.captured), lowered.lengths.are_all

    def _key(
        self,
        spans: Sequence[range],
        captured: Sequence[Any],
        initial: Sequence[Any],
        coarsens: bool,
        small: tuple[int, ...],
    ) -> tuple[Any, ...]:
        numbers = self._numbers(spans, captured) if self._asked else None
        return (
            coarsens,
            small,
            tuple(map(specialization_key, captured)),
            tuple([each.__class__ if not isinstance(each, np.generic) else each.dtype for each in initial]),
            tuple(map(lower_bound, spans)),
            tuple(map(numbers.again, self._asked)) if numbers else (),
        )

    def _numbers(self, spans: Sequence[range], captured: Sequence[Any]) -> LaunchNumbers:
        variables = (axis.variable for axis in self.syntax.axes)
        values = dict(zip(self.syntax.captured, captured, strict=True))
        return LaunchNumbers(values, dict(zip(variables, spans, strict=True)))

    def _make(
        self,
        spans: Sequence[range],
        captured: Sequence[Any],
        initial: Sequence[Any],
        coarsens: bool,
        small: Sequence[int],
    ) -> BuiltLoop | Refusal:
        names = self.syntax.captured
        arrays = self._arrays(captured)
        try:
            lowered = self.lowered(spans, captured)
            body = lowered.statements
            pairs = {(one, other, False) for one in lowered.late_reads for other in lowered.stored_to}
            disjoint = [
                (names.index(one), names.index(other), may_be_one)
                for one, other, may_be_one in sorted(pairs | lowered.row_reads)
                if {one, other} <= arrays.keys()
            ]
            rows = traversed_rows(body, self.syntax.axes[-1].variable) & arrays.keys() if coarsens else ()
            dtypes = {name: each.dtype.name for name, each in arrays.items()}
            small_names = [names[each] for each in small]
            if coarsens:
                private = privatize_reductions(body, dtypes, small_names)
            else:
                ranks = {name: each.ndim for name, each in arrays.items()}
                private = privatize_in_groups(body, dtypes, small_names, ranks)
            is_coarsened = (coarsens and private is not None) or any(has_long_rows(arrays[each]) for each in rows)
            private_at = [names.index(each.name) for each in private.arrays] if private else []
            found = self._kernel_and_types(body, captured, initial, private, is_coarsened=is_coarsened)
            made = BuiltLoop(*found, disjoint, is_coarsened, private, private_at, None, *self._about_lengths(lowered))
        except NotInKernelError as error:
            return self._refusal(self._with_line(error), error.line, str(error))
        except ProblemsFound as error:
            return self._refusal(describe_problems(error.problems), self.location.line)
        except (KernelCompilationError, DtypeError) as error:
            return self._refusal(str(error), self.location.line)
        self._warn(lowered)
        return made

    def _warn(self, lowered: LoweredBody) -> None:
        for line in sorted(lowered.integers_of_arrays):
            warn_of_integers(self.location, "fewer bits", line)

    def _refusal(self, detail: str, line: int, cause: str = "") -> Refusal:
        # The variables of a helper that was written out, and the kernel, have other names than their author's.
        detail = re.sub(r"\bkapi_(in|out)\d+_", "", detail)
        detail = re.sub(r"\Akernel \S+ \(.*\) cannot be compiled:\s*", "", detail)
        return Refusal("not-in-kernel", line, self.syntax.axes[0].variable, detail, cause or detail)

    def _with_line(self, error: NotInKernelError) -> str:
        """The error's text, with the source line."""
        text = linecache.getline(self.location.filename, error.line).strip()
        return f"{error}: `{text}`" if text else str(error)

    def _arrays(self, captured: Sequence[Any]) -> dict[str, Any]:
        return {name: each for name, each in zip(self.syntax.captured, captured, strict=True) if is_device_array(each)}

    def lowered(self, spans: Sequence[range], captured: Sequence[Any]) -> LoweredBody:
        """The body with elements only, for such values."""
        lower = {
            axis.variable: low
            for axis, span in zip(self.syntax.axes, spans, strict=True)
            if (low := lower_bound(span)) is not None
        }
        values = dict(zip(self.syntax.captured, captured, strict=True))
        lower |= {name: 0 for name, each in values.items() if isinstance(each, (int, np.integer)) and each >= 0}
        arrays = self._arrays(captured)
        facts = {name: ArrayFacts(each.dtype, [length == 1 for length in each.shape]) for name, each in arrays.items()}
        integers = {name for name, each in values.items() if isinstance(each, (int, np.integer, np.bool_))}
        known = LaunchFacts(facts, lower, self._numbers(spans, captured), integers, has_one_sign=self.has_one_sign)
        try:
            made = self.functions.lowered_body(known, has_numba_floats=self.numba_types, checks_lengths=self.has_checks)
            self._has_lengths_of_integers |= made.lengths.read_integers
            return made
        finally:
            self._asked = tuple(dict.fromkeys((*self._asked, *known.numbers.asked)))

    def _kernel(self, function: Callable[..., None]) -> kapi_runtime.Kernel:
        return kapi_runtime.kernel(
            debug=self.has_checks, boundscheck=self.options.boundscheck, fastmath=self.options.fastmath
        )(function)

    def _cooperative_kernel(
        self, plan: Cooperation, team: Team, captured: Sequence[Any], initial: Sequence[Any]
    ) -> _KernelAndTypes:
        dtypes, weak = reduction_types(self.functions, self.syntax, plan.source.statements, captured, initial)
        starts = identities(self.syntax, dtypes)
        kernel = self._kernel(self.functions.cooperative(plan.bodies[team.is_inward].statements, starts))
        # A launch without work-items compiles, so that what it cannot be is known before it is used.
        queue = queue_of(next(filter(is_device_array, captured)))
        partial = [allocate((1,), dtype, "device", queue) for dtype in dtypes]
        axes = len(self.syntax.axes)
        rest = [*[0, 1] * axes, *[1] * (axes - 1), 0]
        space = kapi_runtime.NdRange([0], [1])
        kapi_runtime.call_kernel_async(kernel, space, (), *partial, *starts.values(), *captured, *rest)
        return kernel, dtypes, weak, list(starts.values())

    def _kernel_and_types(
        self,
        body: Sequence[Any],
        captured: Sequence[Any],
        initial: Sequence[Any],
        private: PrivatizedBody | None,
        *,
        is_coarsened: bool,
    ) -> _KernelAndTypes:
        functions, axes = self.functions, len(self.syntax.axes)
        if self.syntax.reductions:
            dtypes, weak = reduction_types(functions, self.syntax, body, captured, initial)
            starts = identities(self.syntax, dtypes)
            made = functions.coarsened(body, starts, private) if is_coarsened else functions.reduction(body, starts)
            return self._kernel(made), dtypes, weak, list(starts.values())
        if private and not is_coarsened:
            return self._kernel(functions.by_groups(private)), [], [], []
        kernel = self._kernel(functions.coarsened(body, {}, private) if is_coarsened else functions.kernel(body))
        # A launch without work-items compiles, so that what it cannot be is known before it is used.
        space = kapi_runtime.NdRange([0], [1]) if is_coarsened else kapi_runtime.Range(*[0] * axes)
        rest = [0] * axes + [1] if is_coarsened else []
        values = dict(zip(self.syntax.captured, captured, strict=True))
        rows = [part for each in (private.arrays if private else ()) for part in each.sample(values[each.name])]
        kapi_runtime.call_kernel_async(kernel, space, (), *rows, *captured, *[0, 1] * axes, *rest)
        return kernel, [], [], []


def reduction_types(
    functions: LoopFunctions, syntax: LoopSyntax, body: Sequence[Any], captured: Sequence[Any], initial: Sequence[Any]
) -> tuple[list[np.dtype[Any]], list[bool]]:
    """The dtypes of the reductions, and which of them are Python's own numbers."""
    if not syntax.reductions:
        return [], []
    axes = len(syntax.axes)
    numbers = [0, 1] * axes + [1] * (axes - 1) + [1]
    signature = [typeof_argument(_as_fields(each)) for each in (*initial, *captured, *numbers)]
    types = return_type(functions.typing(body), signature)
    return [np.dtype(as_dtype(as_strong(each))) for each in types], [is_weak(each) for each in types]


def _as_fields(value: Any) -> Any:
    """A value with the fields of arrays in their place, which have a type whatever library they are of."""
    if isinstance(value, tuple):
        return like(value, map(_as_fields, value))
    return library(value).fields(value) if is_device_array(value) else value
