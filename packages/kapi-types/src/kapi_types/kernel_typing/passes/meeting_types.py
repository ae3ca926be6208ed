"""Places to which the ways of a kernel give numbers of different types: variables, choices, results, and operations.

A compiled kernel has one type for a variable, and NumPy's rules go on from there. Python goes on from what was
assigned: a weak number stays weak until an operation, and that may give another type than on the other ways. The
simulator tells of types that met; only the compiler knows those of ways that no work-item took.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kapi_types._numba_compat import FunctionPass, as_dtype, ir, register_pass, types
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType
from kapi_types.kernel_typing.passes.constants import definitions_of, made_of
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, spell_type
from kapi_types.kernel_typing.rules.operators import COMPARISONS
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.weak import is_weak, weak_float

__all__ = ["FindMixedTypes"]

_Ways = frozenset[types.Type]


@register_pass(mutates_CFG=False, analysis_only=True)
class FindMixedTypes(FunctionPass):
    """Leaves a text, file and line for each variable, choice and result whose ways have different types."""

    _name = "kapi_find_mixed_types"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        found: dict[str, tuple[str, str, int]] = {}
        for name, loc, text in _notes(state):
            found.setdefault(name, (text, loc.filename, loc.line))
        state["kapi_mixed_types"] = list(found.values())
        return False


def _notes(state: Any) -> Iterator[tuple[str, Any, str]]:
    """What is called how and where, and what is said of it; the first note of a name is the one to tell."""
    for name, loc, given, result in _meetings(state.func_ir, state.typemap):
        mixed = _mixed(given)
        if mixed:
            first, second = sorted(map(spell_type, mixed))
            yield (
                name,
                loc,
                (
                    f"{name} is {first} on one way and {second} on another: on a device it is {spell_type(result)} on "
                    "all ways; convert one, or start with the other"
                ),
            )
    ways = _WaysOfVariables(state)
    for name, loc, mixed, result in ways.operations():
        first, second = sorted(map(spell_type, mixed))
        yield (
            name,
            loc,
            (
                f"an operation with {name} gives {first} on one way and {second} on another, for a Python number "
                f"takes the type that it meets: on a device it gives {spell_type(result)} on all ways; convert the "
                "Python number"
            ),
        )
    for name, loc, narrow, wide in ways.rounded():
        yield (
            name,
            loc,
            (
                f"{name} is a Python number on one way and {spell_type(narrow)} on another, and is used as "
                f"{spell_type(wide)}: on a device the Python number is rounded to {spell_type(narrow)}; convert one"
            ),
        )


class _WaysOfVariables:
    """The types that Python's numbers and NumPy's would have in each variable, where these are several."""

    def __init__(self, state: Any) -> None:
        self._typemap: dict[str, types.Type] = state.typemap
        self._context = state.typingctx
        self._ways: dict[str, _Ways] = {}
        self._roots: dict[str, tuple[str, int]] = {}  # what the ways first met at, as shown, and its block
        self._assigned = [
            (statement, block) for block in state.func_ir.blocks.values() for statement in block.find_insts(ir.Assign)
        ]
        self._definitions = definitions_of(state.func_ir)
        self._blocks = state.func_ir.blocks.values()

    def operations(self) -> Iterator[tuple[str, Any, tuple[types.Type, types.Type], types.Type]]:
        """What is called how and where, two types that an operation with it gives, and the one that it has."""
        if not any(_is_phi(statement.value) for statement, _ in self._assigned):
            return
        told: set[int] = set()
        is_settled = False
        while not is_settled:
            is_settled = True
            for number, (statement, block) in enumerate(self._assigned):
                target = statement.target.name
                ways = self._given(statement, block)
                if number in told or ways <= self._of(target):
                    continue
                is_settled = False
                mixed = _mixed(ways)
                if mixed is None:
                    self._ways[target] = self._ways.get(target, frozenset()) | ways
                    continue
                told.add(number)
                if not _is_phi(statement.value):
                    yield self._roots[target][0], statement.loc, mixed, self._typemap[target]

    def rounded(self) -> Iterator[tuple[str, Any, types.Type, types.Type]]:
        """What is called how and where, the type that rounds its Python number, and the wider one that it is used as.

        It is to be called once `operations` has ended.
        """
        if not self._ways:
            return
        stores = (each for block in self._blocks for each in block.find_insts((ir.SetItem, ir.StaticSetItem)))
        for statement in itertools.chain((statement for statement, _ in self._assigned), stores):
            operands, used = _use(statement, self._typemap)
            for operand in operands:
                narrow = self._typemap[operand]
                is_loose = {is_weak(each) for each in self._of(operand)} == {True, False}
                if is_loose and _digits(narrow) < _digits(used) and self._is_rounded(operand, narrow, set()):
                    yield self._roots[operand][0], statement.loc, narrow, used

    def _is_rounded(self, name: str, narrow: types.Type, seen: set[str]) -> bool:
        """Whether a variable may have a Python number that a type does not have exactly."""
        if name in seen or not any(map(is_weak, self._of(name))):
            return False
        seen.add(name)
        value = self._definitions.get(name)
        constant = self._constant(value)
        if isinstance(constant, (int, float, complex)):
            return not _is_exact(constant, narrow)
        sources = self._sources(value)
        if not sources and is_weak(self._typemap[name]):
            return isinstance(self._typemap[name], types.Float)
        return any(self._is_rounded(each, narrow, seen) for each in sources or _operands(value))

    def _sources(self, value: Any) -> list[str]:
        """The variables of which an expression is one, but for its sign: of copies, choices and members of tuples."""
        if isinstance(value, ir.Var) or (isinstance(value, ir.Expr) and value.op == "unary"):
            return _operands(value)
        if _is_phi(value):
            return _incoming(value)
        return [] if (member := self._member(value)) is None else [member.name]

    def _member(self, value: Any) -> Any:
        """The variable that a member of a tuple was, where the tuple is taken apart as soon as it is made."""
        if not isinstance(value, ir.Expr) or value.op != "static_getitem":
            return None
        made = made_of(self._definitions, value.value)
        if isinstance(made, ir.Expr) and made.op == "exhaust_iter":
            made = made_of(self._definitions, made.value)
        return made.items[value.index] if isinstance(made, ir.Expr) and made.op == "build_tuple" else None

    def _constant(self, value: Any) -> Any:
        """What a number of the source, or a name from outside, stands for; None for others."""
        if isinstance(value, ir.Var):
            value = made_of(self._definitions, value)
        if isinstance(value, ir.Expr) and value.op == "getattr":
            return getattr(self._constant(self._definitions.get(value.value.name)), value.attr, None)
        return value.value if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)) else None

    def _of(self, name: str) -> _Ways:
        return self._ways.get(name) or frozenset((self._typemap[name],))

    def _given(self, statement: Any, block: Any) -> _Ways:
        """The types that a statement may give its target."""
        value, target = statement.value, statement.target.name
        if _is_phi(value):
            operands = _incoming(value)
            self._roots[target] = _shown(target), id(block)
            ways = frozenset[types.Type]().union(*map(self._of, operands))
            if self._is_sum(target, operands):
                ways = frozenset(each for each in ways if not is_weak(each)) or ways
            return ways if all(map(is_scalar, ways)) else frozenset((self._typemap[target],))
        operands = _operands(value)
        loose = [each for each in operands if len(self._of(each)) > 1]
        if not loose:
            return frozenset((self._typemap[target],))
        self._roots[target] = self._roots[loose[0]]
        if isinstance(value, ir.Var):
            return self._of(value.name)
        return frozenset(self._results(value, operands)) or frozenset((self._typemap[target],))

    def _is_sum(self, name: str, incoming: list[str]) -> bool:
        """Whether a variable starts as 0 or 1, and each turn of a loop makes it of what it was.

        A loop without a turn leaves the start, which is the same number in any type.
        """
        starts = [each for each in incoming if is_weak(self._typemap[each])]
        return all(self._constant(self._definitions.get(each)) in (0, 1) for each in starts) and any(
            self._depends_on(each, name, set()) for each in incoming if each not in starts
        )

    def _depends_on(self, name: str, other: str, seen: set[str]) -> bool:
        """Whether a variable is made of another one, by operations and choices."""
        if name == other:
            return True
        if name in seen:
            return False
        seen.add(name)
        value = self._definitions.get(name)
        return any(self._depends_on(each, other, seen) for each in (_incoming if _is_phi(value) else _operands)(value))

    def _results(self, value: Any, operands: list[str]) -> Iterator[types.Type]:
        function = self._typemap[value.func.name] if value.op == "call" else value.fn
        if isinstance(function, DeviceFunctionType) or function in COMPARISONS:
            return  # another compilation; and a bool
        resolve = self._context.resolve_function_type
        for given in itertools.product(*map(self._of, operands)):
            if not self._is_possible(operands, given):
                continue
            try:
                signature = resolve(function, given, {})
            except KernelTypeProblem:
                continue  # refused in the simulator, too, on this way
            if signature is not None and is_scalar(signature.return_type):
                yield signature.return_type

    def _is_possible(self, operands: list[str], given: tuple[types.Type, ...]) -> bool:
        """Whether one way may give these types: variables that meet at one place are weak on the same ways."""
        weakness: dict[int, bool] = {}
        for operand, type_ in zip(operands, given, strict=True):
            if len(self._of(operand)) > 1 and weakness.setdefault(self._roots[operand][1], is_weak(type_)) != is_weak(
                type_
            ):
                return False
        return True


def _is_phi(value: Any) -> bool:
    return isinstance(value, ir.Expr) and value.op == "phi"


def _incoming(phi: Any) -> list[str]:
    """The variables of which a variable is one, each on its way."""
    return [each.name for each in phi.incoming_values if isinstance(each, ir.Var)]


def _operands(value: Any) -> list[str]:
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


def _use(statement: Any, typemap: dict[str, types.Type]) -> tuple[list[str], types.Type]:
    """The variables that a statement takes numbers from, and the widest type of floats that it takes or gives."""
    if not isinstance(statement, ir.Assign):
        given = typemap[statement.target.name]
        return [statement.value.name], getattr(given, "dtype", given)
    if not isinstance(statement.value, ir.Expr):
        return [], types.none
    operands = _operands(statement.value)
    return operands, max((typemap[each] for each in (statement.target.name, *operands)), key=_digits)


def _digits(type_: types.Type) -> int:
    """The bits of a strong type of floats, or of a part of complex numbers; 0 of others."""
    part = type_.underlying_float if isinstance(type_, types.Complex) else type_
    return part.bitwidth if isinstance(part, types.Float) and not is_weak(type_) else 0


def _is_exact(number: complex, type_: types.Type) -> bool:
    """Whether a type has a number of Python's as it is."""
    with np.errstate(over="ignore"):
        return bool(as_dtype(type_).type(number).item() == number) or number != number


def _shown(name: str) -> str:
    return "what a choice gives" if name.startswith("$") else f"variable `{name.split('.')[0]}`"


def _meetings(func_ir: Any, typemap: dict[str, types.Type]) -> Iterator[tuple[str, Any, list[types.Type], types.Type]]:
    """What is called how and where, the types that come there, and the one that it has."""
    returned: list[tuple[Any, types.Type, types.Type]] = []
    for block in func_ir.blocks.values():
        for statement in block.find_insts(ir.Assign):
            value = statement.value
            if not isinstance(value, ir.Expr) or value.op not in ("phi", "cast"):
                continue
            result = typemap[statement.target.name]
            if value.op == "cast":
                returned.append((statement.loc, typemap[value.value.name], result))
                continue
            loc = next((each.loc for each in block.body if each.loc.line > 0), statement.loc)
            yield _shown(statement.target.name), loc, [typemap[each] for each in _incoming(value)], result
    if len(returned) > 1:
        yield "what the function returns", returned[-1][0], [given for _, given, _ in returned], returned[0][2]


def _mixed(given: Iterable[types.Type]) -> tuple[types.Type, types.Type] | None:
    """Two types of numbers of which neither takes the other's place."""
    numbers = [each for each in given if is_scalar(each)]
    strong = list(dict.fromkeys(each for each in numbers if not is_weak(each)))
    if len(strong) > 1:
        return strong[0], strong[1]
    if strong and isinstance(strong[0], (types.Integer, types.Boolean)) and weak_float in numbers:
        return strong[0], weak_float
    return None
