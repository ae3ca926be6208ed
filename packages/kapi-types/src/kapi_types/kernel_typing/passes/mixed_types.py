"""Notes of variables, choices and results to which control-flow paths give numbers of different types.

Python keeps the number of the path that was taken, and a Python number stays weak. A device has one type for all paths.
The pass computes the types that each variable has in Python: the union at a phi, NumPy's promotion at an operation. It
notes a join of different strong types, and a use of a join of weak and strong numbers whose result depends on the path.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from kapi_types._numba_compat import FunctionPass, as_dtype, ir, register_pass, types
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType, is_of_library
from kapi_types.kernel_typing.passes.known_values import definitions_of, folded, known_value, made_of
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, spell_type
from kapi_types.kernel_typing.rules.operators import COMPARISONS
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.weak import is_weak, weak_bool, weak_complex, weak_float, weak_int

__all__ = ["FindMixedTypes"]

_Types = frozenset[types.Type]
_Numbers = frozenset[Any] | None
"""Python numbers of the source; None if a number is known only at run time."""

_OPERATIONS = ("binop", "inplace_binop", "unary", "call")
_MAX_DEPTH = 6  # phi nodes that are searched for Python numbers, one after the other
_MAX_DIGITS = 64


@register_pass(mutates_CFG=False, analysis_only=True)
class FindMixedTypes(FunctionPass):
    """Leaves a text, file and line for each variable, choice and result whose type depends on the control-flow path."""

    _name = "kapi_find_mixed_types"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        found: dict[str, tuple[str, str, int]] = {}  # the first note of each name
        if not state.typingctx.has_numba_integers:  # there, authors rely on Numba's integers, not on Python's
            reaching = ReachingTypes(state)
            state.typingctx.typed_functions[state.func_id.func, tuple(state.args)] = reaching
            for name, loc, text in (*_joins_of_strong_types(reaching), *_uses_that_depend_on_the_path(reaching)):
                found.setdefault(name, (text, loc.filename, loc.line))
        state["kapi_mixed_types"] = list(found.values())
        return False


class _Join(NamedTuple):
    """A phi node, or the result of a function: its name in messages, and the identity of its block."""

    name: str
    block: int


class ReachingTypes:
    """The types that each variable of a function has in Python, on all control-flow paths.

    Parameters
    ----------
    state : numba.core.compiler.StateDict
        A compilation after type inference, before its phi nodes are assignments.
    """

    def __init__(self, state: Any) -> None:
        self.blocks: dict[int, Any] = dict(state.func_ir.blocks)
        self.typemap: dict[str, types.Type] = state.typemap
        self.calltypes: Any = state.calltypes
        self.definitions = definitions_of(state.func_ir)
        self.joins: dict[str, _Join] = {}  # of each variable of several types
        self._context = state.typingctx
        self._types: dict[str, _Types] = {}
        self.assigned = [
            (statement, id(block)) for block in self.blocks.values() for statement in block.find_insts(ir.Assign)
        ]
        if any(self._joins_types(statement) for statement, _ in self.assigned):
            self._run_to_fixpoint()
        blocks = self.blocks.values()
        self.returned = [each.terminator.value.name for each in blocks if isinstance(each.terminator, ir.Return)]

    def of(self, name: str) -> _Types:
        """The types that a variable has in Python; if two are strong, the one that a device has."""
        found = self._types.get(name)
        return frozenset((self.typemap[name],)) if found is None or find_mixed_types(found) else found

    def has_several_types(self, name: str) -> bool:
        """Whether the type of a variable in Python depends on the path."""
        return len(self.of(name)) > 1

    def results_of(self, value: Any) -> _Types:
        """The types that an operation has in Python, for each combination of its operands' types."""
        operands = operands_of(value)
        function = self.typemap[value.func.name] if value.op == "call" else value.fn
        if isinstance(function, DeviceFunctionType) or function in COMPARISONS:
            return frozenset()  # of one type whatever its operands are
        found = set()
        for combination in itertools.product(*map(self.of, operands)):
            if not self._is_possible(operands, combination):
                continue
            try:
                signature = self._context.resolve_function_type(function, combination, {})
            except KernelTypeProblem:
                continue  # an error in the simulator, too, on this path
            if signature is not None and is_scalar(signature.return_type):
                found.add(signature.return_type)
        return frozenset(found)

    def numbers_of(self, name: str, depth: int = _MAX_DEPTH) -> _Numbers:
        """The Python numbers among the values that join at a variable, as far as they are noted if they are rounded."""
        value = made_of(self.definitions, name)
        op = getattr(value, "op", "")
        if op in ("phi", "cast"):
            sources = [value.value.name] if op == "cast" else incoming(value)
            weak = [each for each in sources if any(map(is_weak, self.of(each)))]
            return _union(self.numbers_of(each, depth - 1) for each in weak) if depth else None
        number = known_value(self.definitions, name)
        if isinstance(number, (int, float, complex)):
            return frozenset((number,))
        if self.has_several_types(name):
            return frozenset()
        if op in ("binop", "inplace_binop", "unary"):
            known = [self.numbers_of(each, depth - 1) if depth else None for each in operands_of(value)]
            combinations = itertools.product(*(each or () for each in known))
            return None if None in known else frozenset(folded(value.fn, *each) for each in combinations) - {None}
        is_method = op == "call" and getattr(self.definitions.get(value.func.name), "op", "") == "getattr"
        is_query = is_method and known_value(self.definitions, value.func) is None  # of an item, not of a module
        return None if is_query or isinstance(value, ir.Arg) else frozenset()

    def _joins_types(self, statement: Any) -> bool:
        """Whether a statement joins values of several types."""
        value = statement.value
        if is_phi(value):
            return len({self.typemap[each] for each in incoming(value)}) > 1
        if isinstance(value, ir.Expr) and value.op == "cast":
            return bool(self.typemap[value.value.name] != self.typemap[statement.target.name])
        called = self._called(value) if isinstance(value, ir.Expr) and value.op == "call" else None
        return called is not None and len(called.result()) > 1

    def _run_to_fixpoint(self) -> None:
        scalars = [each for each in self.assigned if is_scalar(self.typemap[each[0].target.name])]
        self._types = {statement.target.name: frozenset() for statement, _ in scalars}
        is_stable = False
        while not is_stable:
            is_stable = True
            for statement, block in scalars:
                target = statement.target.name
                found = self._types[target] | self._transfer(target, statement.value, block)
                is_stable = is_stable and found == self._types[target]
                self._types[target] = found

    def _transfer(self, target: str, value: Any, block: int) -> _Types:
        """The types that an assignment gives its target."""
        own = frozenset((self.typemap[target],))
        if is_phi(value):
            names = incoming(value)
            self.joins[target] = _Join(describe_variable(target), block)
            return own if self._is_accumulator(target, names) else _union_of_types(map(self.of, names))
        called = self._called(value) if isinstance(value, ir.Expr) and value.op == "call" else None
        if called is not None:
            self.joins[target] = _Join("what the function returns", id(called))
            return called.result()
        is_copy = isinstance(value, ir.Var) or (isinstance(value, ir.Expr) and value.op == "cast")
        operands = [value.value.name] if isinstance(value, ir.Expr) and value.op == "cast" else operands_of(value)
        for operand in operands:
            if self.has_several_types(operand) and operand in self.joins:
                self.joins.setdefault(target, self.joins[operand])
        if is_copy:
            return self.of(operands[0])
        if any(not self.of(each) for each in operands):
            return frozenset()
        if not any(map(self.has_several_types, operands)):
            return own
        results = self.results_of(value)
        return own if not results or find_mixed_types(results) else results

    def result(self) -> _Types:
        """The types that the function returns in Python."""
        found = _union_of_types(self.of(each) for each in self.returned)
        is_known = all(map(is_scalar, found)) and not find_mixed_types(found)
        return found if is_known else frozenset(self.typemap[each] for each in self.returned[:1])

    def _called(self, value: Any) -> ReachingTypes | None:
        """The types of the author's function that an expression calls."""
        function, signature = self.typemap.get(value.func.name), self.calltypes.get(value)
        if not isinstance(function, DeviceFunctionType) or is_of_library(function.function) or signature is None:
            return None
        found: ReachingTypes | None = self._context.typed_functions.get((function.function, signature.args))
        return found

    def _is_possible(self, operands: list[str], combination: tuple[types.Type, ...]) -> bool:
        """Whether one path may give these types: variables that join in one block are weak on the same paths."""
        weakness: dict[int, bool] = {}
        for operand, type_ in zip(operands, combination, strict=True):
            if not self.has_several_types(operand) or operand not in self.joins:
                continue
            if weakness.setdefault(self.joins[operand].block, is_weak(type_)) != is_weak(type_):
                return False
        return True

    def _is_accumulator(self, name: str, names: list[str]) -> bool:
        """Whether a variable starts as a Python number, and each iteration computes it from the last one."""
        strong = [each for each in names if not is_weak(self.typemap[each])]
        return len(strong) < len(names) and any(self._depends_on(each, name, set()) for each in strong)

    def _depends_on(self, name: str, other: str, seen: set[str]) -> bool:
        """Whether a variable is computed from another one, by operations and choices."""
        if name == other:
            return True
        if name in seen:
            return False
        seen.add(name)
        value = self.definitions.get(name)
        sources = incoming(value) if is_phi(value) else operands_of(value)
        return any(self._depends_on(each, other, seen) for each in sources)


def is_phi(value: Any) -> bool:
    """Whether a value is a phi node."""
    return isinstance(value, ir.Expr) and value.op == "phi"


def incoming(phi: Any) -> list[str]:
    """The variables that join at a phi node."""
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


def find_mixed_types(found: Iterable[types.Type]) -> tuple[str, str] | None:
    """Two types of numbers, as spelled, neither of which is converted to the other without a note."""
    numbers = [each for each in found if is_scalar(each)]
    several = list(dict.fromkeys(each for each in numbers if not is_weak(each)))
    if len(several) == 1 and isinstance(several[0], (types.Integer, types.Boolean)):
        several += [each for each in (weak_float, weak_complex) if each in numbers]
    if len(several) < 2:
        return None
    first, second = sorted(map(spell_type, several))[:2]
    return first, second


def describe_variable(name: str) -> str:
    """The name of a phi node's variable in messages."""
    return "what a choice gives" if name.startswith("$") else f"variable `{name.split('.')[0]}`"


_Note = tuple[str, Any, str]
"""Name, source location and text."""


def _joins_of_strong_types(reaching: ReachingTypes) -> Iterator[_Note]:
    returned: list[tuple[Any, types.Type, types.Type]] = []
    for block in reaching.blocks.values():
        for statement in block.find_insts(ir.Assign):
            value, result = statement.value, reaching.typemap[statement.target.name]
            if is_phi(value):
                loc = next((each.loc for each in block.body if each.loc.line > 0), statement.loc)
                joined = [reaching.typemap[each] for each in incoming(value)]
                yield from _of_join(describe_variable(statement.target.name), loc, joined, result)
            elif isinstance(value, ir.Expr) and value.op == "cast":
                returned.append((statement.loc, reaching.typemap[value.value.name], result))
    if len(returned) > 1:
        joined = [each for _, each, _ in returned]
        yield from _of_join("what the function returns", returned[-1][0], joined, returned[0][2])


def _of_join(name: str, loc: Any, joined: list[types.Type], result: types.Type) -> Iterator[_Note]:
    mixed = find_mixed_types(joined)
    if mixed:
        text = (
            f"{name} is {mixed[0]} on one path and {mixed[1]} on another: on a device it is {spell_type(result)} on "
            "all ways; convert one, or start with the other"
        )
        yield name, loc, text


def _uses_that_depend_on_the_path(reaching: ReachingTypes) -> Iterator[_Note]:
    for statement, _ in reaching.assigned:
        value = statement.value
        is_operation = isinstance(value, ir.Expr) and value.op in _OPERATIONS
        if is_operation and any(map(reaching.has_several_types, operands_of(value))):
            yield from _of_operation(reaching, statement)
    for block in reaching.blocks.values():
        for statement in block.find_insts((ir.SetItem, ir.StaticSetItem)):
            array = reaching.typemap[statement.target.name]
            yield from _of_rounding(reaching, statement.value.name, getattr(array, "dtype", array), statement.loc)


def _of_operation(reaching: ReachingTypes, statement: Any) -> Iterator[_Note]:
    value, type_ = statement.value, reaching.typemap[statement.target.name]
    operands = operands_of(value)
    results = reaching.results_of(value)
    mixed = find_mixed_types(results)
    if mixed:
        name = next(reaching.joins[each].name for each in operands if reaching.has_several_types(each))
        text = (
            f"an operation with {name} gives {mixed[0]} on one path and {mixed[1]} on another, for a Python number "
            f"takes the type of the other operand: on a device it gives {spell_type(type_)} on all paths; convert the "
            "Python number"
        )
        yield name, statement.loc, text
    elif not any(map(is_weak, results)):
        signature = reaching.calltypes.get(value)
        taken = signature.args if signature is not None else ()
        for operand, wide in zip(operands, taken, strict=False):
            wider = type_ if _digits(type_) > _digits(wide) else wide
            yield from _of_rounding(reaching, operand, wider, statement.loc)


def _of_rounding(reaching: ReachingTypes, operand: str, wide: types.Type, loc: Any) -> Iterator[_Note]:
    """Note a Python number that a device rounds to the type of another path, and then uses as a wider one."""
    narrow = reaching.typemap[operand]
    if not reaching.has_several_types(operand) or not is_scalar(wide):
        return
    if not 0 < _digits(narrow) < (_digits(wide) or _MAX_DIGITS):
        return
    numbers = reaching.numbers_of(operand)
    if numbers is None or any(_is_rounded(each, narrow, wide) for each in numbers):
        name = reaching.joins[operand].name
        text = (
            f"{name} is a Python number on one path and {spell_type(narrow)} on another, and is used as "
            f"{spell_type(wide)}: on a device the Python number is rounded to {spell_type(narrow)}; convert one"
        )
        yield name, loc, text


def _is_rounded(number: Any, narrow: types.Type, wide: types.Type) -> bool:
    """Whether a number is another one of type `wide` if it is converted to `narrow` first."""
    direct, rounded = _as_type(number, wide), _as_type(_as_type(number, narrow), wide)
    return bool(direct != rounded and direct == direct)


def _as_type(number: Any, type_: types.Type) -> Any:
    if is_weak(type_):
        convert = {weak_float: float, weak_int: int, weak_bool: bool}.get(type_, complex)
        return convert(number) if number == number and abs(number) < math.inf else number
    with np.errstate(all="ignore"):
        try:
            return np.asarray(number).astype(as_dtype(type_)).item()
        except (TypeError, OverflowError):
            return number


def _digits(type_: types.Type) -> int:
    """The bits of a type of floats, or of a part of complex numbers; 0 of others."""
    part = type_.underlying_float if isinstance(type_, types.Complex) else type_
    return part.bitwidth if isinstance(part, types.Float) else 0


def _union(sets: Iterable[Iterable[Any] | None]) -> _Numbers:
    """The union of sets of numbers, which is not known if one of them is not."""
    known = list(sets)
    return None if any(each is None for each in known) else frozenset(itertools.chain(*known))  # type: ignore[arg-type]


def _union_of_types(sets: Iterable[_Types]) -> _Types:
    return frozenset[types.Type]().union(*sets)
