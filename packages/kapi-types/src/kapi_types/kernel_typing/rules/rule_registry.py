"""Registries of typing rules that are plain functions of the types of arguments, and types of what takes any types."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, TypeVar

from kapi_types._numba_compat import templates, types

__all__ = ["GenericCallableType", "RuleRegistry"]

_Rule = TypeVar("_Rule", bound=Callable[..., Any])


class GenericCallableType(types.Callable, types.Opaque):
    """A callable whose `get_call_type` decides what it takes."""

    def get_call_signatures(self) -> tuple[tuple[Any, ...], bool]:
        """No fixed signatures."""
        return (), True


class RuleRegistry(templates.Registry):
    """A registry that makes Numba's templates of functions.

    A rule gets the typing context and the type of each argument.  It returns the call's signature, or None where it
    does not apply; it is not asked of calls with keywords or another number of arguments.
    """

    def rule(self, *operations: Any) -> Callable[[_Rule], _Rule]:
        """Decorate the rule of Python's functions, or of operations of Numba's IR by their names."""

        def register(rule: _Rule) -> _Rule:
            for operation in operations:
                self._register(operation, rule)
            return rule

        return register

    def shared_rule(self, *operations: Any) -> Callable[[_Rule], _Rule]:
        """Decorate the rule of several functions, which gets the function before the context."""

        def register(rule: _Rule) -> _Rule:
            for operation in operations:
                self._register(operation, functools.partial(rule, operation))
            return rule

        return register

    def _register(self, operation: Any, rule: Callable[..., Any]) -> None:
        parameters = inspect.signature(rule).parameters.values()
        most = math.inf if any(each.kind is each.VAR_POSITIONAL for each in parameters) else len(parameters) - 1
        least = sum(each.default is each.empty and each.kind is not each.VAR_POSITIONAL for each in parameters) - 1

        def generic(self: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
            return rule(self.context, *args) if not kws and least <= len(args) <= most else None

        name = operation if isinstance(operation, str) else operation.__name__
        template = type(f"_{name}", (templates.AbstractTemplate,), {"key": operation, "generic": generic})
        if isinstance(operation, str):
            self.register(template)
        else:
            self.register_global(operation)(template)
