"""A `prange` loop when it is run: a kernel for the types in hand, or the host with a warning."""

from __future__ import annotations

import ast
import linecache
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import kapi_runtime
from kapi_numba_offload._numba_compat import as_dtype
from kapi_numba_offload.analysis.assertions import asserts
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.elements.array_integers import warn_of_integers
from kapi_numba_offload.elements.reductions import combine
from kapi_numba_offload.elements.work_distribution import distribute, distribute_rows
from kapi_numba_offload.loops.body.pipeline import LoweredBody
from kapi_numba_offload.loops.body.private_arrays import lengths_of
from kapi_numba_offload.loops.body.state import NotInKernelError, stored_to
from kapi_numba_offload.loops.body.views import ArrayFacts
from kapi_numba_offload.loops.captured_values import (
    as_number,
    as_tuples,
    lower_bound,
    only_read,
    specialization_key,
    strong_numbers,
)
from kapi_numba_offload.loops.coarsening import has_long_rows, may_coarsen, traversed_rows
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.loops.loop_kernel import LoopFunctions
from kapi_numba_offload.loops.loop_syntax import LoopSyntax
from kapi_numba_offload.loops.privatization import (
    PrivateRows,
    PrivatizedBody,
    are_distinct,
    privatize_reductions,
    small_arrays,
)
from kapi_numba_offload.loops.simulated_loop import identities, simulate
from kapi_numba_offload.run.kernel_launch import KernelLaunch
from kapi_numba_offload.run.launching import launch
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.placement import one_queue
from kapi_numba_offload.run.reasons import Refusal, fall_back
from kapi_numba_offload.run.simulation import is_simulating
from kapi_numba_offload.run.timing import timed
from kapi_numba_offload.run.usm import DpnpArray, allocate, host_copy, is_same_view, may_overlap
from kapi_sim.errors import DtypeError, KernelCompilationError
from kapi_sim.forks import reinit_after_fork
from kapi_types import is_weak, typeof_argument
from kapi_types.kernel_typing import ProblemsFound, as_strong, describe_problems, return_type

__all__ = ["ParallelLoop"]


_KernelAndTypes = tuple[kapi_runtime.Kernel, list[np.dtype[Any]], list[bool]]
"""A kernel, the dtypes of its reductions, and which of them are Python's own numbers."""


class _BuiltLoop(NamedTuple):
    """A loop as a kernel.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    dtypes, weak : sequence
        The dtypes of its reductions, and whether they are Python's own numbers.
    disjoint : sequence of tuple
        Pairs of captured arrays, by their positions, that must share no memory, and whether they may be one view.
    is_coarsened : bool
        Whether a work-item runs many iterations.
    private : PrivatizedBody or None
        The body with private rows of arrays, if it has some.
    private_at : sequence of int
        The positions of these arrays.
    """

    kernel: kapi_runtime.Kernel
    dtypes: Sequence[np.dtype[Any]]
    weak: Sequence[bool]
    disjoint: Sequence[tuple[int, int, bool]]
    is_coarsened: bool
    private: PrivatizedBody | None
    private_at: Sequence[int]


class ParallelLoop:
    """A `prange` loop.

    Parameters
    ----------
    function : function
        That it is in.
    names : Scope
        What its names mean.
    syntax : LoopSyntax
        The loop.
    location : SourceLocation
        Its source location.
    host : HostLoop
        The same loop on the host.
    options : OffloadOptions
        Those of the function.
    numba_types : bool
        Whether numbers have the types that Numba gives them; else those of the kernel language.

    Attributes
    ----------
    latest : KernelLaunch or str or None
        The latest launch, or why there was none.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        names: Scope,
        syntax: LoopSyntax,
        location: Any,
        host: HostLoop,
        options: OffloadOptions,
        *,
        numba_types: bool = False,
    ) -> None:
        self._numba_types = numba_types
        self.syntax, self.location, self.host, self.options = syntax, location, host, options
        self.latest: KernelLaunch | str | None = None
        self._functions = LoopFunctions(function, names, syntax)
        self._has_asserts = asserts(syntax.body, names)
        self._only_read = only_read(syntax.captured, syntax.body)
        self._lengths = sorted(lengths_of(syntax.body, names))
        self._checks = self._has_asserts or options.boundscheck
        nodes = [node for each in syntax.body for node in ast.walk(each)]
        self._stored = [syntax.captured.index(each) for each in sorted(stored_to(nodes) & {*syntax.captured})]
        self._made: dict[tuple[Any, ...], Any] = {}
        self._lock = reinit_after_fork(threading.Lock())

    @timed
    def __call__(self, queue: Any, bounds: Sequence[int], captured: Sequence[Any], initial: Sequence[Any]) -> Any:
        """Run the loop.

        Parameters
        ----------
        queue : dpctl.SyclQueue or None
            Of the function's arrays.
        bounds : sequence of int
            Start, stop and step of each axis.
        captured : sequence
            Values of the captured variables.
        initial : sequence
            Values of the reductions before the loop.

        Returns
        -------
        object
            Values of the reductions; a single one as itself.
        """
        captured = [as_number(each) for each in captured]
        initial = [as_number(each) for each in initial]
        if self._numba_types:
            captured, initial = strong_numbers(captured), strong_numbers(initial)
        given, captured = captured, as_tuples(self.syntax.captured, captured, self._only_read)
        arrays = [each for each in captured if isinstance(each, DpnpArray)]
        if arrays:
            queue = one_queue(self.location, self.syntax.captured, captured)
        if not arrays and (not self.syntax.reductions or any(isinstance(each, np.ndarray) for each in captured)):
            return self.host.run(bounds, given, initial)
        refusal = self.syntax.refusals[0] if self.syntax.refusals else self._array_reduction(initial)
        extents = [len(range(*bounds[at : at + 3])) for at in range(0, len(bounds), 3)]
        coarsens = may_coarsen(extents, queue)
        small = small_arrays(captured, self._stored, extents, queue) if coarsens and not self._checks else ()
        made = refusal or self._prepared(bounds, captured, initial, coarsens, small)
        if isinstance(made, _BuiltLoop) and made.private and not are_distinct(made.private_at, captured):
            made = self._prepared(bounds, captured, initial, coarsens)
        if isinstance(made, _BuiltLoop) and made.disjoint:
            made = self._shared(made, captured) or made
        if isinstance(made, Refusal):
            how = self.host.how(bounds, (*given, *initial))
            self.latest = fall_back(self.location, made, self.options.may_fall_back, how)
            return self.host.run(bounds, given, initial)
        if is_simulating() and all(extents):
            self._simulate(bounds, extents, captured, initial)
        steps = [each for at in range(0, len(bounds), 3) for each in (bounds[at], bounds[at + 2])]
        if not self.syntax.reductions:
            if all(extents):
                rest: list[int] = []
                space: kapi_runtime.Range | kapi_runtime.NdRange = kapi_runtime.Range(*extents)
                rows = self._rows(made, captured, extents, queue)
                if made.is_coarsened:
                    shares = rows.shares if rows else distribute_rows(extents[0], queue)
                    space, rest = shares.single_items, [*extents[1:], extents[0], shares.steps]
                private = rows.arguments if rows else ()
                launch(made.kernel, space, [*private, *captured, *steps, *rest], checks=self._checks)
                self.latest = KernelLaunch(made.kernel, space, queue, rows.allocations if rows else ())
                if rows:
                    rows.add_up(self.location)
            return ()
        return self._reduce(made, queue, extents, steps, captured, initial)

    def _reduce(
        self,
        made: _BuiltLoop,
        queue: Any,
        extents: Sequence[int],
        steps: Sequence[int],
        captured: Sequence[Any],
        initial: Sequence[Any],
    ) -> Any:
        kernel, dtypes, weak = made.kernel, made.dtypes, made.weak
        count = int(np.prod(extents, dtype=np.int64))
        operations = self.syntax.reductions.values()
        if count == 0:
            found = [np.asarray(value).astype(dtype)[()] for value, dtype in zip(initial, dtypes, strict=True)]
            return _results(found, weak)
        rows = self._rows(made, captured, extents, queue)
        shares = (
            rows.shares
            if rows
            else distribute_rows(extents[0], queue)
            if made.is_coarsened
            else distribute(count, queue)
        )
        space = shares.single_items if made.is_coarsened else shares.space
        partial = [allocate((shares.items,), dtype, "device", queue) for dtype in dtypes]
        args = [
            *partial,
            *identities(self.syntax, dtypes).values(),
            *(rows.arguments if rows else ()),
            *captured,
            *steps,
            *extents[1:],
            extents[0] if made.is_coarsened else count,
            shares.steps,
        ]
        launch(kernel, space, args, checks=self._checks)
        moved = shares.items * sum(dtype.itemsize for dtype in dtypes)
        arrays = [((shares.items,), dtype, "device") for dtype in dtypes] + (rows.allocations if rows else [])
        if rows:
            rows.add_up(self.location)
        self.latest = KernelLaunch(kernel, space, queue, arrays, moved)
        found = [
            combine(operation, value, host_copy(each))
            for operation, value, each in zip(operations, initial, partial, strict=True)
        ]
        return _results(found, weak)

    def _rows(
        self, made: _BuiltLoop, captured: Sequence[Any], extents: Sequence[int], queue: Any
    ) -> PrivateRows | None:
        if made.private is None:
            return None
        return PrivateRows(made.private.arrays, [captured[number] for number in made.private_at], extents, queue)

    def _array_reduction(self, initial: Sequence[Any]) -> Refusal | None:
        for name, value in zip(self.syntax.reductions, initial, strict=True):
            if isinstance(value, (DpnpArray, np.ndarray)):
                return Refusal("array-reduction", self.location.line, name)
        return None

    def _shared(self, made: _BuiltLoop, captured: Sequence[Any]) -> Refusal | None:
        for read, stored, may_be_one in made.disjoint:
            one, other = captured[read], captured[stored]
            if may_overlap(one, other) or (not may_be_one and is_same_view(one, other)):
                return Refusal("shared-memory", self.location.line, self.syntax.captured[stored])
        return None

    def _prepared(
        self,
        bounds: Sequence[int],
        captured: Sequence[Any],
        initial: Sequence[Any],
        coarsens: bool,
        small: tuple[int, ...] = (),
    ) -> _BuiltLoop | Refusal:
        key = (
            coarsens,
            small,
            tuple(specialization_key(each) for each in captured),
            tuple(type(each) if not isinstance(each, np.generic) else each.dtype for each in initial),
            tuple(lower_bound(bounds[at : at + 3]) for at in range(0, len(bounds), 3)),
            tuple(self._constants(captured).items()),
        )
        made = self._made.get(key)
        if made is None:
            with self._lock:
                made = self._made.get(key)
                if made is None:
                    made = self._make(bounds, captured, initial, coarsens, small)
                    if isinstance(made, Refusal) and small:
                        made = self._make(bounds, captured, initial, coarsens, ())
                    self._made[key] = made
        return made

    def _constants(self, captured: Sequence[Any]) -> dict[str, int]:
        """The lengths that arrays of an iteration have for these values."""
        found: dict[str, int] = {}
        values = dict(zip(self.syntax.captured, captured, strict=True)) if self._lengths else {}
        for text in self._lengths:
            name, _, rest = text.partition(".shape[")
            value, axis = values.get(name), rest.rstrip("]")
            if rest and axis.isdigit() and isinstance(value, DpnpArray) and int(axis) < value.ndim:
                found[text] = value.shape[int(axis)]
            elif not rest and isinstance(value, (int, np.integer)) and not isinstance(value, bool):
                found[text] = int(value)
        return found

    def _simulate(
        self, bounds: Sequence[int], extents: Sequence[int], captured: Sequence[Any], initial: Sequence[Any]
    ) -> None:
        """Run the loop in the simulator, over copies of the arrays; it raises what it finds."""
        made = self._prepared(bounds, captured, initial, False)
        assert isinstance(made, _BuiltLoop)
        body = self._lowered(bounds, captured).statements
        simulate(self._functions, self.syntax, body, bounds, extents, captured, made.dtypes)

    def _make(
        self,
        bounds: Sequence[int],
        captured: Sequence[Any],
        initial: Sequence[Any],
        coarsens: bool,
        small: Sequence[int],
    ) -> _BuiltLoop | Refusal:
        names = self.syntax.captured
        arrays = self._arrays(captured)
        try:
            lowered = self._lowered(bounds, captured)
            body = lowered.statements
            pairs = {(one, other, False) for one in lowered.late_reads for other in lowered.stored_to}
            disjoint = [
                (names.index(one), names.index(other), may_be_one)
                for one, other, may_be_one in sorted(pairs | lowered.row_reads)
                if {one, other} <= arrays.keys()
            ]
            rows = traversed_rows(body, self.syntax.axes[-1].variable) & arrays.keys() if coarsens else ()
            dtypes = {name: each.dtype.name for name, each in arrays.items()}
            private = privatize_reductions(body, dtypes, [names[each] for each in small])
            is_coarsened = private is not None or any(has_long_rows(arrays[each]) for each in rows)
            private_at = [names.index(each.name) for each in private.arrays] if private else []
            build = self._reducing if self.syntax.reductions else self._plain
            found = build(body, captured, initial, len(bounds) // 3, is_coarsened, private)
            made = _BuiltLoop(*found, disjoint, is_coarsened, private, private_at)
        except NotInKernelError as error:
            return Refusal("not-in-kernel", error.line, self._first_variable(), self._with_line(error))
        except ProblemsFound as error:
            return Refusal(
                "not-in-kernel", self.location.line, self._first_variable(), describe_problems(error.problems)
            )
        except (KernelCompilationError, DtypeError) as error:
            return Refusal("not-in-kernel", self.location.line, self._first_variable(), str(error))
        for line in sorted(lowered.integers_of_arrays):
            warn_of_integers(self.location, "fewer bits", line)
        return made

    def _with_line(self, error: NotInKernelError) -> str:
        """The error's text, with the source line."""
        text = linecache.getline(self.location.filename, error.line).strip()
        return f"{error}: `{text}`" if text else str(error)

    def _arrays(self, captured: Sequence[Any]) -> dict[str, Any]:
        return {
            name: each for name, each in zip(self.syntax.captured, captured, strict=True) if isinstance(each, DpnpArray)
        }

    def _lowered(self, bounds: Sequence[int], captured: Sequence[Any]) -> LoweredBody:
        lower = {
            axis.variable: low
            for number, axis in enumerate(self.syntax.axes)
            if (low := lower_bound(bounds[3 * number : 3 * number + 3])) is not None
        }
        lower |= {
            name: 0
            for name, each in zip(self.syntax.captured, captured, strict=True)
            if isinstance(each, (int, np.integer)) and each >= 0
        }
        arrays = self._arrays(captured)
        facts = {name: ArrayFacts(each.dtype, [length == 1 for length in each.shape]) for name, each in arrays.items()}
        integers = [
            name
            for name, each in zip(self.syntax.captured, captured, strict=True)
            if isinstance(each, (int, np.integer, np.bool_))
        ]
        constants = self._constants(captured)
        return self._functions.lowered_body(facts, lower, constants, integers, has_numba_floats=self._numba_types)

    def _first_variable(self) -> str:
        return self.syntax.axes[0].variable

    def _kernel(self, function: Callable[..., None]) -> kapi_runtime.Kernel:
        return kapi_runtime.kernel(
            debug=self._has_asserts, boundscheck=self.options.boundscheck, fastmath=self.options.fastmath
        )(function)

    def _plain(
        self,
        body: Sequence[Any],
        captured: Sequence[Any],
        initial: Sequence[Any],
        axes: int,
        is_coarsened: bool,
        private: PrivatizedBody | None,
    ) -> _KernelAndTypes:
        functions = self._functions
        kernel = self._kernel(functions.coarsened(body, {}, private) if is_coarsened else functions.kernel(body))
        # A launch without work-items compiles, so that what it cannot be is known before it is used.
        space = kapi_runtime.NdRange([0], [1]) if is_coarsened else kapi_runtime.Range(*[0] * axes)
        rest = [0] * axes + [1] if is_coarsened else []
        values = dict(zip(self.syntax.captured, captured, strict=True))
        rows = [part for each in (private.arrays if private else ()) for part in each.sample(values[each.name])]
        kapi_runtime.call_kernel_async(kernel, space, (), *rows, *captured, *[0, 1] * axes, *rest)
        return kernel, [], []

    def _reducing(
        self,
        body: Sequence[Any],
        captured: Sequence[Any],
        initial: Sequence[Any],
        axes: int,
        is_coarsened: bool,
        private: PrivatizedBody | None,
    ) -> _KernelAndTypes:
        numbers = [0, 1] * axes + [1] * (axes - 1) + [1]
        signature = [typeof_argument(each) for each in (*initial, *captured, *numbers)]
        functions = self._functions
        types = return_type(functions.typing(body), signature)
        dtypes = [np.dtype(as_dtype(as_strong(each))) for each in types]
        starts = identities(self.syntax, dtypes)
        made = functions.coarsened(body, starts, private) if is_coarsened else functions.reduction(body, starts)
        return self._kernel(made), dtypes, [is_weak(each) for each in types]


def _results(found: Sequence[Any], weak: Sequence[bool]) -> Any:
    """The values of reductions: what met no NumPy number is a number of Python's own."""
    values = [each.item() if is_python else each for each, is_python in zip(found, weak, strict=True)]
    return values[0] if len(values) == 1 else tuple(values)
