"""The types of sequences: `range`, arrays, tuples, `enumerate`, `zip` and `reversed` of these, and their reductions.

All of these have a length and a value at each position, so a loop over any of them is a count of positions.
"""

from __future__ import annotations

import functools
import inspect
import operator
from typing import Any

from kapi_types._numba_compat import templates, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_typing.library.sequence_functions import FUNCTIONS, OF_RANGES
from kapi_types.kernel_typing.problems.problems import spell_type
from kapi_types.kernel_typing.rules.promotion import integer_type, is_scalar
from kapi_types.kernel_typing.rules.rule_registry import RuleRegistry
from kapi_types.weak import weak_bool, weak_int

__all__ = [
    "EnumerateType",
    "PositionIteratorType",
    "RangeIteratorType",
    "RangeType",
    "ReversedType",
    "ZipType",
    "as_sequence",
    "registry",
    "value_type",
]

registry = RuleRegistry()


class RangeIteratorType(types.SimpleIteratorType):
    """The state of a `range` loop; its values are weak ints, as Python's are."""

    def __init__(self) -> None:
        super().__init__("range_iterator", weak_int)


class RangeType(types.SimpleIterableType):
    """`range(start, stop, step)` of 64-bit integers."""

    def __init__(self) -> None:
        super().__init__("range", RangeIteratorType())


class _OverType(types.Type):
    """An iterator over sequences; its name identifies the type, `spelled` is for messages."""

    word: str

    def __init__(self, *sequences: types.Type) -> None:
        self.sequences = sequences
        self.spelled = f"{self.word} of {', '.join(map(spell_type, sequences))}"
        super().__init__(f"{self.word}{sequences}")

    @property
    def sequence(self) -> types.Type:
        """The only sequence, or the first."""
        return self.sequences[0]


class EnumerateType(_OverType):
    """`enumerate(sequence, start)`."""

    word = "enumerate"


class ZipType(_OverType):
    """`zip(*sequences)`, as long as the shortest.

    - `*sequences`: what is gone over side by side.
    """

    word = "zip"


class ReversedType(_OverType):
    """`reversed(sequence)`.

    - `sequence`: an array or a tuple; a range reversed is a range.
    """

    word = "reversed"


class PositionIteratorType(types.SimpleIteratorType):
    """The state of a loop over a sequence: the next position, and the sequence."""

    def __init__(self, context: Any, sequence: types.Type) -> None:
        self.sequence = sequence
        super().__init__(f"positions({sequence})", value_type(context, sequence))


def as_sequence(context: Any, type_: types.Type) -> types.Type | None:
    """The type as which a loop goes over a value; None if it cannot.

    Members of a tuple that differ in type are taken as the one type that a variable for all of them has.
    """
    if isinstance(type_, types.BaseTuple):
        if len(type_) == 0:
            return None
        try:
            member = functools.reduce(context.unify_pairs, type_.types)
        except ValueError:
            return None
        return types.UniTuple(member, len(type_))
    if isinstance(type_, ArrayType):
        return type_ if type_.ndim else None
    return type_ if isinstance(type_, (RangeType, EnumerateType, ZipType, ReversedType)) else None


def value_type(context: Any, sequence: types.Type) -> types.Type:
    """The type of the value at each position of what `as_sequence` gave."""
    if isinstance(sequence, RangeType):
        return weak_int
    if isinstance(sequence, EnumerateType):
        return types.Tuple((weak_int, value_type(context, sequence.sequence)))
    if isinstance(sequence, ZipType):
        return types.Tuple(tuple(value_type(context, each) for each in sequence.sequences))
    if isinstance(sequence, ReversedType):
        return value_type(context, sequence.sequence)
    if isinstance(sequence, ArrayType):
        return context.resolve_function_type(operator.getitem, (sequence, weak_int), {}).return_type
    return sequence.dtype


@registry.rule(range)
def _range(context: Any, *args: types.Type) -> Any:
    # Python's bools are ints, NumPy's are not.
    if not 1 <= len(args) <= 3 or not all(isinstance(a, types.Integer) or a == weak_bool for a in args):
        return None
    return templates.signature(RangeType(), *map(integer_type, args))


@registry.register_attr
class _Ends(templates.AttributeTemplate):
    """`start`, `stop` and `step` of a range."""

    key = RangeType

    def resolve_start(self, range_: RangeType) -> types.Type:
        return weak_int

    resolve_stop = resolve_step = resolve_start


_ENUMERATE = inspect.Signature(
    [
        inspect.Parameter("iterable", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        inspect.Parameter("start", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=0),
    ]
)


@registry.register_global(enumerate)
class _Enumerate(templates.AbstractTemplate):
    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        try:
            given = _ENUMERATE.bind(*args, **kws).arguments
        except TypeError:
            return None
        sequence = as_sequence(self.context, given["iterable"])
        if sequence is None or not isinstance(given.get("start", weak_int), types.Integer):
            return None
        return templates.signature(EnumerateType(sequence), sequence, weak_int).replace(pysig=_ENUMERATE)


@registry.rule(zip)
def _zip(context: Any, *args: types.Type) -> Any:
    sequences = [as_sequence(context, each) for each in args]
    if not sequences or None in sequences:
        return None
    return templates.signature(ZipType(*sequences), *sequences)


@registry.rule(reversed)
def _reversed(context: Any, given: types.Type) -> Any:
    sequence = as_sequence(context, given)
    if isinstance(sequence, RangeType):
        return templates.signature(sequence, sequence)
    if not isinstance(sequence, (ArrayType, types.BaseTuple)):
        return None  # Python has no length of the others
    return templates.signature(ReversedType(sequence), sequence)


@registry.rule("getiter")
def _getiter(context: Any, given: types.Type) -> Any:
    sequence = as_sequence(context, given)
    if sequence is None:
        return None
    if isinstance(sequence, (RangeType, types.UniTuple)):
        return templates.signature(sequence.iterator_type, sequence)
    return templates.signature(PositionIteratorType(context, sequence), sequence)


@registry.rule("iternext")
def _iternext(context: Any, iterator: types.Type) -> Any:
    if isinstance(iterator, types.IteratorType):
        return templates.signature(types.Pair(iterator.yield_type, types.boolean), iterator)
    return None


@registry.rule(len)
def _length_of_range(context: Any, given: types.Type) -> Any:
    return templates.signature(weak_int, given) if isinstance(given, RangeType) else None


@registry.rule(operator.getitem)
def _range_indexing(context: Any, container: types.Type, index: types.Type) -> Any:
    if isinstance(container, RangeType) and isinstance(index, types.Integer):
        return templates.signature(weak_int, container, weak_int)
    return None


@registry.rule(operator.contains)
def _in_range(context: Any, container: types.Type, value: types.Type) -> Any:
    if not isinstance(container, RangeType) or not is_scalar(value):
        return None
    if value == types.uint64:  # as a Python integer, its upper half would be negative
        return templates.signature(weak_bool, container, value)
    is_integral = isinstance(value, (types.Integer, types.Boolean))
    return templates.signature(weak_bool, container, weak_int) if is_integral else None


@registry.shared_rule(*FUNCTIONS)
def _reduction(function: Any, context: Any, *args: types.Type) -> Any:
    """Typed by the function of the library, which is compiled for the sequence."""
    is_sum = function is sum
    if not 1 <= len(args) <= 1 + is_sum:
        return None
    if not (isinstance(args[0], RangeType) or (isinstance(args[0], ArrayType) and args[0].ndim == 1)):
        return None
    given = (*args, weak_int) if is_sum and len(args) == 1 else args
    functions = OF_RANGES if isinstance(args[0], RangeType) else FUNCTIONS
    return templates.signature(context.type_device_function(functions[function], given), *args)


@registry.shared_rule(operator.eq, operator.ne)
def _equal_ranges(function: Any, context: Any, left: types.Type, right: types.Type) -> Any:
    if not (isinstance(left, RangeType) and isinstance(right, RangeType)):
        return None
    return templates.signature(context.type_device_function(OF_RANGES[function], (left, right)), left, right)
