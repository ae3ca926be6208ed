"""Calls of functions with source: device functions, and functions that are defined in a kernel."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from kapi_sim.language.attributes import bound_names
from kapi_sim.language.launchables.device_function import DeviceFunction
from kapi_sim.numba_cuda.inference.expressions import Expressions
from kapi_sim.numba_cuda.inference.outside_values import kind_outside
from kapi_sim.numba_cuda.inference.values import LocalFunction, is_known
from kapi_sim.numba_cuda.static_types.conversions import best_overloads, grade_of
from kapi_sim.numba_cuda.static_types.kinds import UNKNOWN, Declared, Kind, Number, Optional, may_be_one

__all__ = ["DeviceCalls", "signatures_of"]


def signatures_of(function: DeviceFunction[..., Any]) -> Sequence[Declared]:
    """Return the signatures that a device function is declared with; there may be none."""
    declared: Sequence[Declared] = getattr(function, "declared", ())
    return declared


class DeviceCalls(Expressions):
    """Finds the types of what functions return, by following them for the types that they are called with."""

    def device_call(self, node: ast.Call, called: DeviceFunction[..., Any]) -> Kind:
        """Return the type of a device function's result."""
        function = called.py_func
        assert isinstance(function, FunctionType)
        name = called.__name__
        kinds = self._bound(node, function, name)
        declared = signatures_of(called)
        if self.session.is_running(function):
            return self._recursion(node, called, declared, kinds)
        if kinds is None:
            self.session.leave(node)
            return UNKNOWN
        if not declared:
            return self.session.result_of(node, function, kinds)
        found = _overloads(kinds, declared)
        if not found:
            wanted, got = " or ".join(map(str, declared)), ", ".join(map(str, kinds))
            return self.problem(
                node, "call-arguments", f"arguments of {name}() must be those of a signature, {wanted}, got ({got})"
            )
        if len(declared) > 1:
            self.session.take(node, found)
        if len(found) > 1:
            self.session.leave(node)
            results = {declared[number].result for number in found}
            return results.pop() or UNKNOWN if len(results) == 1 else UNKNOWN
        chosen = declared[found[0]]
        result = self.session.result_of(node, function, chosen.parameters)
        if chosen.result is None:
            return result
        is_missing = isinstance(result, Optional) and not isinstance(chosen.result, Optional)
        if is_missing or grade_of(result, chosen.result) is None:
            given = f"{result.of}, and on another path nothing" if isinstance(result, Optional) else str(result)
            self.problem(
                node, "return-types", f"result of {name}() must be {chosen.result}, as its signature says, got {given}"
            )
        return chosen.result

    def _recursion(
        self,
        node: ast.Call,
        called: DeviceFunction[..., Any],
        declared: Sequence[Declared],
        kinds: tuple[Kind, ...] | None,
    ) -> Kind:
        """Return the type of a function's result that calls itself, which a signature has to say."""
        assert isinstance(called.py_func, FunctionType)
        followed = self.session.own_call(called.py_func)
        if followed is None:
            return self.problem(
                node, "recursion", f"{called.__name__}() is called again by a function that it calls: write a loop"
            )
        wanted = [each.parameters for each in declared] or [followed]
        if kinds is not None and len(declared) > 1:
            self.session.take(node, _overloads(kinds, declared))
        if kinds is not None and not any(_is_same_call(kinds, each) for each in wanted):
            first = ", ".join(map(spelled, wanted[0]))
            self.problem(
                node,
                "recursion",
                f"{called.__name__}() must call itself with the types that it is called with, ({first}), got "
                f"({', '.join(map(spelled, kinds))}): convert them",
            )
        results = {each.result for each in declared}
        known = results.pop() if len(results) == 1 else None
        return UNKNOWN if known is None else known

    def _bound(self, node: ast.Call, function: FunctionType, name: str) -> tuple[Kind, ...] | None:
        """Return the types of a function's parameters in a call; `None` where the call does not tell, or is wrong."""
        code = function.__code__
        positional: list[Kind] = []
        is_open = False
        for each in node.args:
            kind = self.used(each.value if isinstance(each, ast.Starred) else each)
            if not isinstance(each, ast.Starred):
                positional.append(kind)
            elif hasattr(kind, "members"):
                positional += kind.members
            else:
                is_open = True
        named = {keyword.arg: self.used(keyword.value) for keyword in node.keywords}
        if None in named:
            self.problem(node, "call-star", f"{name}() must be given its arguments one by one in a kernel, got **")
            return None
        if code.co_flags & inspect.CO_VARKEYWORDS or code.co_kwonlyargcount:
            self.problem(
                node, "function-parameters", f"parameters of {name}() must not be ** or keyword-only in a kernel"
            )
            return None
        if is_open or code.co_flags & inspect.CO_VARARGS:
            return None
        return _matched(function, positional, {str(key): kind for key, kind in named.items()})

    def local_call(self, node: ast.Call, called: LocalFunction) -> Kind:
        """Return the type of the result of a function that is defined in the kernel: it is followed at each call."""
        arguments = called.node.args
        if arguments.vararg is not None or arguments.kwarg is not None or arguments.kwonlyargs:
            return self.problem(
                node, "local-function-parameters", "parameters of a local function must be plain, got * or keyword-only"
            )
        given = [self.used(each) for each in node.args]
        named = {str(keyword.arg): self.used(keyword.value) for keyword in node.keywords}
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        defaults = dict(zip(reversed(names), map(self.used, reversed(arguments.defaults)), strict=False))
        kinds = {**defaults, **dict(zip(names, given, strict=False)), **named}
        if any(isinstance(each, ast.Starred) for each in node.args) or set(kinds) != set(names):
            return UNKNOWN
        return self.followed_locally(called.node, kinds)

    def followed_locally(self, node: ast.FunctionDef | ast.Lambda, kinds: dict[str, Kind]) -> Kind:
        """Return the type of a local function's result for these types of its parameters."""
        raise NotImplementedError

    def inside(self, node: ast.FunctionDef | ast.Lambda) -> set[str]:
        """Return the names that are local to the function, or to one in it."""
        return self._local | bound_names(node)


def _overloads(kinds: Sequence[Kind], declared: Sequence[Declared]) -> list[int]:
    """Return the numbers of the signatures that a call may take: the first best one, if all types are known."""
    wanted = [each.parameters for each in declared]
    if all(map(is_known, kinds)):
        return best_overloads(kinds, wanted)[:1]
    return [number for number, each in enumerate(wanted) if best_overloads(kinds, [each])]


def _is_same_call(kinds: Sequence[Kind], wanted: Sequence[Kind]) -> bool:
    """Return whether a call is one for the same types, as far as the source shows."""
    return len(kinds) == len(wanted) and all(map(_is_same, kinds, wanted))


def _is_same(kind: Kind, wanted: Kind) -> bool:
    if isinstance(wanted, Number) and isinstance(wanted.literal, (int, bool)) and isinstance(kind, Number):
        return may_be_one(kind, wanted) and kind.literal == wanted.literal
    return may_be_one(kind, wanted)


def spelled(kind: Kind) -> str:
    """Return a type, with the value where the compiler knows it."""
    has_value = isinstance(kind, Number) and isinstance(kind.literal, (int, bool))
    return f"the constant {kind.literal}" if has_value else str(kind)  # type: ignore[attr-defined]


def _matched(function: Callable[..., Any], positional: list[Kind], named: dict[str, Kind]) -> tuple[Kind, ...] | None:
    try:
        bound = inspect.signature(function).bind(*positional, **named)
    except TypeError:
        return None
    kinds: list[Kind] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in bound.arguments:
            kinds.append(bound.arguments[name])
        else:
            kind = kind_outside(parameter.default, name)
            kinds.append(kind if isinstance(kind, Kind) else UNKNOWN)
    return tuple(kinds)
