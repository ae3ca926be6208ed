"""A fused region: elementwise statements in a row that become one kernel, chosen when their operands are in hand."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kapi_numba_offload.elements.expression import Leaf, Node, Ref, leaves_of, references_of, renumbered
from kapi_numba_offload.elements.operands import Unfused, absolute, number_key
from kapi_numba_offload.elements.statements import Statement
from kapi_numba_offload.libraries.arrays import (
    flat_view,
    is_device_array,
    is_numpy_array,
    is_same_view,
    may_overlap,
)
from kapi_numba_offload.libraries.installed import library_of
from kapi_numba_offload.libraries.interface import ArrayLibrary
from kapi_numba_offload.regions.launch_repetition import bound_iteration, repeat
from kapi_numba_offload.regions.specialization import PreparedLaunch, Specializer, is_stored
from kapi_numba_offload.regions.type_inference import TypeInference, by_library
from kapi_numba_offload.run.bounded_cache import BoundedCache
from kapi_numba_offload.run.launch_record import KernelLaunch
from kapi_numba_offload.run.launching import is_observed, launch
from kapi_numba_offload.run.placement import one_queue
from kapi_numba_offload.run.timing import is_timed, timed
from kapi_sim.forks import reinit_after_fork

__all__ = ["FusedRegion"]

_BOUND_AFTER = 64  # iterations: to bind a launch takes as long as some fifty save that are bound


@dataclass(frozen=True, slots=True)
class _SplitLaunch:
    """The reason why a region has several launches, and the statements of each: first, and one after the last."""

    reason: str
    parts: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class _Kept:
    """Results of a call that the next iterations of its loop reuse.

    - `numbers`: positions of operands that are no arrays, what `number_key` says of them, and themselves.
    - `leaves`: all operands.
    - `ready`: the launch, or why there are several.
    - `parts`: for each of several launches what was kept of it.
    - `iterations`: how often it was reused with the very same operands.
    - `bound`: the launches of an iteration with these operands, once they are bound; empty where they cannot be.
    - `is_repeated`: whether the latest iteration was these launches.
    """

    numbers: tuple[tuple[int, Any, Any], ...]
    leaves: tuple[Any, ...]
    ready: PreparedLaunch | _SplitLaunch
    queue: Any
    parts: tuple[list[_Kept], ...]
    iterations: int = 0
    bound: Sequence[Any] = field(default_factory=list)
    is_repeated: bool = False


_Aliases = tuple[tuple[int, int], ...]
"""Positions of operands that are the same view as an array that is stored to, each with that array's position."""


@dataclass(frozen=True, slots=True)
class _Memory:
    """Facts of the memory of operands of some shapes and strides, wherever it is.

    - `arrays`: position of each array, its library, and its lowest byte and the one after its highest, counted from its
      first element.
    - `single`: whether one has a single element, and no axis.
    - `aliases`: aliases by the distances of the arrays' first elements from that of the first one; None where an array
      that is stored to shares memory otherwise.
    """

    arrays: tuple[tuple[int, ArrayLibrary, int, int], ...]
    single: bool
    aliases: BoundedCache[tuple[int, ...], _Aliases | None]

    @classmethod
    def of(cls, leaves: Sequence[Any]) -> _Memory:
        """Read the operands."""
        arrays = []
        for position, leaf in enumerate(leaves):
            own = library_of(leaf)
            if own is not None:
                (low, high), pointer = own.byte_bounds(leaf), own.pointer_of(leaf)
                arrays.append((position, own, low - pointer, high - pointer))
        return cls(tuple(arrays), any(leaves[position].ndim == 0 for position, *_ in arrays), BoundedCache())


class FusedRegion:
    """Elementwise statements over arrays and numbers, run as one kernel where their shapes allow it.

    - `names`: what each leaf is called in the source.
    - `contiguous`: which leaves are always C-contiguous arrays of one dtype and USM kind, as a parameter of that type
      is.
    - `fastmath`: whether kernels may be optimised as if arithmetic were exact, or flags for how far.
    - `numba_types`: whether operations have the types that Numba gives them for NumPy arrays; else dpnp's.
    - `varying`: leaves that may be other arrays in each iteration of the loop that the region is in.

    What is not one kernel (dtypes that kernels lack, a store into an array that is read elsewhere in the same kernel)
    is run statement by statement, and a single statement by dpnp's own operations. Where results have different shapes,
    a kernel is made of each run of neighbours that have one.
    """

    def __init__(
        self,
        statements: Sequence[Statement],
        names: Sequence[str],
        contiguous: Sequence[bool] | None = None,
        *,
        fastmath: bool | frozenset[str] = False,
        numba_types: bool = False,
    ) -> None:
        self.statements = tuple(statements)
        self.names = tuple(names)
        self.location = statements[0].location
        self._launches: BoundedCache[tuple[Any, ...], PreparedLaunch | Unfused] = BoundedCache()
        self._memories: BoundedCache[tuple[Any, ...], _Memory] = BoundedCache()
        self._stores = tuple(each.target for each in statements if each.target is not None)
        self._contiguous = tuple(contiguous or [False] * len(names))
        stored = [each for each in statements if is_stored(each)]
        self._outputs = tuple(number for number, each in enumerate(stored) if each.is_output)
        self._ran: tuple[PreparedLaunch, Any] | str | None = None
        self.varying: frozenset[int] = frozenset()
        self._ran_parts: tuple[tuple[int, int], ...] = ()  # the statements of each, where they are several
        self.fastmath = fastmath
        self._numba_types = numba_types
        self._types = TypeInference(self.statements, numba_types=numba_types)
        self._specialize = Specializer(self.statements, self._types, fastmath)
        self._parts: dict[tuple[int, int], tuple[FusedRegion, tuple[int, ...]]] = {}
        self._lock = reinit_after_fork(threading.Lock())

    @timed
    def __call__(self, *leaves: Any) -> Any:
        """Run the statements; the values of those that are outputs, a single one as itself."""
        ready, queue, leaves = self._found(leaves)
        return self._run(ready, queue, leaves)

    @timed
    def again(self, kept: list[_Kept], *leaves: Any) -> Any:
        """Run the statements in a loop whose iterations all have the same arrays, but for those at `varying`.

        - `kept`: empty in the first iteration; then what later iterations need not find out.
        - `leaves`: as for a call.
        """
        if kept:
            own, is_repeated = kept[0], True
            own.is_repeated = False
            for position, key, number in own.numbers:
                each = leaves[position]
                if each is not number:
                    is_repeated = False
                    if number_key(each) != key:
                        break
            else:
                if is_repeated and not is_observed():
                    own.iterations += 1
                    if own.iterations == _BOUND_AFTER:
                        own.bound = bound_iteration(self._bound(own), own.queue)
                    if own.bound:
                        own.is_repeated = True
                        for bound in own.bound:
                            bound()
                        return ()
                return self._run(own.ready, own.queue, leaves, own.parts)
        ready, queue, given = self._found(leaves)
        is_same = all(one is other for one, other in zip(leaves, given, strict=True))
        if is_same and queue is not None and (isinstance(ready, _SplitLaunch) or not self.varying):
            numbers = tuple(
                (position, number_key(each), each) for position, each in enumerate(leaves) if not is_device_array(each)
            )
            parts = ready.parts if isinstance(ready, _SplitLaunch) else ()
            kept[:] = [_Kept(numbers, leaves, ready, queue, tuple([] for _ in parts))]
        return self._run(ready, queue, given)

    def repeated(self, kept: list[_Kept], values: Any) -> Iterator[Any]:
        """The values of a loop whose iterations are `again` with the same names, and nothing else.

        Once its launches are bound, those of all further iterations but the last are submitted here, without the body.

        - `kept`: as for `again`.
        - `values`: what the loop is over.
        """
        if type(values) is not range:
            yield from values
            return
        left = len(values)
        for value in values:
            left -= 1
            yield value
            if left > 1 and kept and kept[0].is_repeated and not is_timed():
                repeat(kept[0].bound, kept[0].queue, left - 1)
                yield values[-1]
                return

    def _bound(self, own: _Kept) -> list[Any]:
        """The launches of an iteration, bound to its operands; none if one makes an array or is the library's."""
        if isinstance(own.ready, PreparedLaunch):
            if self.varying or any(each.make is not None for each in own.ready.outputs):
                return []
            args = self._arguments(own.ready, [own.leaves[each.leaf or 0] for each in own.ready.outputs], own.leaves)
            return [own.ready.kernel.bind(own.ready.space, *args)]
        found = []
        for (first, end), kept in zip(own.ready.parts, own.parts, strict=True):
            launches = self._part(first, end)[0]._bound(kept[0]) if kept else []
            if not launches:
                return []
            found += launches
        return found

    def _run(
        self,
        ready: PreparedLaunch | _SplitLaunch,
        queue: Any,
        leaves: tuple[Any, ...],
        kept: Sequence[list[Any]] | None = None,
    ) -> Any:
        if isinstance(ready, _SplitLaunch):
            self._ran, self._ran_parts = ready.reason, ready.parts if len(self.statements) > 1 else ()
            return self._in_parts(ready.parts, leaves, kept)
        made = [leaves[each.leaf or 0] if each.make is None else each.make(queue) for each in ready.outputs]
        launch(ready.kernel, ready.space, self._arguments(ready, made, leaves))
        self._ran, self._ran_parts = (ready, queue), ()
        if len(self._outputs) == 1:
            return made[self._outputs[0]]
        return tuple([made[number] for number in self._outputs])

    @staticmethod
    def _arguments(ready: PreparedLaunch, made: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
        """The arguments of a launch with these results and operands."""
        if not ready.flat:
            return [*made, *leaves, *ready.scalars]
        args = [flat_view(each) if each.ndim != 1 else each for each in made]
        return [*args, *(flat_view(each) if position in ready.flat else each for position, each in enumerate(leaves))]

    def _found(self, leaves: tuple[Any, ...]) -> tuple[PreparedLaunch | _SplitLaunch, Any, tuple[Any, ...]]:
        """Prepared launch for operands, or the split into several; its queue; and the operands to use."""
        key, queue = self.key(leaves)
        if queue is None:
            return self._split(str(self._ran or "it has no arrays")), None, leaves
        aliases: _Aliases = ()
        if self._stores:
            memory = self._memories.get(key)
            if memory is None:
                memory = self._memories[key] = _Memory.of(leaves)
            if memory.single:
                leaves = self._with_own_elements(leaves)
            found = self._aliases(leaves, memory)
            if found is None:
                return self._split("an array that it stores to shares memory"), queue, leaves
            aliases = found
            if aliases:
                key = (*key, aliases)
        ready = self._launches.get(key)
        if ready is None:
            ready = self._prepare(key, leaves, queue, dict(aliases))
        return self._split(str(ready), ready.shapes) if isinstance(ready, Unfused) else ready, queue, leaves

    def _split(self, reason: str, shapes: Sequence[tuple[int, ...]] = ()) -> _SplitLaunch:
        """The parts for statements of these shapes; without shapes, or where all have one, each is one of its own."""
        is_alike = len(set(shapes)) < 2
        starts = [number for number in range(len(self.statements))
                  if is_alike or not number or shapes[number] != shapes[number - 1]]  # fmt: skip
        return _SplitLaunch(reason, tuple(itertools.pairwise([*starts, len(self.statements)])))

    @property
    def latest(self) -> KernelLaunch | str | None:
        """The latest launch, or why there was none."""
        if not isinstance(self._ran, tuple):
            return self._ran
        ready, queue = self._ran
        made = [(each.shape, each.dtype, each.kind) for each in ready.outputs if each.dtype and each.kind]
        return KernelLaunch(ready.kernel, ready.space, queue, made)

    @property
    def ran_parts(self) -> list[FusedRegion]:
        """The parts of the latest run, if it was split."""
        return [self._part(*each)[0] for each in self._ran_parts]

    def key(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
        """Specialization key of a launch, and the one queue of the arrays; None where there is none, or not one.

        Raises `ExecutionPlacementError` if the region's only statement has arrays of two devices.
        """
        key: list[Any] = []
        queue = None
        is_mixed = has_host = False
        for leaf, contiguous in zip(leaves, self._contiguous, strict=True):
            own_library = library_of(leaf)
            if own_library is not None:
                if queue is None:
                    queue = own_library.queue_of(leaf)
                elif not own_library.is_on(leaf, queue):
                    is_mixed = True
                key.append(leaf.shape)
                if not contiguous:
                    key += own_library.layout_key(leaf)
            else:
                has_host = has_host or is_numpy_array(leaf)
                key.append(number_key(leaf))
        if queue is not None and (is_mixed or has_host):
            if len(self.statements) == 1:
                one_queue(self.location, self.names, leaves)
            # Statements run on the device of their own arrays; one with arrays of several raises by itself.
            self._ran = "its arrays are in several places"
            queue = None
        return tuple(key), queue

    def _with_own_elements(self, leaves: tuple[Any, ...]) -> tuple[Any, ...]:
        """The leaves, with copies of single elements that statements may store to: they are read before that."""
        made = list(leaves)
        for position, each in enumerate(leaves):
            if is_device_array(each) and each.ndim == 0 and position not in self._stores:
                stored_to = [leaves[target] for target in self._stores if is_device_array(leaves[target])]
                if any(may_overlap(each, other) for other in stored_to):
                    made[position] = each.copy()
        return tuple(made)

    def _aliases(self, leaves: Sequence[Any], memory: _Memory) -> _Aliases | None:
        """Operands that are the same view as an array that is stored to, each with that array's position.

        An element of them is to be read where its statement stands, whichever name it has there. None if an array that
        is stored to is otherwise aliased by an operand.
        """
        starts = [own.pointer_of(leaves[position]) for position, own, _, _ in memory.arrays]
        distances = tuple([start - starts[0] for start in starts])
        try:
            return memory.aliases[distances]
        except KeyError:
            found = memory.aliases[distances] = self._found_aliases(leaves, memory, starts)
            return found

    def _found_aliases(self, leaves: Sequence[Any], memory: _Memory, starts: Sequence[int]) -> _Aliases | None:
        found: dict[int, int] = {}
        bounds = {
            position: (start + low, start + high)
            for start, (position, _, low, high) in zip(starts, memory.arrays, strict=True)
        }
        for target in self._stores:
            if target in found or target not in bounds:
                continue
            array, (low, high) = leaves[target], bounds[target]
            for position, (other_low, other_high) in bounds.items():
                if other_high <= low or high <= other_low or position == target or position in found:
                    continue
                other = leaves[position]
                if is_same_view(array, other):
                    found[position] = target
                elif may_overlap(array, other):
                    return None
        return tuple(found.items())

    def _in_parts(
        self, parts: Sequence[tuple[int, int]], leaves: Sequence[Any], kept: Sequence[list[Any]] | None = None
    ) -> Any:
        """Run each part as a kernel of its own, and a single statement that is none by dpnp or Python."""
        if len(self.statements) == 1:
            value = by_library(self.statements[0], leaves, (), self._types.operation)
            return value if self.statements[0].is_output else ()
        values: list[Any] = []
        for number, (first, end) in enumerate(parts):
            region, used = self._part(first, end)
            given = [*leaves, *values]
            operands = [given[each] for each in used]
            is_kept = kept is not None and not region.varying
            found = region.again(kept[number], *operands) if kept and is_kept else region(*operands)
            outputs = [each.is_output for each in region.statements]
            results = iter((found,) if sum(outputs) == 1 else found)
            values += [next(results) if is_output else None for is_output in outputs]
        made = [value for value, each in zip(values, self.statements, strict=True) if each.is_output]
        return made[0] if len(made) == 1 else tuple(made)

    def _part(self, first: int, end: int) -> tuple[FusedRegion, tuple[int, ...]]:
        """The region of some statements, and which of the leaves and earlier values are its leaves."""
        if (first, end) not in self._parts:
            own, count = self.statements[first:end], len(self.names)

            def outside(node: Node) -> Node:
                return absolute(node, count) if isinstance(node, Ref) and node.statement < first else node

            nodes = [renumbered(each.node, outside) for each in own]
            stored = {each.target for each in own if each.target is not None}
            used = sorted(set().union(*map(leaves_of, nodes)) | stored)

            def renumber(node: Node) -> Node:
                if isinstance(node, Leaf):
                    return Leaf(used.index(node.index))
                return Ref(node.statement - first) if isinstance(node, Ref) else node

            read_later = set().union(*(references_of(each.node) for each in self.statements[end:]))
            statements = [
                Statement(
                    renumbered(node, renumber),
                    None if each.target is None else used.index(each.target),
                    each.in_place,
                    end == first + 1 or each.is_output or number in read_later,
                    each.location,
                )
                for number, (node, each) in enumerate(zip(nodes, own, strict=True), first)
            ]
            names = [*self.names, *(each.location.text for each in self.statements[:first])]
            region = FusedRegion(
                statements, [names[each] for each in used], fastmath=self.fastmath, numba_types=self._numba_types
            )
            region.varying = frozenset(
                number for number, each in enumerate(used) if each in self.varying or each >= count
            )
            self._parts[first, end] = region, tuple(used)
        return self._parts[first, end]

    def _prepare(
        self, key: tuple[Any, ...], leaves: Sequence[Any], queue: Any, aliases: dict[int, int]
    ) -> PreparedLaunch | Unfused:
        with self._lock:
            ready: PreparedLaunch | Unfused
            try:
                ready = self._specialize(leaves, queue, aliases)
            except Unfused as reason:
                ready = reason
            self._launches[key] = ready
        return ready
