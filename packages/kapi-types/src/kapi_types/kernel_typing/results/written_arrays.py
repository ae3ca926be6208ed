"""Arrays among the arguments of a function that it may write to, itself or in functions that it calls.

The analysis is flow-insensitive: a variable may hold the values of all its assignments. An operation that is not known
to leave an array unchanged counts as a write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any

from kapi_types._numba_compat import ir, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_api import AtomicRefType
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType
from kapi_types.kernel_typing.calls.intrinsic_calls import LanguageFunctionType, LanguageMethodType
from kapi_types.kernel_typing.rules.tuples import NamedTupleClassType
from kapi_types.records import RecordRefType

__all__ = ["ArgumentPath", "written_arrays"]

_SAME = ("cast", "exhaust_iter", "phi")  # operations that return their operand

ArgumentPath = tuple[int, ...]
"""The position of a parameter and, within tuples, the position of each member."""


def written_arrays(
    state: Any, written_by: Callable[[FunctionType, tuple[types.Type, ...]], Iterable[ArgumentPath]]
) -> frozenset[ArgumentPath]:
    """Return the paths of the arrays, or of tuples that hold them, that a function may write to.

    Parameters
    ----------
    state : numba.core.compiler.StateDict
        A compilation after type inference.
    written_by : callable
        The same for a device function that it calls, with the types of its arguments.
    """
    return frozenset(_WrittenFunction(state, written_by).written())


class _WrittenFunction:
    """A function, and the arguments that its variables may hold."""

    def __init__(
        self, state: Any, written_by: Callable[[FunctionType, tuple[types.Type, ...]], Iterable[ArgumentPath]]
    ) -> None:
        self._state = state
        self._written_by = written_by
        # By variable, the paths that it may hold a part of, and whether it holds exactly that argument.
        self._held: dict[str, set[tuple[ArgumentPath, bool]]] = {}
        self._statements = [each for block in state.func_ir.blocks.values() for each in block.body]
        self._follow()

    def written(self) -> Iterator[ArgumentPath]:
        """The paths that are written to."""
        for statement in self._statements:
            if isinstance(statement, (ir.SetItem, ir.StaticSetItem)):
                yield from self._paths(statement.target)
            elif isinstance(statement, ir.SetAttr):
                yield from self._paths(statement.target)
            elif isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr):
                if statement.value.op == "call":
                    yield from self._written_in_call(statement.value)
                elif statement.value.op in ("inplace_binop", "inplace_binop_scalar"):
                    yield from self._paths(statement.value.lhs)

    def _follow(self) -> None:
        """Run to the fixpoint of what each variable may hold."""
        assignments = [each for each in self._statements if isinstance(each, ir.Assign)]
        assignments = [each for each in assignments if _may_hold_array(self._type(each.target))]
        size = -1
        while size != (size := sum(map(len, self._held.values()))):
            for each in assignments:
                self._held.setdefault(each.target.name, set()).update(self._value(each.value))

    def _value(self, value: Any) -> Iterable[tuple[ArgumentPath, bool]]:
        if isinstance(value, ir.Arg):
            return [((value.index,), True)]
        if isinstance(value, ir.Var):
            return self._held.get(value.name, ())
        if not isinstance(value, ir.Expr):
            return ()
        if value.op in _SAME:
            return [each for variable in value.list_vars() for each in self._held.get(variable.name, ())]
        member = self._member(value)
        if member is not None:
            return [self._member_path(*each, member) for each in self._held.get(value.value.name, ())]
        # A view, a tuple or a method: a write to it may write to each operand.
        return [(path, False) for variable in value.list_vars() for path in self._paths(variable)]

    def _member(self, value: Any) -> int | None:
        """The index of the tuple member that an expression takes, if that is known."""
        if value.op not in ("static_getitem", "getattr"):
            return None
        container = self._type(value.value)
        if not isinstance(container, types.BaseTuple):
            return None
        if value.op == "getattr":
            fields = getattr(container, "fields", ())
            return fields.index(value.attr) if value.attr in fields else None
        return value.index % len(container) if isinstance(value.index, int) else None

    def _member_path(self, path: ArgumentPath, is_all: bool, member: int) -> tuple[ArgumentPath, bool]:
        """The path of a member."""
        return ((*path, member), True) if is_all else (path, False)

    def _paths(self, variable: Any) -> set[ArgumentPath]:
        return {path for path, _ in self._held.get(variable.name, ())} if isinstance(variable, ir.Var) else set()

    def _type(self, variable: Any) -> Any:
        return self._state.typemap.get(variable.name)

    def _written_in_call(self, call: Any) -> Iterator[ArgumentPath]:
        function = self._type(call.func)
        if isinstance(function, DeviceFunctionType):
            yield from self._written_in_function(function, call)
        elif isinstance(function, LanguageMethodType):
            if function.row.key == "Vec.store":
                yield from self._given(call)
            elif isinstance(function.this, AtomicRefType) and function.row.name != "load":
                yield from self._paths(call.func)
                yield from self._given(call)
        elif not isinstance(function, (types.Function, LanguageFunctionType, NamedTupleClassType)):
            yield from self._given(call)

    def _given(self, call: Any) -> Iterator[ArgumentPath]:
        for each in (*call.args, *(value for _, value in call.kws)):
            yield from self._paths(each)

    def _written_in_function(self, function: DeviceFunctionType, call: Any) -> Iterator[ArgumentPath]:
        signature = self._state.calltypes.get(call)
        if signature is None or call.vararg is not None:
            yield from self._given(call)
            return
        bound = function.parameters.bind(*call.args, **dict(call.kws))
        given: Sequence[Any] = list(bound.arguments.values())
        for parameter, *members in self._written_by(function.function, signature.args):
            for held in self._held.get(given[parameter].name, ()):
                for member in members:
                    held = self._member_path(*held, member)
                yield held[0]


def _may_hold_array(type_: Any) -> bool:
    """Whether a value of this type may lead to an array; numbers do not."""
    if isinstance(type_, types.BaseTuple):
        return any(map(_may_hold_array, type_.types))
    return isinstance(
        type_, (ArrayType, RecordRefType, AtomicRefType, types.BoundFunction, types.IteratorType, types.Pair)
    )
