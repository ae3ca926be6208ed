"""Index space and number of arguments of a launch, compared with the kernel's parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from kapi_sim.errors import KernelLaunchError
from kapi_sim.language import Item, NdItem, NdRange, Range
from kapi_sim.short_repr import short_repr

__all__ = ["parameters_for_launch", "require_index_space"]


def require_index_space(value: object) -> None:
    """Raise KernelLaunchError unless `value` is a Range or an NdRange."""
    if not isinstance(value, (Range, NdRange)):
        raise KernelLaunchError(
            f"index_space must be a Range or an NdRange, got {short_repr(value)}: write kapi.Range(n)",
            code="no-index-space",
        )


def parameters_for_launch(function: Callable[..., Any], space: Range | NdRange, args: tuple[Any, ...]) -> list[str]:
    """Return the names of the kernel's parameters after the work-item.

    Raises
    ------
    KernelLaunchError
        If the number of arguments is not that of the parameters, or the kernel's work-item is not of
        the kind that the index space has.
    """
    code = function.__code__
    first, *names = code.co_varnames[: code.co_argcount]
    optional = len(function.__defaults__ or ())
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount:
        raise KernelLaunchError(
            f"kernel `{function.__name__}` must have plain positional parameters only, got * or keyword-only ones",
            code="kernel-parameters",
        )
    if not len(names) - optional <= len(args) <= len(names):
        count = f"{len(names)} argument{'s' * (len(names) != 1)} after the work-item"
        raise KernelLaunchError(
            f"kernel `{function.__name__}` must be launched with {count} ({', '.join(names)}), got {len(args)}"
            + _count_hint(function, (first, *names), args),
            code="argument-count",
        )
    annotation = _work_item_of(function, first)
    wanted = Item if isinstance(space, Range) else NdItem
    if annotation in (Item, NdItem) and annotation is not wanted:
        hint = "launch it over an NdRange" if wanted is Item else "launch it over a Range"
        raise KernelLaunchError(
            f"index space of kernel `{function.__name__}` must suit its first parameter "
            f"`{first}: {annotation.__name__}`, got {short_repr(space)}: {hint}, or declare `{first}: "
            f"{wanted.__name__}`",
            code="index-space-unsuited",
        )
    return names


def _count_hint(function: Callable[..., Any], names: tuple[str, ...], args: tuple[Any, ...]) -> str:
    """Say what was meant: all arguments in one list or tuple, or one for the work-item, which the launch gives."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)) and len(args[0]) == len(names) - 1:
        return f" {type(args[0]).__name__}: write * before it, which passes what it holds one by one"
    if len(args) != len(names):
        return ""
    if _work_item_of(function, names[0]) in (Item, NdItem) or names[0] in ("item", "nd_item"):
        return ""
    return (
        f": the first parameter, `{names[0]}`, is the work-item, which the launch gives: "
        f"write `def {function.__name__}(item, {', '.join(names)})`"
    )


def _work_item_of(function: Callable[..., Any], first: str) -> Any:
    """Return what the first parameter is annotated with: `Item`, `NdItem`, something else or nothing."""
    annotation = _annotation(function, first)
    if isinstance(annotation, str):
        return {"Item": Item, "NdItem": NdItem}.get(annotation.rpartition(".")[2])
    return annotation


def _annotation(function: Callable[..., Any], parameter: str) -> Any:
    try:
        return function.__annotations__.get(parameter)
    except NameError:  # Python 3.14 evaluates annotations when they are asked for
        return None
