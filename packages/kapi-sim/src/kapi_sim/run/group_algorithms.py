"""Group algorithms, for all work-items of a group at once.

The values are those of the members by their id in the group; so are the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from kapi_sim.errors import CollectiveMismatchError, DtypeError, KernelCompilationError
from kapi_sim.items.undefined_values import Undefined
from kapi_sim.language.intrinsics import group_algorithms as words
from kapi_sim.language.intrinsics.operators import Operator, identity, operator_row
from kapi_sim.language.promotion import operand_of_class, scalar_class, unify
from kapi_sim.memory.views import poison
from kapi_sim.numbers.arithmetic import checked_ring, wrapped_ring
from kapi_sim.short_repr import short_repr

__all__ = ["BeyondGroup", "outcome", "poisoned"]

_PARTIALS = 16
"""Partial results of a reduction of floats, those of kapi-cpu: value number i is a part of number i % 16."""

_WEAK_KINDS: dict[type, tuple[str, str]] = {bool: ("b", "bool"), int: ("i", "int64"), float: ("f", "float64")}


class BeyondGroup(CollectiveMismatchError):
    """A work-item was named that the group does not have; completed where the call is known.

    - `requirement`: what the argument must be, and what it was.
    - `member`: who named it; `None` if all did.
    - `code`: the cause.
    """

    def __init__(self, requirement: str, member: int | None, *, code: str) -> None:
        super().__init__(requirement, code=code)
        self.member = member


def outcome(
    word: Callable[..., Any],
    values: Sequence[Any],
    argument: Any,
    is_checked: bool,
    undefined: Callable[[int, str], Any],
) -> list[Any]:
    """Return each member's result.

    - `word`: the group algorithm.
    - `values`: each member's own.
    - `argument`: the operator, or the id, delta or mask; of `select_from_group` a list of each member's.
    - `is_checked`: whether weak integers are held to 64 bits, or wrap.
    - `undefined`: takes a member and what it asked for, and returns what it gets if there is none such.

    Raises `BeyondGroup` if a work-item is named that is not in the group; `DtypeError` if the values are no scalars, or
    none that the operator takes; `KernelCompilationError` if the operator is none.
    """
    if word in _TESTS:
        for value in values:
            if isinstance(value, (complex, np.complexfloating)):
                raise DtypeError(
                    f"pred of {word.__name__} must be a bool, or a number to be compared with 0, got "
                    f"{short_repr(value)}",
                    code="group-predicate",
                )
        return [_TESTS[word](map(bool, values))] * len(values)
    values = _unified(word.__name__, values)
    count = len(values)
    if word is words.group_broadcast:
        chosen = _integer("linear_id", argument)
        if not 0 <= chosen < count:
            raise BeyondGroup(
                f"linear_id of group_broadcast must be from 0 to {count - 1} in this group, got {chosen}",
                None,
                code="no-such-work-item",
            )
        return [values[chosen]] * count
    if word is words.select_from_group:
        remote = [_integer("remote_local_id", each) for each in argument]
        for member, other in enumerate(remote):
            if not 0 <= other < count:
                raise BeyondGroup(
                    f"remote_local_id of select_from_group must be from 0 to {count - 1} in this sub-group, "
                    f"got {other}",
                    member,
                    code="no-such-work-item",
                )
        return [values[other] for other in remote]
    if word in _SOURCES:
        name = "mask" if word is words.permute_group_by_xor else "delta"
        distance = _integer(name, argument)
        if distance < 0:
            raise BeyondGroup(
                f"{name} of {word.__name__} must be at least 0, got {distance}", None, code="no-such-work-item"
            )
        sources = [_SOURCES[word](member, distance) for member in range(count)]
        return [
            values[source] if 0 <= source < count else undefined(member, f"id {source} of {count}")
            for member, source in enumerate(sources)
        ]
    return _combined(word, values, argument, is_checked)


def _combined(word: Callable[..., Any], values: list[Any], operator: Any, is_checked: bool) -> list[Any]:
    row = operator_row(operator)
    if row is None:
        raise KernelCompilationError(
            f"op of {word.__name__} must be one of kapi's operators (kapi.plus, kapi.maximum, ...), got "
            f"{short_repr(operator)}",
            code="group-operator",
        )
    if values[0].__class__ is Undefined:
        return values
    kind, dtype = _kind(values[0])
    if kind not in row.kinds:
        hint = "write `x != 0`" if row.kinds == "b" else "convert the value first"
        raise DtypeError(
            f"x of {word.__name__} must be of a type that `{row.name}` takes, got {dtype}: {hint}",
            code="group-operator-type",
        )
    ring = checked_ring if is_checked else wrapped_ring
    function = row.function

    def combine(x: Any, y: Any) -> Any:
        return ring(function(x, y))

    first = _identity(row, values[0])
    is_half = dtype == "float16"
    if is_half:  # combined in float32, and rounded once
        values = [np.float32(value) for value in values]
    if word is words.reduce_over_group:
        results = [_reduced(combine, values, dtype)] * len(values)
    else:
        results = list(accumulate(values, combine))
    if is_half:
        results = [np.float16(result) for result in results]
    return [first, *results[:-1]] if word is words.exclusive_scan_over_group else results


def _reduced(combine: Callable[[Any, Any], Any], values: list[Any], dtype: str) -> Any:
    """Combine values: floats in interleaved partial results, which processors compute at once."""
    if np.dtype(dtype).kind in "fc":
        values = [reduce(combine, values[first::_PARTIALS]) for first in range(min(_PARTIALS, len(values)))]
    return reduce(combine, values)


def _identity(row: Operator, value: Any) -> Any:
    start = identity(row, np.dtype(_kind(value)[1]))
    return start if isinstance(value, np.generic) else start.item()


def _kind(value: Any) -> tuple[str, str]:
    if isinstance(value, np.generic):
        return value.dtype.kind, str(value.dtype)
    return _WEAK_KINDS.get(value.__class__, ("c", "complex"))


def _unified(name: str, values: Sequence[Any]) -> list[Any]:
    """Return the values in one type: work-items may have come by weak and strong ones."""
    classes = set(map(type, values))
    for kind in classes:
        if not issubclass(kind, (np.generic, bool, int, float, complex, Undefined)):
            value = next(value for value in values if type(value) is kind)
            raise DtypeError(
                f"x of {name} must be a number or a bool, got {short_repr(value)} of type {kind.__name__}",
                code="group-value",
            )
    if len(classes) == 1:
        return list(values)
    if Undefined in classes and name not in _MOVES:
        return [next(value for value in values if type(value) is Undefined)] * len(values)
    if len(classes - {Undefined}) == 1:
        return list(values)
    kinds = sorted(classes - {Undefined}, key=lambda kind: kind.__name__)
    convert = scalar_class(unify(*map(operand_of_class, kinds)))
    return [value if value.__class__ is Undefined else convert(value) for value in values]


def _integer(name: str, value: Any) -> int:
    if value.__class__ is Undefined:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise DtypeError(
            f"{name} must be an integer, got {short_repr(value)} of type {type(value).__name__}", code="group-integer"
        )
    return int(value)


_TESTS: dict[Any, Callable[..., bool]] = {
    words.any_of_group: any,
    words.all_of_group: all,
    words.none_of_group: lambda values: not any(values),
}
_SOURCES: dict[Any, Callable[[int, int], int]] = {
    words.shift_group_left: lambda member, delta: member + delta,
    words.shift_group_right: lambda member, delta: member - delta,
    words.permute_group_by_xor: lambda member, mask: member ^ mask,
}
_MOVES = ("group_broadcast", "select_from_group", *(word.__name__ for word in _SOURCES))


_POISON: dict[type, Any] = {}


def poisoned(value: Any) -> Any:
    """Return what an unchecked kernel gets for a value that is not defined."""
    kind = value.__class__
    if kind not in _POISON:
        made = np.empty(1, np.asarray(value).dtype)
        poison(made)
        _POISON[kind] = made[0] if isinstance(value, np.generic) else made[0].item()
    return _POISON[kind]
