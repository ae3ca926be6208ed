"""What each variable is by Python's rules on the ways that lead to it, beside the one type that a device has.

A variable that is a Python number on one way and NumPy's on another is called loose. Python computes with its number as
it is, and a device with one of NumPy's types; so the numbers of the source are followed as both have them.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from kapi_types._numba_compat import as_dtype, ir, types
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType, is_of_library
from kapi_types.kernel_typing.passes.known_values import definitions_of, made_of
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, spell_type
from kapi_types.kernel_typing.rules.operators import BINARY, COMPARISONS, IN_PLACE, UNARY
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.kernel_typing.rules.tuples import NamedTupleClassType
from kapi_types.weak import is_weak, weak_bool, weak_complex, weak_float, weak_int

__all__ = [
    "TypedFunction",
    "Value",
    "Ways",
    "as_type",
    "function_of",
    "incoming",
    "is_phi",
    "mixed_types",
    "operands_of",
    "shown",
]

Pair = tuple[Any, Any]
"""A number as Python has it, and as a device has it."""

_MOST_NUMBERS = 16  # a variable that may be more is one of which nothing is known
_MOST_COMPUTED = 64
_PASSED_ON = (
    *("group_broadcast", "select_from_group", "permute_group_by_xor"),
    *("shift_group_left", "shift_group_right"),
)
_FAR = 64  # bits that a power or a shift may take a number beyond those of an integer


class TypedFunction(NamedTuple):
    """A function in which each variable has a type, as it is before its phi nodes are assignments.

    Attributes
    ----------
    blocks : dict
        Its blocks by label.
    typemap : dict
        The type of each variable.
    calltypes : dict
        The signature of each operation.
    definitions : dict
        What each variable is assigned, for those assigned once.
    returned : numba.types.Type
        The type that it returns.
    """

    blocks: dict[int, Any]
    typemap: dict[str, types.Type]
    calltypes: Any
    definitions: dict[str, Any]
    returned: types.Type

    @classmethod
    def of(cls, state: Any) -> TypedFunction:
        """The function of a compilation after type inference."""
        func_ir = state.func_ir
        return cls(dict(func_ir.blocks), state.typemap, state.calltypes, definitions_of(func_ir), state.return_type)


class Value(NamedTuple):
    """What a variable is on all ways.

    Attributes
    ----------
    types : frozenset of numba.types.Type
        The types that it has in Python.
    numbers : frozenset of tuple, or None
        What it is where it is a Python number; None if that is not known.
    members : tuple of Value
        Those of a tuple.
    name : str
        What the ways met at, in words.
    place : int
        The block where they met, by identity.
    """

    types: frozenset[types.Type]
    numbers: frozenset[Pair] | None = frozenset()
    members: tuple[Value, ...] = ()
    name: str = ""
    place: int = 0

    @property
    def is_loose(self) -> bool:
        """Whether it is a Python number on one way and a NumPy number on another."""
        return {is_weak(each) for each in self.types} == {True, False}


class Ways:
    """The values of a function's variables.

    Parameters
    ----------
    function : TypedFunction
        The function.
    context : KernelTypingContext
        What types operations.
    arguments : sequence of Value, optional
        What it is called with; without, what its arguments' types say.
    """

    def __init__(self, function: TypedFunction, context: Any, arguments: Sequence[Value] = ()) -> None:
        self.function = function
        self.calls: dict[int, Ways] = {}  # by the expression's identity: of functions given what has several types
        self.mixed: dict[int, Value] = {}  # by the expression's identity: operations of several types
        self._context = context
        self._arguments = tuple(arguments)
        self._values: dict[str, Value] = {}
        self._pending: set[str] = set()  # variables of which nothing is known yet
        self.assigned = [
            (statement, block) for block in function.blocks.values() for statement in block.find_insts(ir.Assign)
        ]
        if any(map(_is_of_several_types, arguments)) or self._has_several():
            self._settle()

    def of(self, name: str) -> Value:
        """The value of a variable."""
        if name in self._pending:
            return _NOTHING
        found = self._values.get(name)
        return _of_type(self.function.typemap[name]) if found is None or found == _NOTHING else found

    @property
    def returned(self) -> Value:
        """The value that the function returns."""
        blocks = self.function.blocks.values()
        values = [self.of(each.terminator.value.name) for each in blocks if isinstance(each.terminator, ir.Return)]
        return self._joined(values, self.function.returned, "what the function returns", id(self))

    def _has_several(self) -> bool:
        """Whether anything in the function may have several types."""
        typemap = self.function.typemap
        for statement, _ in self.assigned:
            value = statement.value
            if not isinstance(value, ir.Expr):
                continue
            if value.op == "phi" and len({typemap[each] for each in incoming(value)}) > 1:
                return True
            if value.op == "cast" and typemap[value.value.name] != typemap[statement.target.name]:
                return True
            if value.op in ("getitem", "getiter") and _is_of_several_types(self.of(value.value.name)):
                return True
            if value.op == "call":
                called = self._called(value)
                if called is not None and _is_of_several_types(called.returned):
                    return True
        return False

    def _settle(self) -> None:
        kinds = (types.Number, types.Boolean, types.BaseTuple, types.IteratorType, types.Pair)
        followed = [
            (statement, self.function.typemap[statement.target.name], id(block))
            for statement, block in self.assigned
            if isinstance(self.function.typemap[statement.target.name], kinds)
        ]
        self._pending = {statement.target.name for statement, _, _ in followed}
        is_settled = False
        while not is_settled:
            is_settled = True
            for statement, type_, place in followed:
                target = statement.target.name
                value = self._given(statement, type_, place)
                if target in self._pending and value != _NOTHING:
                    self._pending.remove(target)
                    self._values[target] = value
                    is_settled = False
                elif value not in (_NOTHING, self._values.get(target)):
                    before = self._values[target]
                    self._values[target] = _widened(before, value)
                    is_settled = is_settled and self._values[target] == before
        self._pending = set()

    def _given(self, statement: Any, type_: types.Type, place: int) -> Value:
        """What a statement gives its target."""
        value = statement.value
        if isinstance(value, ir.Arg):
            return self._arguments[value.index] if self._arguments else _of_type(type_)
        if isinstance(value, ir.Var):
            return self.of(value.name)
        if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
            return _of_literal(value.value, type_)
        if not isinstance(value, ir.Expr):
            return _of_type(type_)
        if value.op == "phi":
            return self._met(statement.target.name, incoming(value), type_, place)
        if value.op in ("build_tuple", "build_list"):
            return Value(frozenset((type_,)), members=tuple(self.of(each.name) for each in value.items))
        if value.op in ("cast", "exhaust_iter", "getiter", "iternext", "pair_first"):
            return self._part(self.of(value.value.name), value, type_, place)
        if value.op in ("static_getitem", "getitem", "typed_getitem", "getattr"):
            return self._part(self.of(value.value.name), value, type_, place)
        if value.op == "call":
            called = self._given_by_call(value)
            if called is not None:
                return called
        return self._given_by_operation(value, type_)

    def _met(self, target: str, names: list[str], type_: types.Type, place: int) -> Value:
        if not is_weak(type_) and self._is_sum(target, names):
            return _of_type(type_)
        return self._joined([self.of(each) for each in names], type_, shown(target), place)

    def _joined(self, values: Sequence[Value], type_: types.Type, name: str, place: int) -> Value:
        """What is one of several values, where a device has a type for all of them."""
        values = [each for each in values if each != _NOTHING]
        if not values:
            return _NOTHING
        if isinstance(type_, types.BaseTuple):
            if not all(len(each.members) == len(type_.types) for each in values):
                return _of_type(type_)
            members = zip(*(each.members for each in values), strict=True)
            joined = (self._joined(each, its, name, place) for each, its in zip(members, type_.types, strict=True))
            return Value(frozenset((type_,)), members=tuple(joined))
        kinds = frozenset[types.Type]().union(*(each.types for each in values))
        if not all(map(is_scalar, kinds)) or mixed_types(kinds):
            return _of_type(type_)
        return Value(kinds, _converted((each.numbers for each in values), type_), (), name, place)

    def _part(self, value: Value, expression: Any, type_: types.Type, place: int) -> Value:
        """What is taken out of a tuple, or goes through it; and constants of modules."""
        if value == _NOTHING:
            return value
        if expression.op == "cast":
            if not is_scalar(type_) or value.types == {type_}:
                return value
            return value._replace(numbers=_converted([value.numbers], type_))
        if not value.members:
            constant = self.constant(expression)
            return _of_type(type_) if constant is None else _of_literal(constant, type_)
        if expression.op in ("exhaust_iter", "getiter", "iternext"):
            return value
        if expression.op == "static_getitem":
            if isinstance(expression.index, slice):
                return Value(frozenset((type_,)), members=value.members[expression.index])
            taken: Value = value.members[expression.index]
            return taken
        if expression.op == "getattr":
            fields = getattr(
                getattr(self.function.typemap[expression.value.name], "instance_class", None), "_fields", ()
            )
            return value.members[fields.index(expression.attr)] if expression.attr in fields else _of_type(type_)
        return self._joined(value.members, type_, "the member of the tuple", place)

    def _given_by_call(self, value: Any) -> Value | None:
        """What a named tuple or another function of the author's gives; None of all others."""
        function = self.function.typemap[value.func.name]
        if isinstance(function, NamedTupleClassType) and not value.kws and not value.vararg:
            made = self.function.calltypes[value].return_type
            return Value(frozenset((made,)), members=tuple(self.of(each.name) for each in value.args))
        called = self._called(value)
        if called is None:
            return None
        parameters: Any = function.parameters
        bound = parameters.bind(*value.args, **dict(value.kws)).arguments
        given = []
        for name, type_ in zip(parameters.parameters, self.function.calltypes[value].args, strict=True):
            is_given = name in bound
            default = parameters.parameters[name].default
            given.append(self.of(bound[name].name) if is_given else _of_literal(default, type_))
        if _NOTHING in given:
            return _NOTHING
        if any(map(_is_of_several_types, given)):
            before = self.calls.get(id(value))
            is_known = before is not None and before._arguments == tuple(given)
            called = before if before is not None and is_known else Ways(called.function, self._context, given)
            self.calls[id(value)] = called
        return called.returned

    def _called(self, value: Any) -> Ways | None:
        """The author's function that an expression calls."""
        function = self.function.typemap.get(value.func.name)
        signature = self.function.calltypes.get(value)
        if not isinstance(function, DeviceFunctionType) or is_of_library(function.function) or signature is None:
            return None
        if value.vararg or value.varkwarg:
            return None
        found: Ways | None = self._context.typed_functions.get((function.function, signature.args))
        return found

    def _given_by_operation(self, value: Any, type_: types.Type) -> Value:
        operands = operands_of(value)
        values = [self.of(each) for each in operands]
        if _NOTHING in values:
            return _NOTHING
        if isinstance(type_, types.BaseTuple):
            return _made_of_tuples(values, type_)
        loose = [each for each in values if len(each.types) > 1]
        if not operands or not is_scalar(type_) or not (loose or is_weak(type_)):
            return _of_type(type_)
        kinds = frozenset(self._results(value, operands)) if loose else frozenset((type_,))
        name, place = (loose[0].name, loose[0].place) if loose else ("", 0)
        if mixed_types(kinds):
            self.mixed[id(value)] = Value(kinds, None, (), name, place)
            return _of_type(type_)
        kinds = kinds or frozenset((type_,))
        if not any(map(is_weak, kinds)):
            return Value(kinds)
        return Value(kinds, self.computed(value, type_), (), name, place)

    def computed(self, value: Any, type_: types.Type) -> frozenset[Pair] | None:
        """The numbers that an operation gives where its operands are Python's; None if they are not known."""
        operands = operands_of(value)
        numbers = [self.of(each).numbers for each in operands]
        function = function_of(value, self.constant)
        if function is None:
            # An id is no number of the source, and a sum over a group is not what one work-item gives.
            if not self._is_passed_on(value):
                return _BOOLS if type_ == weak_bool else None
            return _converted([each for each in numbers if each is None or each], type_)
        known = [each for each in numbers if each is not None]
        is_of_math = getattr(function, "__module__", "") == "math" and isinstance(type_, (types.Float, types.Complex))
        if not is_of_math and function not in (abs, min, max, *UNARY, *BINARY, *COMPARISONS):
            return None
        if len(known) < len(numbers) or math.prod(map(len, known)) > _MOST_COMPUTED:
            return None
        found = []
        for pairs in itertools.product(*known):
            given = [_scalar(pair[1], self.function.typemap[each]) for pair, each in zip(pairs, operands, strict=True)]
            ours, theirs = _apply(function, [pair[0] for pair in pairs]), _apply(function, given)
            if ours is not None and theirs is not None:
                found.append((ours, theirs))
        return _converted([frozenset(found)], type_)

    def _is_passed_on(self, value: Any) -> bool:
        """Whether what a call gives is what one work-item of a group gave."""
        called = self.constant(value.func) if value.op == "call" else None
        return called is not None and getattr(called, "__name__", "") in _PASSED_ON

    def _results(self, value: Any, operands: list[str]) -> Iterator[types.Type]:
        """The types that an operation has in Python, by what its operands are."""
        function = self.function.typemap[value.func.name] if value.op == "call" else value.fn
        if isinstance(function, DeviceFunctionType) or function in COMPARISONS:
            return  # of one type whatever it is given; and a bool
        for given in itertools.product(*(self.of(each).types for each in operands)):
            if not self._is_possible(operands, given):
                continue
            try:
                signature = self._context.resolve_function_type(function, given, {})
            except KernelTypeProblem:
                continue  # refused in the simulator, too, on this way
            if signature is not None and is_scalar(signature.return_type):
                yield signature.return_type

    def _is_possible(self, operands: list[str], given: tuple[types.Type, ...]) -> bool:
        """Whether one way may give these types: variables that meet at one place are weak on the same ways."""
        weakness: dict[int, bool] = {}
        for operand, type_ in zip(operands, given, strict=True):
            value = self.of(operand)
            if len(value.types) > 1 and weakness.setdefault(value.place, is_weak(type_)) != is_weak(type_):
                return False
        return True

    def _is_sum(self, name: str, names: list[str]) -> bool:
        """Whether a variable starts as 0 or 1, and each turn of a loop makes it of what it was.

        A loop without a turn leaves the start, which is the same number in any type.
        """
        starts = [each for each in names if is_weak(self.function.typemap[each])]
        return all(self.constant(self.function.definitions.get(each)) in (0, 1) for each in starts) and any(
            self._depends_on(each, name, set()) for each in names if each not in starts
        )

    def _depends_on(self, name: str, other: str, seen: set[str]) -> bool:
        """Whether a variable is made of another one, by operations and choices."""
        if name == other:
            return True
        if name in seen:
            return False
        seen.add(name)
        value = self.function.definitions.get(name)
        sources = incoming(value) if is_phi(value) else operands_of(value)
        return any(self._depends_on(each, other, seen) for each in sources)

    def constant(self, value: Any) -> Any:
        """What a number of the source, or a name from outside, stands for; None for others."""
        if isinstance(value, ir.Var):
            value = made_of(self.function.definitions, value)
        if isinstance(value, ir.Expr) and value.op == "getattr":
            return getattr(self.constant(self.function.definitions.get(value.value.name)), value.attr, None)
        return value.value if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)) else None


def is_phi(value: Any) -> bool:
    """Whether a value is one of several, by the way that was taken."""
    return isinstance(value, ir.Expr) and value.op == "phi"


def incoming(phi: Any) -> list[str]:
    """The variables of which a variable is one, each on its way."""
    return [each.name for each in phi.incoming_values if isinstance(each, ir.Var)]


def operands_of(value: Any) -> list[str]:
    """The variables that decide the type of a copy or an operation."""
    if isinstance(value, ir.Var):
        return [value.name]
    if not isinstance(value, ir.Expr):
        return []
    if value.op in ("binop", "inplace_binop"):
        return [value.lhs.name, value.rhs.name]
    if value.op == "unary":
        return [value.value.name]
    return [each.name for each in value.args] if value.op == "call" and not value.kws and not value.vararg else []


def function_of(value: Any, constant: Callable[[Any], Any] | None = None) -> Any:
    """The operator or function that an expression applies to numbers; None of words of the kernel language."""
    if value.op in ("binop", "inplace_binop", "unary"):
        return IN_PLACE.get(value.fn, value.fn)
    called = constant(value.func) if constant is not None else None
    is_word = (getattr(called, "__module__", None) or "").startswith("kapi_")
    return None if is_word else operator.pow if called is pow else called


def mixed_types(given: Iterable[types.Type]) -> tuple[str, str] | None:
    """Two types of numbers, as spelled, of which neither takes the other's place."""
    numbers = [each for each in given if is_scalar(each)]
    several = list(dict.fromkeys(each for each in numbers if not is_weak(each)))
    if len(several) == 1 and isinstance(several[0], (types.Integer, types.Boolean)):
        several += [each for each in (weak_float, weak_complex) if each in numbers]
    if len(several) < 2:
        return None
    first, second = sorted(map(spell_type, several))[:2]
    return first, second


def shown(name: str) -> str:
    """What messages call a variable where ways meet."""
    return "what a choice gives" if name.startswith("$") else f"variable `{name.split('.')[0]}`"


def as_type(number: Any, type_: types.Type) -> Any:
    """A number of Python's as a type has it, as a number of Python's; None if it has none."""
    if is_weak(type_) or not is_scalar(type_):
        convert = {weak_float: float, weak_int: int}.get(type_, _same)
        return convert(number) if number == number and abs(number) < math.inf else number
    with np.errstate(all="ignore"):
        try:
            made = np.asarray(number).astype(as_dtype(type_)).item()
        except (TypeError, OverflowError):
            return None
    return math.nan if made != made else made


def _same(number: Any) -> Any:
    return number


def _scalar(number: Any, type_: types.Type) -> Any:
    return number if is_weak(type_) or not is_scalar(type_) else np.asarray(number).astype(as_dtype(type_))[()]


def _apply(function: Callable[..., Any], numbers: Sequence[Any]) -> Any:
    """What a function gives; None where it raises an error, or an integer of more than 64 bits."""
    if function in (operator.pow, operator.lshift) and not abs(numbers[1]) <= _FAR:
        return None
    with np.errstate(all="ignore"):
        try:
            given = function(*numbers)
        except (ArithmeticError, TypeError, ValueError):
            return None
    given = given.item() if isinstance(given, np.generic) else given
    if isinstance(given, int) and not -(2**63) <= given < 2**63:
        return None
    return math.nan if given != given else given


def _converted(sets: Iterable[frozenset[Pair] | None], type_: types.Type) -> frozenset[Pair] | None:
    """All of these numbers, on a device of one type; None if one of them is not known, or they are many."""
    found: set[Pair] = set()
    for numbers in sets:
        if numbers is None:
            return None
        for ours, theirs in numbers:
            made = as_type(theirs, type_)
            if made is None:
                return None
            found.add((ours, made))
    return frozenset(found) if len(found) <= _MOST_NUMBERS else None


def _widened(before: Value, now: Value) -> Value:
    """A value that is all that each of two is, so that what depends on itself comes to an end."""
    if before.members or now.members:
        if len(before.members) != len(now.members):
            return now
        members = tuple(map(_widened, before.members, now.members))
        return now._replace(types=before.types | now.types, members=members)
    numbers = None if None in (before.numbers, now.numbers) else _within(before.numbers | now.numbers)  # type: ignore[operator]  # neither is None
    return now._replace(types=before.types | now.types, numbers=numbers)


def _within(numbers: frozenset[Pair]) -> frozenset[Pair] | None:
    return numbers if len(numbers) <= _MOST_NUMBERS else None


def _made_of_tuples(values: Sequence[Value], type_: types.BaseTuple) -> Value:
    """What `t + u`, `t * 2` and `tuple(t)` give: the members in order, once or several times."""
    members = tuple(member for each in values for member in each.members)
    times = len(type_.types) // len(members) if members else 0
    if not members or len(members) * times != len(type_.types):
        return _of_type(type_)
    return Value(frozenset((type_,)), members=members * times)


def _of_type(type_: types.Type) -> Value:
    if isinstance(type_, types.BaseTuple):
        return Value(frozenset((type_,)), members=tuple(map(_of_type, type_.types)))
    is_unknown = is_weak(type_) and type_ != weak_bool
    return Value(frozenset((type_,)), None if is_unknown else _BOOLS if type_ == weak_bool else frozenset())


_NOTHING = Value(frozenset())
_BOOLS: frozenset[Pair] = frozenset(((False, False), (True, True)))


def _of_literal(value: Any, type_: types.Type) -> Value:
    if isinstance(type_, types.BaseTuple) and isinstance(value, tuple) and len(value) == len(type_.types):
        return Value(frozenset((type_,)), members=tuple(map(_of_literal, value, type_.types)))
    if not is_weak(type_) or not isinstance(value, (int, float, complex)):
        return _of_type(type_)
    number = math.nan if value != value else value
    return Value(frozenset((type_,)), frozenset(((number, number),)))


def _is_of_several_types(value: Value) -> bool:
    """Whether a value is loose, or a tuple whose members are of several types or have some that are."""
    if value.members:
        kinds = frozenset[types.Type]().union(*(each.types for each in value.members))
        return len(kinds) > 1 or any(map(_is_of_several_types, value.members))
    return len(value.types) > 1
