"""Privatised reductions: sums into copies of small arrays, in place of atomics in the memory that all share.

On a processor each work-item has a row of its own. The loop is coarsened, so that there are few rows, and a second
kernel adds them up. On a GPU each work-group has a copy in its local memory, and adds it to the array at its end.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import kapi_runtime
from kapi_numba_offload.analysis.control_flow import has_jump
from kapi_numba_offload.analysis.syntax import assignment, expression, located, statements
from kapi_numba_offload.elements.kernel_source import MOST_DIMENSIONS, make_kernel, space_of
from kapi_numba_offload.elements.reduction_operators import COMBINATIONS
from kapi_numba_offload.elements.work_distribution import ROWS_PER_UNIT, WorkDistribution, distribute_rows
from kapi_numba_offload.libraries.arrays import allocate, device_facts, is_device_array, may_share_memory, queue_of
from kapi_numba_offload.libraries.interface import DeviceFacts
from kapi_numba_offload.run.launching import launch

__all__ = [
    "BLOCK",
    "GroupCopies",
    "PrivateRows",
    "PrivatizedArray",
    "PrivatizedBody",
    "adding_kernel",
    "are_distinct",
    "pitch_of",
    "privatize_in_groups",
    "privatize_reductions",
    "small_arrays",
]

BLOCK = 64
"""Iterations of a strip: the first loop computes their indices and values, the second does their updates."""

_MAX_BYTES = 2**20  # of a row; more would not stay near the processor
_MIN_ITERATIONS = 4096  # with fewer, two kernels more take longer than atomics do
_DTYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")
_LINE = 128  # bytes that processors fetch together: rows of two work-items lie in none of them
_UPDATES = {
    "fetch_add": ("sum", "+"), "fetch_sub": ("sum", "-"), "fetch_and": ("and", "&"), "fetch_or": ("or", "|"),
    "fetch_xor": ("xor", "^"),
}  # fmt: skip
"""The reduction and the operator of each atomic method that can be privatised."""
_ADDING = {"sum": "fetch_add", "and": "fetch_and", "or": "fetch_or", "xor": "fetch_xor"}
"""The method that combines a copy with the array, by the reduction."""

_LOCAL = "kapi_MemoryOrder.RELAXED, kapi_MemoryScope.WORK_GROUP, kapi_AddressSpace.LOCAL"
"""Arguments of atomic references to a group's copy."""

_GROUP = 256  # work-items of a group on a GPU
_GROUPS_PER_UNIT = 4
_STEPS = 16  # iterations of a work-item, for which a copy is worth its filling
_MAX_LOCAL_BYTES = 16384  # of a group's copies: with more, few groups would be on a unit at once


class PrivatizedArray(NamedTuple):
    """An array into whose elements a loop reduces by one operation of `COMBINATIONS`, and of which it reads none."""

    name: str
    operation: str

    @property
    def parameters(self) -> list[str]:
        """The parameters of kernels for it: all rows along one axis, the length of one, and what it starts with."""
        return [f"kapi_{word}_{self.name}" for word in ("rows", "pitch", "identity")]

    @property
    def lines(self) -> list[str]:
        """The lines of a kernel that fill the row of the work-item `kapi_row`."""
        rows, pitch, identity = self.parameters
        start = f"kapi_start_{self.name}"
        fill = f"    {rows}[{start} + kapi_slot] = {identity}"
        return [f"{start} = kapi_row * {pitch}", f"for kapi_slot in range({pitch}):", fill]

    def identity(self, dtype: np.dtype[Any]) -> Any:
        """The number that a row starts with."""
        # To add 0.0 would change the sign of a zero.
        return dtype.type(-0.0) if dtype.kind == "f" else COMBINATIONS[self.operation].identity(dtype)

    @property
    def local(self) -> str:
        """The parameter for a copy in a group's local memory."""
        return f"kapi_local_{self.name}"

    def group_lines(self, ndim: int) -> tuple[list[str], list[str]]:
        """The lines of a work-item `kapi_k` that fill a group's copy, and those that combine it with the array."""
        slots = f"for kapi_slot in range(kapi_k, {self.name}.size, kapi_size):"
        identity, rest, indices = self.parameters[-1], "kapi_slot", list[str]()
        for axis in reversed(range(1, ndim)):
            indices.insert(0, f"{rest} % {self.name}.shape[{axis}]")
            rest = f"({rest} // {self.name}.shape[{axis}])"
        index = ", ".join([rest, *indices])
        update = f"kapi_AtomicRef({self.name}, ({index})).{_ADDING[self.operation]}({self.local}[kapi_slot])"
        fill = [slots, f"    {self.local}[kapi_slot] = {identity}"]
        return fill, [slots, f"    if {self.local}[kapi_slot] != {identity}:", f"        {update}"]

    def arguments(self, rows: Any, pitch: int) -> list[Any]:
        """Arguments for `parameters`."""
        return [rows, pitch, self.identity(rows.dtype)]

    def sample(self, array: Any) -> list[Any]:
        """Arguments to compile a kernel with."""
        return self.arguments(allocate((1,), array.dtype, "device", queue_of(array)), 1)


class PrivatizedBody(NamedTuple):
    """The body of a loop with rows of a work-item's own.

    - `before`: lines of the kernel before the loop.
    - `first`, `second`: what is done for each iteration. Where there is a second part, it is done for `BLOCK`
      iterations after the first has been, and `kapi_number` counts them: the first may become vectors then.
    - `after`: lines of the kernel after the loop.
    """

    before: list[str]
    first: list[ast.stmt]
    second: list[ast.stmt]
    arrays: list[PrivatizedArray]
    after: list[str]


def privatize_reductions(
    body: Sequence[ast.stmt], dtypes: Mapping[str, str], small: Iterable[str]
) -> PrivatizedBody | None:
    """A body that sums into rows in place of atomic operations; None where it has none that rows can replace.

    An index beyond the array stays with the atomic operation, which then does what it did before.

    - `body`: with elements only, and atomic operations where several iterations may update one.
    - `dtypes`: the name of each array's dtype.
    - `small`: the arrays that are small enough; one that the body does anything else with stays as it is.
    """
    arrays, updates = _privatized(body, small)
    if not arrays:
        return None
    at_top = sum((_update(each) or ("",))[0] in arrays for each in body)
    is_split = at_top == sum(array in arrays for array, _ in updates) and not any(map(has_jump, body))
    writer = _Privatizer(arrays, dtypes, is_split=is_split)
    first = ast.Module(copy.deepcopy(list(body)), [])
    writer.visit(first)
    filled = [line for each in arrays.values() for line in each.lines]
    return PrivatizedBody([*writer.before, *filled], first.body, writer.second, list(arrays.values()), [])


def privatize_in_groups(
    body: Sequence[ast.stmt], dtypes: Mapping[str, str], small: Iterable[str], ranks: Mapping[str, int]
) -> PrivatizedBody | None:
    """The same for a GPU: atomic operations in local memory, on a copy of the work-group.

    - `body`, `dtypes`, `small`: as for `privatize_reductions`.
    - `ranks`: the axes of each array.
    """
    arrays, _ = _privatized(body, small)
    if not arrays:
        return None
    writer = _Privatizer(arrays, dtypes, is_split=False, is_local=True)
    first = ast.Module(copy.deepcopy(list(body)), [])
    writer.visit(first)
    lines = [each.group_lines(ranks[name]) for name, each in arrays.items()]
    before, after = ([line for each in lines for line in each[part]] for part in range(2))
    return PrivatizedBody(before, first.body, [], list(arrays.values()), after)


def _privatized(
    body: Sequence[ast.stmt], small: Iterable[str]
) -> tuple[dict[str, PrivatizedArray], list[tuple[str, str]]]:
    """The small arrays with which a body does nothing but one kind of updates, and all of its updates."""
    updates = [each for statement in body for node in ast.walk(statement) if (each := _update(node)) is not None]
    arrays: dict[str, PrivatizedArray] = {}
    for name in small:
        operations = {_UPDATES.get(method, ("", ""))[0] for array, method in updates if array == name}
        uses = sum(_uses(name, statement) for statement in body)
        if len(operations) == 1 and "" not in operations and uses == sum(array == name for array, _ in updates):
            arrays[name] = PrivatizedArray(name, *operations)
    return arrays, updates


def _update(node: ast.AST) -> tuple[str, str] | None:
    """Array and method, if `node` is a statement that updates an element atomically."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Call(ast.Name("kapi_AtomicRef"), [ast.Name(array), *_]), method))):
            return array, method
    return None


def _uses(name: str, node: ast.AST) -> int:
    """Number of uses of an array, but for its lengths."""
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "ndim") and isinstance(node.value, ast.Name):
        return 0
    if isinstance(node, ast.Name):
        return int(node.id == name)
    return sum(_uses(name, each) for each in ast.iter_child_nodes(node))


class _Privatizer(ast.NodeTransformer):
    """Writes updates of elements as those of the work-item's row; `is_split` puts them in a part of their own.

    With `is_local` they are atomic ones of the work-group's copy.
    """

    def __init__(
        self,
        arrays: Mapping[str, PrivatizedArray],
        dtypes: Mapping[str, str],
        *,
        is_split: bool,
        is_local: bool = False,
    ) -> None:
        self._arrays, self._dtypes, self._is_split, self._is_local = arrays, dtypes, is_split, is_local
        self._count = 0
        self.before: list[str] = []
        self.second: list[ast.stmt] = []

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        name, method = _update(node) or ("", "")
        if name not in self._arrays:
            return node
        reference, (value,) = node.value.func.value, node.value.args  # type: ignore[attr-defined]
        made: list[ast.stmt] = []
        # Unsigned indices and lengths would have a float as their common type.
        index = reference.args[1]
        axes = index.elts if isinstance(index, ast.Tuple) else [index]
        indices = [self._kept(each, "int64", made) for each in axes]
        added = self._kept(value, self._dtypes[name], made)
        tests = (f"{each} >= 0 and {each} < {name}.shape[{axis}]" for axis, each in enumerate(indices))
        offset = indices[0]
        for axis, each in enumerate(indices[1:], 1):
            offset = f"({offset}) * {name}.shape[{axis}] + {each}"
        if self._is_local:
            done = f"kapi_AtomicRef({self._arrays[name].local}, {offset}, {_LOCAL}).{method}({added})"
        else:
            element = f"{self._arrays[name].parameters[0]}[kapi_start_{name} + ({offset})]"
            done = f"{element} {_UPDATES[method][1]}= {added}"
        reference.args[1] = located(expression(", ".join(indices)), node)
        node.value.args = [located(expression(added), node)]  # type: ignore[attr-defined]
        (update,) = statements(f"if {' and '.join(tests)}: {done}\nelse: kapi_atomic", kapi_atomic=[node])
        (self.second if self._is_split else made).append(located(update, node))
        return made

    def _kept(self, value: ast.expr, dtype: str, made: list[ast.stmt]) -> str:
        """A variable with a value, which a statement of `made` gives it; in split bodies by an array for a strip."""
        self._count += 1
        name = target = f"kapi_kept{self._count}"
        if self._is_split:
            target = f"{name}s[kapi_number]"
            self.before.append(f"{name}s = kapi_PrivateArray({BLOCK}, kapi_np.{dtype})")
            self.second.append(located(assignment(name, expression(target)), value))
        (first,) = statements(f"{target} = kapi_np.{dtype}(kapi_value)", kapi_value=value)
        made.append(located(first, value))
        return name


def small_arrays(
    captured: Sequence[Any], stored: Sequence[int], extents: Sequence[int], facts: DeviceFacts
) -> tuple[int, ...]:
    """Stored arrays of which each unit of a device may have a row, by their positions.

    A row has at most as many elements as the unit has iterations, so that to fill and add up rows is the lesser work.
    On a GPU those of which each work-group may have a copy, which has at most as many elements as it has iterations.
    """
    count = math.prod(extents)
    if facts.is_cpu:
        most = count // facts.units if count >= _MIN_ITERATIONS else 0
        return tuple(number for number in stored if _is_small(captured[number], most))
    most, left, found = count // _groups(count, facts), _MAX_LOCAL_BYTES, []
    for number in stored:
        if count >= _GROUP * _STEPS and _is_small(captured[number], most) and captured[number].nbytes <= left:
            left -= captured[number].nbytes
            found.append(number)
    return tuple(found)


def _groups(count: int, facts: DeviceFacts) -> int:
    """Work-groups that so many iterations keep busy on a GPU."""
    return max(1, min(_GROUPS_PER_UNIT * facts.units, count // (_GROUP * _STEPS)))


class GroupCopies:
    """The copies in local memory of one launch on a GPU.

    - `identities`, `accessors`: arguments of the loop's kernel: what each copy starts with, and the copies.
    """

    def __init__(
        self, privatized: Sequence[PrivatizedArray], arrays: Sequence[Any], extents: Sequence[int], facts: DeviceFacts
    ) -> None:
        self.space = kapi_runtime.NdRange(_groups(math.prod(extents), facts) * _GROUP, _GROUP)
        self.identities = [each.identity(array.dtype) for each, array in zip(privatized, arrays, strict=True)]
        self.accessors = [kapi_runtime.LocalAccessor(each.size, each.dtype) for each in arrays]


def _is_small(array: Any, most: int) -> bool:
    return (
        is_device_array(array)
        and 0 < array.size <= most
        and 1 <= array.ndim <= MOST_DIMENSIONS
        and array.dtype.name in _DTYPES
        and array.nbytes <= _MAX_BYTES
        # No two indices mean the same element.
        and bool(array.flags.c_contiguous or array.flags.f_contiguous)
    )


def are_distinct(positions: Sequence[int], captured: Sequence[Any]) -> bool:
    """Whether the arrays at these positions share no memory with other ones."""
    arrays = [(number, each) for number, each in enumerate(captured) if is_device_array(each)]
    return not any(at != number and may_share_memory(captured[at], each) for at in positions for number, each in arrays)


def pitch_of(size: int, dtype: np.dtype[Any]) -> int:
    """Elements from one row to the next, for rows of `size` elements."""
    step = _LINE // dtype.itemsize
    return -(-size // step) * step


class PrivateRows:
    """The rows of one launch, for arrays that are small enough for so many iterations.

    - `shares`: how the iterations of the outermost loop are shared out.
    - `arguments`: arguments of the loop's kernel for `PrivatizedArray.parameters`.
    - `allocations`: shape, dtype and USM kind of the rows.
    """

    def __init__(
        self, privatized: Sequence[PrivatizedArray], arrays: Sequence[Any], extents: Sequence[int], queue: Any
    ) -> None:
        facts = device_facts(queue)
        longest = max(each.size for each in arrays) * facts.units
        per_unit = max(1, min(ROWS_PER_UNIT, math.prod(extents) // longest))
        self.shares: WorkDistribution = distribute_rows(extents[0], facts, per_unit)
        pitches = [pitch_of(each.size, each.dtype) for each in arrays]
        rows = [
            allocate((self.shares.rows * pitch,), each.dtype, "device", queue)
            for each, pitch in zip(arrays, pitches, strict=True)
        ]
        self._parts = list(zip(privatized, arrays, rows, pitches, strict=True))
        self.arguments = [part for each, _, own, pitch in self._parts for part in each.arguments(own, pitch)]
        self.allocations = [(each.shape, each.dtype, "device") for each in rows]

    def add_up(self, location: Any) -> None:
        """Combine the rows with the arrays; `location` is the source location of the loop."""
        for each, array, rows, pitch in self._parts:
            kernel = adding_kernel(each.operation, array.dtype, array.ndim, str(location))
            launch(kernel, space_of(array.shape), [array, rows, self.shares.rows, pitch, *array.shape[1:]])


def adding_kernel(operation: str, dtype: np.dtype[Any], ndim: int, location: str, *, is_new: bool = False) -> Any:
    """The kernel that combines the elements of all rows with an array, over `space_of` of it.

    Its arguments: the array, the rows one after another along one axis, their number, elements from one to the next,
    and the array's lengths but the first. An array that `is_new` has no values yet.
    """
    combination = COMBINATIONS[operation]
    lengths = [f"n{axis}" for axis in range(1, ndim)]
    at = "item.get_id(0)"
    for axis, length in enumerate(lengths, 1):
        at = f"({at}) * {length} + item.get_id({axis})"
    element = f"array[{', '.join(f'item.get_id({axis})' for axis in range(ndim))}]"
    lines = [f"at = {at}", "total = rows[at]", "for row in range(1, count):"]
    lines.append(f"    {combination.line('rows[row * pitch + at]', dtype)}")
    if not is_new:
        lines.append(combination.line(element, dtype))
    lines.append(f"{element} = total")
    return make_kernel("add_up", ("array", "rows", "count", "pitch", *lengths), tuple(lines), location)
