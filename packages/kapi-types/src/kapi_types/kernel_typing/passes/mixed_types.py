"""Notes of variables, choices and results to which control-flow paths give numbers of different types.

Python keeps the number of the path that was taken, and a Python number stays weak. A device has one type for all paths.
The pass computes the types that each variable has in Python: the union at a join, NumPy's promotion at an operation. It
notes a join of different strong types, and a use of a join of weak and strong numbers whose result depends on the path.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kapi_types._numba_compat import FunctionPass, as_dtype, ir, register_pass, types
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType
from kapi_types.kernel_typing.passes.constant_propagation import definitions_of, known_value, made_of
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, spell_type
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.weak import is_weak, weak_bool, weak_complex, weak_float, weak_int, wide_int

__all__ = ["FindMixedTypes"]

_Note = tuple[str, Any, str]
"""Name, source location and text."""

_OPERATIONS = ("binop", "inplace_binop", "unary", "call")
_WEAK = (weak_bool, weak_int, wide_int, weak_float, weak_complex)
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
        self._others: dict[str, tuple[types.Type, str]] = {}
        """Of variables that are Python numbers on the path that is looked at: the type there, and whence it comes."""

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
        for block in self._blocks:
            phis = [each for each in block.find_insts(ir.Assign) if _op(each.value) == "phi"]
            if weak := {each.target.name for each in phis if self._other_type(each) is not None}:
                self._follow(weak)
                yield from self._notes_of_uses()

    def _follow(self, weak: set[str]) -> None:
        """Set the types on the path on which phi nodes of one block give Python numbers."""
        self._others = {}
        assigned = [(each, _operands(each.value)) for block in self._blocks for each in block.find_insts(ir.Assign)]
        for statement, operands in assigned * 2:  # once more with what the ends of loops give
            name = statement.target.name
            sources = [self._others[each][1] for each in operands if each in self._others]
            other = self._other_type(statement) if sources or name in weak else None
            if other is not None and not find_mixed_types((other, self._typemap[name])):
                self._others[name] = other, _describe(name) if _op(statement.value) == "phi" else sources[0]

    def _other_type(self, statement: Any) -> types.Type | None:
        """The type that an assignment gives its target in Python on this path, if it isn't the one on a device."""
        name, value = statement.target.name, statement.value
        given = [self._others[each][0] if each in self._others else self._typemap[each] for each in _operands(value)]
        found: types.Type | None = None
        if isinstance(value, ir.Var) or (_op(value) == "phi" and not self._is_accumulator(name, _operands(value))):
            found = next((each for each in _WEAK if each in given), None)
        elif _op(value) in _OPERATIONS:
            function = self._typemap[value.func.name] if value.op == "call" else value.fn
            if not isinstance(function, DeviceFunctionType):
                with contextlib.suppress(KernelTypeProblem):  # an error in the simulator, too, on this path
                    signature = self._context.resolve_function_type(function, tuple(given), {})
                    found = signature and signature.return_type
        return found if found != self._typemap[name] and is_scalar(found) and is_scalar(self._typemap[name]) else None

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

    def _note_join(self, name: str, loc: Any, names: list[str], result: str) -> Iterator[_Note]:
        if mixed := find_mixed_types(self._typemap[each] for each in names):
            device = spell_type(self._typemap[result])
            text = (
                f"{name} is {mixed[0]} on one path and {mixed[1]} on another: on a device it is {device} on all paths; "
                "convert one, or start with the other"
            )
            yield name, loc, text

    def _notes_of_uses(self) -> Iterator[_Note]:
        """The notes of operations and stores on the path that is looked at."""
        for block in self._blocks:
            for statement in block.body:
                if isinstance(statement, ir.Assign) and _op(statement.value) in _OPERATIONS:
                    yield from self._note_operation(statement)
                elif isinstance(statement, (ir.SetItem, ir.StaticSetItem)):
                    array = self._typemap[statement.target.name]
                    yield from self._note_rounding(statement.value.name, getattr(array, "dtype", array), statement.loc)

    def _note_operation(self, statement: Any) -> Iterator[_Note]:
        value, type_ = statement.value, self._typemap[statement.target.name]
        operands = [each for each in _operands(value) if each in self._others]
        other = self._other_type(statement) if operands else None
        if other is not None and (mixed := find_mixed_types((other, type_))):
            name = self._others[operands[0]][1]
            text = (
                f"an operation with {name} gives {mixed[0]} on one path and {mixed[1]} on another, for a Python number "
                f"takes the type of the other operand: on a device it gives {spell_type(type_)} on all paths; convert "
                "the Python number"
            )
            yield name, statement.loc, text
        elif operands and other is None:
            signature = self._calltypes.get(value)
            for operand, wide in zip(_operands(value), signature.args if signature is not None else (), strict=False):
                yield from self._note_rounding(operand, max(wide, type_, key=_digits), statement.loc)

    def _note_rounding(self, operand: str, wide: types.Type, loc: Any) -> Iterator[_Note]:
        """Note a Python number that a device rounds to the type of another path, and then uses as a wider one."""
        narrow = self._typemap[operand]
        is_widened = operand in self._others and 0 < _digits(narrow) < _digits(wide)
        if is_widened and not self._holds(narrow, operand):
            name, kind = self._others[operand][1], spell_type(narrow)
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
        weak = [each for each in _operands(value) if each in self._others or is_weak(self._typemap[each])]
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
