"""Notes of variables, choices and results to which control-flow paths give numbers of different types.

Python keeps the number of the path that was taken, and a Python number stays weak. A device has one type for all paths.
The pass computes the types that each variable has in Python: the union at a join, NumPy's promotion at an operation. It
notes a join of different strong types, and a use of a join of weak and strong numbers whose result depends on the path.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kapi_types._numba_compat import FunctionPass, as_dtype, ir, register_pass, types
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType
from kapi_types.kernel_typing.passes.constant_propagation import definitions_of, known_value, made_of
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, spell_type
from kapi_types.kernel_typing.rules.operators import COMPARISONS
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.weak import is_weak, weak_complex, weak_float

__all__ = ["FindMixedTypes"]

_Types = frozenset[types.Type]
_Note = tuple[str, Any, str]
"""Name, source location and text."""

_OPERATIONS = ("binop", "inplace_binop", "unary", "call")
_RESULT = "what the function returns"
_MAX_DEPTH = 6  # joins that are searched for Python numbers, one after the other


@register_pass(mutates_CFG=False, analysis_only=True)
class FindMixedTypes(FunctionPass):
    """Leaves a text, file and line for each variable, choice and result whose type depends on the control-flow path."""

    _name = "kapi_find_mixed_types"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        found: dict[str, tuple[str, str, int]] = {}  # the first note of each name
        if not state.typingctx.has_numba_integers:  # there, authors rely on Numba's integers, not on Python's
            for name, loc, text in ReachingTypes(state).notes():
                found.setdefault(name, (text, loc.filename, loc.line))
        state["kapi_mixed_types"] = list(found.values())
        return False


class ReachingTypes:
    """The types that each number of a function has in Python, on all control-flow paths.

    - `state`: a compilation after type inference, before its phi nodes are assignments.
    """

    def __init__(self, state: Any) -> None:
        self._blocks = [block for _, block in sorted(state.func_ir.blocks.items())]
        self._typemap: dict[str, types.Type] = state.typemap
        self._calltypes: Any = state.calltypes
        self._context = state.typingctx
        self._definitions = definitions_of(state.func_ir)
        self._types: dict[str, _Types] = {}  # of numbers whose types are not yet known, a device's
        self._joins: dict[str, tuple[str, int]] = {}
        """Of a variable in which types join, or that is computed from one: its name in messages, and the block."""
        self._assigned = [(each, id(block)) for block in self._blocks for each in block.find_insts(ir.Assign)]
        scalars = [each for each in self._assigned if is_scalar(self._typemap[each[0].target.name])]
        if any(_op(each.value) == "phi" and self._joins_several(each) for each, _ in scalars):  # few functions do
            for statement, block in scalars * 2:  # once more with what the ends of loops give
                self._types[statement.target.name] = self._types_of(statement.target.name, statement.value, block)

    def _joins_several(self, statement: Any) -> bool:
        return len({self._typemap[each] for each in (statement.target.name, *_operands(statement.value))}) > 1

    def _of(self, name: str) -> _Types:
        """The types that a variable has in Python; if two are strong, the one that a device has."""
        return self._types.get(name) or frozenset((self._typemap[name],))

    def _is_several(self, name: str) -> bool:
        """Whether the type of a variable in Python depends on the path."""
        return len(self._of(name)) > 1

    def _types_of(self, target: str, value: Any, block: int) -> _Types:
        """The types that an assignment gives its target; none if a device's is the only one."""
        operands = _operands(value)
        several = [each for each in operands if self._is_several(each)]
        if _op(value) == "phi":
            self._joins[target] = _describe(target), block
        elif several:
            self._joins.setdefault(target, self._joins[several[0]])
        found = frozenset[types.Type]()
        if isinstance(value, ir.Var) or (_op(value) == "phi" and not self._is_accumulator(target, operands)):
            found = found.union(*map(self._of, operands))
        elif several and _op(value) in _OPERATIONS:
            found = self._results_of(value)
        return frozenset() if find_mixed_types(found) else found

    def _results_of(self, value: Any) -> _Types:
        """The types that an operation has in Python, for each combination of its operands' types."""
        operands, found = _operands(value), set()
        function = self._typemap[value.func.name] if value.op == "call" else value.fn
        if isinstance(function, DeviceFunctionType) or function in COMPARISONS:
            return frozenset()  # of one type whatever its operands are
        for combination in itertools.product(*map(self._of, operands)):
            typed = zip(operands, combination, strict=True)
            weakness = {(self._joins[each][1], is_weak(type_)) for each, type_ in typed if self._is_several(each)}
            if len(weakness) > len({block for block, _ in weakness}):
                continue  # variables that join in one block are weak on the same paths
            with contextlib.suppress(KernelTypeProblem):  # an error in the simulator, too, on this path
                signature = self._context.resolve_function_type(function, combination, {})
                if signature is not None and is_scalar(signature.return_type):
                    found.add(signature.return_type)
        return frozenset(found)

    def _is_accumulator(self, name: str, names: list[str]) -> bool:
        """Whether a variable starts as a Python number, and each iteration computes it from the last one."""
        strong = [each for each in names if not is_weak(self._typemap[each])]
        return len(strong) < len(names) and any(self._depends_on(each, name, set()) for each in strong)

    def _depends_on(self, name: str, other: str, seen: set[str]) -> bool:
        """Whether a variable is computed from another one, by operations and choices."""
        if name == other or name in seen:
            return name == other
        seen.add(name)
        return any(self._depends_on(each, other, seen) for each in _operands(self._definitions.get(name)))

    def notes(self) -> Iterator[_Note]:
        """The notes of all joins of strong types, and then of the uses whose result depends on the path."""
        returned: list[Any] = []
        for block in self._blocks:
            for statement in block.find_insts(ir.Assign):
                if _op(statement.value) == "phi":
                    loc = next((each.loc for each in block.body if each.loc.line > 0), statement.loc)
                    name = statement.target.name
                    yield from self._note_join(_describe(name), loc, _operands(statement.value), name)
                elif _op(statement.value) == "cast":
                    returned.append(statement)
        if returned:
            names = [each.value.value.name for each in returned]
            yield from self._note_join(_RESULT, returned[-1].loc, names, returned[0].target.name)
        for statement, _ in self._assigned:
            if _op(statement.value) in _OPERATIONS and any(map(self._is_several, _operands(statement.value))):
                yield from self._note_operation(statement)
        for block in self._blocks:
            for statement in block.find_insts((ir.SetItem, ir.StaticSetItem)):
                array = self._typemap[statement.target.name]
                yield from self._note_rounding(statement.value.name, getattr(array, "dtype", array), statement.loc)

    def _note_join(self, name: str, loc: Any, names: list[str], result: str) -> Iterator[_Note]:
        if mixed := find_mixed_types(self._typemap[each] for each in names):
            device = spell_type(self._typemap[result])
            text = (
                f"{name} is {mixed[0]} on one path and {mixed[1]} on another: on a device it is {device} on all paths; "
                "convert one, or start with the other"
            )
            yield name, loc, text

    def _note_operation(self, statement: Any) -> Iterator[_Note]:
        value, type_ = statement.value, self._typemap[statement.target.name]
        operands, results = _operands(value), self._results_of(value)
        if mixed := find_mixed_types(results):
            name, _ = next(self._joins[each] for each in operands if self._is_several(each))
            text = (
                f"an operation with {name} gives {mixed[0]} on one path and {mixed[1]} on another, for a Python number "
                f"takes the type of the other operand: on a device it gives {spell_type(type_)} on all paths; convert "
                "the Python number"
            )
            yield name, statement.loc, text
        elif not any(map(is_weak, results)):
            signature = self._calltypes.get(value)
            for operand, wide in zip(operands, signature.args if signature is not None else (), strict=False):
                yield from self._note_rounding(operand, max(wide, type_, key=_digits), statement.loc)

    def _note_rounding(self, operand: str, wide: types.Type, loc: Any) -> Iterator[_Note]:
        """Note a Python number that a device rounds to the type of another path, and then uses as a wider one."""
        narrow = self._typemap[operand]
        is_widened = self._is_several(operand) and 0 < _digits(narrow) < _digits(wide)
        if is_widened and not self._holds(narrow, operand):
            name, kind = self._joins[operand][0], spell_type(narrow)
            text = (
                f"{name} is a Python number on one path and {kind} on another, and is used as {spell_type(wide)}: on a "
                f"device the Python number is rounded to {kind}; convert one"
            )
            yield name, loc, text

    def _holds(self, narrow: types.Type, name: str, depth: int = _MAX_DEPTH) -> bool:
        """Whether a type holds the Python numbers that a variable is, or is computed from, as far as they are known."""
        value, number = made_of(self._definitions, name), known_value(self._definitions, name)
        if isinstance(number, (int, float, complex)):
            return not _is_rounded(number, narrow)
        is_method = _op(value) == "call" and _op(self._definitions.get(value.func.name)) == "getattr"
        is_query = is_method and known_value(self._definitions, value.func) is None  # of an item, not of a module
        weak = [each for each in _operands(value) if any(map(is_weak, self._of(each)))]
        is_known = depth > 0 and not is_query and not isinstance(value, ir.Arg)
        return is_known and all(self._holds(narrow, each, depth - 1) for each in weak)


def _op(value: Any) -> str:
    return value.op if isinstance(value, ir.Expr) else ""


def _operands(value: Any) -> list[str]:
    """The variables that decide the type of a copy, a choice or an operation."""
    match _op(value):
        case "phi":
            return [each.name for each in value.incoming_values if isinstance(each, ir.Var)]
        case "binop" | "inplace_binop":
            return [value.lhs.name, value.rhs.name]
        case "unary" | "cast":
            return [value.value.name]
        case "call" if not value.kws and not value.vararg:
            return [each.name for each in value.args]
    return [value.name] if isinstance(value, ir.Var) else []


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


def _describe(name: str) -> str:
    """The name of a phi node's variable in messages."""
    return "what a choice gives" if name.startswith("$") else f"variable `{name.split('.')[0]}`"


def _is_rounded(number: complex, narrow: types.Type) -> bool:
    """Whether a type does not hold a Python number."""
    with np.errstate(all="ignore"):
        return bool(number == number and as_dtype(narrow).type(number) != np.complex128(number))


def _digits(type_: types.Type) -> int:
    """The bits of a type of floats, or of a part of complex numbers; 0 of others."""
    part = type_.underlying_float if isinstance(type_, types.Complex) else type_
    return part.bitwidth if isinstance(part, types.Float) else 0
